"""What the analyst and the panelists do in the protocol `compound`, as one object."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from parley.agents.turn_kinds.kit import Kind, Kit
from parley.schemas.protocols.compound import JoinBrief, Joined, Signature, SignBrief, Split, SplitBrief

if TYPE_CHECKING:
    from parley.agents.extractive.turn_method import TurnMethod


def _extractive() -> "Mapping[str, TurnMethod]":
    from parley.agents.protocols.compound.extractive import METHODS  # for the extractive model alone

    return METHODS


KIT = Kit(
    kinds={
        "split": Kind(brief=SplitBrief, reply=Split, head="analyst"),
        "join": Kind(brief=JoinBrief, reply=Joined, head="analyst", order=("reasoning", "answer")),
        "sign": Kind(brief=SignBrief, reply=Signature, head="signer", order=("differs", "signs")),
    },
    prompts=Path(__file__).parent / "prompts",
    extractive=_extractive,
)
