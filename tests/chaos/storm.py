"""A long storm: sessions one after another on the embedded stack while its processes are killed and frozen.

There are four: one of consensus and maci, one of competitions, one of MADP tasks with a debate beneath every third, and
one of consensus and critic whose processes have clocks that are up to ten minutes apart and whose disk fills up. Each
has processes of its own.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from parley.bus.errors import BusError
from parley.client.errors import ParleyError, Refusal
from parley.coordinator.sessions.sweep import EVERY_S
from parley.stack.rows import AgentRow
from tests.chaos import competitions, tasks
from tests.chaos.faults import (
    ANALYST,
    ANSWERER,
    CON,
    CRITIC,
    DEBATER,
    EXPERT,
    HELPER,
    JUDGE,
    MODERATOR,
    NATS,
    PANELIST,
    PRO,
    SUPERVISOR,
    Faults,
)
from tests.chaos.harness import CONSENSUS, QUEUES, Play, Rig, calm_arrivals, critic, maci, make_stack, pause
from tests.chaos.verify import Findings
from tests.support import crash
from tests.support.small_disk import SmallDisk

SESSION_S = 60.0
TURN_S = 1.0
"""A session that is not over after the one, and the other for each of its turns, counts as lost."""
REFUSED_S = 1.0
"""After an opening that was refused since a worker was missing: the next one is tried so much later."""
QUIET_S = EVERY_S + 30.0
"""So long WORK and IN may take to be empty: what a killed server kept of acknowledged ones goes with a sweep."""
FROZEN_S = (1.5, 3.5)
"""Mostly past a request's 2 s."""
KILL, FREEZE, FILL = "kill", "freeze", "fill"
DISK = "disk"
FULL_S = (0.5, 4.0)
"""So long the disk is full. A server that met it is started again at most every ten seconds."""
PATIENT_S = 120.0
"""A turn's time where the disk is full again and again, and a sweep may be what brings its session back."""
DISK_MB = 400
WEIGHTS: dict[tuple[str, str], int] = {
    (KILL, MODERATOR): 26, (KILL, PANELIST): 16, (KILL, ANALYST): 8, (KILL, NATS): 10, (KILL, SUPERVISOR): 4,
    (KILL, DEBATER): 8, (KILL, JUDGE): 6, (KILL, HELPER): 6,
    (FREEZE, MODERATOR): 10, (FREEZE, PANELIST): 6, (FREEZE, ANALYST): 3, (FREEZE, DEBATER): 3, (FREEZE, HELPER): 2,
}  # fmt: skip
AMONG_TEAMS: dict[tuple[str, str], int] = {
    (KILL, MODERATOR): 22, (KILL, PRO): 16, (KILL, CON): 16, (KILL, JUDGE): 12, (KILL, NATS): 10, (KILL, SUPERVISOR): 3,
    (FREEZE, MODERATOR): 8, (FREEZE, PRO): 5, (FREEZE, CON): 5, (FREEZE, JUDGE): 3,
}  # fmt: skip
AMONG_EXPERTS: dict[tuple[str, str], int] = {
    (KILL, MODERATOR): 24, (KILL, EXPERT): 26, (KILL, HELPER): 12, (KILL, NATS): 8, (KILL, SUPERVISOR): 3,
    (KILL, PANELIST): 4, (KILL, ANALYST): 3,
    (FREEZE, MODERATOR): 8, (FREEZE, EXPERT): 8, (FREEZE, HELPER): 4,
}  # fmt: skip
APART: dict[tuple[str, str], int] = {
    (KILL, MODERATOR): 24, (KILL, PANELIST): 12, (KILL, ANALYST): 5, (KILL, ANSWERER): 8, (KILL, CRITIC): 8,
    (KILL, JUDGE): 6, (KILL, HELPER): 6, (KILL, NATS): 6, (KILL, SUPERVISOR): 2,
    (FREEZE, MODERATOR): 8, (FREEZE, PANELIST): 5, (FREEZE, CRITIC): 3, (FILL, DISK): 8,
}  # fmt: skip
AMID = 0.25
"""This share of the faults comes whatever is being started just then. Before all others the stack is whole again."""
RECOVERED_S = 10.0
POINT_KILLS = 4
"""Of each named point."""


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What a storm is over."""

    name: str
    plays: tuple[Play, ...]
    order: tuple[int, ...]
    """Indices of plays, in the order in which a lane plays them."""
    weights: dict[tuple[str, str], int]
    agents: tuple[AgentRow, ...]
    at_once: int
    imports: tuple[str, ...] = ()
    """Modules that its processes load."""
    disk_mb: int = 0
    """Size of the file system that its state lies on; 0: it has none of its own."""

    @property
    def turns(self) -> int:
        """Of a session, on average."""
        return sum(self.plays[i].turns + self.plays[i].beneath for i in self.order) // len(self.order) + 1


def debates() -> Ground:
    """Consensus and maci in turn, two copies of every agent."""
    rows = tuple(AgentRow(queue=q, copies=2, room=16) for q in QUEUES)
    plays = CONSENSUS, maci()
    return Ground(name="debates", plays=plays, order=(0, 1), weights=WEIGHTS, agents=rows, at_once=12)


def teams() -> Ground:
    """Short competitions and every fifth a whole one; eight debaters of one copy each, two judges."""
    plays = competitions.short(), competitions.whole()
    rows = tuple(AgentRow(queue=q, copies=1 + (q == JUDGE), room=16) for q in competitions.queues(*plays))
    order = (0, 0, 0, 1, 0)
    return Ground(name="competitions", plays=plays, order=order, weights=AMONG_TEAMS, agents=rows, at_once=6)


def work() -> Ground:
    """Tasks that are taken at once, claimed, and claimed in words; five experts of one copy each, two of all others."""
    plays = tasks.at_once(), tasks.claimed(), tasks.worded()
    rows = tuple(
        msgspec.structs.replace(row, copies=1 + (not row.queue.startswith(EXPERT))) for row in tasks.rows(*plays)
    )
    return Ground(name="tasks", plays=plays, order=(0, 1, 2), weights=AMONG_EXPERTS, agents=rows, at_once=6)


def apart() -> Ground:
    """Consensus and critic, two copies of every agent, each process with a clock of its own; on a small disk."""
    plays = tuple(
        msgspec.structs.replace(p, request=msgspec.structs.replace(p.request, turn_timeout_s=PATIENT_S))
        for p in (CONSENSUS, critic())
    )
    queues = dict.fromkeys(q for p in plays for q in p.queues)
    return Ground(
        name="apart", plays=plays, order=(0, 1), weights=APART, at_once=10, imports=("tests.chaos.skew",),
        agents=tuple(AgentRow(queue=q, copies=2, room=16) for q in queues), disk_mb=DISK_MB,
    )  # fmt: skip


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """What a storm is to reach."""

    sessions: int = 300
    kills: int = 50
    seconds: float = 240.0
    """Limit on playing; a storm that has not reached its aims by then has failed."""
    seed: int = 0
    """Of the log."""
    keep: str = ""
    """Folder for the logs of sessions of which something is wrong; empty: they go with the stack."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a storm did and what was found."""

    name: str
    seed: int
    sessions: int
    seconds: float
    p95_s: float
    """Of the sessions' own durations: they all run among faults."""
    kills: dict[str, int]
    freezes: dict[str, int]
    fills: int
    """How often the disk was full."""
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
    disturbed: int
    missed: int
    refused: int
    """Openings that were refused since a worker was missing. Their users were told, and other sessions were opened."""
    late: int
    """Sessions that were over, and not within their time: allowed where the disk was full."""
    lost: int
    doubled: int
    wrong: int
    violations: list[str]

    @property
    def passed(self) -> bool:
        return not self.violations


class Storm:
    """One run."""

    def __init__(
        self, folder: Path, ground: Ground, aim: Aim, tell: Callable[[str], None], disk: SmallDisk | None = None
    ) -> None:
        """`disk`: where its state lies, and what it fills up."""
        self.ground = ground
        self.plays = ground.plays
        self.aim = aim
        self.tell = tell
        self.rng = Random(aim.seed)
        stack = make_stack(
            folder, moderators=2, latency_s=0.05, crash=self._points(), agents=ground.agents, imports=ground.imports,
        )  # fmt: skip
        self.disk = disk
        self.fills = 0
        self.rig = Rig(folder, stack, self.plays, disk.path / "state" if disk is not None else None)
        self.rig.keep = Path(aim.keep) if aim.keep else None
        self.faults = Faults(self.rig.lease, Random(aim.seed + 1))
        self.failed: dict[str, str] = {}
        self.late: list[str] = []
        self.took: list[float] = []
        self._freezing: set[asyncio.Task[bool]] = set()

    def _points(self) -> str:
        """Deaths at named points, spread over the run behind the calm sessions."""
        calm = max(calm_arrivals(p, self.plays) for p in crash.POINTS)
        arrivals = calm + 1, calm + self.ground.turns * self.aim.sessions
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
                await asyncio.gather(*(self._play(i) for i in range(self.ground.at_once)))
            finally:
                faulting.cancel()
                telling.cancel()
                ended = await asyncio.gather(faulting, telling, *self._freezing, return_exceptions=True)
            if isinstance(ended[0], Exception):
                raise ended[0]  # from there on nothing was disturbed
            await self._await_late()
            seconds = time.monotonic() - started
            await self.faults.scrape()
            self.tell("checking every session")
            return self._report(await rig.findings(QUIET_S), seconds)

    async def _await_late(self) -> None:
        """What was not over in its time may be by now: it is checked as the others are. Else it is lost."""
        for sid, why in list(self.failed.items()):
            try:
                async with asyncio.timeout(SESSION_S):
                    await self.rig.client.result(sid)
                    history = await self.rig.history(sid)
            except (TimeoutError, BusError, ParleyError):
                del self.rig.played[sid]
                continue
            self.rig.followed[sid] = tuple(post for posts in history.values() for post in posts)
            self.late.append(f"{sid}: over, and not within its time: {why}")
            del self.failed[sid]

    @property
    def played(self) -> int:
        return len(self.took)

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
            order = self.ground.order
            play = self.plays[order[(lane + n) % len(order)]]
            began = time.monotonic()
            try:
                async with asyncio.timeout(SESSION_S + TURN_S * (play.turns + play.beneath)):
                    await self.rig.play(sid, self.rng.randrange(play.seeds), play)
                self.took.append(time.monotonic() - began)
            except Refusal as error:
                if sid not in self.rig.refused:
                    self.failed[sid] = str(error)
                self.tell(f"{sid}: {error}")
                await pause(REFUSED_S)
            except (TimeoutError, BusError, ParleyError) as error:
                self.failed[sid] = f"{type(error).__name__}: {error}"
                self.tell(f"{sid}: {self.failed[sid]}")

    async def _fault(self) -> None:
        deeds, weights = list(self.ground.weights), list(self.ground.weights.values())
        while True:
            await pause(self.rng.uniform(0.2, 1.2))
            if self.rng.random() > AMID:
                await self.faults.recovered(RECOVERED_S)
            what, kind = self.rng.choices(deeds, weights)[0]
            if what == FILL:
                await self._fill()
            elif what == KILL:
                await self.faults.kill(kind)
            else:
                task = asyncio.create_task(self.faults.freeze(kind, self.rng.uniform(*FROZEN_S)))
                self._freezing.add(task)
                task.add_done_callback(self._freezing.discard)

    async def _fill(self) -> None:
        """Let the disk be full for a while; nothing is killed meanwhile, since a stack refuses to start there."""
        if self.disk is None:
            return
        self.disk.fill()
        self.fills += 1
        try:
            await pause(self.rng.uniform(*FULL_S))
        finally:
            self.disk.clear()

    async def _tell(self, started: float) -> None:
        while True:
            await pause(5.0)
            frozen = sum(self.faults.freezes.values())
            did = f"{self.kills} kills, {frozen} freezes, {self.fills} full disks"
            self.tell(f"{time.monotonic() - started:4.0f} s: {self.played} sessions, {did}")

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
        late = [] if self.disk else [f"late: {text}" for text in self.late]  # on a full disk sessions wait
        figures: dict[str, Any] = {
            name: self.faults.total(f"parley_{series}")
            for name, series in (
                ("redeliveries", "redeliveries_total"),
                ("conflicts", "append_conflicts_total"),
                ("reissued", "effects_reissued_total"),
            )
        }
        return Report(
            name=self.ground.name, seed=self.aim.seed, sessions=self.played, seconds=round(seconds, 1),
            p95_s=round(sorted(self.took)[len(self.took) * 95 // 100], 1) if self.took else 0.0, kills=kills,
            freezes=dict(sorted(self.faults.freezes.items())), fills=self.fills, turns=found.turns, calls=found.calls,
            extra_calls=found.extra_calls, late_calls=found.late_calls, latest_ms=round(found.latest_ms, 1),
            late_timers=found.late_timers, disturbed=found.disturbed, missed=found.missed,
            lost=len(found.lost) + len(self.failed), doubled=len(found.doubled), wrong=len(found.wrong),
            late=len(self.late), refused=len(self.rig.refused),
            violations=[*(f"lost: {s}: {why}" for s, why in self.failed.items()), *late, *found.violations, *short],
            **figures,
        )  # fmt: skip
