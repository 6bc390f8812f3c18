"""The model of the kill tests: the stub for consensus, the extractive one for maci, with the same latency and journal.

What a maci seat says in words that nobody reads on holds a hash of everything that it was shown, as the stub's replies
do: two runs say the same only if every seat saw the same.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from agents.context import Shown
from agents.llm import make_model
from agents.llm.base import Completion, Emit, Model
from schemas.maci import Blind, Case, Crit, Tests
from tests.support.model import StubModel, fingerprint, write_down

replace = msgspec.structs.replace


class Played(StubModel):
    """The stub, and beside it the extractive model."""

    computes = True

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._extractive: Model | None = None

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The fixed answer, or what the extractive model says, after the latency."""
        if shown.protocol != "maci":
            return await super().reply(shown, emit)
        if self.journal:
            write_down(self.journal, shown)
        if self._extractive is None:
            self._extractive = make_model("extractive")
        await asyncio.sleep(self.latency_s)
        done = await self._extractive.reply(shown, emit)
        return replace(done, body=_marked(done.body, f" having seen {fingerprint(shown)}"))


def _marked(body: Any, seen: str) -> Any:
    match body:
        case Blind():
            return replace(body, reasoning=body.reasoning + seen)
        case Case():
            return replace(body, changed=body.changed + seen)
        case Crit():
            return replace(body, scores=tuple(replace(s, justification=s.justification + seen) for s in body.scores))
        case Tests():
            return replace(body, tests=tuple(replace(t, what=t.what + seen) for t in body.tests))
    return body


def make(options: Mapping[str, Any]) -> Played:
    """For `model: tests.chaos.model:make`."""
    return Played(options)
