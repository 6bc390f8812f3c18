"""The part `cluster` of `make chaos`: sessions one after another on three servers while those are disturbed."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tests.chaos.cluster.faults import Case, ClusterFaults
from tests.chaos.cluster.rig import ClusterRig
from tests.chaos.harness import Play, pause
from tests.chaos.storm import QUIET_S, Report
from tests.chaos.verify import Findings
from tests.support.engine import until
from tests.support.links import Links

SESSION_S = 240.0
"""A session that is not over by then is lost."""
CALM_S = 2.0
"""Between two cases, after every session under way has been heard of."""
HEARD_S = 1.5


class Silence(msgspec.Struct, frozen=True):
    """A case, and for how long its users heard nothing."""

    case: str
    seconds: float
    settled_s: float
    """From the deed until every stream lay whole on every server."""


class ClusterReport(Report, frozen=True, kw_only=True):
    """What was done and what was found."""

    silences: list[Silence]
    left_out: list[str]
    """Cases for which there was no time."""


class ClusterStorm:
    """One run: every case while sessions go on, then further sessions until there are enough.

    Parameters
    ----------
    sessions
        To play, at least.
    seconds
        After that no case is begun and no session.
    keep
        Folder for the services' logs, and those of sessions of which something is wrong; empty: they go.
    """

    def __init__(
        self, folder: Path, cases: Sequence[Case], *, sessions: int, seconds: float, at_once: int = 5,
        kinds: tuple[Play, ...], tell: Callable[[str], None] = print, keep: str = "",
    ) -> None:  # fmt: skip
        self.folder = folder
        self.cases = list(cases)
        self.sessions = sessions
        self.seconds = seconds
        self.at_once = at_once
        self.kinds = kinds
        self.tell = tell
        self.keep = keep
        self.played = 0
        self.silences: list[Silence] = []
        self._over = False

    async def run(self) -> ClusterReport:
        """Play, disturb, wait until all is quiet, and check everything."""
        with Links() as links:
            async with ClusterRig(self.folder, links, self.kinds) as rig:
                self.rig = rig
                rig.keep = Path(self.keep) if self.keep else None
                self.faults = ClusterFaults(rig, links)
                await until(self.faults.settled, 60.0, "the cluster did not come up")
                await rig.learn()
                self.tell("undisturbed sessions are over")
                began = time.monotonic()
                self.deadline = began + self.seconds
                lanes = [asyncio.create_task(self._lane(i)) for i in range(self.at_once)]
                try:
                    left_out = await self._disturb()
                    self._over = True
                    await asyncio.gather(*lanes)
                finally:
                    for lane in lanes:
                        lane.cancel()
                    await asyncio.gather(*lanes, return_exceptions=True)
                seconds = time.monotonic() - began
                self.tell("checking every session")
                return self._report(await rig.findings(QUIET_S), seconds, left_out)

    async def _lane(self, lane: int) -> None:
        n = 0
        while (not self._over or self.played < self.sessions) and time.monotonic() < self.deadline:
            play = self.kinds[(lane + n) % len(self.kinds)]
            self.played += await self.rig.attempt(f"s{lane}-{n}", n % play.seeds, play, SESSION_S, self.tell)
            n += 1

    async def _disturb(self) -> list[str]:
        for i, case in enumerate(self.cases):
            await until(self._all_heard, SESSION_S, "a session under way is not heard of")
            await pause(CALM_S)
            if time.monotonic() > self.deadline:
                return [str(c) for c in self.cases[i:]]
            since, to = await self.faults.do(case)
            await until(self._all_heard, SESSION_S, f"{case}: a session under way is not heard of")
            silence = self.rig.silence(since, max(to, time.monotonic()))
            self.silences.append(Silence(str(case), round(silence, 1), round(to - since, 1)))
            self.tell(f"{time.monotonic() - self.deadline + self.seconds:4.0f} s, {self.played} sessions: "
                      f"{case}: {silence:.1f} s silent, settled after {to - since:.1f} s")  # fmt: skip
        return []

    async def _all_heard(self) -> bool:
        return self.rig.waiting(time.monotonic()) < HEARD_S

    def _report(self, found: Findings, seconds: float, left_out: list[str]) -> ClusterReport:
        short = [f"aim: {self.played} of {self.sessions} sessions"] if self.played < self.sessions else []
        return ClusterReport(
            name="cluster", seed=0, sessions=self.played, seconds=round(seconds, 1), silences=self.silences,
            did={"openings refused for want of a worker": len(self.rig.refused)}, found=found,
            violations=[*found.violations, *short], left_out=left_out,
        )  # fmt: skip
