"""Chooses the protocol of a question that is asked here, by what comes with it and by what the settings say."""

from collections.abc import Collection
from pathlib import Path

from parley.client.choice import Choice, choose
from parley.client.protocols import panel_setup
from parley.planned.plan import Plan
from parley.stack.lease import default_state, read_running


def chosen(
    plan: Plan,
    question: str,
    *,
    folder: bool,
    documents: bool,
    ephemeral: bool = False,
    allowed: Collection[str] = (),
) -> tuple[Plan, Choice]:
    """The plan with the protocol that was chosen, where neither the settings nor a panel file name one.

    Parameters
    ----------
    allowed
        Protocols that take every option which was given.

    Raises
    ------
    BadInput
        As parley.client.choice.choose; a model cannot be made.
    """
    if plan.named:
        return plan, Choice(protocol=plan.protocol, why="")
    choice = choose(
        question, folder=folder, documents=documents, allowed=allowed,
        model=_has_model(plan, ephemeral=ephemeral), is_file=_is_file(question),
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
