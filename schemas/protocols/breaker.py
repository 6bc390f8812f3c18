"""The circuit breaker's messages (source: seeds/madp.md 9.2): how the coordination of tasks went, and what follows."""

import msgspec

from parley.schemas.routing import TaskOutcome


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """Posts `degraded` and `recovered` on `control`."""

    text: str
    failures: tuple[TaskOutcome, ...] = ()
    """Of the last ten tasks."""
