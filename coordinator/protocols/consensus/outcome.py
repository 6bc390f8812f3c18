"""consensus: the result of a session, for its result frame."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import msgspec

from parley.coordinator.protocols.consensus.check import departs
from parley.coordinator.protocols.consensus.state import (
    Group,
    Round,
    State,
    changes_by,
    groups,
    labelled,
    position,
    sides,
    voters,
)
from parley.coordinator.table import View
from parley.schemas import log
from parley.schemas.citation import Citation
from parley.schemas.protocols.consensus import Assessment, Conclusion, MinorityReport, Outcome, Position
from parley.schemas.wire import decode

_MOST_PASSAGES = 5
_FULL_BYTES = 1_000_000
"""Bytes of all positions. Above it, the result names their posts and does not repeat them: it is one message."""


def outcome(state: State, view: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """(Outcome as builtins, one object a round).

    The prevailing answer is the weighted plurality's. Its confidence is that of the seats that hold it (their weighted
    median) times their share of the voters' weight."""
    votes = voters(view, state.held)
    answer_groups = sides(state, view)
    size = sum(len(bytes(view.posts[n].body)) for r in state.rounds for n in r.posts.values())
    rounds = tuple(_round(r, view, state.labels, size <= _FULL_BYTES) for r in state.rounds)
    flips = sum(len(r.bare_flips) for r in state.rounds)
    if not answer_groups:
        nothing = Outcome(
            answer="", confidence=0.0, reasoning="", source="none", minority=(), first_round_majority=None,
            flips_without_evidence=flips, passages=_bearing(state, view),
        )  # fmt: skip
        return _without_empty(nothing), rounds
    best = answer_groups[0]
    spoken = votes[best.seats[0]]
    synthesis, departing = _worded(state, view, answer_groups)
    result = Outcome(
        label=best.label,
        agree=len(best.seats),
        changed=changes_by(state),
        departing=departing,
        answer=synthesis.answer if synthesis else spoken.answer,
        confidence=round(confidence(answer_groups), 4),
        reasoning=synthesis.reasoning if synthesis else spoken.reasoning,
        source="synthesis" if synthesis else "plurality",
        minority=tuple(_minority(seat, votes[seat]) for g in answer_groups[1:] for seat in g.seats),
        first_round_majority=first_round_majority(state, view),
        flips_without_evidence=flips,
        citations=_evidence(best, votes),
    )
    return _without_empty(result), rounds


def _worded(state: State, view: View, answer_groups: list[Group]) -> tuple[Conclusion | None, str]:
    """(What the analyst wrote of the panel's answer, or None; another answer that it wrote in its place)."""
    if state.synthesis is None:
        return None, ""
    conclusion = decode(view.posts[state.synthesis].body, Conclusion)
    return (None, conclusion.answer) if departs(conclusion, answer_groups) else (conclusion, "")


def _without_empty(outcome: Outcome) -> dict[str, Any]:
    """As builtins; without `passages` if there are none."""
    fields: dict[str, Any] = _builtins(outcome)
    return fields if outcome.passages else {name: value for name, value in fields.items() if name != "passages"}


def _bearing(state: State, view: View) -> tuple[Citation, ...]:
    """Quotations of seats without an answer: the first of each seat, then the second of each; each once."""
    quoted = [position(view, post).citations for post in state.held.values()]
    ranked = (c for layer in zip_longest(*quoted) for c in layer if c is not None)
    return tuple({(c.document, c.quote): c for c in ranked}.values())[:_MOST_PASSAGES]


def ends_round(post: log.Say) -> str:
    """The score that ends a round, in words; empty for another post."""
    return f"score {decode(post.body, Assessment).score:g}" if post.kind == "assessment" else ""


def confidence(answer_groups: list[Group]) -> float:
    """The confidence of the leading group times its share of the weight, 0 to 1."""
    return answer_groups[0].confidence * answer_groups[0].weight / sum(g.weight for g in answer_groups)


def first_round_majority(state: State, view: View) -> str | None:
    """The answer that more than half of the answering seats gave in the first round, one vote for each seat."""
    if not state.rounds:
        return None
    first = voters(view, state.rounds[0].posts)
    for g in groups(first, dict.fromkeys(first, 1.0), labelled(state, state.rounds[0].posts)):
        if 2 * len(g.seats) > len(first):
            return g.label
    return None


def _minority(seat: str, p: Position) -> MinorityReport:
    return MinorityReport(
        seat=seat, answer=p.answer, reasoning=p.reasoning, confidence=p.confidence, citations=p.citations
    )


def _evidence(g: Group, votes: dict[str, Position]) -> tuple[Citation, ...]:
    """What the group's seats cite, each quotation once."""
    return tuple({(c.document, c.quote): c for seat in g.seats for c in votes[seat].citations}.values())


def _round(r: Round, view: View, labels: Mapping[str, str], full: bool) -> dict[str, Any]:
    assessed = None if r.assessment is None else decode(view.posts[r.assessment].body, Assessment)
    positions: dict[str, Any] = {}
    for seat, post in r.posts.items():
        p = position(view, post)
        positions[seat] = {
            "answer": p.answer if full else p.answer[:200],
            "confidence": p.confidence,
            "change": p.change,
            "abstains": p.abstains,
            "flip_without_evidence": seat in r.bare_flips,
            "post": post,
        }
        if str(post) in labels:
            positions[seat]["label"] = labels[str(post)]
        if seat in r.moved:
            positions[seat]["moved"] = r.moved[seat]
        if full:
            positions[seat] |= {
                "change_reason": p.change_reason,
                "reasoning": p.reasoning,
                "citations": _builtins(p.citations),
                "moved_by": _builtins(p.moved_by),
            }
    return {
        "round": r.number,
        "score": r.score,
        "band": assessed.band if assessed else None,
        "direction": assessed.direction if assessed else None,
        "source": assessed.source if assessed else None,
        "dimensions": assessed.dimensions if assessed else {},
        "key_disagreements": list(assessed.key_disagreements) if assessed else [],
        "positions": positions,
        "missing": list(r.missing),
    }


def _builtins(value: object) -> Any:
    return msgspec.to_builtins(value)
