"""What one transition says to the metrics: a fold over log entries, in one place.

What only one protocol counts, it brings itself (coordinator.table.Protocol.measures)."""

import logging
from typing import get_args

from coordinator.budget import booked
from coordinator.machine import Protocol, Session
from coordinator.table import LogLine
from observability.metrics import TURN_OUTCOMES, Metrics
from schemas import log

_LOGGER = logging.getLogger(__name__)
_WORDS: dict[type, str] = {kind: str(kind.__struct_config__.tag) for kind in get_args(log.Event | log.Command)}
"""What the log calls events and commands."""


def note(metrics: Metrics, protocol: Protocol, before: Session | None, after: Session, entry: log.Entry) -> None:
    """Count one transition that this moderator appended.

    Parameters
    ----------
    before
        The state that it was taken in; None for the opening.
    """
    event = entry.event
    label = metrics.protocol(protocol.name)
    metrics.transitions.of(_WORDS[type(event)]).inc()
    _own(metrics, protocol, before, after, entry)
    for command in entry.commands:
        metrics.effects.of(_WORDS[type(command)]).inc()
        if isinstance(command, log.Notify):
            metrics.notifications.labels(severity=command.severity).inc()
        elif isinstance(command, log.Close):
            metrics.sessions_closed.labels(protocol=label, reason=command.reason).inc()
            metrics.session_seconds.labels(protocol=label).observe((after.at_ns - after.opened_ns) / 1e9)
            metrics.session_rounds.labels(protocol=label).observe(max((p.round for p in after.posts), default=0))
    if before is None:
        metrics.sessions_opened.labels(protocol=label).inc()
        for role in {seat.role for seat in after.opened.seats}:
            for outcome in TURN_OUTCOMES:
                metrics.turns.of(metrics.role(role), outcome)
        return
    lost = after.ledger.unaccounted_turns - before.ledger.unaccounted_turns
    if lost:
        metrics.unaccounted_calls.inc(lost)
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


def _own(metrics: Metrics, protocol: Protocol, before: Session | None, after: Session, entry: log.Entry) -> None:
    """What the protocol itself counts, and what it has to say in the log."""
    for said in protocol.measures(before, after, entry):
        if isinstance(said, LogLine):
            _LOGGER.log(logging.WARNING if said.warning else logging.INFO, "%s", said.text)
        else:
            metrics.add(said.series, said.labels, said.value)


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
    metrics.turns.of(_role(metrics, before, ask.seat), outcome).inc()
    if before.opened.budget.seconds is None and not ask.queue:  # else the deadline may be that of the budget
        asked_ns = ask.deadline_ns - int(before.opened.turn_timeout_s * 1e9)
        metrics.turn_overhead_seconds.observe(max(0.0, (entry.at_ns - asked_ns) / 1e9 - event.model_s))
    seat = next(s for s in before.opened.seats if s.seat == ask.seat)
    usage = booked(seat, ask.caps, event.usage, person=bool(ask.queue))
    if usage.input_tokens or usage.output_tokens:
        model, estimated = metrics.model(event.model), "yes" if usage.estimated else "no"
        metrics.tokens.labels(model=model, kind="input", estimated=estimated).inc(usage.input_tokens)
        metrics.tokens.labels(model=model, kind="output", estimated=estimated).inc(usage.output_tokens)
        metrics.cached_tokens.labels(model=model).inc(usage.cached_tokens or 0)
        metrics.cost_usd.labels(model=model).inc(usage.cost_usd)


def _role(metrics: Metrics, session: Session, seat: str) -> str:
    return metrics.role(next(s.role for s in session.opened.seats if s.seat == seat))
