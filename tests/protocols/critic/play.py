"""A session of the critic protocol played by hand: admitted, asked, answered, without a bus."""

from collections.abc import Mapping, Sequence
from typing import Any

from parley.coordinator.admission import admit
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.presence import Announcement
from parley.schemas.protocols.critic import (
    NO_NEW_OBJECTION,
    Addressed,
    Answer,
    Critique,
    Judgement,
    Rewritten,
    Similarities,
    Verdict,
)
from parley.schemas.session import Budget, Document, OpenSession, Seat
from tests.support.play import BasePlay

CRITIC = PROTOCOLS["critic"]
ROLES = ("answerer", "critic", "judge", "helper")
ASKED = "Surely everybody agrees that tape is the best backup?"
REWRITTEN = "Which medium keeps backups most reliably?"


def workers(**more: Any) -> tuple[Announcement, ...]:
    return tuple(
        Announcement(instance=f"i-{r}", queue=r, roles=(r,), model="stub", family="stub", **more) for r in ROLES
    )


def answer(text: str = "Tape", *addresses: int, **more: Any) -> Answer:
    said = tuple(Addressed(objection=n, how=f"because of {n}") for n in addresses)
    return Answer(**{"answer": text, "reasoning": f"because {text}", "confidence": 0.8, "addresses": said, **more})


class Play(BasePlay):
    """Plays events one after another and keeps every log entry."""

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        documents: Sequence[Document] = (),
        budget: Budget | None = None,
        seats: Sequence[Seat] = (),
        there: Sequence[Announcement] | None = None,
        seed: int = 7,
        rewritten: bool = True,
        question: str = ASKED,
        **more: Any,
    ) -> None:
        request = OpenSession(
            question=question, protocol="critic", settings=dict(settings or {}), documents=tuple(documents),
            budget=budget or Budget(), seats=tuple(seats),
        )  # fmt: skip
        opened = admit(CRITIC, request, tuple(workers(**more) if there is None else there), seed, "client")
        super().__init__(CRITIC, opened)
        if rewritten:
            self.reply("judge", Rewritten(question=REWRITTEN))

    # -- events
    def answers(self, text: str = "Tape", *addresses: int, **more: Any) -> log.Entry:
        return self.reply("answerer", answer(text, *addresses, **more))

    def objects(self, text: str = NO_NEW_OBJECTION, **more: Any) -> log.Entry:
        return self.reply("critic", Critique(objection=text, **more))

    def compares(self, *values: float) -> log.Entry:
        return self.reply("helper", Similarities(values=values))

    def judges(self, score: float = 50, *answered: int) -> log.Entry:
        return self.reply("judge", Judgement(score=score, answered=answered))

    def verdict(self, text: str = "Tape", ruling: str = "", **more: Any) -> log.Entry:
        """`ruling`: by default the one that does not contradict the debate."""
        brief = self.brief("judge")
        allowed = "narrows" if brief.get("overturned_by") else "upholds"
        return self.reply("judge", Verdict(answer=text, reasoning="it held", ruling=ruling or allowed, **more))

    def round(self, objection: str, score: float = 50, *answered: int) -> None:
        """One whole round with a new objection."""
        profile = len(self.session.inner.profile)
        self.answers("Tape", *answered)
        self.objects(objection)
        if profile:
            self.compares(*[0.1] * profile)
        self.judges(score, *answered)

    # -- looking
