"""Chooses the protocol of a question that is asked here, by what comes with it and by what the settings say."""

from collections.abc import Collection
from pathlib import Path

from parley.client.choice import Choice, choose
from parley.client.errors import BadInput
from parley.client.follow_up import Earlier
from parley.client.protocols import panel_setup
from parley.planned.access import last_stack, place, run
from parley.planned.plan import Plan
from parley.schemas.session import SESSION_ID
from parley.settings import Settings
from parley.stack.lease import default_state, read_running


def earlier(settings: Settings, sid: str, *, ephemeral: bool = False) -> Earlier:
    """What a finished session leaves to the one that goes on from it. Raises BadInput, Unreachable."""
    if ephemeral:
        raise BadInput("continue", f"--ephemeral keeps nothing, so there is no session {sid} to go on from")
    if not SESSION_ID.fullmatch(sid):
        raise BadInput("continue", f"{sid!r} is no session's id")

    async def read() -> Earlier:
        async with last_stack(settings) as parley:
            if parley is None:
                why = f"there is no session {sid}: no session ever ran in {place(settings)}"
                raise BadInput("continue", why)
            return await parley.earlier(sid)

    return run(read())


def chosen(
    plan: Plan,
    question: str,
    *,
    folder: bool,
    documents: bool,
    ephemeral: bool = False,
    allowed: Collection[str] = (),
    named: bool = False,
    before: Earlier | None = None,
) -> tuple[Plan, Choice]:
    """The plan with the protocol that was chosen, where neither the settings nor a panel file name one.

    Parameters
    ----------
    allowed
        Protocols that take every option which was given.
    named
        The question itself names the protocol, and not only the settings.
    before
        The session that it goes on from: its protocol goes over that of the settings.

    Raises
    ------
    BadInput
        As parley.client.choice.choose; a model cannot be made.
    """
    if named or (plan.named and before is None):
        return plan, Choice(protocol=plan.protocol, why="")
    choice = choose(
        question, folder=folder, documents=documents, allowed=allowed,
        model=_has_model(plan, ephemeral=ephemeral), is_file=_is_file(question),
        follows=before.protocol if before else "", had_folder=bool(before and before.had_folder),
    )  # fmt: skip
    return plan.asked(choice.protocol), choice


def _has_model(plan: Plan, *, ephemeral: bool) -> bool | None:
    """Whether a seat of a panel has a language model; None: others run it, and nobody knows."""
    settings = plan.settings
    if settings.nats.url:
        return None
    running = None if ephemeral else read_running(settings.state or default_state())
    if running is not None and running.permanent:
        return None
    return not all(worker.keyless for worker in plan.asked(panel_setup().name).announced)


def _is_file(question: str) -> bool:
    name = question.strip()
    try:
        return bool(name) and not name.endswith("?") and Path(name).is_file()
    except (OSError, ValueError):
        return False
