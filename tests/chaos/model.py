"""The model of the kill tests: the stub for consensus, the debater's for maci, critic and competition, what is written
down for tasks, with the same latency and journal.

What a seat of these says in words that nobody counts on holds a hash of everything that it was shown, as the stub's
replies do: two runs say the same only if every seat saw the same.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit, Model
from parley.agents.models import make_model
from parley.agents.protocols.madp.kinds import WorkStep
from parley.schemas.protocols.maci.messages import Blind, Case, Crit, Tests
from parley.schemas.turn import Usage
from tests.chaos import tasks
from tests.support.debater import Debater
from tests.support.model import StubModel, fingerprint, write_down

replace = msgspec.structs.replace


class Played(StubModel):
    """The stub, and beside it the debater's, and what computes a helper's turns."""

    computes = True

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._debater = Debater()
        self._computing: Model | None = None
        self.steps = bool(options.get("tools", False))
        """It works with tools, in steps, of which the last is written down."""

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The fixed answer, or what the model of its protocol says, after the latency."""
        if shown.protocol not in ("maci", "madp", "critic"):
            return await super().reply(shown, emit)
        if self.steps and shown.kind == "work" and isinstance(step := tasks.edits(shown), WorkStep):
            return Completion(body=step, usage=Usage(calls=1))
        if self.journal:
            write_down(self.journal, shown)
        if self.steps and shown.kind == "work":
            await asyncio.sleep(self.latency_s)
            return Completion(body=step, usage=Usage(calls=1))
        if shown.protocol == "madp":
            await asyncio.sleep(self.latency_s)
            return Completion(body=await _of_task(shown), usage=Usage(calls=1))
        await asyncio.sleep(self.latency_s)
        if shown.seat == "helper":
            self._computing = self._computing or make_model("extractive")
            return await self._computing.reply(shown, emit)
        done = await self._debater.reply(shown, emit)
        return done if shown.protocol == "critic" else replace(done, body=_marked(done.body, fingerprint(shown)))


async def _of_task(shown: Shown) -> Any:
    if shown.kind == "match":
        return await tasks.matched(shown)
    mark = hashlib.blake2b(msgspec.json.encode(tasks.seen(shown), order="sorted"), digest_size=8).hexdigest()
    return tasks.said(shown, mark)


def _marked(body: Any, mark: str) -> Any:
    seen = f" having seen {mark}"
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
