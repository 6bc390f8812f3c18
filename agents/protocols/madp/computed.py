"""Turns of MADP that are computed and asked of no model."""

from collections.abc import Mapping

from parley.agents.context import Shown
from parley.agents.extractive.turn_method import TurnMethod, Workbench, reads
from parley.agents.model.base import Completion, Emit, ModelRefused
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


METHODS: Mapping[str, TurnMethod] = {
    "match": TurnMethod(match, lambda body: ", ".join(c.expert for c in body.candidates) or "nobody"),
    "check": reads(check, lambda body: body.ended),
}
