"""The whole reachable state graph of critic with small example events: every edge is taken.

Shown on the way: every edge makes progress (so there is no cycle), an open session always waits for somebody by an
armed timer, `done` is the only sink, and every cell of the table leads to each of the phases that it names.
"""

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from coordinator.machine import Cell, Illegal, Protocol, Session, begin, step, to
from coordinator.protocols import PROTOCOLS
from coordinator.replay import replay
from schemas import log
from schemas.protocols.critic import NO_NEW_OBJECTION, Critique, Judgement, Rewritten, Similarities, Verdict
from schemas.session import Budget
from schemas.turn import Usage
from schemas.wire import encode, raw
from tests.protocols.critic.play import CRITIC, REWRITTEN, START_NS, Play, answer

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
        for phase, row in CRITIC.table.items()
    }
    return dataclasses.replace(CRITIC, table=table)


@dataclasses.dataclass(frozen=True)
class Small:
    """One small world: its settings, and what may be said in it."""

    settings: dict[str, Any]
    scores: tuple[float, ...] = (20,)
    similar: tuple[float, ...] = (0.1, 0.9)
    objections: tuple[str, ...] = ("",)
    """The empty one differs by round."""
    budget: Budget = UNLIMITED
    usages: tuple[int, ...] = (0,)
    late: bool = False
    """Whether replies may also come at the very end of their deadline."""

    def opening(self) -> log.Opened:
        caps = {"max_input_tokens": 100, "max_output_tokens": 20, "attempts": 1, **self.settings}
        play = Play(caps, budget=self.budget, metered=bool(self.budget.tokens), rewritten=False)
        return play.session.opened


WORLDS = {
    "rounds": Small({"round_limit": 2, "threshold": 60}, scores=(20, 100), objections=("", "it burns")),
    "late press": Small({"round_limit": 2, "min_rounds": 1, "quorum": 1, "attempts": 2}),
    "bias": Small({"round_limit": 2, "min_rounds": 1, "measure_bias": True, "start": 75}, scores=(20, 100)),
    "seconds": Small(
        {"round_limit": 2, "min_rounds": 2, "measure_bias": True}, similar=(0.1,), budget=Budget(seconds=5), late=True
    ),
    "no second judgement": Small(
        {"round_limit": 1, "measure_bias": True}, budget=Budget(tokens=480 + 120 * 3), usages=(120,)
    ),
    "no second attempt": Small({"round_limit": 1, "attempts": 2}, budget=Budget(tokens=480 + 120 * 2), usages=(120,)),
    **{
        f"{n} turns": Small(
            {"round_limit": 3, "min_rounds": 3, "measure_bias": True},
            budget=Budget(tokens=480 + 120 * (n - 1)),
            usages=(120,),
        )
        for n in range(1, 9)
    },
}


def bodies(world: Small, session: Session, ask: log.Ask) -> Iterator[object]:
    profile = session.inner.profile
    match ask.kind:
        case "rewrite":
            yield Rewritten(question=REWRITTEN)
        case "answer":
            yield answer()
        case "critique" | "press":
            yield Critique(objection=NO_NEW_OBJECTION)
            yield from (Critique(objection=text or f"objection of round {ask.round}") for text in world.objections)
        case "compare":
            yield from (Similarities(values=(x,) * len(profile)) for x in world.similar)
        case "judge":
            numbers = tuple(o.number for o in profile)
            for score in world.scores:
                yield Judgement(score=score)
                if numbers:
                    yield Judgement(score=score, answered=numbers)
        case "verdict":
            yield Verdict(answer="Tape", reasoning="r")


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


ORDER = ("rewriting", "answering", "critiquing", "comparing", "pressing", "judging", "rejudging", "concluding", "done")


def rank(session: Session) -> tuple[int, ...]:
    """Grows with every event that is not an idle tick, and is bounded."""
    s = session.inner
    attempts = sum(t.ask.attempt for t in session.turns.values())
    pressed, said = (s.now.pressed, len(s.now.raised)) if s.rounds else (False, 0)
    phase = ORDER.index(s.phase) - 2 * (s.phase == "pressing" and said < 1)
    again = s.phase == "comparing" and said > 1
    ended = session.stopped is not None
    return (session.closed, ended, 0 if ended else len(s.rounds), pressed, said, phase + again, attempts)


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
        assert len(session.turns) == 1, "one seat speaks at a time"
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


ENDS = {"objections_exhausted", "round_limit", "quorum", "cancelled"}


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("rounds", ENDS | {"confidence"}),
        ("late press", ENDS),
        ("bias", ENDS | {"confidence"}),
        ("seconds", ENDS | {"budget"}),
        ("no second judgement", {"budget", "quorum", "round_limit", "cancelled"}),
        ("no second attempt", {"budget", "quorum", "cancelled"}),
        ("8 turns", {"budget", "quorum", "objections_exhausted", "cancelled"}),
    ],
)
def test_every_edge_makes_progress_and_done_is_the_only_sink(name: str, reasons: set[str]) -> None:
    _, ends, states = walk(name)
    assert states > 25
    assert set(ends) == reasons


def test_every_cell_leads_to_every_phase_that_it_names() -> None:
    named = {
        (str(phase), event.__name__, str(target))
        for phase, row in CRITIC.table.items()
        for event, cell in row.items()
        for target in cell.targets
    }
    reached = frozenset[Triple]().union(*(walk(name)[0] for name in WORLDS))
    assert reached == named


def test_a_walked_path_replays() -> None:
    """One path through every phase, its log recomputed."""
    play = Play({"round_limit": 2, "measure_bias": True})
    play.answers()
    play.objects("it burns")
    play.judges(50)
    play.judges(40)
    play.answers("Tape", 1)
    play.objects("it is inflammable")
    play.compares(0.9)
    play.objects()
    play.judges(50, 1)
    play.verdict()
    assert replay(PROTOCOLS.get, "s1", play.log).entries == tuple(play.entries)
