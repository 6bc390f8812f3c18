"""Kinds of turns of the consensus protocol: panelists answer and revise, the analyst compares and concludes."""

from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.turn_kinds import abstaining
from parley.agents.turn_kinds.kit import Kind
from parley.schemas.protocols.consensus import (
    Assessment,
    CompareBrief,
    Comparison,
    ConcludeBrief,
    Conclusion,
    PanelBrief,
    Position,
)

POSTS = {
    "position": Position,
    "analysis": Comparison,
    "assessment": Assessment,
    "synthesis": Conclusion,
    "answer": Position,
    "revise": Position,
}


_NOTHING: dict[str, Any] = {"anyOf": [{"type": "null"}]}


def _alone(shown: Shown) -> dict[str, dict[str, Any]]:
    """Nobody was heard, and nothing was said before: there is nothing to change."""
    first: dict[str, dict[str, Any]] = {
        "change": {"enum": ["kept"]},
        "change_reason": {"maxLength": 0},
        "moved_by": {"maxItems": 0},
        "argument": _NOTHING,
    }
    return {**first, **abstaining.limits(shown)}


def _again(shown: Shown) -> dict[str, dict[str, Any]]:
    if shown.own is None:
        return _alone(shown)
    heard = [other.post for other in shown.others]
    argued = {"argument.post": {"enum": heard}} if heard else {"argument": _NOTHING}
    return {"change_reason": {"minLength": 1}, **argued, **abstaining.limits(shown)}


def _compares(shown: Shown) -> dict[str, dict[str, Any]]:
    brief: CompareBrief = shown.brief
    argued: dict[str, Any] = {"enum": [m.post for m in brief.moves]} if brief.moves else {"maxItems": 0}
    return {"groups.posts": {"enum": [w.post for w in brief.positions]}, "argued": argued}


def _concludes(shown: Shown) -> dict[str, dict[str, Any]]:
    return {"group": {"enum": [shown.brief.label]}}


def _round(shown: Shown) -> dict[str, str]:
    brief: PanelBrief | CompareBrief = shown.brief
    return {"of": f" of at most {brief.round_limit}"}


def _panelist(shown: Shown) -> dict[str, str]:
    moved = "the quotations shown by others, new to you, that moved you, copied word for word; empty if none did."
    cited = any(isinstance(o.body, Position) and o.body.citations for o in shown.others)
    return {**_round(shown), **abstaining.slots(shown), "moved": moved if cited else "an empty list."}


def _stand(brief: PanelBrief) -> dict[str, Any]:
    """Where the panel stands. What it is told of the rounds is in the task."""
    return {} if brief.so_far is None else {"so_far": msgspec.to_builtins(brief.so_far)}


_REASONED = (
    "reasoning", "citations", "moved_by", "argument", "change_reason", "change", "abstains", "answer", "confidence",
)  # fmt: skip
_COMPARED = ("agreements", "key_disagreements", "comment", "argued", "groups", "approach", "priority")

KINDS = {
    "answer": Kind(
        brief=PanelBrief, reply=Position, posts=POSTS, prompt_brief=_stand, prompt_slots=_panelist, head="panelist",
        narrow=_alone, order=_REASONED,
    ),
    "revise": Kind(
        brief=PanelBrief, reply=Position, posts=POSTS, prompt_brief=_stand, prompt_slots=_panelist, head="panelist",
        narrow=_again, order=_REASONED,
    ),
    "compare": Kind(
        brief=CompareBrief, reply=Comparison, posts=POSTS, prompt_slots=_round, head="analyst",
        narrow=_compares, order=_COMPARED,
    ),
    "conclude": Kind(
        brief=ConcludeBrief, reply=Conclusion, posts=POSTS, head="analyst", narrow=_concludes,
        order=("reasoning", "answer", "group"),
    ),
}  # fmt: skip
