"""madp: what one transition of a task says to the metrics: the service level indicators of seeds/madp.md 7.1, and what
their denominators are.

The accuracy of the selection is none of them: it takes a set of tasks whose experts are known (`parley eval routing`).
"""

from collections.abc import Iterator
from typing import Any

from coordinator.table import Sample, Session
from schemas import log
from schemas.protocols.madp.messages import Answered, Consensus, Item, TaskPosted
from schemas.wire import SchemaError, decode


def measures(before: Session | None, after: Session, entry: log.Entry) -> Iterator[Sample]:
    """What this transition adds to the series of tasks."""
    for command in entry.commands:
        if not isinstance(command, log.Say):
            continue
        match command.kind:
            case "consensus":
                found = _body(command, Consensus)
                if found is not None and not _has_consensus(before):
                    yield from _assigned(after, entry, found)
            case "item":
                item = _body(command, Item)
                yield Sample("items_opened_total", {"kind": item.kind if item is not None else "other"})
            case "answered":
                answer = _body(command, Answered)
                human = answer is not None and answer.author
                yield Sample("items_closed_total", {"by": "human" if human else "default"})
            case "closed":
                yield from _closed(_body(command, dict[str, Any]) or {})


def _assigned(after: Session, entry: log.Entry, found: Consensus) -> Iterator[Sample]:
    """The first assignment of a task: from its being taken, with the model tokens that it took."""
    depth = _depth(after)
    yield Sample("tasks_total", {"depth": depth, "how": found.how})
    yield Sample("coordination_tokens", {"depth": depth}, found.token_cost)
    yield Sample("coordination_seconds", {"depth": depth}, max(0, entry.at_ns - after.opened_ns) / 1e9)


def _closed(result: dict[str, Any]) -> Iterator[Sample]:
    outcome = result.get("outcome") or {}
    if outcome.get("reviews"):
        yield Sample("review_revisions", value=int(outcome.get("revisions") or 0))
    if outcome.get("overrides"):
        yield Sample("overrides_total")


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
