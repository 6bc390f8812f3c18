"""madp: what a task came to, for the result frame."""

from typing import Any

import msgspec

from coordinator.protocols.madp_state import INBOX, Round, State, agent_state, read, task_of
from coordinator.table import View
from schemas.madp import Consensus, HandedOver, Reviewed, Supported, Work


def outcome(s: State, v: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """(outcome as builtins, one object a turn of work).

    `answer` is the work in words, empty where there is none; `confidence` is left to the reviews: `reviewed` has their
    verdicts.
    """
    work = read(v, s.work, Work) if s.work is not None else None
    last = s.rounds[-1] if s.rounds else None
    result = {
        "task": task_of(v),
        "depth": s.depth,
        "factors": s.factors,
        "matcher": s.matcher,
        "candidates": s.candidates,
        "states": {x: agent_state(s, x) for x in _concerned(s)},
        "consensus": read(v, s.consensus, Consensus) if s.consensus is not None else None,
        "lead": s.lead,
        "responsibility": s.responsibility,
        "support": s.team,
        "answer": (work.output or work.summary) if work else "",
        "work": _work(work, s) if work else None,
        "supported": [read(v, n, Supported) for n in s.supported],
        "reviews": s.iteration,
        "revisions": s.revisions,
        "reviewed": _verdicts(last, v),
        "findings": s.findings,
        "handoffs": [read(v, p.n, HandedOver) for p in v.posts if p.kind == "handoff"],
        "overrides": s.overrides,
        "warnings": s.warnings,
        "items": _items(s, v),
        "tokens": s.tokens,
    }
    builtins: dict[str, Any] = msgspec.to_builtins(result)
    return builtins, tuple(_round(n, r, v) for n, r in enumerate(s.rounds, 1))


def _concerned(s: State) -> list[str]:
    """Experts that had, or might have had, a part."""
    ids = (s.lead, *(a.agent_id for a in s.team), *(x.agent_id for x in s.excluded), *(c.expert for c in s.candidates))
    return [x for x in dict.fromkeys(ids) if x]


def _work(work: Work, s: State) -> dict[str, Any]:
    return {"summary": work.summary, "output": work.output, "diff": work.diff, "folder": s.folder}


def _verdicts(last: Round | None, v: View) -> dict[str, str]:
    return {x: read(v, n, Reviewed).verdict for x, n in last.reviews.items()} if last else {}


def _items(s: State, v: View) -> list[dict[str, Any]]:
    """Each with what was answered; without an author the default held."""
    answers = [msgspec.json.decode(p.body) for p in v.posts if p.channel == INBOX and p.kind == "answered"]
    given = {a["id"]: a for a in answers}
    return [
        {
            "id": i.id, "kind": i.kind, "question": i.question, "choices": i.choices, "default": i.default,
            "choice": given.get(i.id, {}).get("choice"), "author": given.get(i.id, {}).get("author"),
        }
        for i in s.items
    ]  # fmt: skip


def _round(n: int, r: Round, v: View) -> dict[str, Any]:
    """A turn of work without its text, which its post has."""
    work = read(v, r.post, Work) if r.post is not None else None
    return {
        "round": n, "lead": r.lead, "outcome": r.outcome, "post": r.post, "summary": work.summary if work else "",
        "calls": len(work.calls) if work else 0, "verdicts": _verdicts(r, v), "no_verdict": list(r.silent),
    }  # fmt: skip
