"""A long storm: sessions one after another on the embedded stack while its processes are killed and frozen."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from bus.errors import BusError
from parley.errors import ParleyError
from tests.chaos.faults import ANALYST, DEBATER, HELPER, JUDGE, MODERATOR, NATS, PANELIST, SUPERVISOR, Faults
from tests.chaos.harness import CONSENSUS, QUEUES, Rig, calm_arrivals, maci, make_stack, pause
from tests.chaos.verify import Findings
from tests.support import crash

AT_ONCE = 12
SESSION_S = 60.0
"""A session that is not over by then counts as lost."""
FROZEN_S = (1.5, 3.5)
"""Past ack_wait (1 s), and mostly past a request's 2 s."""
KILL, FREEZE = "kill", "freeze"
WEIGHTS: dict[tuple[str, str], int] = {
    (KILL, MODERATOR): 26, (KILL, PANELIST): 16, (KILL, ANALYST): 8, (KILL, NATS): 10, (KILL, SUPERVISOR): 4,
    (KILL, DEBATER): 8, (KILL, JUDGE): 6, (KILL, HELPER): 6,
    (FREEZE, MODERATOR): 10, (FREEZE, PANELIST): 6, (FREEZE, ANALYST): 3, (FREEZE, DEBATER): 3, (FREEZE, HELPER): 2,
}  # fmt: skip
POINT_KILLS = 4
"""Of each named point."""


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """What a storm is to reach."""

    sessions: int = 300
    kills: int = 50
    seconds: float = 240.0
    """Limit on playing; a storm that has not reached its aims by then has failed."""
    seed: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a storm did and what was found."""

    seed: int
    sessions: int
    seconds: float
    kills: dict[str, int]
    freezes: dict[str, int]
    redeliveries: int
    conflicts: int
    reissued: int
    """Transitions whose effects were carried out again."""
    turns: int
    calls: int
    extra_calls: int
    late_calls: int
    latest_ms: float
    late_timers: int
    lost: int
    doubled: int
    wrong: int
    violations: list[str]

    @property
    def passed(self) -> bool:
        return not self.violations


class Storm:
    """One run."""

    def __init__(self, folder: Path, aim: Aim, tell: Callable[[str], None]) -> None:
        self.aim = aim
        self.tell = tell
        self.rng = Random(aim.seed)
        self.plays = CONSENSUS, maci()
        stack = make_stack(folder, moderators=2, copies=2, latency_s=0.05, crash=self._points(), queues=QUEUES)
        self.rig = Rig(folder, stack, self.plays)
        self.faults = Faults(self.rig.lease, Random(aim.seed + 1))
        self.failed: list[str] = []
        self.played = 0
        self._freezing: set[asyncio.Task[bool]] = set()

    def _points(self) -> str:
        """Deaths at named points, spread over the run behind the calm sessions."""
        calm = max(calm_arrivals(p, self.plays) for p in crash.POINTS)
        arrivals = calm + 1, calm + 14 * self.aim.sessions
        return " ".join(f"{p}:{self.rng.randrange(*arrivals)}" for p in crash.POINTS for _ in range(POINT_KILLS))

    async def run(self) -> Report:
        """Play until the aims are reached or time is over, wait until all is quiet, and check everything."""
        async with self.rig as rig:
            await rig.learn()
            started = time.monotonic()
            self.deadline = started + self.aim.seconds
            faulting = asyncio.create_task(self._fault())
            telling = asyncio.create_task(self._tell(started))
            try:
                await asyncio.gather(*(self._play(i) for i in range(AT_ONCE)))
            finally:
                faulting.cancel()
                telling.cancel()
                await asyncio.gather(faulting, telling, *self._freezing, return_exceptions=True)
            for sid in [s for s in rig.played if any(f.startswith(f"{s}:") for f in self.failed)]:
                del rig.played[sid]
            seconds = time.monotonic() - started
            await self.faults.scrape()
            self.tell("checking every session")
            return self._report(await rig.findings(), seconds)

    @property
    def kills(self) -> int:
        return sum(self.faults.kills.values()) + len(crash.done(self.rig.crashes))

    def _go_on(self) -> bool:
        reached = self.played >= self.aim.sessions and self.kills >= self.aim.kills
        return not reached and time.monotonic() < self.deadline

    async def _play(self, lane: int) -> None:
        n = 0
        while self._go_on():
            sid = f"s{lane}-{n}"
            n += 1
            play = self.plays[(lane + n) % len(self.plays)]
            try:
                async with asyncio.timeout(SESSION_S):
                    await self.rig.play(sid, self.rng.randrange(play.seeds), play)
                self.played += 1
            except (TimeoutError, BusError, ParleyError) as error:
                self.failed.append(f"{sid}: {type(error).__name__}: {error}")
                self.tell(self.failed[-1])

    async def _fault(self) -> None:
        deeds, weights = list(WEIGHTS), list(WEIGHTS.values())
        while True:
            await pause(self.rng.uniform(0.2, 1.2))
            what, kind = self.rng.choices(deeds, weights)[0]
            if what == KILL:
                await self.faults.kill(kind)
            else:
                task = asyncio.create_task(self.faults.freeze(kind, self.rng.uniform(*FROZEN_S)))
                self._freezing.add(task)
                task.add_done_callback(self._freezing.discard)

    async def _tell(self, started: float) -> None:
        while True:
            await pause(5.0)
            frozen = sum(self.faults.freezes.values())
            self.tell(
                f"{time.monotonic() - started:4.0f} s: {self.played} sessions, {self.kills} kills, {frozen} freezes"
            )

    def _report(self, found: Findings, seconds: float) -> Report:
        kills = dict(sorted(self.faults.kills.items()))
        for name in crash.done(self.rig.crashes):
            at = f"at {name.split('-')[0]}"
            kills[at] = kills.get(at, 0) + 1
        short = []
        if self.played < self.aim.sessions or self.kills < self.aim.kills:
            short.append(
                f"aim: {self.played} of {self.aim.sessions} sessions and {self.kills} of {self.aim.kills} kills "
                f"within {self.aim.seconds:g} s"
            )
        figures: dict[str, Any] = {
            name: self.faults.total(f"parley_{series}")
            for name, series in (
                ("redeliveries", "redeliveries_total"),
                ("conflicts", "append_conflicts_total"),
                ("reissued", "effects_reissued_total"),
            )
        }
        return Report(
            seed=self.aim.seed, sessions=self.played, seconds=round(seconds, 1), kills=kills,
            freezes=dict(sorted(self.faults.freezes.items())), turns=found.turns, calls=found.calls,
            extra_calls=found.extra_calls, late_calls=found.late_calls, latest_ms=round(found.latest_ms, 1),
            late_timers=found.late_timers,
            lost=len(found.lost) + len(self.failed), doubled=len(found.doubled), wrong=len(found.wrong),
            violations=[*(f"lost: {f}" for f in self.failed), *found.violations, *short], **figures,
        )  # fmt: skip
