"""How a protocol chooses who takes a task, in one process and without a bus: what a SETUP may bring for it."""

import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from parley.schemas.routing import Depth, Factors, Matched, Task


class MatchedExpert(msgspec.Struct, frozen=True, kw_only=True):
    """One that the matcher found, 0 to 1."""

    expert: str
    relevance: float
    confidence: float


class ExpertPart(msgspec.Struct, frozen=True, kw_only=True):
    """An expert that takes part, and what it does."""

    expert: str
    responsibility: str


class SkippedExpert(msgspec.Struct, frozen=True, kw_only=True):
    """An expert that takes no part, and why."""

    expert: str
    reason: str


class Route(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a task would come to."""

    task: str
    depth: Depth
    candidates: tuple[MatchedExpert, ...]
    factors: Factors
    lead: ExpertPart | None
    """None: no expert takes it. Where a general-purpose expert is among them, the rationale says that it would."""
    support: tuple[ExpertPart, ...]
    excluded: tuple[SkippedExpert, ...]
    rationale: str
    token_cost: int
    """Tokens of models: declared claims take none."""
    duration_ms: float
    """Wall time, from the task to who leads; of several that are matched together, each has its share of that."""
    cleaned: tuple[str, ...] = ()
    """What was taken out of the task before it was matched; absent: nothing."""


class Router(typing.Protocol):
    """Routes tasks among the same experts."""

    async def ready(self) -> None:
        """Load what is loaded once, so that no task's duration has it. Raises BadInput."""

    async def route_all(self, tasks: Sequence[Task]) -> list[Route]:
        """The routes of many tasks, in their order. Raises BadInput."""

    def routed(self, task: Task, matched: Matched, seconds: float = 0.0) -> Route:
        """What a task comes to that has been matched, which took so many seconds."""


@dataclass(frozen=True)
class Routing:
    """A protocol's way to who leads."""

    router: Callable[..., Router]
    """From the experts' specifications; with `keyword=True` trigger words alone choose, and nobody claims. Raises
    BadInput."""
    task: Callable[[str, tuple[str, ...]], Task]
    """A prompt and the files that it is about, as they are matched. Raises parley.schemas.wire.InvalidValue."""
    ask_below: float
    """The confidence below which a language model is asked."""
