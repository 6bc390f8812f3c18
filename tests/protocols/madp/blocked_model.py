"""The extractive model, whose first turn of work is blocked by a question."""

from collections.abc import Mapping
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.models import extractive
from parley.schemas.protocols.madp.work import Work, WorkBrief

QUESTION = "Is Vilnius the capital of Lithuania?"


class Blocked(extractive.Extractive):
    """Blocked until it is advised."""

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The extractive reply; of work without advice, the question."""
        found = await super().reply(shown, emit)
        if not isinstance(shown.brief, WorkBrief) or shown.brief.advice:
            return found
        return msgspec.structs.replace(found, body=Work(outcome="blocked", summary="I am stuck.", blocked=QUESTION))


def make(options: Mapping[str, Any]) -> Blocked:
    """For `model: tests.protocols.madp.blocked_model:make`."""
    return Blocked()
