"""Critic sessions for the kill tests, on the extractive model."""

from functools import lru_cache

from schemas import log
from schemas.session import OpenSession
from tests.chaos.harness import TURN_TIMEOUT_S, Play
from tests.protocols.critic.simulate import ROLES, example, run

ARCHIVE = "critic-archive"


def critic(seeds: int = 2) -> Play:
    """A question that is answered, criticised and judged until no objection is left."""
    question, documents = example(ARCHIVE)
    request = OpenSession(question=question, protocol="critic", documents=documents, turn_timeout_s=TURN_TIMEOUT_S)
    return Play(request=request, turns=_turns(), queues=ROLES, seeds=seeds)


@lru_cache
def _turns() -> int:
    """Counted in one process, without a bus."""
    ended = run(*example(ARCHIVE))
    return sum(isinstance(e.event, log.Replied) for e in ended.entries)
