"""The model without a language model: no key, no download, deterministic. It answers from the documents it is given.

It reads the question's form, weighs sentences by BM25 and by words that praise or blame, and quotes what it goes by. It
knows English only, understands nothing, and says in each reasoning that no language model was at work. What it reads is
data: a sentence that gives instructions to a machine is left out of the evidence, and the reply is flagged `injection`.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from agents.context import Shown
from agents.llm import extractive_analyst, extractive_panel
from agents.llm.base import Completion, Emit, ModelMisconfigured, ModelRefused
from agents.retrieval.corpus import Corpus
from schemas.consensus import Analysis, Position, Synthesis
from schemas.turn import Usage

LARGE = 200_000
"""Characters of documents from which reading leaves the event loop, so that heartbeats go on."""


class Extractive:
    """Model `extractive`. Documents are cut once and kept by content hash."""

    name = "extractive"
    family = "extractive"
    metered = False
    usd_per_million_input = 0.0
    usd_per_million_output = 0.0

    def __init__(self) -> None:
        self._corpus = Corpus()

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Answer one turn; same turn, same reply.

        Raises
        ------
        ModelRefused
            A kind of turn that it has no method for.
        """
        if sum(len(d.text) for d in shown.documents) > LARGE:
            body, flags = await asyncio.to_thread(self._answer, shown)
        else:
            body, flags = self._answer(shown)
        emit(_spoken(body))
        return Completion(body=body, usage=Usage(calls=1), flags=flags)

    def _answer(self, shown: Shown) -> tuple[Position | Analysis | Synthesis, tuple[str, ...]]:
        kind = (shown.protocol, shown.kind)
        if kind in (("consensus", "answer"), ("consensus", "revise")):
            position, injected = extractive_panel.position(shown, self._corpus)
            return position, ("injection",) if injected else ()
        if kind == ("consensus", "score"):
            return extractive_analyst.score(shown), ()
        if kind == ("consensus", "synthesize"):
            return extractive_analyst.synthesize(shown), ()
        raise ModelRefused(
            f"the extractive model has no method for {shown.kind!r} turns of protocol {shown.protocol!r}"
        )


def _spoken(body: Position | Analysis | Synthesis) -> str:
    if isinstance(body, Analysis):
        return f"{body.score:g}: {body.comment}"
    return f"{body.answer}\n{body.reasoning}" if body.answer else body.reasoning


def make(options: Mapping[str, Any]) -> Extractive:
    """The model; it takes no options.

    Raises
    ------
    ModelMisconfigured
        An option was given.
    """
    if options:
        raise ModelMisconfigured(f"options.{next(iter(options))}: the extractive model takes no options")
    return Extractive()
