"""What the agent does in the protocol `single`, as one object."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.context import Shown
from agents.protocols.kit import Kind, Kit
from schemas.protocols.single import Answer, AnswerBrief

if TYPE_CHECKING:
    from agents.extractive.turn_method import TurnMethod


def _narrow(shown: Shown) -> dict[str, dict[str, Any]]:
    """Who holds no document goes by what it knows: it has no reason to abstain."""
    return {} if shown.documents else {"answer": {"minLength": 1}, "abstains": {"enum": [False]}}


def _extractive() -> "Mapping[str, TurnMethod]":
    from agents.protocols.single.extractive import METHODS  # numpy: for the extractive model alone

    return METHODS


KIT = Kit(
    kinds={
        "answer": Kind(
            brief=AnswerBrief, reply=Answer, posts={"answer": Answer}, head="answerer", narrow=_narrow,
            order=("reasoning", "citations", "abstains", "answer", "confidence"),
        )
    },
    prompts=Path(__file__).parent / "prompts",
    extractive=_extractive,
)  # fmt: skip
