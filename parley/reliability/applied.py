"""Applies settings about past outcomes: where they are stored, what a new session gets, and which way `auto`
chooses."""

from collections.abc import Callable
from pathlib import Path

from parley.client.reliability import store
from parley.client.reliability.past import Past
from parley.client.reliability.ways import AUTO, Route, ways
from parley.schemas.session import OpenSession
from parley.settings import Settings
from parley.stack.lease import default_state


def file_of(settings: Settings) -> Path | None:
    """The file of what was learned; None: a bus that runs elsewhere, and no file is named."""
    if settings.learned.file is not None:
        return settings.learned.file
    return None if settings.nats.url else (settings.state or default_state()) / store.NAME


def file_to_read(settings: Settings) -> Path | None:
    """The same, to read it. Raises BadInput where one is named and is not there: what was meant to count would silently
    not count."""
    path = file_of(settings)
    return path if path is None or settings.learned.file is None else store.named(path)


def routed(settings: Settings, question: str) -> tuple[Settings, Route | None]:
    """The settings with the protocol that past sessions speak for, where they ask for that; else as they are, and None.
    What makes a vote a vote goes over what was set for a debate.

    Raises
    ------
    BadInput
        The file cannot be read, the model of the seat that would answer alone cannot be made, or a panel file seats
        another protocol.
    """
    if settings.protocol != AUTO:
        return settings, None
    past = Past(file=file_to_read(settings), price=settings.learned.price)
    found = past.route(question, settings.learned.kind, model=lambda: model_alone(settings), able=_seated(settings))
    chosen = settings.model_copy(update={"protocol": found.protocol})
    return (chosen.over(found.protocol, found.settings) if found.settings else chosen), found


def _seated(settings: Settings) -> tuple[str, ...] | None:
    """The protocol that a panel file seats; None: there is none."""
    if settings.panel_file is None:
        return None
    from parley.stack.panel_file import read_panel

    return (read_panel(settings.panel_file).protocol,)


def model_alone(settings: Settings) -> str:
    """The model that would answer alone in the stack of the settings; empty: not known."""
    if settings.nats.url or settings.panel_file is not None:
        return ""
    from parley.client.protocols import setup_of
    from parley.planned.plan import plan_of

    protocol, own = ways()["one"]
    queues = setup_of(protocol).queues(own)
    plan = plan_of(settings.model_copy(update={"protocol": protocol}))
    return next((one.model for one in plan.announced if one.queue in queues), "")


def with_learned(
    opening: OpenSession,
    settings: Settings,
    now_ns: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> OpenSession:
    """The session with what past outcomes say, as settings allow it. Takes and raises what
    parley.client.reliability.past.Past does."""
    section = settings.learned
    used = section.reliability or section.calibration or section.policy
    past = Past(
        file=file_to_read(settings) if used else None, reliability=section.reliability, calibration=section.calibration,
        policy=section.policy, price=section.price,
    )  # fmt: skip
    return past.into(opening, section.kind, now_ns=now_ns, tell=tell)
