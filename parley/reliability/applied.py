"""What a new session is opened with: the records of members, how its confidence is to be read, and what its controller
learned."""

import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from client.protocols import face_of
from client.reliability import store
from client.reliability.route import Route, route
from client.reliability.verdicts import Verdict, question_hash
from coordinator.protocols import PROTOCOLS
from parley.settings import Settings
from parley.stack.lease import default_state
from schemas.afterwards.learned import Learned
from schemas.afterwards.policy import Policy
from schemas.session import OpenSession


def file_of(settings: Settings) -> Path | None:
    """The file of what was learned; None: a bus that runs elsewhere, and no file is named."""
    if settings.learned.file is not None:
        return settings.learned.file
    return None if settings.nats.url else (settings.state or default_state()) / store.NAME


AUTO = "auto"
"""As a protocol: past sessions decide whether it is a vote or a debate."""


def routed(settings: Settings, question: str) -> tuple[Settings, Route | None]:
    """The settings with the protocol that past sessions speak for, where they ask for that; else as they are, and None.

    Raises
    ------
    BadInput
        The file cannot be read.
    """
    if settings.protocol != AUTO:
        return settings, None
    path = file_of(settings)
    verdicts = store.read(path).verdicts if path is not None else ()
    found = route(verdicts, question, settings.learned.kind, settings.learned.price)
    given = settings.of(found.protocol)
    own = {name: value for name, value in found.settings.items() if name not in given}
    chosen = settings.model_copy(update={"protocol": found.protocol})
    return (chosen.over(found.protocol, own) if own else chosen), found


def with_learned(opening: OpenSession, settings: Settings, now_ns: int | None = None) -> OpenSession:
    """The session with its kind, the members' records, the fit of its confidence and what its controller learned, where
    settings allow them and the file has any. A question that a fit was made on is not read by that fit. Settings that
    the session has already stay as they are. Raises BadInput where the file cannot be read."""
    section, path = settings.learned, file_of(settings)
    now_ns = time.time_ns() if now_ns is None else now_ns
    learned = Learned(kind=section.kind)
    if path is not None and (section.reliability or section.calibration or section.policy) and path.is_file():
        found = store.read(path)
        if section.reliability and found.verdicts:
            from client.reliability.table import table

            records = table(found.verdicts, now_ns=now_ns, question=opening.question)
            if records.rows:
                learned = msgspec.structs.replace(learned, reliability=records)
        fits = [fit for fit in found.calibrations if fit.protocol in ("", opening.protocol)]
        at_hand = question_hash(opening.question)
        if section.calibration and fits and all(said.question != at_hand for said in found.verdicts):
            learned = msgspec.structs.replace(learned, calibration=fits[-1])
        if section.policy and (steering := policy_of(found.verdicts, opening, settings, now_ns)) is not None:
            learned = msgspec.structs.replace(learned, policy=steering)
            opening = msgspec.structs.replace(opening, settings={**opening.settings, **steering.settings})
    return opening if learned == Learned() else msgspec.structs.replace(opening, learned=learned)


def policy_of(verdicts: Iterable[Verdict], opening: OpenSession, settings: Settings, now_ns: int) -> Policy | None:
    """What past sessions of the protocol say of its controller; None: it has none that learns, or nothing is known that
    would be applied. What the session sets itself is not chosen for it."""
    grid = face_of(opening.protocol).grid
    if not grid:
        return None
    given = PROTOCOLS[opening.protocol].present_names(opening.settings)
    from client.reliability.policy import policy

    found = policy(
        verdicts, grid, protocol=opening.protocol, now_ns=now_ns, price=settings.learned.price,
        question=opening.question, kind=settings.learned.kind, given=given,
    )  # fmt: skip
    return found if found.settings or found.arms else None
