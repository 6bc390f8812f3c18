"""What agents do in the consensus protocol, as one object."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from parley.agents.looking import serve
from parley.agents.protocols.consensus.kinds import KINDS, PARTS
from parley.agents.turn_kinds.kit import Kit

if TYPE_CHECKING:
    from parley.agents.extractive.turn_method import TurnMethod


def _extractive() -> "Mapping[str, TurnMethod]":
    from parley.agents.protocols.consensus.extractive import METHODS  # numpy: for the extractive model alone

    return METHODS


KIT = Kit(
    kinds=KINDS,
    parts=PARTS,
    serve=serve,
    looks_up=frozenset({"panelist"}),
    prompts=Path(__file__).parent / "prompts",
    extractive=_extractive,
)
