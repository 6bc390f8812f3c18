"""What the choice of a protocol goes by on this machine: files, and the session before."""

from pathlib import Path

from parley.client.errors import BadInput
from parley.client.follow_up import Earlier
from parley.planned.access import last_stack, place, run
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


def is_file(question: str) -> bool:
    """Whether a question is the name of a file."""
    name = question.strip()
    try:
        return bool(name) and not name.endswith("?") and Path(name).is_file()
    except (OSError, ValueError):
        return False
