"""What the agent does in the protocol `single`, as one object."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from parley.agents.turn_kinds import abstaining
from parley.agents.turn_kinds.kit import Kind, Kit
from parley.schemas.protocols.single import Answer, AnswerBrief

if TYPE_CHECKING:
    from parley.agents.extractive.turn_method import TurnMethod


def _extractive() -> "Mapping[str, TurnMethod]":
    from parley.agents.protocols.single.extractive import METHODS  # numpy: for the extractive model alone

    return METHODS


KIT = Kit(
    kinds={
        "answer": Kind(
            brief=AnswerBrief,
            reply=Answer,
            posts={"answer": Answer},
            head="answerer",
            narrow=abstaining.limits,
            order=("reasoning", "citations", "abstains", "answer", "confidence"),
        )
    },
    prompts=Path(__file__).parent / "prompts",
    extractive=_extractive,
)
