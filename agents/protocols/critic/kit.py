"""What agents do in the critic protocol, as one object."""

from pathlib import Path

from parley.agents.protocols.critic.kinds import KINDS
from parley.agents.turn_kinds.kit import Kit

KIT = Kit(kinds=KINDS, prompts=Path(__file__).parent / "prompts")
