"""A session of the consensus protocol played by hand: admitted, asked, answered, without a bus."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal

from parley.coordinator.admission import admit
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.presence import Announcement
from parley.schemas.protocols.consensus import (
    AnswerGroup,
    CompareBrief,
    Comparison,
    ConcludeBrief,
    Conclusion,
    Position,
    Put,
    Signature,
    SignBrief,
)
from parley.schemas.session import Budget, Document, OpenSession, Seat
from parley.schemas.text import Citation
from parley.schemas.wire import decode
from tests.support.compared import comparison
from tests.support.play import BasePlay, tried

CONSENSUS = PROTOCOLS["consensus"]


def worker(queue: str, role: str = "panelist", family: str = "stub", **more: Any) -> Announcement:
    return Announcement(instance=f"i-{queue}", queue=queue, roles=(role,), model="stub", family=family, **more)


def workers(panel: int = 3, **more: Any) -> tuple[Announcement, ...]:
    return (*(worker(f"panelist_{i + 1}", **more) for i in range(panel)), worker("analyst", "analyst", **more))


def document(name: str, text: str, *holders: str) -> Document:
    return Document(id=sha256(text.encode()).hexdigest(), name=name, text=text, holders=holders)


def says(answer: str, **more: Any) -> Position:
    return Position(**{"answer": answer, "reasoning": f"because {answer}", "confidence": 0.8, **more})


class Play(BasePlay):
    """Plays events one after another and keeps every log entry."""

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        panel: int = 3,
        question: str = "What is the capital of Lithuania?",
        documents: Sequence[Document] = (),
        budget: Budget | None = None,
        seats: Sequence[Seat] = (),
        there: Sequence[Announcement] | None = None,
        seed: int = 7,
        timeout_s: float = 120.0,
    ) -> None:
        protocol, given = tried(CONSENSUS, settings)
        request = OpenSession(
            question=question, protocol="consensus", settings={"panel": panel, **given},
            documents=tuple(documents), budget=budget or Budget(), seats=tuple(seats), turn_timeout_s=timeout_s,
        )  # fmt: skip
        opened = admit(protocol, request, tuple(workers(panel) if there is None else there), seed, "client")
        super().__init__(protocol, opened)
        self.worded: dict[int, tuple[Position | str | None, ...]] = {}

    # -- events
    def fail(self, seat: str, times: int = 2) -> log.Entry:
        for _ in range(times - 1):
            self.reply(seat, None, error="model unreachable")
        return self.reply(seat, None, error="model unreachable")

    def expire(self) -> log.Entry:
        """Lets the armed timer fire."""
        assert self.session.timer_ns is not None
        return self.at(self.session.timer_ns)

    def cancel(self) -> log.Entry:
        return self.event(log.Cancelled(author="client", reason="enough"), "in:10")

    def answers(self, *positions: Position | str | None) -> None:
        """The panel replies, in the order of its seats; None fails."""
        for seat, p in zip(self.panel, positions, strict=True):
            if p is None:
                self.fail(seat)
            else:
                self.reply(seat, says(p) if isinstance(p, str) else p)

    def score(self, score: float, *key_disagreements: str, **more: Any) -> log.Entry:
        """The analyst replies what comes to this score."""
        return self.reply("analyst", self.comparison(score, *key_disagreements, **more))

    def comparison(self, score: float, *key_disagreements: str, **more: Any) -> Comparison:
        """Positions grouped by words, and as near as this score wants; by meaning where words cannot come to it."""
        brief = decode(self.turn("analyst").ask.brief, CompareBrief)
        said = {w.post: decode(self.session.posts[w.post].body, Position).answer for w in brief.positions}
        return comparison(brief, said, score, **{"key_disagreements": key_disagreements, **more})

    def compare(self, groups: Mapping[str, str], near: float = 90.0, argued: str = "", **more: Any) -> log.Entry:
        """The analyst's reply: label -> the seats' numbers; `argued`: those whose argument it finds."""
        brief = decode(self.turn("analyst").ask.brief, CompareBrief)
        by_seat = {self.session.posts[w.post].seat[-1]: w.post for w in brief.positions}
        named = tuple(AnswerGroup(label=x, posts=tuple(by_seat[n] for n in seats)) for x, seats in groups.items())
        fields = {"groups": named, "approach": near, "priority": near, "argued": tuple(by_seat[n] for n in argued)}
        return self.reply("analyst", Comparison(**{**fields, **more}))

    def synthesize(self, answer: str) -> log.Entry:
        return self.reply("analyst", self.conclusion(answer))

    def conclusion(self, answer: str) -> Conclusion:
        """The answer that prevailed, in these words."""
        brief = decode(self.turn("analyst").ask.brief, ConcludeBrief)
        return Conclusion(group=brief.label, reasoning="the panel says so", answer=answer)

    @property
    def put(self) -> Put:
        """The sentence that was put last."""
        return decode(self.posts("put")[-1].body, Put)

    def sign(self, seat: str, states: str = "sentence", **more: Any) -> log.Entry:
        """The seat says `sentence`, `rival` or `neither`; `differs` is quoted for it where it does not sign."""
        brief = decode(self.turn(seat).ask.brief, SignBrief)
        wanted = {"sentence": self.put.sentence, "rival": self.put.rival}.get(states)
        place: Literal["first", "second", "neither"] = "neither"
        if brief.first.sentence == wanted:
            place = "first"
        elif brief.second and brief.second.sentence == wanted:
            place = "second"
        if states != "sentence":
            more = {"differs": self.put.sentence, **more}
        return self.reply(seat, Signature(states=place, **more))

    def sign_all(self, states: str = "sentence") -> None:
        """Every asked seat says so."""
        for seat in self.put.asked:
            self.sign(seat, states)

    def round(self, score: float, *positions: Position | str | None) -> None:
        """One whole round. Where all say the same word for word, nobody is asked for a score; answers of the round
        before are said in other words, so that there is something to compare."""
        n = self.session.inner.round
        before = self.worded.get(n - 1)
        self.worded[n] = positions
        again = positions == before and len({*positions}) > 1
        self.answers(*(f"{p}, {n}" if again and isinstance(p, str) else p for p in positions))
        if ("analyst", "compare") in self.asked():
            self.score(score)

    # -- looking
    @property
    def panel(self) -> list[str]:
        return [s.seat for s in self.session.opened.seats if s.role == "panelist"]

    def turns(self) -> dict[str, log.Ask]:
        return {t.ask.seat: t.ask for t in self.session.turns.values()}


def cite(document: str, quote: str) -> Citation:
    return Citation(document=document, quote=quote)
