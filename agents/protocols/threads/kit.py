"""What the analyst does in the protocol `threads`, as one object."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from parley.agents.turn_kinds.kit import Kind, Kit
from parley.schemas.protocols.threads import Begun, JoinBrief, Joined, Part, Split, SplitBrief

if TYPE_CHECKING:
    from parley.agents.extractive.turn_method import TurnMethod

POSTS = {"begun": Begun, "part": Part, "synthesis": Joined}


def _extractive() -> "Mapping[str, TurnMethod]":
    from parley.agents.protocols.threads.extractive import METHODS  # for the extractive model alone

    return METHODS


KIT = Kit(
    kinds={
        "split": Kind(brief=SplitBrief, reply=Split, posts=POSTS, head="analyst", order=("parts",)),
        "join": Kind(brief=JoinBrief, reply=Joined, posts=POSTS, head="analyst", order=("reasoning", "answer")),
    },
    prompts=Path(__file__).parent / "prompts",
    extractive=_extractive,
)  # fmt: skip
