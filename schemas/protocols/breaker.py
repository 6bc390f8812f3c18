"""The circuit breaker's messages (source: seeds/madp.md 9.2): how the coordination of tasks went, and what follows."""

import msgspec

from schemas.protocols.consensus import at_most

MOST_WHY = 600
"""Characters of what failed."""


class TaskOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a task's session tells the breaker, as `outcome`, once."""

    session: str
    ok: bool
    """Whether its coordination went well; in degraded mode, whether the task found its lead."""
    why: str = ""
    """What failed."""
    counts: bool = True
    """False: the failure may be the asker's own settings' doing, and says nothing of anybody else's tasks."""

    def __post_init__(self) -> None:
        at_most("outcome.session", self.session, 64)
        at_most("outcome.why", self.why, MOST_WHY)

    @classmethod
    def of(cls, session: str, failure: str, counts: bool = True) -> "TaskOutcome":
        """Of a task's session; without a failure it went well, and a long one is cut."""
        return cls(session=session, ok=not failure, why=failure[:MOST_WHY], counts=counts)


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """Posts `degraded` and `recovered` on `control`."""

    text: str
    failures: tuple[TaskOutcome, ...] = ()
    """Of the last ten tasks."""
