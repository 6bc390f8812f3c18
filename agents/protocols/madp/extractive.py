"""How the extractive model answers each kind of turn of MADP."""

from collections.abc import Mapping
from typing import Any

from parley.agents.context import Shown
from parley.agents.extractive.turn_method import TurnMethod, Workbench, reads
from parley.agents.model.base import Completion, Emit, ModelRefused
from parley.agents.protocols.madp.extractive_expert import review, support, words, work
from parley.agents.retrieval.corpus import Corpus
from parley.schemas.protocols.madp.work import CheckBrief, Checked


async def match(shown: Shown, bench: Workbench, emit: Emit) -> Completion:
    """Which experts the task calls for, of those that the helper's worker has heard of."""
    if shown.experts is None:
        raise ModelRefused("this worker hears no experts, and so cannot match a task")
    await shown.experts.settled(shown.brief.experts)
    return await bench.matching.matched(shown, shown.experts, emit)


def check(shown: Shown, corpus: Corpus) -> tuple[Checked, bool]:
    """A check is run by its worker (agents/protocols/madp/check_worker.py), never by a model: here it is not run."""
    brief: CheckBrief = shown.brief
    return Checked(when=brief.when, command=brief.command, ended="this worker runs no commands", ran=False), False


def _work(body: Any) -> str:
    return f"{body.summary}\n{body.output}"


METHODS: Mapping[str, TurnMethod] = {
    "match": TurnMethod(match, lambda body: ", ".join(c.expert for c in body.candidates) or "nobody"),
    "words": reads(words, lambda body: "", in_thread=True),
    "check": reads(check, lambda body: body.ended),
    "work": reads(work, _work, in_thread=True),
    "support": reads(support, _work, in_thread=True),
    "review": reads(
        review, lambda body: "\n".join([body.verdict, *(f.description for f in body.findings)]), in_thread=True
    ),
}
