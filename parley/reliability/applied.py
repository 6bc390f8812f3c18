"""What a new session is opened with: the records of members, and how its confidence is to be read."""

import time
from pathlib import Path

import msgspec

from client.reliability import store
from client.reliability.route import Route, route
from client.reliability.steered import with_policy
from client.reliability.verdicts import question_hash
from parley.settings import Settings
from parley.stack.lease import default_state
from schemas.afterwards.learned import Learned
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
    settings allow them and the file has any. A question that a fit was made on is not read by that fit. Raises BadInput
    where the file cannot be read."""
    section, path = settings.learned, file_of(settings)
    learned = Learned(kind=section.kind)
    if path is not None and (section.reliability or section.calibration) and path.is_file():
        found = store.read(path)
        if section.reliability and found.verdicts:
            from client.reliability.table import table

            now = time.time_ns() if now_ns is None else now_ns
            records = table(found.verdicts, now_ns=now, question=opening.question)
            if records.rows:
                learned = msgspec.structs.replace(learned, reliability=records)
        fits = [fit for fit in found.calibrations if fit.protocol in ("", opening.protocol)]
        at_hand = question_hash(opening.question)
        if section.calibration and fits and all(said.question != at_hand for said in found.verdicts):
            learned = msgspec.structs.replace(learned, calibration=fits[-1])
    opening = opening if learned == Learned() else msgspec.structs.replace(opening, learned=learned)
    if not section.policy:
        return opening
    return with_policy(opening, path, kind=section.kind, price=section.price, now_ns=now_ns)
