"""A session of the consensus protocol played by hand: admitted, asked, answered, without a bus."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from coordinator.admission import admit
from coordinator.machine import OpenTurn, Session, record, record_opening
from coordinator.protocols import PROTOCOLS
from schemas import log
from schemas.citation import Citation
from schemas.post import Post
from schemas.presence import Announcement
from schemas.protocols.consensus import Analysis, Position, Synthesis
from schemas.result import Result
from schemas.session import Budget, Document, OpenSession, Seat
from schemas.turn import Usage
from schemas.wire import decode, encode, raw

CONSENSUS = PROTOCOLS["consensus"]
START_NS = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
ONE_CALL = Usage(calls=1)


def worker(queue: str, role: str = "panelist", **more: Any) -> Announcement:
    return Announcement(instance=f"i-{queue}", queue=queue, roles=(role,), model="stub", family="stub", **more)


def workers(panel: int = 3, **more: Any) -> tuple[Announcement, ...]:
    return (*(worker(f"panelist_{i + 1}", **more) for i in range(panel)), worker("analyst", "analyst", **more))


def document(name: str, text: str, *holders: str) -> Document:
    return Document(id=sha256(text.encode()).hexdigest(), name=name, text=text, holders=holders)


def says(answer: str, **more: Any) -> Position:
    return Position(**{"answer": answer, "reasoning": f"because {answer}", "confidence": 0.8, **more})


class Play:
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
        request = OpenSession(
            question=question, protocol="consensus", settings={"panel": panel, **(settings or {})},
            documents=tuple(documents), budget=budget or Budget(), seats=tuple(seats), turn_timeout_s=timeout_s,
        )  # fmt: skip
        opened = admit(CONSENSUS, request, tuple(workers(panel) if there is None else there), seed, "client")
        self.now_ns = START_NS
        self.session: Session
        self.session, entry = record_opening(CONSENSUS, "s1", opened, self.now_ns, "in:1")
        self.entries: list[log.Entry] = [entry]

    # -- events
    def event(self, event: log.Event, cause: str = "x", after_s: float = 0.1) -> log.Entry:
        self.now_ns += int(after_s * SECOND)
        self.session, entry = record(
            CONSENSUS, self.session, self.entries[-1].digest, event, self.now_ns, cause
        )  # fmt: skip
        self.entries.append(entry)
        return entry

    def reply(self, seat: str, body: object, usage: Usage = ONE_CALL, error: str = "", **more: Any) -> log.Entry:
        turn = self.turn(seat)
        replied = log.Replied(turn=turn.id, body=raw(body), usage=usage, error=error, **more)
        return self.event(replied, f"turn:{turn.id}")

    def fail(self, seat: str, times: int = 2) -> log.Entry:
        for _ in range(times - 1):
            self.reply(seat, None, error="model unreachable")
        return self.reply(seat, None, error="model unreachable")

    def expire(self) -> log.Entry:
        """Lets the armed timer fire."""
        assert self.session.timer_ns is not None
        return self.event(log.TimerFired(), "in:9", max(0.0, (self.session.timer_ns - self.now_ns) / SECOND))

    def redeliver(self, seat: str) -> log.Entry:
        """A worker that found out that the turn may have been begun before is about to begin it."""
        turn = self.turn(seat)
        return self.event(log.Redelivered(turn=turn.id), f"try:{turn.id}:{len(self.entries)}")

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
        return self.reply("analyst", Analysis(score=score, key_disagreements=key_disagreements, **more))

    def synthesize(self, answer: str) -> log.Entry:
        return self.reply("analyst", Synthesis(answer=answer, reasoning="the panel says so", confidence=0.5))

    def round(self, score: float, *positions: Position | str | None) -> None:
        """One whole round."""
        self.answers(*positions)
        self.score(score)

    # -- looking
    @property
    def panel(self) -> list[str]:
        return [s.seat for s in self.session.opened.seats if s.role == "panelist"]

    @property
    def phase(self) -> str:
        return str(self.session.inner.phase)

    def turn(self, seat: str) -> OpenTurn:
        return next(t for t in self.session.turns.values() if t.ask.seat == seat)

    def turns(self) -> dict[str, log.Ask]:
        return {t.ask.seat: t.ask for t in self.session.turns.values()}

    def posts(self, kind: str) -> list[Post]:
        return [p for p in self.session.posts if p.kind == kind]

    def last(self, kind: str) -> Any:
        return msgspec.json.decode(self.posts(kind)[-1].body)

    @property
    def stop(self) -> Any:
        return self.last("stop")

    @property
    def result(self) -> Result:
        return decode(self.posts("closed")[-1].body, Result)

    @property
    def log(self) -> list[bytes]:
        return [encode(e) for e in self.entries]


def cite(document: str, quote: str) -> Citation:
    return Citation(document=document, quote=quote)
