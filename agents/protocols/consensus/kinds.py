"""Kinds of turns of the consensus protocol: panelists answer and revise, the analyst scores and synthesizes."""

from typing import Any

import msgspec

from agents.context import Shown
from agents.protocols.kit import Kind
from schemas.protocols.consensus import (
    Analysis,
    Assessment,
    PanelBrief,
    Position,
    ScoreBrief,
    Synthesis,
    SynthesisBrief,
)

POSTS = {
    "position": Position,
    "analysis": Analysis,
    "assessment": Assessment,
    "synthesis": Synthesis,
    "answer": Position,
    "revise": Position,
}


def _alone(shown: Shown) -> dict[str, dict[str, Any]]:
    """Nobody was heard, and nothing was said before: there is nothing to change."""
    first: dict[str, dict[str, Any]] = {
        "change": {"enum": ["kept"]},
        "change_reason": {"maxLength": 0},
        "moved_by": {"maxItems": 0},
    }
    return {**first, **_answers(shown)}


def _again(shown: Shown) -> dict[str, dict[str, Any]]:
    return {"change_reason": {"minLength": 1}, **_answers(shown)} if shown.own is not None else _alone(shown)


def _answers(shown: Shown) -> dict[str, dict[str, Any]]:
    """Who holds no document goes by what it knows: it has no reason to abstain."""
    return {} if shown.documents else {"answer": {"minLength": 1}, "abstains": {"enum": [False]}}


def _round(brief: PanelBrief) -> dict[str, str]:
    return {"of": f" of at most {brief.round_limit}" if brief.round_limit is not msgspec.UNSET else ""}


KINDS = {
    "answer": Kind(brief=PanelBrief, reply=Position, posts=POSTS, prompt_slots=_round, narrow=_alone),
    "revise": Kind(brief=PanelBrief, reply=Position, posts=POSTS, prompt_slots=_round, narrow=_again),
    "score": Kind(brief=ScoreBrief, reply=Analysis, posts=POSTS),
    "synthesize": Kind(brief=SynthesisBrief, reply=Synthesis, posts=POSTS),
}
