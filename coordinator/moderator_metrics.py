"""Counts one transition in the metrics of the moderator that took it, in one place.

What sessions came to is counted from LOG (parley.coordinator.outcomes)."""

import logging
from typing import get_args

from parley.coordinator.machine import Protocol, Session
from parley.coordinator.table import seat_of
from parley.observability.metrics import TURN_OUTCOMES, Metrics
from parley.schemas import log

_LOGGER = logging.getLogger(__name__)
_WORDS: dict[type, str] = {kind: str(kind.__struct_config__.tag) for kind in get_args(log.Event | log.Command)}
"""What the log calls events and commands."""


def count_transition(
    metrics: Metrics, protocol: Protocol, before: Session | None, after: Session, entry: log.Entry
) -> None:
    """Count one transition that this moderator appended. `before`: the state that it was taken in; None for the
    opening."""
    event = entry.event
    metrics.transitions.labels(_WORDS[type(event)]).inc()
    for notice in protocol.notes(entry):
        _LOGGER.log(logging.WARNING if notice.warning else logging.INFO, "%s", notice.text)
    for command in entry.commands:
        metrics.effects.labels(_WORDS[type(command)]).inc()
        if type(command) is log.Notify:
            metrics.notifications.labels(severity=command.severity).inc()
    if before is None:
        for role in {seat.role for seat in after.opened.seats}:
            for outcome in TURN_OUTCOMES:
                metrics.turns.labels(metrics.role(role), outcome)
        return
    answered = ""
    if isinstance(event, log.Replied):
        answered = event.turn
        _reply(metrics, before, after, entry, event)
    elif isinstance(event, log.TimerFired):
        late = (entry.at_ns - before.timer_ns) / 1e9 if before.timer_ns is not None else -1.0
        metrics.timers_fired.labels(early="no" if late >= 0 and _passed(before, after) else "yes").inc()
        if late >= 0:
            metrics.timer_late_seconds.observe(late)
    gone = "withdrawn" if after.stopped is not None else "missed"
    for turn in before.turns.values():
        if turn.id not in after.turns and turn.id != answered:
            metrics.turns.labels(role=_role(metrics, before, turn.ask.seat), outcome=gone).inc()


def _passed(before: Session, after: Session) -> bool:
    return len(after.turns) != len(before.turns) or after.windows != before.windows


def _reply(metrics: Metrics, before: Session, after: Session, entry: log.Entry, event: log.Replied) -> None:
    ask = before.turns[event.turn].ask
    if after.ledger.turns > before.ledger.turns:
        outcome = "accepted"
    elif any(isinstance(c, log.Ask) and c.attempt > 1 and c.seat == ask.seat for c in entry.commands):
        outcome = "retried"
    else:
        outcome = "missed"
    metrics.turns.labels(_role(metrics, before, ask.seat), outcome).inc()


def _role(metrics: Metrics, session: Session, seat: str) -> str:
    return metrics.role(seat_of(session.opened, seat).role)
