"""What agents do in the madp protocol, as one object."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from parley.agents.protocols.madp.expert_worker import serve
from parley.agents.protocols.madp.kinds import KINDS
from parley.agents.protocols.madp.reactions import hear
from parley.agents.turn_kinds.kit import Kit

if TYPE_CHECKING:
    from parley.agents.extractive.turn_method import TurnMethod


def _computed() -> "Mapping[str, TurnMethod]":
    from parley.agents.protocols.madp.computed import METHODS  # numpy: for the helper alone

    return METHODS


KIT = Kit(kinds=KINDS, prompts=Path(__file__).parent / "prompts", computed=_computed, serve=serve, hear=hear)
