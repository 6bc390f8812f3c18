"""An expert's model whose first turn of work is blocked by a question."""

from collections.abc import Mapping
from typing import Any

from parley.agents.context import Shown
from parley.schemas.protocols.madp.work import Work
from tests.protocols.madp.play import blocked, done
from tests.support.madp import Actor

QUESTION = "Is Vilnius the capital of Lithuania?"


def _work(shown: Shown) -> Work:
    return done() if shown.brief.advice else blocked(QUESTION)


def make(options: Mapping[str, Any]) -> Actor:
    """For `model: tests.protocols.madp.blocked_model:make`."""
    return Actor(work=[_work])
