"""What the choice of a protocol goes by on this machine: models, files, and the session before."""

from dataclasses import replace
from pathlib import Path

from parley.client.errors import BadInput
from parley.client.follow_up import Earlier
from parley.client.protocols import panel_setup
from parley.planned.access import last_stack, place, run
from parley.planned.plan import Plan
from parley.schemas.session import SESSION_ID
from parley.settings import Settings


def earlier(settings: Settings, sid: str, *, ephemeral: bool = False) -> Earlier:
    """What a finished session leaves to the one that goes on from it. Raises BadInput, Unreachable."""
    if ephemeral:
        raise BadInput("--continue", f"--ephemeral keeps nothing, so there is no session {sid} to go on from")
    if not SESSION_ID.fullmatch(sid):
        raise BadInput("--continue", f"{sid!r} is no session's id")

    async def read() -> Earlier:
        async with last_stack(settings) as parley:
            if parley is None:
                why = f"there is no session {sid}: no session ever ran in {place(settings)}"
                raise BadInput("--continue", why)
            return await parley.earlier(sid)

    return run(read())


def has_model(plan: Plan, *, ephemeral: bool = False) -> bool | None:
    """Whether a seat of a panel would have a language model; None: others run it, and nobody knows."""
    if plan.settings.nats.url or plan.uses_kept(ephemeral=ephemeral):
        return None
    of_panel = plan.settings.model_copy(update={"protocol": panel_setup().name})
    return not all(worker.keyless for worker in replace(plan, settings=of_panel).announced)


def is_file(question: str) -> bool:
    """Whether a question is the name of a file."""
    name = question.strip()
    try:
        return bool(name) and not name.endswith("?") and Path(name).is_file()
    except (OSError, ValueError):
        return False
