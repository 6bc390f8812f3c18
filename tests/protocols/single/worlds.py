"""The whole state graph of a session with one seat."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from parley.coordinator.admission import admit
from parley.coordinator.machine import Session
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.presence import Announcement
from parley.schemas.protocols.single import Answer
from parley.schemas.session import Budget, Document, OpenSession
from tests.support.play import BasePlay, tried
from tests.support.walk import Move, Walk, attempts, expect, key_with_posts, replies, ticks

SINGLE = PROTOCOLS["single"]
UNLIMITED = Budget()
SAYS, ABSTAINS = (
    Answer(answer="Tape", reasoning="it lasts", confidence=0.8),
    Answer(answer="", reasoning="nothing to go on", confidence=0.0, abstains=True),
)


def worker(**more: Any) -> Announcement:
    return Announcement(instance="i", queue="answerer", roles=("answerer",), model="stub", family="stub", **more)


def opening(settings: dict[str, Any], budget: Budget = UNLIMITED, documents: tuple[Document, ...] = ()) -> log.Opened:
    request = OpenSession(
        question="Which medium?", protocol="single", settings=settings, budget=budget, documents=documents
    )
    return admit(SINGLE, request, (worker(metered=bool(budget.tokens)),), 7, "client")


class Play(BasePlay):
    """One session by hand."""

    def __init__(self, *documents: Document, **settings: Any) -> None:
        protocol, given = tried(SINGLE, settings)
        super().__init__(protocol, opening(given, documents=documents))


@dataclasses.dataclass(frozen=True)
class Small:
    """One small world."""

    attempts: int = 1
    budget: Budget = UNLIMITED

    def opening(self) -> log.Opened:
        caps = {"max_input_tokens": 100, "max_output_tokens": 20}
        return opening(caps, self.budget)


WORLDS = {
    "once": Small(),
    "retries": Small(attempts=3),
    "seconds": Small(budget=Budget(seconds=5)),
}


def moves(world: Small, session: Session) -> Iterator[Move]:
    """Everything that may happen next, and when."""
    for turn in session.turns.values():
        yield from replies(turn, (SAYS, ABSTAINS), session.at_ns)
    yield from ticks(session)


def rank(session: Session) -> tuple[int, ...]:
    """Grows with every event that is not an idle tick, and is bounded."""
    return session.closed, session.stopped is not None, attempts(session)


EXPECTED = {
    "once": expect("answered", "unanswered", "quorum"),
    "seconds": expect("answered", "unanswered", "quorum", "budget"),
}
WALK = Walk(SINGLE, WORLDS, EXPECTED, moves, rank, key_with_posts, tries=lambda world: world.attempts)
