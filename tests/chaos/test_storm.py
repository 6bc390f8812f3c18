"""A long storm: sessions one after another on the embedded stack while its processes are killed and frozen.

There are three: one of consensus and maci, one of MADP tasks with a debate beneath every second, and one of consensus
and critic whose processes have clocks that are up to ten minutes apart and whose disk fills up. Each has processes of
its own. The faults are drawn anew in each run; PARLEY_CHAOS_SEED repeats one, and PARLEY_CHAOS_KEEP names a folder for
the services' logs, and those of sessions of which something is wrong.
"""

import asyncio
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random

import msgspec
import pytest

from parley.bus.errors import BusError
from parley.client.errors import ParleyError
from parley.coordinator.sessions.sweep import EVERY_S
from parley.stack.rows import AgentRow
from tests.chaos import tasks
from tests.chaos.faults import (
    ANALYST,
    ANSWERER,
    CRITIC,
    DEBATER,
    EXPERT,
    HELPER,
    JUDGE,
    MODERATOR,
    NATS,
    PANELIST,
    SUPERVISOR,
    Faults,
)
from tests.chaos.harness import CONSENSUS, QUEUES, Play, Rig, calm_arrivals, critic, maci, make_stack, pause, shown
from tests.support import crash
from tests.support.small_disk import SmallDisk, small_disk

pytestmark = [pytest.mark.alone, pytest.mark.timeout(900)]
SEED, KEEP = os.environ.get("PARLEY_CHAOS_SEED", ""), os.environ.get("PARLEY_CHAOS_KEEP", "")
KILLS, LIMIT_S = 50, 240.0
"""So many processes are killed at least; and a storm that has not played its sessions by then has failed."""
SESSION_S = 60.0
TURN_S = 1.0
"""A session that is not over after the one, and the other for each of its turns, counts as lost."""
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
    sessions: int
    """To play, at least."""
    plays: tuple[Play, Play]
    """A lane plays them in turn."""
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
        return sum(play.turns + play.beneath for play in self.plays) // 2 + 1


def debates() -> Ground:
    """Consensus and maci in turn, two copies of every agent."""
    rows = tuple(AgentRow(queue=q, copies=2, room=16) for q in QUEUES)
    plays = CONSENSUS, maci()
    return Ground(name="debates", sessions=300, plays=plays, weights=WEIGHTS, agents=rows, at_once=12)


def work() -> Ground:
    """Tasks that are taken at once, and claimed; five experts of one copy each, two of all others."""
    plays = tasks.at_once(), tasks.claimed()
    rows = tuple(
        msgspec.structs.replace(row, copies=1 + (not row.queue.startswith(EXPERT))) for row in tasks.rows(*plays)
    )
    return Ground(name="tasks", sessions=120, plays=plays, weights=AMONG_EXPERTS, agents=rows, at_once=6)


def apart() -> Ground:
    """Consensus and critic, two copies of every agent, each process with a clock of its own; on a small disk."""

    def patient(play: Play) -> Play:
        return msgspec.structs.replace(play, request=msgspec.structs.replace(play.request, turn_timeout_s=PATIENT_S))

    plays = patient(CONSENSUS), patient(critic())
    queues = dict.fromkeys(q for p in plays for q in p.queues)
    return Ground(
        name="apart", sessions=120, plays=plays, weights=APART, at_once=10, imports=("tests.chaos.skew",),
        agents=tuple(AgentRow(queue=q, copies=2, room=16) for q in queues), disk_mb=DISK_MB,
    )  # fmt: skip


class Storm:
    """One run."""

    def __init__(
        self, folder: Path, ground: Ground, seed: int, tell: Callable[[str], None], disk: SmallDisk | None = None
    ) -> None:
        """`disk`: where its state lies, and what it fills up."""
        self.ground = ground
        self.plays = ground.plays
        self.tell = tell
        self.rng = Random(seed)
        stack = make_stack(
            folder, moderators=2, latency_s=0.05, crash=self._points(), agents=ground.agents, imports=ground.imports,
        )  # fmt: skip
        self.disk = disk
        self.fills = 0
        self.rig = Rig(folder, stack, self.plays, disk.path / "state" if disk is not None else None)
        self.rig.keep = Path(KEEP) if KEEP else None
        self.faults = Faults(self.rig.lease, Random(seed + 1))
        self.late: list[str] = []
        self.took: list[float] = []
        self._freezing: set[asyncio.Task[bool]] = set()

    def _points(self) -> str:
        """Deaths at named points, spread over the run behind the calm sessions."""
        calm = max(calm_arrivals(p, self.plays) for p in crash.POINTS)
        arrivals = calm + 1, calm + self.ground.turns * self.ground.sessions
        return " ".join(f"{p}:{self.rng.randrange(*arrivals)}" for p in crash.POINTS for _ in range(POINT_KILLS))

    async def run(self) -> list[str]:
        """Play until the aims are reached or time is over, wait until all is quiet, and check everything; what is
        wrong."""
        async with self.rig as rig:
            await rig.learn()
            started = time.monotonic()
            self.deadline = started + LIMIT_S
            faulting = asyncio.create_task(self._fault())
            try:
                await asyncio.gather(*(self._play(i) for i in range(self.ground.at_once)))
            finally:
                faulting.cancel()
                ended = await asyncio.gather(faulting, *self._freezing, return_exceptions=True)
            if isinstance(ended[0], Exception):
                raise ended[0]  # from there on nothing was disturbed
            await self._await_late()
            seconds = time.monotonic() - started
            await self.faults.scrape()
            found = await rig.findings(QUIET_S)
            self.tell(f"{self.ground.name}: {self.played} sessions in {seconds:.0f} s: {self._did()} {shown(found)}")
            late = [] if self.disk else [f"late: {text}" for text in self.late]  # on a full disk sessions wait
            short = [] if self._reached() else [f"{self.played} sessions and {self.kills} kills in {LIMIT_S:g} s"]
            return [*late, *found.violations, *short]

    async def _await_late(self) -> None:
        """What was not over in its time may be by now: it is checked as the others are. Else it is lost."""
        for sid, why in list(self.rig.failed.items()):
            try:
                async with asyncio.timeout(SESSION_S):
                    await self.rig.client.result(sid)
                    history = await self.rig.history(sid)
            except (TimeoutError, BusError, ParleyError):
                continue
            self.rig.followed[sid] = tuple(post for posts in history.values() for post in posts)
            self.late.append(f"{sid}: over, and not within its time: {why}")
            del self.rig.failed[sid]

    @property
    def played(self) -> int:
        return len(self.took)

    @property
    def kills(self) -> int:
        return sum(self.faults.kills.values()) + len(crash.done(self.rig.crashes))

    def _reached(self) -> bool:
        return self.played >= self.ground.sessions and self.kills >= KILLS

    async def _play(self, lane: int) -> None:
        n = 0
        while not self._reached() and time.monotonic() < self.deadline:
            sid = f"s{lane}-{n}"
            n += 1
            play = self.plays[(lane + n) % 2]
            began = time.monotonic()
            limit_s = SESSION_S + TURN_S * (play.turns + play.beneath)
            if await self.rig.attempt(sid, self.rng.randrange(play.seeds), play, limit_s, self.tell):
                self.took.append(time.monotonic() - began)

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

    def _did(self) -> dict[str, float]:
        """What was done to the sessions, and what came of it, by name."""
        kills = Counter(f"killed: {kind}" for kind in self.faults.kills.elements())
        kills += Counter(f"killed: at {name.split('-')[0]}" for name in crash.done(self.rig.crashes))
        return {
            "95 % of the sessions ended within, s": round(sorted(self.took)[len(self.took) * 95 // 100], 1)
            if self.took else 0.0,
            **dict(sorted(kills.items())),
            **{f"frozen: {kind}": n for kind, n in sorted(self.faults.freezes.items())},
            "full disks": self.fills,
            "redeliveries (at least)": self.faults.total("parley_redeliveries_total"),
            "conflicts (at least)": self.faults.total("parley_append_conflicts_total"),
            "effects carried out again (at least)": self.faults.total("parley_effects_reissued_total"),
            "openings refused for want of a worker": len(self.rig.refused),
            "over, and not within their time": len(self.late),
        }  # fmt: skip


@pytest.mark.parametrize("ground", [debates, work, apart], ids=["debates", "tasks", "apart"])
def test_a_storm_loses_and_doubles_nothing(ground: Callable[[], Ground], tmp_path: Path) -> None:
    seed, over = int(SEED or secrets.randbits(32)), ground()
    print(f"{over.name}: seed {seed}")
    with ExitStack() as exits:
        disk = exits.enter_context(small_disk(tmp_path / "small", over.disk_mb)) if over.disk_mb else None
        assert asyncio.run(Storm(tmp_path, over, seed, print, disk).run()) == []
