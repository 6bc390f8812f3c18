"""What agents do in the maci protocol, as one object."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from parley.agents.artifacts import ArtifactAccess
from parley.agents.context import Shown
from parley.agents.equipment import Equipment
from parley.agents.looking import serve
from parley.agents.model.base import Completion, Emit
from parley.agents.protocols.maci.kinds import KINDS, LOOKING, PARTS
from parley.agents.turn_kinds.kit import Kit
from parley.schemas.protocols.maci.messages import Passages
from parley.schemas.tools import is_found

if TYPE_CHECKING:
    from parley.agents.extractive.turn_method import TurnMethod


def _computed() -> "Mapping[str, TurnMethod]":
    from parley.agents.protocols.maci.computed import METHODS  # numpy: for the helper alone

    return METHODS


async def _serve(worker: Equipment, shown: Shown, emit: Emit, artifacts: ArtifactAccess) -> Completion:
    """A debater is shown what it looked up in this very turn; what was looked up before is among the passages."""
    if shown.kind in LOOKING:
        posts = (o.body for o in shown.others if isinstance(o.body, Passages))
        known = {p.document for body in posts for p in body.passages}
        mine = tuple(d for d in shown.documents if is_found(d.id, d.name) and d.name not in known)
        shown = msgspec.structs.replace(shown, documents=mine)
    return await serve(worker, shown, emit, artifacts)


KIT = Kit(
    kinds=KINDS,
    parts=PARTS,
    serve=_serve,
    looks_up=frozenset({"debater"}),
    prompts=Path(__file__).parent / "prompts",
    computed=_computed,
)
