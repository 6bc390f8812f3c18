"""How fast recorded debates go through the controller, beside a loop that only counts votes."""

import time
from collections.abc import Sequence

import msgspec

from parley_research.debates.harness import play
from parley_research.debates.method import UNLIMITED
from parley_research.debates.methods.controlled import Controlled
from parley_research.debates.methods.votes import FullDebate
from parley_research.debates.record import RecordedDebate


class Speed(msgspec.Struct, frozen=True, kw_only=True):
    """Debates a second, in one thread of this machine."""

    debates: int
    rounds: int
    controller: float
    """Courses of answers that debates share are computed once, as the report does it."""
    uncached: float
    """Every debate on its own."""
    votes: float
    """The floor of the same run: votes are counted, no signal is computed."""


def measured(debates: Sequence[RecordedDebate]) -> Speed:
    """Each way once over all debates, the controller from an empty cache."""
    published = Controlled("speed", "speed", {"reading": "paper"})
    Controlled.played.cache_clear()
    controller = _rate(published, debates)
    sample = debates[: min(len(debates), 500)]
    began = time.perf_counter()
    for debate in sample:
        Controlled.played.cache_clear()
        published.run(debate, UNLIMITED)
    uncached = len(sample) / (time.perf_counter() - began)
    return Speed(
        debates=len(debates),
        rounds=sum(len(debate.rounds) for debate in debates),
        controller=controller,
        uncached=uncached,
        votes=_rate(FullDebate(), debates),
    )


def _rate(method: FullDebate | Controlled, debates: Sequence[RecordedDebate]) -> float:
    began = time.perf_counter()
    play(method, None, debates)
    return len(debates) / (time.perf_counter() - began)
