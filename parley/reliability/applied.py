"""Applies settings about past outcomes: where they are stored, and what a new session gets."""

from pathlib import Path

from parley.client.reliability import store
from parley.client.reliability.past import Past
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


def with_learned(opening: OpenSession, settings: Settings, now_ns: int | None = None) -> OpenSession:
    """The session with what past outcomes say, as settings allow it. Takes and raises what
    parley.client.reliability.past.Past does."""
    section = settings.learned
    used = section.reliability or section.calibration
    past = Past(
        file=file_to_read(settings) if used else None,
        reliability=section.reliability,
        calibration=section.calibration,
    )
    return past.into(opening, section.kind, now_ns=now_ns)
