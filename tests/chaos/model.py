"""The model of the kill tests: the stub for consensus, the extractive one for maci and critic, the debater's for the
competition, what is written down for tasks, with the same latency and journal.

What a seat of these says in words that nobody counts on holds a hash of everything that it was shown, as the stub's
replies do: two runs say the same only if every seat saw the same.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit, Model
from parley.agents.models import make_model
from parley.agents.protocols.madp.kinds import WorkStep
from parley.schemas.protocols.competition import messages as comp
from parley.schemas.protocols.maci.messages import Blind, Case, Crit, Tests
from parley.schemas.turn import Usage
from tests.chaos import tasks
from tests.chaos.verify import AT_ONCE
from tests.support.debater import Debater
from tests.support.model import StubModel, fingerprint, write_down

replace = msgspec.structs.replace


class Played(StubModel):
    """The stub, and beside it the extractive model and the debater's."""

    computes = True

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._extractive: Model | None = None
        self._debater = Debater()
        self.steps = bool(options.get("tools", False))
        """It works with tools, in steps, of which the last is written down."""

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The fixed answer, or what the model of its protocol says, after the latency."""
        if shown.protocol not in ("maci", "competition", "madp", "critic"):
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
        if shown.protocol == "competition":
            done = await self._debater.reply(shown, emit)
            return replace(done, body=_said(done.body, heard(shown)))
        if self._extractive is None:
            self._extractive = make_model("extractive")
        done = await self._extractive.reply(shown, emit)
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


def _said(body: Any, mark: str) -> Any:
    """Every reply of a competition ends with the mark, one word."""
    match body:
        case comp.Note() | comp.Spoken() | comp.StageSummary() | comp.Review():
            return replace(body, text=f"{body.text} {mark}")
        case comp.Questions():
            *first, last = body.questions
            return replace(body, questions=(*first, f"{mark}: {last}"))
        case comp.Decision():
            return replace(body, direction=f"{body.direction} {mark}")
        case comp.Bid():
            return replace(body, point=f"{body.point} {mark}")
        case comp.Marks():
            return replace(body, comment=f"{body.comment} {mark}")
        case comp.Ballot():
            return replace(body, why=f"{body.why} {mark}")
    return body


def heard(shown: Shown) -> str:
    """Question, brief, documents' names and posts, those of a channel and kind in the order shown: 64 bits, hex. Scores
    come beside what is said next, and bids as they come, so theirs is no order."""
    posts: list[Any] = []
    others = [(o.channel, o.kind, msgspec.to_builtins(o.body)) for o in shown.others]
    for key, run in groupby(sorted(others, key=lambda o: o[:2]), lambda o: o[:2]):
        bodies = [msgspec.json.encode(body, order="sorted").decode() for _, _, body in run]
        posts.append((key, sorted(bodies) if key[1] in AT_ONCE else bodies))
    parts = [shown.question, msgspec.to_builtins(shown.brief), [d.name for d in shown.documents], posts]
    return hashlib.blake2b(msgspec.json.encode(parts, order="sorted"), digest_size=8).hexdigest()


def make(options: Mapping[str, Any]) -> Played:
    """For `model: tests.chaos.model:make`."""
    return Played(options)
