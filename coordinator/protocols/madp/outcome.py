"""madp: the result of a task, for its result frame."""

from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from parley.coordinator.protocols.madp.evidence.diffs import that_run
from parley.coordinator.protocols.madp.evidence.ledger import evidence, few
from parley.coordinator.protocols.madp.evidence.lessons import lessons
from parley.coordinator.protocols.madp.evidence.told import borne_out, departs, tells
from parley.coordinator.protocols.madp.state import (
    INBOX,
    State,
    WorkTurn,
    agent_state,
    body_of,
    diff_so_far,
    task_of,
    verdicts,
)
from parley.coordinator.protocols.madp.turns import is_checked, proven
from parley.coordinator.table import Measured, Sample, Session, SessionCounts, View
from parley.schemas.folders.notes import Memory
from parley.schemas.protocols.madp.messages import Answered, Consensus, HandedOver, How, ItemKind, TaskPosted
from parley.schemas.protocols.madp.work import Evidence, Supported, Work
from parley.schemas.routing import DEPTHS
from parley.schemas.tools import CUT
from parley.schemas.wire import decode


def outcome(s: State, v: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """(outcome as builtins, one object a turn of work).

    `answer` is the work in words, empty where there is none; `kept` is what of the folder was changed by work that was
    not finished, where none was; `confidence` is left to the reviews: `reviewed` has their
    verdicts. `departs` is what the work says of them otherwise; the answer begins with it then.
    """
    record = evidence(s, v)
    last = _told(body_of(v, s.work, Work), s, v, record) if s.work is not None else None
    declined = last is not None and last.outcome == "declined"
    work = None if declined else last
    reviewed = verdicts(s.rounds[-1], v) if s.rounds else {}
    result: dict[str, Any] = {
        "task": task_of(v),
        "depth": s.depth,
        "factors": s.factors,
        "matcher": s.matcher,
        "candidates": s.candidates,
        "states": {x: agent_state(s, x) for x in _concerned(s)},
        "consensus": body_of(v, s.consensus, Consensus) if s.consensus is not None else None,
        "lead": s.lead,
        "responsibility": s.responsibility,
        "support": s.team,
        "answer": (last.output or last.summary) if last else "",
        "work": _work(work, s, v) if work else None,
        "supported": [_supported(n, v) for n in s.supported],
        "reviews": s.iteration,
        "revisions": s.revisions,
        "reviewed": reviewed,
        "findings": s.findings,
        "handoffs": [_handoff(p.n, v) for p in v.posts if p.kind == "handoff"],
        "overrides": s.overrides,
        "warnings": (*s.warnings, *_of_diff(diff_so_far(s, v))),
        "items": _items(s, v),
        "tokens": s.tokens,
        "evidence": record,
    }
    if work is None and s.changed is not None:
        result["kept"] = {"diff": diff_so_far(s, v), "folder": s.folder}
    if work is not None and (otherwise := departs(work, reviewed, v.opened.question)):
        result["departs"] = otherwise
        result["answer"] = f"departs from the count: {otherwise}. The lead says: {work.output or work.summary}"
    if record.claims:
        says = "" if "departs" in result else "The lead says: "
        result["answer"] = f"{_unseen(s, record)} {says}{result['answer']}"
    if v.settings.check:
        result["check"] = _check(s, v)
    if v.opened.learned is not msgspec.UNSET and v.opened.learned.notes:
        result["recalled"] = v.opened.learned.notes
    if v.settings.project and work is not None:
        notes = lessons(s, v, work, diff_so_far(s, v), record)
        result["memory"] = Memory(project=v.settings.project, notes=notes)
    builtins: dict[str, Any] = msgspec.to_builtins(result)
    return builtins, tuple(_round(n, r, s, v, record) for n, r in enumerate(s.rounds, 1))


def _told(work: Work, s: State, v: View, record: Evidence) -> Work:
    """The work without what its lead claims and the machine did not see."""
    about = tells(v.opened.question, work.outcome)
    summary = borne_out(work.summary, record, s.checks, about.summary)
    output = borne_out(work.output, record, s.checks, about.output)
    return msgspec.structs.replace(work, summary=summary[:2_000], output=output[:60_000])


def _unseen(s: State, record: Evidence) -> str:
    """What stands before a result that claims what the machine did not see."""
    if record.commands or any(c.ran for c in s.checks):
        return "What the machine saw does not bear out all that the lead claims."
    return "No command was run."


def _concerned(s: State) -> list[str]:
    """Experts that had, or might have had, a part."""
    ids = (s.lead, *(a.agent_id for a in s.team), *(x.agent_id for x in s.excluded), *(c.expert for c in s.candidates))
    return [x for x in dict.fromkeys(ids) if x]


def _check(s: State, v: View) -> dict[str, Any]:
    """What the check came to; `ok` is None where there was no work that it could prove."""
    runs = {c.when: c for c in s.checks}
    proof = proven(s, v) if s.work is not None and is_checked(s, v) else None
    return {
        "command": v.settings.check,
        "before": runs.get("before"),
        "after": runs.get("after"),
        "ok": proof.ok if proof else None,
        "why": proof.why if proof else "",
    }


def _work(work: Work, s: State, v: View) -> dict[str, Any]:
    """The diff goes with the folder: both are of all turns."""
    return _fields(work, "summary", "output", "performed") | {"diff": diff_so_far(s, v), "folder": s.folder}


def _fields(of: object, *names: str) -> dict[str, Any]:
    return {name: getattr(of, name) for name in names}


def _of_diff(diff: str) -> tuple[str, ...]:
    """Warnings of files that run where nobody starts them, and of those that may be executed."""
    warnings = tuple(f"the changes hold files that {kind}: {few(paths)}" for kind, paths in that_run(diff).items())
    cut = "the diff is too long to be shown in full: look at the folder before you use it"
    return (*warnings, cut) if diff.endswith(CUT) else warnings


def _supported(n: int, v: View) -> dict[str, Any]:
    """What support gave back, without its text, which the post has."""
    support = body_of(v, n, Supported)
    fields = _fields(support, "agent_id", "sub_task", "summary", "artifacts")
    return fields | {"post": n, "calls": len(support.calls)}


def _handoff(n: int, v: View) -> dict[str, Any]:
    return _fields(body_of(v, n, HandedOver), "from_agent", "to_agent", "reason") | {"post": n}


def _items(s: State, v: View) -> list[dict[str, Any]]:
    """Each with what was answered; without an author the default held."""
    answers = [decode(p.body, Answered) for p in v.posts if p.channel == INBOX and p.kind == "answered"]
    by_id = {a.id: _fields(a, "choice", "author") for a in answers}
    return [
        _fields(i, "id", "kind", "question", "choices", "default") | by_id.get(i.id, {"choice": None, "author": None})
        for i in s.items
    ]


def _round(n: int, r: WorkTurn, s: State, v: View, record: Evidence) -> dict[str, Any]:
    """A turn of work without its text, which its post has."""
    work = body_of(v, r.post, Work) if r.post is not None else None
    summary = _told(work, s, v, record).summary if work else ""
    return {
        "round": n, "lead": r.lead, "outcome": r.outcome, "post": r.post, "summary": summary,
        "calls": len(work.calls) if work else 0, "verdicts": verdicts(r, v), "no_verdict": list(r.silent),
    }  # fmt: skip


# ---------------------------------------------------------------- figures that are counted (7.1)


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
