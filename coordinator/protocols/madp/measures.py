"""madp: what is counted of a task that ended: the service level indicators of seeds/madp.md 7.1, and what their
denominators are."""

from collections.abc import Iterator
from typing import get_args

from parley.coordinator.protocols.madp.state import State, verdicts
from parley.coordinator.table import Measured, Sample, Session, SessionCounts, View
from parley.schemas.protocols.madp.messages import Consensus, How, ItemKind, TaskPosted
from parley.schemas.routing import DEPTHS
from parley.schemas.wire import decode

BY = ("override", "feedback", "golden")
"""What says whether the right expert led."""


def measured(session: Session, view: View) -> Measured:
    """Agreement is the share of the last reviews that approve."""
    s: State = session.inner
    last_verdicts = list(verdicts(s.rounds[-1], view).values()) if s.rounds else []
    approving = sum(v == "approved" for v in last_verdicts) / len(last_verdicts) if last_verdicts else None
    return Measured(
        agreement=approving,
        disagreement=None if approving is None else 1 - approving,
        samples=(*_assigned(session), *_ended(s, named=bool(view.settings.expert))),
    )


def _assigned(session: Session) -> Iterator[Sample]:
    """The first assignment of a task: from its being taken, with the model tokens that it took."""
    first = next((p for p in session.posts if p.kind == "consensus"), None)
    if first is None:
        return
    decision, depth = decode(first.body, Consensus), _depth(session)
    yield Sample("tasks_total", {"depth": depth, "how": decision.how})
    yield Sample("coordination_tokens", {"depth": depth}, decision.token_cost)
    yield Sample("coordination_seconds", {"depth": depth}, max(0, first.at_ns - session.opened_ns) / 1e9)


def _depth(session: Session) -> str:
    """Of a task, as it was posted; `none`: it was not matched."""
    posted = next((p for p in session.posts if p.kind == "task"), None)
    return "none" if posted is None else decode(posted.body, TaskPosted).depth


def _ended(s: State, *, named: bool) -> Iterator[Sample]:
    """A person who chose another expert found the selection wrong, and so did a lead that handed the task over; who let
    it be, right. Where one was named beforehand, nothing was selected."""
    yield Sample("tasks_ended_total")
    if s.overrides:
        yield Sample("overrides_total")
    if s.lead and not named:
        yield Sample(
            "selections_total", {"by": "override", "verdict": "wrong" if s.overrides or s.handoffs else "right"}
        )
    if any(played.reviews for played in s.rounds):
        yield Sample("review_revisions", value=s.revisions)
    for kind in sorted({item.kind for item in s.items}):
        yield Sample("escalations_total", {"kind": kind})


def _feedback(session: Session, right: bool) -> Iterator[Sample]:
    """Who led is right or wrong with what came of it; where nobody led, nobody was selected."""
    if session.inner.lead:
        yield Sample("selections_total", {"by": "feedback", "verdict": "right" if right else "wrong"})


def _children() -> Iterator[Sample]:
    depths = (*DEPTHS, "none")
    for depth in depths:
        yield Sample("coordination_tokens", {"depth": depth})
        yield Sample("coordination_seconds", {"depth": depth})
        yield from (Sample("tasks_total", {"depth": depth, "how": how}) for how in get_args(How))
    for kind in get_args(ItemKind):
        yield Sample("items_opened_total", {"kind": kind})
        yield Sample("escalations_total", {"kind": kind})
    for by in BY:
        yield from (Sample("selections_total", {"by": by, "verdict": v}) for v in ("right", "wrong"))


COUNTED = SessionCounts(measured=measured, feedback=_feedback, children=tuple(_children()))
