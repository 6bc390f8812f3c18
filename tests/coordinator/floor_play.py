"""A small protocol that does as it is told: every event becomes a post, and what somebody says is a list of wishes."""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any

import msgspec

from parley.coordinator.commands import AskSeat, Finish, OpenWindow, SayOn, Stop, Wish
from parley.coordinator.machine import (
    Answered,
    ChildEnded,
    Decided,
    Missed,
    Protocol,
    Role,
    Spoke,
    Step,
    Told,
    Unaffordable,
    View,
    WindowClosed,
    record,
    record_opening,
    to,
)
from parley.schemas import log
from parley.schemas.session import Budget, Seat
from parley.schemas.turn import Caps
from parley.schemas.wire import encode, raw
from tests.support.play import SECOND, START_NS

CAPS = Caps(input_tokens=800, output_tokens=200, calls=1)


class Phase(StrEnum):
    OPEN = "open"
    DONE = "done"


class State(msgspec.Struct, frozen=True, kw_only=True):
    phase: Phase = Phase.OPEN


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    seconds: float = 10.0
    """Of the window that it opens first."""


Answer = Callable[[View], tuple[Wish, ...]]
ANSWERS: dict[str, Answer] = {}
"""What a word of this kind, or an event of this name, leads to."""


def when(kind: str, *wishes: Wish) -> None:
    """A word of this kind leads to these."""
    ANSWERS[kind] = lambda view: wishes


def asks(seat: str = "one", seconds: float | None = None) -> AskSeat:
    return AskSeat(seat=seat, kind="word", round=1, brief=raw({}), caps=CAPS, window_s=seconds)


def ends(_: View) -> tuple[Wish, ...]:
    return Stop(reason="played", certificate=raw({})), Finish()


def _start(view: View) -> Step:
    return State(), (OpenWindow(name="floor", seconds=view.settings.seconds),)


def _told(event: Any) -> SayOn:
    return SayOn(channel="public", kind=type(event).__name__, round=0, body=raw(event))


def _on_event(state: State, event: Any, view: View) -> Step:
    return _answered(type(event).__name__, event, view)


def _on_word(state: State, event: Spoke | Told | Decided, view: View) -> Step:
    return _answered(event.choice if isinstance(event, Decided) else event.kind, event, view)


def _answered(name: str, event: Any, view: View) -> Step:
    wishes = ANSWERS[name](view) if name in ANSWERS else ()
    phase = Phase.DONE if any(isinstance(w, Finish) for w in wishes) else Phase.OPEN
    return State(phase=phase), (_told(event), *wishes)


FLOOR = Protocol(
    name="floor",
    version=1,
    settings=Settings,
    state=State,
    table={
        Phase.OPEN: {
            Spoke: to(_on_word, Phase.OPEN, Phase.DONE),
            Told: to(_on_word, Phase.OPEN, Phase.DONE),
            Decided: to(_on_word, Phase.OPEN, Phase.DONE),
            **{
                e: to(_on_event, Phase.OPEN, Phase.DONE)
                for e in (Answered, Missed, Unaffordable, WindowClosed, ChildEnded)
            },
        },
        Phase.DONE: {},
    },
    done=Phase.DONE,
    replies={"word": str},
    roles=(Role("panelist", 0),),
    channel="public",
    seat=lambda request, settings, workers: request.seats,
    start=_start,
    final=lambda view: (),
    check=lambda state, turn, body, view: "",
    outcome=lambda state, view: ({"posts": len(view.posts)}, ()),
    attempts=1,
)
STANDING = replace(FLOOR, name="standing", standing="standing", start=lambda view: (State(), ()))


class Play:
    """One session of it, stepped by hand."""

    def __init__(
        self, budget: Budget | None = None, protocol: Protocol = FLOOR, sid: str = "s1", **opened: Any
    ) -> None:
        self.protocol = protocol
        self.now_ns = START_NS
        first = log.Opened(
            question="?", protocol=protocol.name, version=1, settings={}, budget=budget or Budget(), seed=1,
            seats=(Seat(seat="one", role="panelist", queue="one", metered=True),), turn_timeout_s=60.0, **opened,
        )  # fmt: skip
        self.session, entry = record_opening(protocol, sid, first, START_NS, "in:1")
        self.entries = [entry]

    def event(self, event: log.Event, after_s: float = 0.0) -> tuple[log.Command, ...]:
        self.now_ns += int(after_s * SECOND)
        self.session, entry = record(
            self.protocol, self.session, self.entries[-1].digest, event, self.now_ns, f"in:{len(self.entries) + 1}"
        )
        self.entries.append(entry)
        return entry.commands

    def says(self, kind: str, window: str = "floor", after_s: float = 0.0) -> tuple[log.Command, ...]:
        spoke = log.Spoke(author="one", channel="public", window=window, kind=kind, body=raw({}))
        return self.event(spoke, after_s)

    def posts(self, kind: str) -> list[dict[str, Any]]:
        return [msgspec.json.decode(p.body) for p in self.session.posts if p.kind == kind]

    @property
    def log(self) -> list[bytes]:
        return [encode(e) for e in self.entries]
