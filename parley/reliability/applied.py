"""What settings say of past outcomes: where they are kept, what a new session is opened with, and which way it goes."""

import time
from pathlib import Path
from typing import Any

from client.protocols import face_of
from client.reliability import store
from client.reliability.opened_with import with_records
from client.reliability.route import Route, route, ways
from client.reliability.steered import with_policy
from client.text import count
from coordinator.protocols import PROTOCOLS
from parley.settings import Settings
from parley.stack.lease import default_state
from schemas.session import OpenSession


def file_of(settings: Settings) -> Path | None:
    """The file of what was learned; None: a bus that runs elsewhere, and no file is named."""
    if settings.learned.file is not None:
        return settings.learned.file
    return None if settings.nats.url else (settings.state or default_state()) / store.NAME


AUTO = "auto"
"""As a protocol: past sessions decide whether it is one model, a vote or a debate."""


def routed(settings: Settings, question: str) -> tuple[Settings, Route | None]:
    """The settings with the protocol that past sessions speak for, where they ask for that; else as they are, and None.
    What makes a vote a vote goes over what was set for a debate.

    Raises
    ------
    BadInput
        The file cannot be read, or the model of the seat that would answer alone cannot be made.
    """
    if settings.protocol != AUTO:
        return settings, None
    path = file_of(settings)
    verdicts = store.read(path).verdicts if path is not None else ()
    model = _alone(settings) if verdicts else ""
    found = route(
        verdicts, question, settings.learned.kind, settings.learned.price, model=model, protocol=_seated(settings)
    )
    chosen = settings.model_copy(update={"protocol": found.protocol})
    return (chosen.over(found.protocol, found.settings) if found.settings else chosen), found


def _seated(settings: Settings) -> str:
    """The protocol that a panel file seats; empty: there is none."""
    if settings.panel_file is None:
        return ""
    from parley.stack.panel_file import read_panel

    return read_panel(settings.panel_file).protocol


def _alone(settings: Settings) -> str:
    """The model that would answer alone in the stack of the settings; empty: not known."""
    if settings.nats.url or settings.panel_file is not None:
        return ""
    from client.protocols import setup_of
    from parley.plan import plan_of

    protocol, own = ways()["one"]
    queues = setup_of(protocol).queues(own)
    plan = plan_of(settings.model_copy(update={"protocol": protocol}))
    return next((one.model for one in plan.announced if one.queue in queues), "")


def unlearned(
    settings: Settings, protocol: str, question: str, given: dict[str, Any], now_ns: int | None = None
) -> str:
    """Why a controller that is to take over what past sessions taught it takes over nothing; empty: it takes over
    something, it has no controller that learns, or that is off.

    Parameters
    ----------
    given
        The protocol's own settings that the session sets itself.

    Raises
    ------
    BadInput
        The file cannot be read.
    """
    grid = face_of(protocol).grid
    if not settings.learned.policy or not grid:
        return ""
    path, section = file_of(settings), settings.learned
    if path is None:
        return "learned.policy is on, but no file of what was learned is named: --set learned.file=FILE"
    from client.reliability.policy import LEAST, policy

    found = policy(
        store.read(path).verdicts, grid, protocol=protocol, question=question, kind=section.kind, price=section.price,
        given=PROTOCOLS[protocol].present_names(given),
        now_ns=time.time_ns() if now_ns is None else now_ns,
    )  # fmt: skip
    if found.settings or found.arms:
        return ""
    past = f"from {count(found.sessions, 'past session')} of {protocol} with feedback"
    if not found.choices:
        return f"learned.policy is on, but nothing is learned yet {past}; {LEAST} are needed"
    return f"learned.policy is on, but no setting that you leave open is surely better {past}"


def with_learned(opening: OpenSession, settings: Settings, now_ns: int | None = None) -> OpenSession:
    """The session with its kind, the members' records, the fit of its confidence and what its controller learned, where
    settings allow them and the file has any. A question that a fit was made on is not read by that fit. Raises BadInput
    where the file cannot be read."""
    section, path = settings.learned, file_of(settings)
    opening = with_records(
        opening, path, kind=section.kind, reliability=section.reliability, calibration=section.calibration,
        now_ns=now_ns,
    )  # fmt: skip
    if not section.policy:
        return opening
    return with_policy(opening, path, kind=section.kind, price=section.price, now_ns=now_ns)
