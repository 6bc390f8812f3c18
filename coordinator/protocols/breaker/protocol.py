"""The circuit breaker of task coordination (source: seeds/madp.md 9.2): one standing session, shared through the log.

More than 3 failures in the last 10 tasks: degraded mode, in which tasks skip coordination; 5 tasks in a row that went
well end it. A failure that its asker's own settings may have brought about is none of either: all who share the bus
share this session. It asks nobody anything and never stops.
"""

from collections.abc import Iterator
from enum import StrEnum, auto
from typing import Any

import msgspec

from parley.coordinator.commands import Notify, SayOn
from parley.coordinator.table import (
    Illegal,
    LogLine,
    Protocol,
    Sample,
    SessionCounts,
    Step,
    Table,
    Told,
    View,
    to,
)
from parley.schemas import log
from parley.schemas.protocols.breaker import Mode
from parley.schemas.routing import TaskOutcome
from parley.schemas.wire import Undecodable, decode, raw

WINDOW = 10
MOST_FAILURES = 3
RECOVERY = 5
OUTCOME = "outcome"
DEGRADED, RECOVERED = "degraded", "recovered"


class Phase(StrEnum):
    """Where it stands."""

    CLOSED = auto()
    """Tasks are coordinated (a breaker that is closed lets through)."""
    DEGRADED = auto()
    """Tasks skip coordination: experts are chosen by keywords."""
    DONE = auto()
    """Never reached."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What it remembers."""

    phase: Phase = Phase.CLOSED
    last: tuple[TaskOutcome, ...] = ()
    """Tasks since the mode began, the newest last; at most WINDOW."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """It has none: its numbers are the specification's."""


def _start(_: View) -> Step:
    return State(), ()


def _outcome(event: Told) -> TaskOutcome:
    if event.kind != OUTCOME:
        raise Illegal(f"the breaker takes {OUTCOME}, not {event.kind}")
    try:
        return decode(event.body, TaskOutcome)
    except Undecodable as error:
        raise Illegal(f"{OUTCOME}: {error}") from error


def _own_doing(outcome: TaskOutcome) -> bool:
    return not outcome.ok and not outcome.counts


def _on_told_closed(state: State, event: Told, _: View) -> Step:
    outcome = _outcome(event)
    if _own_doing(outcome):
        return state, ()
    last = (*state.last, outcome)[-WINDOW:]
    failures = tuple(t for t in last if not t.ok)
    if len(failures) <= MOST_FAILURES:
        return State(last=last), ()
    text = (
        f"coordination failed in {len(failures)} of the last {len(last)} tasks: tasks skip it now, and experts are "
        f"chosen by keywords, until {RECOVERY} tasks in a row went well"
    )
    body = raw(Mode(text=text, failures=failures))
    return State(phase=Phase.DEGRADED), (
        SayOn(channel="control", kind=DEGRADED, round=0, body=body),
        Notify(severity="warning", text=text),
    )


def _on_told_degraded(state: State, event: Told, _: View) -> Step:
    outcome = _outcome(event)
    if _own_doing(outcome):
        return state, ()
    last = (*state.last, outcome) if outcome.ok else ()
    if len(last) < RECOVERY:
        return State(phase=Phase.DEGRADED, last=last), ()
    text = f"{RECOVERY} tasks in a row went well: tasks are coordinated again"
    return State(), (
        SayOn(channel="control", kind=RECOVERED, round=0, body=raw(Mode(text=text))),
        Notify(severity="info", text=text),
    )


def _result(state: State, _: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    return {"degraded": state.phase == Phase.DEGRADED}, ()


def _notes(entry: log.Entry) -> Iterator[LogLine]:
    """Each change is 9.2's LOG warning: one line, by the moderator that took the transition."""
    for to_, text in _changes(entry):
        yield LogLine(f"{to_}: {text}", warning=to_ == DEGRADED)


def _live(entry: log.Entry) -> Iterator[Sample]:
    """Each change is counted. One that is opened anew begins as one that was never degraded."""
    if isinstance(entry.event, log.Opened):
        yield Sample("breaker_degraded", value=0.0)
    for to_, _ in _changes(entry):
        yield Sample("breaker_changes_total", {"to": to_})
        yield Sample("breaker_degraded", value=float(to_ == DEGRADED))


def _changes(entry: log.Entry) -> Iterator[tuple[str, str]]:
    """(degraded or recovered, in words)."""
    for command in entry.commands:
        if isinstance(command, log.Say) and command.kind in (DEGRADED, RECOVERED):
            yield command.kind, decode(command.body, Mode).text


TABLE: Table = {
    Phase.CLOSED: {Told: to(_on_told_closed, Phase.CLOSED, Phase.DEGRADED)},
    Phase.DEGRADED: {Told: to(_on_told_degraded, Phase.DEGRADED, Phase.CLOSED)},
}

PROTOCOL = Protocol(
    name="breaker",
    version=1,
    settings=Settings,
    state=State,
    table=TABLE,
    done=Phase.DONE,
    replies={},
    roles=(),
    channel="control",
    seat=lambda request, settings, workers: (),
    start=_start,
    final=lambda view: (),
    check=lambda state, turn, body, view: "",
    outcome=_result,
    attempts=1,
    standing="madp-breaker",
    notes=_notes,
    counted=SessionCounts(
        live=_live, children=tuple(Sample("breaker_changes_total", {"to": to_}) for to_ in (DEGRADED, RECOVERED))
    ),
)
