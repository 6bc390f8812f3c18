"""A competition played by hand: admitted, asked, answered, without a bus."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from coordinator.admission import admit
from coordinator.machine import OpenTurn, Session, record, record_opening
from coordinator.protocols import PROTOCOLS
from coordinator.protocols.competition.seats import due
from coordinator.table import View
from schemas import log
from schemas.post import Post
from schemas.presence import Announcement
from schemas.protocols.competition.format import DIMENSIONS, Format
from schemas.protocols.competition.messages import (
    Ballot,
    Bid,
    Breach,
    CaptainBrief,
    Decision,
    Marks,
    Note,
    QuestionBrief,
    Questions,
    Review,
    Spoken,
    StageSummary,
)
from schemas.result import Result
from schemas.session import Budget, Document, OpenSession, Seat
from schemas.turn import Usage
from schemas.wire import decode, encode, raw

COMPETITION = PROTOCOLS["competition"]
START_NS = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
ONE_CALL = Usage(calls=1)
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


class Play:
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
        request = OpenSession(
            question=motion, protocol="competition", settings={"format": dict(format_), **(settings or {})},
            documents=tuple(documents), budget=budget or Budget(), seats=tuple(seats), turn_timeout_s=turn_timeout_s,
        )  # fmt: skip
        if there is None:
            there = workers(msgspec.convert(dict(format_), Format), **more)
        opened = admit(COMPETITION, request, tuple(there), 7, "client")
        self.now_ns = START_NS
        self.session: Session
        self.session, entry = record_opening(COMPETITION, "s1", opened, self.now_ns, "in:1")
        self.entries: list[log.Entry] = [entry]

    # -- events
    def event(self, event: log.Event, cause: str = "x", after_s: float = 0.1) -> log.Entry:
        self.now_ns += int(after_s * SECOND)
        self.session, entry = record(COMPETITION, self.session, self.entries[-1].digest, event, self.now_ns, cause)
        self.entries.append(entry)
        return entry

    def reply(self, seat: str, body: object, usage: Usage = ONE_CALL, error: str = "", **more: Any) -> log.Entry:
        turn = self.turn(seat)
        return self.event(log.Replied(turn=turn.id, body=raw(body), usage=usage, error=error, **more), turn.id)

    def fail(self, seat: str) -> log.Entry:
        """Every attempt of the seat's turn fails."""
        for _ in range(self.session.settings.attempts):
            self.reply(seat, None, error="model unreachable")
        return self.entries[-1]

    def expire(self) -> log.Entry:
        """Lets the timer fire when the open turns' deadline, or the budget's, has come."""
        due_ns = max(t.ask.deadline_ns for t in self.session.turns.values())
        return self.event(log.TimerFired(), "in:9", max(0.0, (due_ns - self.now_ns) / SECOND))

    def interrupts(self, author: str, channel: str = "public") -> log.Entry:
        said = raw({"text": "I was not asked"})
        return self.event(
            log.Spoke(author=author, channel=channel, window=f"w{self.session.n}", kind="speech", body=said)
        )

    def says(self, seat: str, text: str = "Well said.", **more: Any) -> log.Entry:
        return self.reply(seat, Spoken(text=text, **more))

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
                return self.reply(seat, Note(text=f"note of {seat}"))
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
                return self.reply(seat, Review(text="a fine debate"))
        return self.reply(seat, Ballot(choice="undecided"))

    def until(self, kind: str) -> "Play":
        """Plain replies until somebody is asked this; at the end of the session, in any case."""
        while self.session.turns and not any(t.ask.kind == kind for t in self.session.turns.values()):
            self.auto(next(iter(self.session.turns.values())).ask.seat)
        return self

    def to_the_end(self) -> "Play":
        return self.until("")

    # -- looking
    @property
    def phase(self) -> str:
        return str(self.session.inner.phase)

    def turn(self, seat: str) -> OpenTurn:
        return next(t for t in self.session.turns.values() if t.ask.seat == seat)

    def ask(self, seat: str) -> log.Ask:
        return self.turn(seat).ask

    def asked(self) -> list[tuple[str, str]]:
        """(seat, kind) of the open turns."""
        return [(t.ask.seat, t.ask.kind) for t in self.session.turns.values()]

    def brief(self, seat: str) -> Any:
        return msgspec.json.decode(self.ask(seat).brief)

    def seen(self, seat: str) -> list[Post]:
        return [self.session.posts[n] for n in self.ask(seat).sees]

    def posts(self, kind: str, channel: str = "") -> list[Post]:
        return [p for p in self.session.posts if p.kind == kind and channel in ("", p.channel)]

    def bodies(self, kind: str) -> list[Any]:
        return [msgspec.json.decode(p.body) for p in self.posts(kind)]

    def last(self, kind: str) -> Any:
        return self.bodies(kind)[-1]

    @property
    def stop(self) -> Any:
        return self.last("stop")

    @property
    def result(self) -> Result:
        return decode(self.posts("closed")[-1].body, Result)

    @property
    def outcome(self) -> Any:
        return self.result.outcome

    def outcome_now(self) -> Any:
        """The outcome as it would be if the session ended here."""
        s = self.session
        return COMPETITION.outcome(s.inner, View(s.opened, s.settings, s.posts, len(s.posts), (), s.at_ns))[0]

    @property
    def log(self) -> list[bytes]:
        return [encode(e) for e in self.entries]
