"""What agents do in the competition protocol, as one object. A language model plays every seat."""

from pathlib import Path

from parley.agents.protocols.competition.kinds import KINDS
from parley.agents.turn_kinds.kit import Kit

KIT = Kit(kinds=KINDS, prompts=Path(__file__).parent / "prompts")
