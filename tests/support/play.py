"""A session of any protocol, played by hand: events one after another, without a bus, every log entry kept."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import msgspec

from parley.coordinator.machine import OpenTurn, Protocol, Session, record, record_opening
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.turn import Usage
from parley.schemas.wire import decode, encode, raw

START_NS = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
ONE_CALL = Usage(calls=1)


def tried(protocol: Protocol, settings: Mapping[str, Any] | None) -> tuple[Protocol, dict[str, Any]]:
    """The protocol with turns that are asked as often as `attempts` says, and the settings without that."""
    given = dict(settings or {})
    return replace(protocol, attempts=given.pop("attempts", protocol.attempts)), given


class BasePlay:
    """What the protocols' plays share: events, and what can be seen of the session."""

    STEP_S: ClassVar[float] = 0.1
    """How long after the last event the next comes, unless said otherwise."""

    def __init__(self, protocol: Protocol, opened: log.Opened, sid: str = "s1") -> None:
        self.protocol = protocol
        self.now_ns = START_NS
        self.session: Session
        self.session, entry = record_opening(protocol, sid, opened, self.now_ns, "in:1")
        self.entries: list[log.Entry] = [entry]

    # -- events
    def event(self, event: log.Event, cause: str = "x", after_s: float | None = None) -> log.Entry:
        self.now_ns += int((self.STEP_S if after_s is None else after_s) * SECOND)
        before = self.entries[-1].digest
        self.session, entry = record(self.protocol, self.session, before, event, self.now_ns, cause)
        self.entries.append(entry)
        return entry

    def reply(self, seat: str, body: object, usage: Usage = ONE_CALL, error: str = "", **more: Any) -> log.Entry:
        turn = self.turn(seat)
        return self.event(log.Replied(turn=turn.id, body=raw(body), usage=usage, error=error, **more), turn.id)

    def fail(self, seat: str) -> log.Entry:
        """Every attempt of the seat's turn fails."""
        for _ in range(self.protocol.attempts):
            self.reply(seat, None, error="model unreachable")
        return self.entries[-1]

    def begin(self, *seats: str) -> log.Entry:
        """Workers announce a try of these seats' turns; of all that are open, if none is named."""
        for turn in [t for t in self.session.turns.values() if not seats or t.ask.seat in seats]:
            self.event(log.Begun(turn=turn.id), f"try:{turn.id}:{len(self.entries)}")
        return self.entries[-1]

    def lose(self, seat: str) -> log.Entry:
        """The worker that began the seat's turn is lost, and another announces a try."""
        if not self.turn(seat).begun:
            self.begin(seat)
        return self.begin(seat)

    def expire(self) -> log.Entry:
        """Lets the timer fire when the open turns' deadline, or the budget's, has come."""
        return self.at(max(t.ask.deadline_ns for t in self.session.turns.values()))

    def at(self, due_ns: int) -> log.Entry:
        """Lets the timer fire at a time, or now if that is past."""
        return self.event(log.TimerFired(), "in:9", max(0.0, (due_ns - self.now_ns) / SECOND))

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
    def certificate(self) -> Any:
        return self.stop["certificate"]

    @property
    def result(self) -> Result:
        return decode(self.posts("closed")[-1].body, Result)

    @property
    def outcome(self) -> Any:
        return self.result.outcome

    @property
    def log(self) -> list[bytes]:
        return [encode(e) for e in self.entries]
