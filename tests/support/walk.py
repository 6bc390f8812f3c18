"""Walks the whole reachable state graph of a protocol in small worlds, and takes every edge.

A protocol's `worlds.py` says what may be said in each of its worlds, what a session's future depends on, and what is
true in every state; it calls that `WALK`. Shown here for all of them: every edge makes progress (so there is no cycle),
an open session waits for somebody by an armed timer, `done` is the only sink, and in every state it can be cancelled.

A world is walked once a test run: what the processes of the run find out they leave to each other.
"""

import dataclasses
import fcntl
import gc
import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from parley.coordinator.machine import Cell, Illegal, OpenTurn, Protocol, Session, begin, step, to
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.turn import Usage
from parley.schemas.wire import encode, raw
from tests.support.play import START_NS

PROTOCOLS_DIR = Path(__file__).parents[1] / "protocols"
Triple = tuple[str, str, str]
"""(phase, event, phase led to)"""
Move = tuple[log.Event, int]
"""What happens, and when."""


@dataclasses.dataclass(frozen=True)
class Walked:
    """What a walk through one world found."""

    triples: frozenset[Triple]
    reasons: frozenset[str]
    states: int


@dataclasses.dataclass(frozen=True)
class Expected:
    """What a world is known to come to; the others need only be walked."""

    reasons: frozenset[str]
    """Beside a cancel, which ends a session everywhere."""
    states: int = 0
    """At least."""


def expect(*reasons: str, states: int = 0) -> Expected:
    return Expected(frozenset(reasons), states)


def waits_for_turns(session: Session) -> None:
    """An open session has a turn open, and a timer that comes no later than its deadline."""
    assert session.turns and session.timer_ns is not None
    assert session.timer_ns <= min(t.ask.deadline_ns for t in session.turns.values())


def key(world: Any, session: Session) -> bytes:
    """What a session's future depends on: all that it remembers."""
    late = 0 if getattr(world, "fails", "") else session.at_ns - session.opened_ns
    paid = session.ledger.used(), session.ledger.lost
    return encode([session.inner, asks(session), paid, late, graces(world, session), session.closed])


def graces(world: Any, session: Session) -> list[Any]:
    """What graces hang on: times where a world has seats that fail, whose models say what a turn takes; else whether
    there are any."""
    if not getattr(world, "fails", ""):
        return [[bool(t.failing_ns), t.aside] for t in session.turns.values()]
    ago = [session.at_ns - at_ns if at_ns else None for at_ns in (session.quorum_ns,)]
    for t in session.turns.values():
        ago += [session.at_ns - at_ns if at_ns else None for at_ns in (t.asked_ns, t.failing_ns)]
    return [ago, [t.aside for t in session.turns.values()]]


def key_with_posts(world: Any, session: Session) -> bytes:
    """The same, and all that was said."""
    said = [[p.kind, p.seat, p.body] for p in session.posts if p.kind != "closed"]
    return key(world, session) + encode(said)


def asks(session: Session) -> list[list[Any]]:
    """The open turns, as a key has them."""
    return [[t.ask.seat, t.ask.kind, t.ask.round, t.ask.attempt] for t in session.turns.values()]


def awaited(session: Session) -> int:
    """Open turns that somebody waits for."""
    return sum(not t.aside for t in session.turns.values())


def failing(session: Session) -> int:
    """Open turns that are known to fail."""
    return sum(t.failing_ns > 0 for t in session.turns.values())


def attempts(session: Session) -> int:
    """How often the open turns were tried."""
    return sum(t.ask.attempt for t in session.turns.values())


@dataclasses.dataclass(frozen=True)
class Walk:
    """A protocol, its worlds, and what may happen in them. A world can say how its session is opened."""

    protocol: Protocol
    worlds: Mapping[str, Any]
    expected: Mapping[str, Expected]
    moves: Callable[[Any, Session], Iterator[Move]]
    """Everything that may happen next, but for a cancel."""
    rank: Callable[[Session], tuple[Any, ...]] | None = None
    """Grows with every event that is not an idle tick, and is bounded. Without one the graph is searched for cycles."""
    key: Callable[[Any, Session], bytes] = key
    waits: Callable[[Session], None] = waits_for_turns
    """What an open session waits for."""
    hold: Callable[[Session], None] = lambda session: None
    """What is true in every state."""
    watch: Callable[[str, str, Any, Any, Iterable[Any]], None] = lambda phase, event, before, after, wishes: None
    """What is true of every cell taken: its phase and event, the state before and after, and what it wishes."""
    cancels: Callable[[Any], bool] = lambda world: True
    """Whether the sessions of a world are cancelled in every state."""
    tries: Callable[[Any], int] = lambda world: world.settings.get("attempts", 1)
    """How often the turns of a world are asked."""
    may_be_refused: tuple[type[Any], ...] = ()
    """Events that have no place in some states."""

    def __call__(self, name: str) -> Walked:
        """Walk one world."""
        collects = gc.isenabled()
        gc.disable()  # states are many and hold no cycles
        try:
            return _Walker(self, self.worlds[name]).run()
        finally:
            if collects:
                gc.enable()

    @property
    def named(self) -> set[Triple]:
        """Where the table's cells say that they may lead."""
        return {
            (str(phase), event.__name__, str(target))
            for phase, row in self.protocol.table.items()
            for event, cell in row.items()
            for target in cell.targets
        }


class _Walker:
    """One world, and what was seen of it so far."""

    def __init__(self, walk: Walk, world: Any) -> None:
        self.walk = walk
        self.world = world
        self.triples: set[Triple] = set()
        self.reasons: set[str] = set()
        self.arrows: dict[bytes, set[bytes]] = {}
        self.bare = dataclasses.replace(walk.protocol, attempts=walk.tries(world))
        self.protocol = self._watched()

    def run(self) -> Walked:
        first, _ = begin(self.protocol, "s1", self.world.opening(), START_NS)
        start = self.walk.key(self.world, first)
        todo, known = [(start, first)], {start}
        while todo:
            here, session = todo.pop()
            self.walk.hold(session)
            self.arrows[here] = set()
            if session.closed:
                self._ended(session)
                continue
            assert session.inner.phase != self.protocol.done
            self.walk.waits(session)
            for there, after in self._edges(here, session):
                if self.walk.rank is None:
                    self.arrows[here].add(there)
                if there not in known:
                    known.add(there)
                    todo.append((there, after))
        if self.walk.rank is None:
            acyclic(self.arrows)
        return Walked(frozenset(self.triples), frozenset(self.reasons), len(known))

    def _edges(self, here: bytes, session: Session) -> Iterator[tuple[bytes, Session]]:
        """Where every event leads that is not an idle tick; a cancel ends it here, and so does who wants the answer
        now."""
        rank = self.walk.rank
        before = rank(session) if rank else ()
        for event, at_ns in self.walk.moves(self.world, session):
            try:
                after, _ = step(self.protocol, session, event, at_ns)
            except Illegal:
                assert isinstance(event, self.walk.may_be_refused), event
                continue
            there = self.walk.key(self.world, after)
            if there == here and isinstance(event, log.TimerFired):
                continue
            grows = rank(after) > before if rank else there != here
            if isinstance(event, log.TimerFired):  # one that was early waits for a later time
                grows = grows or _waits(after) > _waits(session)
            assert grows, (event, session.inner, after.inner)
            yield there, after
        if not self.walk.cancels(self.world):
            return
        after, _ = step(self.protocol, session, log.Cancelled(author="client"), session.at_ns)
        self.walk.hold(after)
        assert after.closed
        self._ended(after)
        if session.stopped is None:
            after, _ = step(self.bare, session, log.Hurried(author="client"), session.at_ns)
            self.walk.hold(after)
            assert after.closed and after.stopped is not None and after.stopped.reason != "budget"

    def _ended(self, session: Session) -> None:
        assert session.inner.phase == self.protocol.done and session.stopped is not None
        self.reasons.add(session.stopped.reason)
        with pytest.raises(Illegal):
            step(self.protocol, session, log.Cancelled(author="client"), session.at_ns)

    def _watched(self) -> Protocol:
        """The protocol, with every cell telling which way it went."""

        def watched(phase: str, event: str, cell: Cell) -> Cell:
            def handler(s: Any, e: Any, v: Any) -> Any:
                after, wishes = cell.handler(s, e, v)
                self.triples.add((phase, event, str(after.phase)))
                self.walk.watch(phase, event, s, after, wishes)
                return after, wishes

            return to(handler, *cell.targets)

        table = {
            phase: {event: watched(str(phase), event.__name__, cell) for event, cell in row.items()}
            for phase, row in self.walk.protocol.table.items()
        }
        return dataclasses.replace(self.bare, table=table)


def _waits(session: Session) -> tuple[int, int]:
    return session.at_ns, session.timer_ns or 0


def acyclic(arrows: Mapping[bytes, set[bytes]]) -> None:
    """Whoever follows the arrows comes to an end."""
    into = dict.fromkeys(arrows, 0)
    for targets in arrows.values():
        for target in targets:
            into[target] += 1
    free = [x for x, n in into.items() if not n]
    done = 0
    while free:
        done += 1
        for target in arrows[free.pop()]:
            into[target] -= 1
            if not into[target]:
                free.append(target)
    assert done == len(arrows), "the graph has a cycle"


# -- what may happen in many worlds
def replies(
    turn: OpenTurn, bodies: Iterable[object], now: int, *, tokens: int = 0, late: bool = False, misses: bool = True
) -> Iterator[Move]:
    """Each of these replies to a turn, and none at all; at the very end of its deadline too if `late`."""
    usage = Usage(input_tokens=tokens, calls=1)
    bodies = list(bodies)
    for at_ns in {now, turn.ask.deadline_ns} if late else {now}:
        for body in bodies:
            yield log.Replied(turn=turn.id, body=raw(body), usage=usage), at_ns
        if misses:
            yield log.Replied(turn=turn.id, body=raw(None), usage=usage, error="down"), at_ns


def ticks(session: Session, *, graces: bool = False) -> Iterator[Move]:
    """The timer, at the next deadline and before; with `graces` also when it is armed for."""
    assert session.timer_ns is not None
    due = [t.ask.deadline_ns for t in session.turns.values()]
    for at_ns in {session.timer_ns if graces or not due else min(due), session.at_ns}:
        yield log.TimerFired(), at_ns


def some(session: Session, failing: str) -> list[OpenTurn]:
    """The first open turn, and those of the seat that fails: where it stands among the others does not matter."""
    turns = list(session.turns.values())
    others = [t for t in turns if t.ask.seat != failing]
    return [*others[:1], *(t for t in turns if t.ask.seat == failing)]


def fails(session: Session, seat: str) -> Iterator[Move]:
    """The open turn of a seat begins to fail."""
    for turn in session.turns.values():
        if turn.ask.seat == seat and not (turn.failing_ns or turn.aside):
            yield log.Retrying(turn=turn.id, why="HTTP 429"), session.at_ns


# -- all walks
def walks() -> dict[str, Walk]:
    """Protocol -> its walk, of every protocol that has a `worlds.py`."""
    protocols = sorted(path.parent.name for path in PROTOCOLS_DIR.glob("*/worlds.py"))
    return {name: importlib.import_module(f"tests.protocols.{name}.worlds").WALK for name in protocols}


def unwalked() -> set[str]:
    """The protocols whose sessions end, and that no walk goes through."""
    return {name for name, protocol in PROTOCOLS.items() if not protocol.standing} - set(walks())


class Walks:
    """Walks each world once a test run, whichever of its processes asks."""

    def __init__(self, folder: Path | None) -> None:
        """`folder`: what the processes of a run share; None: there is but one."""
        self.folder = folder
        self._here: dict[tuple[str, str], Walked] = {}

    def __call__(self, protocol: str, world: str) -> Walked:
        """What the walk through this world found."""
        at = protocol, world
        if at not in self._here:
            self._here[at] = self._shared(*at) if self.folder else walks()[protocol](world)
        return self._here[at]

    def all(self, protocol: str) -> list[Walked]:
        """What the walks through all worlds of a protocol found."""
        return [self(protocol, world) for world in walks()[protocol].worlds]

    def _shared(self, protocol: str, world: str) -> Walked:
        assert self.folder is not None
        self.folder.mkdir(exist_ok=True)
        with (self.folder / f"{protocol}, {world}.json").open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            text = file.read()
            if text:
                said = json.loads(text)
                triples = frozenset((phase, event, target) for phase, event, target in said["triples"])
                return Walked(triples, frozenset(said["reasons"]), said["states"])
            walked = walks()[protocol](world)
            said = {"triples": sorted(walked.triples), "reasons": sorted(walked.reasons), "states": walked.states}
            file.write(json.dumps(said))
            return walked
