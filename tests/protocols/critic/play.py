"""A session of the critic protocol played by hand: admitted, asked, answered, without a bus."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from coordinator.admission import admit
from coordinator.machine import OpenTurn, Session, record, record_opening
from coordinator.protocols import PROTOCOLS
from schemas import log
from schemas.post import Post
from schemas.presence import Announcement
from schemas.protocols.critic import (
    NO_NEW_OBJECTION,
    Addressed,
    Answer,
    Critique,
    Judgement,
    Rewritten,
    Similarities,
    Verdict,
)
from schemas.result import Result
from schemas.session import Budget, Document, OpenSession, Seat
from schemas.turn import Usage
from schemas.wire import decode, encode, raw

CRITIC = PROTOCOLS["critic"]
START_NS = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
ONE_CALL = Usage(calls=1)
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


class Play:
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
        **more: Any,
    ) -> None:
        request = OpenSession(
            question=ASKED, protocol="critic", settings=dict(settings or {}), documents=tuple(documents),
            budget=budget or Budget(), seats=tuple(seats),
        )  # fmt: skip
        opened = admit(CRITIC, request, tuple(workers(**more) if there is None else there), seed, "client")
        self.now_ns = START_NS
        self.session: Session
        self.session, entry = record_opening(CRITIC, "s1", opened, self.now_ns, "in:1")
        self.entries: list[log.Entry] = [entry]
        if rewritten:
            self.reply("judge", Rewritten(question=REWRITTEN))

    # -- events
    def event(self, event: log.Event, cause: str = "x", after_s: float = 0.1) -> log.Entry:
        self.now_ns += int(after_s * SECOND)
        self.session, entry = record(CRITIC, self.session, self.entries[-1].digest, event, self.now_ns, cause)
        self.entries.append(entry)
        return entry

    def reply(self, seat: str, body: object, usage: Usage = ONE_CALL, error: str = "", **more: Any) -> log.Entry:
        turn = self.turn(seat)
        return self.event(log.Replied(turn=turn.id, body=raw(body), usage=usage, error=error, **more), turn.id)

    def fail(self, seat: str) -> None:
        """Every attempt of the seat's turn fails."""
        for _ in range(self.session.settings.attempts):
            self.reply(seat, None, error="model unreachable")

    def expire(self) -> log.Entry:
        """Lets the timer fire when the open turns' deadline, or the budget's, has come."""
        due = max(t.ask.deadline_ns for t in self.session.turns.values())
        return self.event(log.TimerFired(), "in:9", max(0.0, (due - self.now_ns) / SECOND))

    def answers(self, text: str = "Tape", *addresses: int, **more: Any) -> log.Entry:
        return self.reply("answerer", answer(text, *addresses, **more))

    def objects(self, text: str = NO_NEW_OBJECTION, **more: Any) -> log.Entry:
        return self.reply("critic", Critique(objection=text, **more))

    def compares(self, *values: float) -> log.Entry:
        return self.reply("helper", Similarities(values=values))

    def judges(self, score: float = 50, *answered: int) -> log.Entry:
        return self.reply("judge", Judgement(score=score, answered=answered))

    def verdict(self, text: str = "Tape") -> log.Entry:
        return self.reply("judge", Verdict(answer=text, reasoning="it held"))

    def round(self, objection: str, score: float = 50, *answered: int) -> None:
        """One whole round with a new objection."""
        profile = len(self.session.inner.profile)
        self.answers("Tape", *answered)
        self.objects(objection)
        if profile:
            self.compares(*[0.1] * profile)
        self.judges(score, *answered)

    # -- looking
    @property
    def phase(self) -> str:
        return str(self.session.inner.phase)

    def turn(self, seat: str) -> OpenTurn:
        return next(t for t in self.session.turns.values() if t.ask.seat == seat)

    def ask(self, seat: str) -> log.Ask:
        return self.turn(seat).ask

    def brief(self, seat: str) -> Any:
        return msgspec.json.decode(self.ask(seat).brief)

    def posts(self, kind: str) -> list[Post]:
        return [p for p in self.session.posts if p.kind == kind]

    def last(self, kind: str) -> Any:
        return msgspec.json.decode(self.posts(kind)[-1].body)

    @property
    def stop(self) -> Any:
        return self.last("stop")

    @property
    def certificate(self) -> Any:
        return self.stop["certificate"]

    @property
    def result(self) -> Result:
        return decode(self.posts("closed")[-1].body, Result)

    @property
    def log(self) -> list[bytes]:
        return [encode(e) for e in self.entries]
