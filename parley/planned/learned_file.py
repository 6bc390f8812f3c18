"""Where what was learned from past outcomes is kept, as settings have it."""

from pathlib import Path

from parley.client.learned import store
from parley.client.learned.past import PastOutcomes
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
    return path if path is None or settings.learned.file is None else store.existing_file(path)


def past_of(settings: Settings) -> PastOutcomes:
    """How sessions use what was learned. Raises BadInput as `file_to_read`."""
    return PastOutcomes(file=file_to_read(settings) if settings.learned.used else None)
