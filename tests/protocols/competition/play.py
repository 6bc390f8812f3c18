"""A competition played by hand: admitted, asked, answered, without a bus."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from parley.coordinator.admission import admit
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.protocols.competition.seats import due
from parley.coordinator.table import View
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.presence import Announcement
from parley.schemas.protocols.competition.format import DIMENSIONS, Format
from parley.schemas.protocols.competition.messages import (
    Ballot,
    Bid,
    Breach,
    CaptainBrief,
    Decision,
    FinalReview,
    Marks,
    Note,
    QuestionBrief,
    Questions,
    Spoken,
    StageSummary,
)
from parley.schemas.session import Budget, Document, OpenSession, Seat
from parley.schemas.wire import decode, raw
from tests.support.play import BasePlay, tried

COMPETITION = PROTOCOLS["competition"]
MOTION = "This house would ban advertising to children."
FORMATS = Path(__file__).parents[3] / "schemas" / "formats"
WEIGHTS = {"logic": 0.25, "persuasion": 0.25, "expression": 0.20, "teamwork": 0.15, "rule_compliance": 0.15}
PENALTIES = {
    "overtime": {"team": -3, "individual": -2},
    "consecutive": {"team": -3},
    "counter_question": {"individual": -2},
    "attacker_answered": {"individual": -2},
}
"""The seed's."""


def shipped(name: str) -> dict[str, Any]:
    """A format file as plain values."""
    found: dict[str, Any] = yaml.safe_load((FORMATS / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


def small(*agenda: Mapping[str, Any], seats: int = 2, confer: int = 0, summary: bool = False, **more: Any) -> Any:
    """One stage of a format with few seats, as plain values."""
    stage = {"name": "one", "title": "One", "confer": confer, "summary": summary, "agenda": list(agenda)}
    return {
        "name": "small", "title": "Small",
        "teams": {"pro": {"name": "Pro", "seats": seats}, "con": {"name": "Con", "seats": seats}},
        "pace": {"words_per_minute": 60}, "weights": WEIGHTS, "penalties": PENALTIES, "stages": [stage], **more,
    }  # fmt: skip


def speech(seat: str, words: int = 10, **more: Any) -> dict[str, Any]:
    return {"t": "speech", "seat": seat, "words": words, "task": f"{seat} speaks", **more}


def exchange(asker: str, *answerers: str, **more: Any) -> dict[str, Any]:
    return {
        "t": "exchange", "asker": asker, "answerers": list(answerers), "question_words": 10, "answer_words": 10, **more,
    }  # fmt: skip


def free(seconds: float = 20, words: int = 10, **more: Any) -> dict[str, Any]:
    """At 60 words a minute a word is a second."""
    return {"t": "free", "seconds": seconds, "words": words, **more}


def vote(name: str) -> dict[str, Any]:
    return {"t": "vote", "name": name}


def workers(format_: Format, **more: Any) -> tuple[Announcement, ...]:
    return tuple(
        Announcement(instance=f"i-{seat}", queue=seat, roles=(role,), model="stub", family="stub", **more)
        for seat, role in due(format_).items()
    )


def marks(value: float = 5, *violations: Breach, comment: str = "", **more: float) -> Marks:
    """The same in every dimension, but for those named."""
    return Marks(**{**dict.fromkeys(DIMENSIONS, value), **more}, violations=violations, comment=comment)


def words(n: int) -> str:
    """So many words."""
    return " ".join(f"w{i}" for i in range(n))


class Play(BasePlay):
    """Plays events one after another and keeps every log entry."""

    def __init__(
        self,
        format_: Mapping[str, Any],
        settings: Mapping[str, Any] | None = None,
        *,
        documents: Sequence[Document] = (),
        budget: Budget | None = None,
        seats: Sequence[Seat] = (),
        there: Sequence[Announcement] | None = None,
        motion: str = MOTION,
        turn_timeout_s: float = 120.0,
        **more: Any,
    ) -> None:
        protocol, given = tried(COMPETITION, settings)
        request = OpenSession(
            question=motion, protocol="competition", settings={"format": dict(format_), **given},
            documents=tuple(documents), budget=budget or Budget(), seats=tuple(seats), turn_timeout_s=turn_timeout_s,
        )  # fmt: skip
        if there is None:
            there = workers(msgspec.convert(dict(format_), Format), **more)
        opened = admit(protocol, request, tuple(there), 7, "client")
        super().__init__(protocol, opened)

    # -- events
    def interrupts(self, author: str, channel: str = "public") -> log.Entry:
        said = raw({"text": "I was not asked"})
        return self.event(
            log.Spoke(author=author, channel=channel, window=f"w{self.session.n}", kind="speech", body=said)
        )

    def says(self, seat: str, text: str = "", **more: Any) -> log.Entry:
        return self.reply(seat, Spoken(text=text or f"Well said by {seat}.", **more))

    def asks(self, seat: str, answerer: str, *questions: str) -> log.Entry:
        return self.reply(seat, Questions(answerer=answerer, questions=questions or ("Why?", "How?", "When?")))

    def scores(self, value: float = 5, *violations: Breach, **more: Any) -> log.Entry:
        return self.reply("judge", marks(value, *violations, **more))

    def names(self, captain: str, speaker: str, direction: str = "press them") -> log.Entry:
        return self.reply(captain, Decision(speaker=speaker, direction=direction))

    def bids(self, seat: str, wants: bool = True, urgency: float = 0.5) -> log.Entry:
        return self.reply(seat, Bid(wants=wants, urgency=urgency, point="one thing"))

    def auto(self, seat: str) -> log.Entry:
        """A plain reply to whatever the seat is asked."""
        ask = self.ask(seat)
        match ask.kind:
            case "confer":
                return self.reply(seat, Note(text=f"note of {seat} for stage {ask.round}"))
            case "speak" | "answer":
                return self.says(seat, f"A word of {seat}.")
            case "question":
                return self.asks(seat, decode(ask.brief, QuestionBrief).answerers[0])
            case "captain":
                return self.names(seat, decode(ask.brief, CaptainBrief).may[0])
            case "bid":
                return self.bids(seat)
            case "score":
                return self.scores(comment="noted")
            case "summarize":
                return self.reply(seat, StageSummary(text="so it stood"))
            case "review":
                return self.reply(seat, FinalReview(text="a fine debate"))
        return self.reply(seat, Ballot(choice="undecided"))

    def until(self, kind: str) -> "Play":
        """Plain replies until somebody is asked this; at the end of the session, in any case."""
        while self.session.turns and not any(t.ask.kind == kind for t in self.session.turns.values()):
            self.auto(next(iter(self.session.turns.values())).ask.seat)
        return self

    def to_the_end(self) -> "Play":
        return self.until("")

    # -- looking
    def seen(self, seat: str) -> list[Post]:
        return [self.session.posts[n] for n in self.ask(seat).sees]

    def outcome_now(self) -> Any:
        """The outcome as it would be if the session ended here."""
        s = self.session
        return COMPETITION.outcome(s.inner, View(s.opened, s.settings, s.posts, len(s.posts), (), s.at_ns))[0]
