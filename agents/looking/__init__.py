"""Looking things up before a turn, with the operator's tools."""

from parley.agents.artifacts import ArtifactAccess
from parley.agents.context import Shown
from parley.agents.equipment import Equipment
from parley.agents.model.base import Completion, Emit


async def serve(worker: Equipment, shown: Shown, emit: Emit, artifacts: ArtifactAccess) -> Completion:
    """Answer a turn, before which the seat may look things up (Kit.serve)."""
    look_ups = getattr(shown.brief, "look_ups", None)
    if not look_ups or not worker.uses_tools:
        return await worker.model.reply(shown, emit)
    from parley.agents.looking.looked import answer  # the tool servers' client: for who looks something up

    return await answer(worker, shown, emit, look_ups)
