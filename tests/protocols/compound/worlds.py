"""The whole state graph of a question of several parts."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from parley.coordinator.admission import admit
from parley.coordinator.machine import Session
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.presence import Announcement
from parley.schemas.protocols.compound import Joined, Signature, Split
from parley.schemas.result import Result, ResultUsage, SeatUsage, Stop
from parley.schemas.session import Budget, Document, OpenSession, SessionEnded
from parley.schemas.stops import STOPS
from tests.support.play import BasePlay
from tests.support.walk import Move, Walk, attempts, expect, key_with_posts, replies

COMPOUND = PROTOCOLS["compound"]
UNLIMITED = Budget()
PARTS = ("Which database?", "Which cloud?")
PANEL = ("panelist_1", "panelist_2")


def workers(panel: int, *, metered: bool) -> tuple[Announcement, ...]:
    there = [("analyst", "analyst"), *((f"panelist_{n}", "panelist") for n in range(1, panel + 1))]
    return tuple(
        Announcement(instance="i", queue=q, roles=(role,), model="stub", family="stub", metered=metered)
        for q, role in there
    )


def opening(
    settings: dict[str, Any], budget: Budget = UNLIMITED, documents: tuple[Document, ...] = (), panel: int = 2
) -> log.Opened:
    request = OpenSession(
        question="Where to?", protocol="compound", settings=settings, budget=budget, documents=documents
    )
    return admit(COMPOUND, request, workers(panel, metered=bool(budget.tokens)), 7, "client")


class Play(BasePlay):
    """One session by hand."""

    def __init__(
        self,
        budget: Budget = UNLIMITED,
        documents: tuple[Document, ...] = (),
        panel: int = 2,
        **settings: Any,
    ) -> None:
        super().__init__(COMPOUND, opening(settings, budget, documents, panel))

    @property
    def started(self) -> list[log.StartChild]:
        return [c for e in self.entries for c in e.commands if isinstance(c, log.StartChild)]

    def ends(self, sid: str, *dissent: str, **more: Any) -> log.Entry:
        return self.event(log.ChildEnded(session=sid, ended=ended(sid, *dissent, **more)), f"ended:{sid}")


def ended(
    sid: str, *dissent: str, answer: str = "a", reason: str = "threshold", status: str = "finished", why: str = ""
) -> SessionEnded:
    """How a part ends."""
    if status != "finished":
        return SessionEnded(protocol="consensus", status=status, why=why)
    minority = [{"seat": f"p{n}", "answer": x} for n, x in enumerate(dissent)]
    result = Result(
        session=sid,
        protocol="consensus",
        status=status,
        outcome={"answer": answer, "confidence": 0.8 if answer else 0.0, "minority": minority},
        stop=Stop(reason=reason, converged=STOPS[reason].converged, certificate={}),
        rounds=(),
        usage=ResultUsage(
            turns=3,
            calls=3,
            input_tokens=30,
            output_tokens=3,
            estimated=False,
            cost_usd=0.0,
            unaccounted_turns=0,
            unaccounted_tokens=0,
            by_seat={seat: SeatUsage() for seat in (*PANEL, "analyst")},
        ),
        duration_s=1.0,
    )
    return SessionEnded(protocol="consensus", status=status, reason=reason, result=result)


@dataclasses.dataclass(frozen=True)
class Small:
    """One small world."""

    parts: tuple[str, ...] = PARTS
    budget: Budget = UNLIMITED
    confirm_s: float = 0.0

    def opening(self) -> log.Opened:
        caps = {"max_input_tokens": 100, "max_output_tokens": 20, "parts": self.parts}
        return opening(caps | {"confirm_s": self.confirm_s}, self.budget)


WORLDS = {
    "given": Small(),
    "proposed": Small(parts=()),
    "confirmed": Small(parts=(), confirm_s=30.0),
    "seconds": Small(budget=Budget(seconds=5)),
    "seconds, confirmed": Small(parts=(), budget=Budget(seconds=5), confirm_s=30.0),
    "tokens": Small(parts=(), budget=Budget(tokens=1_200)),
}
BODIES = {
    "split": (Split(parts=PARTS),),
    "join": (Joined(answer="both"),),
    "sign": (Signature(signs=True), Signature(signs=False, differs="the cloud")),
}


def moves(world: Small, session: Session) -> Iterator[Move]:
    """Everything that may happen next, and when."""
    now = session.at_ns
    for turn in session.turns.values():
        yield from replies(turn, BODIES[turn.ask.kind], now, tokens=100)
    if session.windows:
        for choice in ("ok", "Which one?", ""):
            yield log.Decided(item="1", choice=choice, author="client"), now
    for sid in session.children:
        yield log.ChildEnded(session=sid, ended=ended(sid)), now
        yield log.ChildEnded(session=sid, ended=ended(sid, reason="decided")), now
        yield log.ChildEnded(session=sid, ended=ended(sid, status="refused", why="no worker")), now
    if session.timer_ns is not None:
        yield log.TimerFired(), session.timer_ns


def waits(session: Session) -> None:
    """An open session waits for a turn, a person, or its parts."""
    assert session.turns or session.windows or session.children


PHASES = ("splitting", "editing", "running", "joining", "signing", "done")


def rank(session: Session) -> tuple[int, ...]:
    """Grows with every event that is not an idle tick, and is bounded."""
    s = session.inner
    return (
        session.closed,
        session.stopped is not None,
        PHASES.index(s.phase),
        -len(session.children),
        len(s.signed) + len(s.absent),
        attempts(session),
    )


ENDS = ("joined", "in_parts", "partly", "no_part")
EXPECTED = {
    "given": expect(*ENDS),
    "proposed": expect(*ENDS, "quorum"),
    "confirmed": expect(*ENDS, "quorum"),
    "seconds": expect(*ENDS, "budget"),
    "seconds, confirmed": expect(*ENDS, "quorum", "budget"),
    "tokens": expect(*ENDS, "quorum"),
}
WALK = Walk(
    COMPOUND,
    WORLDS,
    EXPECTED,
    moves,
    rank,
    key_with_posts,
    waits=waits,
    may_be_refused=(log.Decided,),
    tries=lambda world: 2,
)
