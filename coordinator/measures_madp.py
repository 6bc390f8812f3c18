"""What one transition of a task, or of the circuit breaker, says to the metrics: the service level indicators of
seeds/madp.md 7.1, and what their denominators are; and to the log, what the breaker changed (9.2).

The accuracy of the selection is none of them: it takes a set of tasks whose experts are known (`parley eval routing`).
"""

import logging
from typing import Any

from coordinator.machine import Session
from observability.metrics import Metrics
from schemas import log
from schemas.protocols.breaker import Mode
from schemas.protocols.madp.messages import Answered, Consensus, Item, TaskPosted
from schemas.wire import SchemaError, decode

MADP, BREAKER = "madp", "breaker"
_LOGGER = logging.getLogger(__name__)


def note(metrics: Metrics, before: Session | None, after: Session, entry: log.Entry) -> None:
    """Count one transition; of another protocol nothing."""
    protocol = after.opened.protocol
    if protocol not in (MADP, BREAKER):
        return
    for command in entry.commands:
        if not isinstance(command, log.Say):
            continue
        if protocol == BREAKER:
            if command.kind in ("degraded", "recovered"):
                metrics.breaker_changes.labels(to=command.kind).inc()
                _log(command)
            continue
        match command.kind:
            case "consensus":
                found = _body(command, Consensus)
                if found is not None and not _has_consensus(before):
                    _assigned(metrics, after, entry, found)
            case "item":
                item = _body(command, Item)
                metrics.items_opened.labels(kind=item.kind if item is not None else "other").inc()
            case "answered":
                answer = _body(command, Answered)
                by = "human" if answer is not None and answer.author else "default"
                metrics.items_closed.labels(by=by).inc()
            case "closed":
                _closed(metrics, _body(command, dict[str, Any]) or {})


def _log(change: log.Say) -> None:
    """9.2's LOG warning: one line, by the moderator that appended the change."""
    mode = _body(change, Mode)
    level = logging.WARNING if change.kind == "degraded" else logging.INFO
    _LOGGER.log(level, "%s: %s", change.kind, mode.text if mode is not None else "")


def _assigned(metrics: Metrics, after: Session, entry: log.Entry, found: Consensus) -> None:
    """The first assignment of a task: from its being taken, with the model tokens that it took."""
    depth = _depth(after)
    metrics.tasks.labels(depth=depth, how=found.how).inc()
    metrics.coordination_tokens.labels(depth=depth).observe(found.token_cost)
    metrics.coordination_seconds.labels(depth=depth).observe(max(0, entry.at_ns - after.opened_ns) / 1e9)


def _closed(metrics: Metrics, result: dict[str, Any]) -> None:
    outcome = result.get("outcome") or {}
    if outcome.get("reviews"):
        metrics.review_revisions.observe(int(outcome.get("revisions") or 0))
    metrics.overrides.inc(1 if outcome.get("overrides") else 0)


def _has_consensus(session: Session | None) -> bool:
    return session is not None and any(p.kind == "consensus" for p in session.posts)


def _depth(session: Session) -> str:
    """Of a task, as it was posted; `none`: it was not matched."""
    for post in session.posts:
        if post.kind == "task":
            try:
                return decode(post.body, TaskPosted).depth
            except SchemaError:
                break
    return "none"


def _body(command: log.Say, wanted: Any) -> Any:
    try:
        return decode(command.body, wanted)
    except SchemaError:
        return None
