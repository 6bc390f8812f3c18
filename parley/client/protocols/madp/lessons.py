"""What a task teaches of routing and depth, from its log."""

from collections.abc import Sequence
from typing import TypeVar

from parley.client.setup.lesson import Became, Lesson
from parley.coordinator.protocols.madp.depth import assessed, determine_depth
from parley.coordinator.protocols.madp.state import LEAVE
from parley.schemas import log
from parley.schemas.past_sessions.feedback import feedback_of
from parley.schemas.post import Post
from parley.schemas.protocols.madp.messages import Answered, Consensus, HandedOver, TaskPosted
from parley.schemas.result import Result
from parley.schemas.routing import Matched
from parley.schemas.wire import SchemaError, decode

T = TypeVar("T")
MOST_TASK = 400
"""Characters of a task that are kept."""


def lesson(sid: str, entries: Sequence[log.Entry], posts: Sequence[Post], result: Result | None) -> Lesson | None:
    """What it teaches; None: nothing, since nobody led it, or it is not known what folder it was about."""
    opened = entries[0].event if entries else None
    posted, agreed = _first(posts, "task", TaskPosted), _first(posts, "consensus", Consensus)
    if not isinstance(opened, log.Opened) or result is None or agreed is None:
        return None
    folder = ((opened.learned or None) and opened.learned.folder) or ""
    if opened.settings.get("folder") and not folder:
        return None
    first = posted.candidates[0] if posted is not None and posted.candidates else None
    proposed = agreed.outcome.lead.agent_id if agreed.outcome.lead is not None else ""
    if agreed.how in ("override", "human"):
        proposed = first.expert if first is not None else ""
    known = {k.id for k in opened.experts}
    decided = [e.event for e in entries if isinstance(e.event, log.Decided) and e.event.author]
    chosen = [d.choice for d in decided if d.choice in known]
    handed = [decode(p.body, HandedOver) for p in posts if p.kind == "handoff" and p.seat]
    rule = determine_depth(assessed(posted.factors, posted.candidates), posted.candidates) if posted and first else ""
    return Lesson(
        session=sid, at_ns=max((p.at_ns for p in posts), default=0), folder=folder, task=opened.question[:MOST_TASK],
        first=first.expert if first else "", confidence=_stated(entries, first.expert) if first else None,
        proposed=agreed.instead_of or proposed, lead=str(result.outcome.get("lead") or ""),
        chosen=chosen[-1] if chosen else str(opened.settings.get("expert") or ""),
        handed_to=handed[0].to_agent if handed else "", rule=rule, depth=posted.depth if posted else "",
        depth_asked=bool(opened.settings.get("depth")) and bool(rule), became=_became(posts, result),
    )  # fmt: skip


def _first(posts: Sequence[Post], kind: str, as_type: type[T]) -> T | None:
    return next((decode(p.body, as_type) for p in posts if p.kind == kind and p.channel == "public"), None)


def _stated(entries: Sequence[log.Entry], expert: str) -> float | None:
    """How sure the matcher was of an expert, before outcomes corrected that."""
    for entry in entries:
        if isinstance(entry.event, log.Replied) and not entry.event.error:
            try:
                found = decode(entry.event.body, Matched)
            except SchemaError:
                continue
            return next((c.confidence for c in found.candidates if c.expert == expert), None)
    return None


def _became(posts: Sequence[Post], result: Result) -> Became:
    """What a person said of it, the feedback first; else whether it was approved."""
    if said := feedback_of(posts):
        return "right" if said[-1].right else "wrong"
    by_person = [
        decode(p.body, Answered).choice for p in posts if p.kind == "answered" and decode(p.body, Answered).author
    ]
    if by_person and (result.stop.reason == "rejected" or not {"reject", LEAVE}.isdisjoint(by_person)):
        return "rejected"
    if "revise" in by_person:
        return "revised"
    return "accepted" if result.stop.reason in ("approved", "reviewed", "declined") else ""
