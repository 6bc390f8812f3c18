"""What agents do in the maci protocol, as one object."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from parley.agents.protocols.maci.kinds import KINDS
from parley.agents.turn_kinds.kit import Kit

if TYPE_CHECKING:
    from parley.agents.extractive.turn_method import TurnMethod


def _computed() -> "Mapping[str, TurnMethod]":
    from parley.agents.protocols.maci.computed import METHODS  # numpy: for the helper alone

    return METHODS


def _extractive() -> "Mapping[str, TurnMethod]":
    from parley.agents.protocols.maci.extractive import METHODS  # numpy: for the extractive model alone

    return METHODS


KIT = Kit(kinds=KINDS, prompts=Path(__file__).parent / "prompts", computed=_computed, extractive=_extractive)
