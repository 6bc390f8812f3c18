"""The part `cluster` of `make chaos`: sessions one after another on three servers while those are disturbed."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from parley.bus.errors import BusError
from parley.client.errors import ParleyError, Refusal
from tests.chaos.cluster.faults import Case, ClusterFaults
from tests.chaos.cluster.rig import ClusterRig
from tests.chaos.harness import Play, pause, until
from tests.chaos.storm import QUIET_S, REFUSED_S
from tests.chaos.verify import Findings
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


class ClusterReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was done and what was found."""

    sessions: int
    seconds: float
    silences: list[Silence]
    turns: int
    calls: int
    extra_calls: int
    late_calls: int
    latest_ms: float
    disturbed: int
    missed: int
    late_timers: int
    lost: int
    doubled: int
    wrong: int
    refused: int
    """Openings that were refused since a worker was missing. Their users were told, and other sessions were opened."""
    violations: list[str]
    left_out: list[str]
    """Cases for which there was no time."""

    @property
    def passed(self) -> bool:
        return not self.violations


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
        self.failed: dict[str, str] = {}
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
                for sid in self.failed:
                    rig.played.pop(sid, None)
                self.tell("checking every session")
                return self._report(await rig.findings(QUIET_S), seconds, left_out)

    async def _lane(self, lane: int) -> None:
        n = 0
        while (not self._over or self.played < self.sessions) and time.monotonic() < self.deadline:
            play = self.kinds[(lane + n) % len(self.kinds)]
            sid = f"s{lane}-{n}"
            n += 1
            try:
                async with asyncio.timeout(SESSION_S):
                    await self.rig.play(sid, n % play.seeds, play)
                self.played += 1
            except Refusal as error:
                if sid not in self.rig.refused:
                    self.failed[sid] = f"{play.name}: {error}"
                self.tell(f"{sid}: {error}")
                await pause(REFUSED_S)
            except (TimeoutError, BusError, ParleyError) as error:
                self.failed[sid] = f"{play.name}: {type(error).__name__}: {error}"
                self.tell(f"{sid}: {self.failed[sid]}")

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
        lost = [f"lost: {sid}: {why}" for sid, why in self.failed.items()]
        short = [f"aim: {self.played} of {self.sessions} sessions"] if self.played < self.sessions else []
        return ClusterReport(
            sessions=self.played, seconds=round(seconds, 1), silences=self.silences, turns=found.turns,
            calls=found.calls, extra_calls=found.extra_calls, late_calls=found.late_calls,
            latest_ms=round(found.latest_ms, 1), disturbed=found.disturbed, missed=found.missed,
            late_timers=found.late_timers, lost=len(found.lost) + len(lost), doubled=len(found.doubled),
            wrong=len(found.wrong), refused=len(self.rig.refused),
            violations=[*lost, *found.violations, *short], left_out=left_out,
        )  # fmt: skip
