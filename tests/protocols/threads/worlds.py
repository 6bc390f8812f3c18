"""The whole state graph of a question of several parts."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from parley.coordinator.admission import admit
from parley.coordinator.machine import Session
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.presence import Announcement
from parley.schemas.protocols.threads import Joined, Split
from parley.schemas.result import Result, ResultUsage, Stop
from parley.schemas.session import Budget, OpenSession, SessionEnded
from tests.support.play import BasePlay
from tests.support.walk import Move, Walk, attempts, expect, key_with_posts, replies

THREADS = PROTOCOLS["threads"]
UNLIMITED = Budget()
USED = ResultUsage(
    turns=3, calls=3, input_tokens=30, output_tokens=3, estimated=False, cost_usd=0.0, unaccounted_turns=0,
    unaccounted_tokens=0, by_seat={},
)  # fmt: skip
PARTS = ("Which database?", "Which cloud?")


def opening(settings: dict[str, Any], budget: Budget = UNLIMITED) -> log.Opened:
    there = Announcement(
        instance="i", queue="analyst", roles=("analyst",), model="stub", family="stub", metered=bool(budget.tokens)
    )
    request = OpenSession(question="Where to?", protocol="threads", settings=settings, budget=budget)
    return admit(THREADS, request, (there,), 7, "client")


class Play(BasePlay):
    """One session by hand."""

    def __init__(self, budget: Budget = UNLIMITED, **settings: Any) -> None:
        super().__init__(THREADS, opening(settings, budget))

    @property
    def started(self) -> list[log.StartChild]:
        return [c for e in self.entries for c in e.commands if isinstance(c, log.StartChild)]

    def ends(self, sid: str, *dissent: str, **more: Any) -> log.Entry:
        return self.event(log.ChildEnded(session=sid, ended=ended(sid, *dissent, **more)), f"ended:{sid}")


def ended(
    sid: str, *dissent: str, answer: str = "a", converged: bool = True, status: str = "finished", why: str = ""
) -> SessionEnded:
    """How a part ends."""
    if status != "finished":
        return SessionEnded(protocol="consensus", status=status, why=why)
    reason = "threshold" if converged else "stuck"
    minority = [{"seat": f"p{n}", "answer": x} for n, x in enumerate(dissent)]
    result = Result(
        session=sid, protocol="consensus", status=status,
        outcome={"answer": answer, "confidence": 0.8 if answer else 0.0, "minority": minority},
        stop=Stop(reason=reason, converged=converged, certificate={}), rounds=(), usage=USED, duration_s=1.0,
    )  # fmt: skip
    return SessionEnded(protocol="consensus", status=status, reason=reason, result=result)


@dataclasses.dataclass(frozen=True)
class Small:
    """One small world."""

    parts: tuple[str, ...] = PARTS
    budget: Budget = UNLIMITED

    def opening(self) -> log.Opened:
        caps = {"max_input_tokens": 100, "max_output_tokens": 20, "attempts": 2, "parts": self.parts}
        return opening(caps, self.budget)


WORLDS = {
    "given": Small(),
    "proposed": Small(parts=()),
    "seconds": Small(budget=Budget(seconds=5)),
    "seconds, proposed": Small(parts=(), budget=Budget(seconds=5)),
    "tokens": Small(parts=(), budget=Budget(tokens=600)),
}


def moves(world: Small, session: Session) -> Iterator[Move]:
    """Everything that may happen next, and when."""
    now = session.at_ns
    for turn in session.turns.values():
        body = Split(parts=PARTS) if turn.ask.kind == "split" else Joined(answer="both")
        yield from replies(turn, (body,), now, tokens=120)
    if session.windows:
        for choice in ("ok", "Which one?", ""):
            yield log.Decided(item="1", choice=choice, author="client"), now
    for sid in session.children:
        yield log.ChildEnded(session=sid, ended=ended(sid)), now
        yield log.ChildEnded(session=sid, ended=ended(sid, status="refused", why="no worker")), now
    if session.timer_ns is not None:
        yield log.TimerFired(), session.timer_ns


def waits(session: Session) -> None:
    """An open session waits for a turn, a person, or its parts."""
    assert session.turns or session.windows or session.children


PHASES = ("splitting", "editing", "running", "joining", "done")


def rank(session: Session) -> tuple[int, ...]:
    """Grows with every event that is not an idle tick, and is bounded."""
    s = session.inner
    return (
        session.closed, session.stopped is not None, PHASES.index(s.phase), -len(session.children), attempts(session),
    )  # fmt: skip


EXPECTED = {
    "given": expect("joined", "partly", "unanswered"),
    "proposed": expect("joined", "partly", "unanswered", "quorum"),
    "seconds": expect("joined", "partly", "unanswered", "budget"),
    "seconds, proposed": expect("joined", "partly", "unanswered", "quorum", "budget"),
    "tokens": expect("joined", "partly", "unanswered", "quorum"),
}
WALK = Walk(
    THREADS, WORLDS, EXPECTED, moves, rank, key_with_posts, waits=waits, may_be_refused=(log.Decided,)
)  # fmt: skip
