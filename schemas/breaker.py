"""The circuit breaker's messages (source: seeds/madp.md 9.2): how the coordination of tasks went, and what follows."""

import msgspec

from schemas.consensus import at_most


class TaskOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a task's session tells the breaker, as `outcome`, once."""

    session: str
    ok: bool
    """Whether its coordination went well; in degraded mode, whether the task found its lead."""
    why: str = ""
    """What failed."""

    def __post_init__(self) -> None:
        at_most("outcome.session", self.session, 64)
        at_most("outcome.why", self.why, 600)


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """Posts `degraded` and `recovered` on `control`."""

    text: str
    failures: tuple[TaskOutcome, ...] = ()
    """Of the last ten tasks."""
