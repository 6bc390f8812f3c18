"""The whole reachable state graph of consensus with small example events: every edge is taken.

Shown on the way: every edge makes progress (so there is no cycle), an open session always waits for somebody by an
armed timer, `done` is the only sink, and every cell of the table leads to each of the phases that it names.
"""

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest

from coordinator.machine import Cell, Illegal, Protocol, Session, begin, step, to
from coordinator.protocols import PROTOCOLS
from coordinator.replay import replay
from schemas import log
from schemas.protocols.consensus import Analysis, Synthesis
from schemas.session import Budget
from schemas.text import same
from schemas.turn import Usage
from schemas.wire import encode, raw
from tests.protocols.consensus.play import CONSENSUS, START_NS, Play, says, workers

UNLIMITED = Budget()
Triple = tuple[str, str, str]
"""(phase, event, phase led to)"""


def watched(seen: set[Triple]) -> Protocol:
    """The protocol, with every cell telling which way it went."""

    def watch(phase: str, event: str, cell: Cell) -> Cell:
        def handler(s: Any, e: Any, v: Any) -> Any:
            after, wishes = cell.handler(s, e, v)
            seen.add((phase, event, str(after.phase)))
            return after, wishes

        return to(handler, *cell.targets)

    table = {
        phase: {event: watch(str(phase), event.__name__, cell) for event, cell in row.items()}
        for phase, row in CONSENSUS.table.items()
    }
    return dataclasses.replace(CONSENSUS, table=table)


@dataclasses.dataclass(frozen=True)
class Small:
    """One small world: its settings, and what may be said in it."""

    settings: dict[str, Any]
    answers: tuple[str, ...] = ("a", "b", "")
    """The empty one abstains."""
    scores: tuple[float, ...] = (10, 50, 95)
    panel: int = 2
    budget: Budget = UNLIMITED
    usages: tuple[int, ...] = (0,)
    late: bool = False
    """Whether replies may also come at the very end of their deadline."""

    def opening(self) -> log.Opened:
        caps = {"max_input_tokens": 100, "max_output_tokens": 20, **self.settings}
        there = workers(self.panel, metered=bool(self.budget.tokens))
        return Play(caps, panel=self.panel, there=there, budget=self.budget).session.opened


WORLDS = {
    "round_limit": Small({"round_limit": 2, "attempts": 1}),
    "stuck": Small({"round_limit": 4, "attempts": 1, "stuck_rounds": 2}, answers=("a",), scores=(10, 50)),
    "retries": Small({"round_limit": 2, "attempts": 3}, answers=("a",), scores=(10, 95)),
    "three": Small({"round_limit": 1, "attempts": 2}, panel=3),
    "seconds": Small(
        {"round_limit": 2, "attempts": 1}, answers=("a", "b"), scores=(10, 95), budget=Budget(seconds=5), late=True
    ),
    "tokens": Small(
        {"round_limit": 3, "attempts": 1}, answers=("a",), scores=(10,), budget=Budget(tokens=900), usages=(0, 240)
    ),
}


def bodies(world: Small, session: Session, ask: log.Ask) -> Iterator[object]:
    if ask.kind == "score":
        yield from (Analysis(score=s) for s in world.scores)
    elif ask.kind == "synthesize":
        yield Synthesis(answer="in other words", reasoning="r", confidence=0.5)
    else:
        own = None if ask.own is None else _answer(session, ask.own)
        for answer in world.answers:
            if not answer:
                yield says("", abstains=True)
            elif not own or same(own, answer):
                yield says(answer)
            else:
                yield says(answer, change="partly", change_reason="moved")


def _answer(session: Session, n: int) -> str:
    return str(msgspec.json.decode(session.posts[n].body)["answer"])


def events(world: Small, session: Session) -> Iterator[tuple[log.Event, int]]:
    """Everything that may happen next, and when."""
    now = session.at_ns
    for turn in session.turns.values():
        for tokens in world.usages:
            usage = Usage(input_tokens=tokens, calls=1)
            for at_ns in {now, turn.ask.deadline_ns} if world.late else {now}:
                for body in bodies(world, session, turn.ask):
                    yield log.Replied(turn=turn.id, body=raw(body), usage=usage), at_ns
                yield log.Replied(turn=turn.id, body=raw(None), usage=usage, error="down"), at_ns
    assert session.timer_ns is not None
    yield log.TimerFired(), session.timer_ns
    yield log.TimerFired(), now
    yield log.Cancelled(author="client"), now


def key(session: Session) -> bytes:
    """What a session's future depends on."""
    asks = [[t.ask.seat, t.ask.kind, t.ask.round, t.ask.attempt] for t in session.turns.values()]
    said = [[p.kind, p.seat, p.body] for p in session.posts if p.kind != "closed"]
    late = session.at_ns - session.opened_ns
    return encode([session.inner, asks, said, session.ledger.used(), session.ledger.lost, late, session.closed])


ORDER = {"answering": 0, "revising": 0, "scoring": 1, "synthesizing": 2, "done": 3}


def rank(session: Session) -> tuple[int, ...]:
    """Grows with every event that is not an idle tick, and is bounded."""
    s = session.inner
    attempts = sum(t.ask.attempt for t in session.turns.values())
    return (session.closed, session.stopped is not None, s.round, ORDER[s.phase], -len(session.turns), attempts)


@cache
def walk(name: str) -> tuple[frozenset[Triple], dict[str, int], int]:
    """(triples seen, stop reason -> closed states, states)."""
    world = WORLDS[name]
    seen: set[Triple] = set()
    protocol = watched(seen)
    first, _ = begin(protocol, "s1", world.opening(), START_NS)
    todo, known = [first], {key(first)}
    ends: dict[str, int] = {}
    while todo:
        session = todo.pop()
        if session.closed:
            assert session.inner.phase == protocol.done
            assert session.stopped is not None
            ends[session.stopped.reason] = ends.get(session.stopped.reason, 0) + 1
            with pytest.raises(Illegal):
                step(protocol, session, log.Cancelled(author="client"), session.at_ns)
            continue
        assert session.inner.phase != protocol.done
        assert session.turns
        assert session.timer_ns is not None
        assert session.timer_ns <= min(t.ask.deadline_ns for t in session.turns.values())
        for event, at_ns in events(world, session):
            after, _commands = step(protocol, session, event, at_ns)
            idle = isinstance(event, log.TimerFired) and key(after) == key(session)
            assert idle or rank(after) > rank(session), (event, session.inner, after.inner)
            if key(after) not in known:
                known.add(key(after))
                todo.append(after)
    return frozenset(seen), ends, len(known)


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("round_limit", {"threshold", "round_limit", "quorum", "cancelled"}),
        ("stuck", {"threshold", "stuck", "quorum", "cancelled"}),  # threshold: by the fallback's score
        ("retries", {"threshold", "round_limit", "quorum", "cancelled"}),
        ("three", {"threshold", "round_limit", "quorum", "cancelled"}),
        ("seconds", {"threshold", "round_limit", "quorum", "budget", "cancelled"}),
        ("tokens", {"threshold", "stuck", "budget", "quorum", "cancelled"}),
    ],
)
def test_every_edge_makes_progress_and_done_is_the_only_sink(name: str, reasons: set[str]) -> None:
    _, ends, states = walk(name)
    assert states > 30
    assert set(ends) == reasons


def test_every_cell_leads_to_every_phase_that_it_names() -> None:
    named = {
        (str(phase), event.__name__, str(target))
        for phase, row in CONSENSUS.table.items()
        for event, cell in row.items()
        for target in cell.targets
    }
    reached = frozenset[Triple]().union(*(walk(name)[0] for name in WORLDS))
    assert reached == named


def test_a_walked_path_replays() -> None:
    """One path through every phase, its log recomputed."""
    play = Play({"round_limit": 2})
    play.round(50, "a", "b", "a")
    play.round(50, "a", "b", "a")
    play.expire()
    play.expire()
    assert replay(PROTOCOLS.get, "s1", play.log).entries == tuple(play.entries)
