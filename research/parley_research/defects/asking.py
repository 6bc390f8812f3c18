"""A review of one case: the turn as a moderator gives it, the prompt, and the reply.

The turn is the one of a task without a folder, so a reviewer has the diff and no tools. What a worker lays around it is
the worker's own code (parley.agents.worker_model), and so is the prompt.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from typing import Any, Literal

import msgspec

from parley.agents.context import Shown
from parley.agents.experts import builtin
from parley.agents.models import Completion, Emit, Model, ModelError, ModelRefused, make_model
from parley.agents.openai import reply_schema
from parley.agents.openai.held_schema import schema_of
from parley.agents.prompts import prompting
from parley.agents.protocols import kind_of
from parley.agents.protocols.madp.kinds import ReviewReply
from parley.agents.worker_model import WorkerModel
from parley.schemas.expert import Deliberation, Domain, ExpertSpec, Triggers
from parley.schemas.protocols.madp.messages import Settings
from parley.schemas.protocols.madp.work import Review, ReviewBrief
from parley.schemas.routing import Task
from parley.schemas.turn import Caps, Usage
from parley.schemas.wire import InvalidValue
from parley_research.defects.cases import Case
from parley_research.loaders import BadData

Prompted = Literal["expert", "plain"]
PROMPTS: tuple[Prompted, ...] = ("expert", "plain")
PLAIN = ExpertSpec(
    id="reviewer",
    name="Reviewer",
    triggers=Triggers(primary=("review",)),
    domain=Domain(owns=("reviews",)),
    deliberation=Deliberation(claim="I review changes."),
)
"""Who reviews with the plain prompt: no field, no instructions, no checklist."""
LEAD = "generalist"
"""Who has made the change, as every prompt says it: none of those who review."""
RESULT = "The change is the diff."


class Reviewed(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the file of reviews."""

    case: str
    prompt: Prompted
    model: str
    """Or the player who wrote the reply."""
    review: Review
    usage: Usage = Usage()
    judged: tuple[int, ...] | None = None
    """By a reader: the numbers, from 1, of the findings that name the planted defect. None: the place decides."""


def reviewer(case: Case, prompt: Prompted) -> ExpertSpec:
    """Whose specification the prompt holds. Raises BadData: the case names no shipped expert."""
    if prompt == "plain":
        return PLAIN
    for spec in builtin():
        if spec.id == case.expert:
            return spec
    raise BadData(f"case {case.id}: no shipped expert {case.expert}")


def turn(case: Case, spec: ExpertSpec, seconds: float = 0.0) -> Shown:
    """The turn of the review, with so long for an answer; 0: as long as it takes."""
    settings, task = Settings(), Task(prompt=case.task)
    brief = ReviewBrief(
        task=task, expert=spec.id, lead=LEAD, summary=case.summary, output=RESULT, diff=case.diff, iteration=1,
        base="", folder="", performed=True, checks=(), tool_calls=0, model_calls=2,
    )  # fmt: skip
    return Shown(
        session=f"defects-{case.id}", protocol="madp", question=case.task, seat=spec.id, role="expert", kind="review",
        round=1, brief=brief, reply=kind_of("madp", "review").reply,
        boundary=sha256(case.diff.encode()).hexdigest()[:16],
        caps=Caps(input_tokens=settings.max_input_tokens, output_tokens=settings.max_output_tokens, calls=2),
        deadline_ns=time.time_ns() + int(seconds * 1e9) if seconds else 0,
    )  # fmt: skip


class _Noting:
    """A model that notes what it is shown, and answers nothing."""

    name = family = "none"
    metered = steps = True
    usd_per_million_input = usd_per_million_output = 0.0
    shown: Shown

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Raises ModelRefused."""
        self.shown = shown
        raise ModelRefused("it only notes what it is shown")


async def request(case: Case, prompt: Prompted, model: str) -> dict[str, Any]:
    """The messages and the reply's schema that an endpoint gets which holds a model to a schema."""
    spec, noting = reviewer(case, prompt), _Noting()
    try:
        await WorkerModel(noting, spec).reply(turn(case, spec), _silent)
    except ModelRefused:
        pass
    shown = noting.shown
    wanted = {"name": shown.kind, "strict": True, "schema": schema_of(shown, bounds=True)}
    return {
        "model": model,
        "messages": prompting.build(shown).messages,
        "response_format": {"type": "json_schema", "json_schema": wanted},
    }


def sheet(body: dict[str, Any]) -> str:
    """A request as a text for a person who plays the model."""
    schema = msgspec.json.encode(body["response_format"]["json_schema"]["schema"]).decode()
    parts = [f"----- {m['role']}\n{m['content']}" for m in body["messages"]]
    return "\n\n".join([*parts, f"----- JSON schema of the reply\n{schema}"]) + "\n"


async def reviews(
    cases: Sequence[Case], prompts: Sequence[Prompted], url: str, model: str, *, at_once: int, seconds: float
) -> AsyncIterator[Reviewed | str]:
    """Each case reviewed with each prompt by a model at an address, as they come; a text: what failed, and why."""
    options = {
        "provider": "openai_compatible", "base_url": url, "model": model, "concurrency": at_once,
        "silence_s": seconds, "reply_s": seconds,
    }  # fmt: skip
    asked = make_model("openai", options)
    gate = asyncio.Semaphore(at_once)

    async def one(case: Case, prompt: Prompted) -> Reviewed | str:
        async with gate:
            try:
                return await _reviewed(asked, case, prompt, seconds)
            except ModelError as error:
                return f"case {case.id}, {prompt}: {error.why}"

    tasks = [asyncio.ensure_future(one(case, prompt)) for case in cases for prompt in prompts]
    try:
        for done in asyncio.as_completed(tasks):
            yield await done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await WorkerModel(asked).aclose()


async def _reviewed(model: Model, case: Case, prompt: Prompted, seconds: float) -> Reviewed:
    spec = reviewer(case, prompt)
    done = await WorkerModel(model, spec).reply(turn(case, spec, seconds), _silent)
    return Reviewed(case=case.id, prompt=prompt, model=model.name, review=done.body, usage=done.usage)


def read_reply(text: str) -> Review:
    """A reply as the client of a model reads it. Raises BadData."""
    try:
        reply: ReviewReply = reply_schema.parse(text, ReviewReply)[0]
        return reply.review()
    except reply_schema.Unusable as error:
        raise BadData(error.why) from None
    except InvalidValue as error:
        raise BadData(str(error)) from None


def _silent(_text: str) -> None:
    """Drops live text."""
