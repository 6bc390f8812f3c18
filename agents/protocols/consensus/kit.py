"""What agents do in the consensus protocol, as one object."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from parley.agents.artifacts import ArtifactAccess
from parley.agents.context import Shown
from parley.agents.equipment import Equipment
from parley.agents.model.base import Completion, Emit
from parley.agents.protocols.consensus.kinds import KINDS, PARTS
from parley.agents.turn_kinds.kit import Kit

if TYPE_CHECKING:
    from parley.agents.extractive.turn_method import TurnMethod


def _extractive() -> "Mapping[str, TurnMethod]":
    from parley.agents.protocols.consensus.extractive import METHODS  # numpy: for the extractive model alone

    return METHODS


async def _serve(worker: Equipment, shown: Shown, emit: Emit, artifacts: ArtifactAccess) -> Completion:
    """A panelist may look things up before it answers."""
    look_ups = getattr(shown.brief, "look_ups", None)
    if not look_ups or not worker.uses_tools:
        return await worker.model.reply(shown, emit)
    from parley.agents.looking.looked import answer  # the tool servers' client: for who looks something up

    return await answer(worker, shown, emit, look_ups)


KIT = Kit(
    kinds=KINDS,
    parts=PARTS,
    serve=_serve,
    looks_up=frozenset({"panelist"}),
    prompts=Path(__file__).parent / "prompts",
    extractive=_extractive,
)
