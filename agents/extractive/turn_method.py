"""One method of the extractive model, for one kind of turn: what a protocol brings
(parley.agents.turn_kinds.kit.Kit.methods)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from parley.agents.context import Shown
from parley.agents.expert_matching.match_experts import ExpertMatching
from parley.agents.extractive.text_similarity import TextSimilarity
from parley.agents.model.base import Completion, Emit, Model
from parley.agents.retrieval.corpus import Corpus
from parley.schemas.turn import Usage

LARGE = 200_000
"""Characters of documents from which reading leaves the event loop, so that heartbeats go on."""
Live = Callable[[Any], str]


class Workbench:
    """What one extractive model keeps between turns.

    Parameters
    ----------
    encoding
        The helper's encoder.
    asks
        A language model beside it, for what is computed and unsure (agents/expert_matching/ask_model.py).
    """

    def __init__(self, encoding: TextSimilarity, asks: Model | None) -> None:
        self.corpus = Corpus()
        """Documents, cut once and kept by content hash."""
        self.encoding = encoding
        self._asks = asks

    @cached_property
    def matching(self) -> ExpertMatching:
        """The matcher of experts."""
        return ExpertMatching(self._asks)


def answer_and_reasoning(body: Any) -> str:
    """Live text of a reply that has these two fields."""
    answer, reasoning = str(body.answer), str(body.reasoning)
    return f"{answer}\n{reasoning}" if answer else reasoning


@dataclass(frozen=True)
class TurnMethod:
    """Of one kind of turn."""

    answer: Callable[[Shown, Workbench, Emit], Awaitable[Completion]]
    """The reply. Raises ModelRefused."""
    live: Live = answer_and_reasoning
    """The reply's body as live text."""


def reads(
    read: Callable[[Shown, Corpus], tuple[Any, bool]],
    live: Live = answer_and_reasoning,
) -> TurnMethod:
    """A turn answered by reading. `read`: (the body, whether something that was read talks to its reader as to a
    machine)."""

    async def answer(shown: Shown, bench: Workbench, emit: Emit) -> Completion:
        if sum(len(d.text) for d in shown.documents) > LARGE:
            body, injected = await asyncio.to_thread(read, shown, bench.corpus)
        else:
            body, injected = read(shown, bench.corpus)
        return Completion(body=body, usage=Usage(calls=1), flags=("injection",) if injected else ())

    return TurnMethod(answer, live)


def compares(compare: Callable[[Shown, TextSimilarity], Awaitable[Completion]], live: Live) -> TurnMethod:
    """A turn answered by comparing texts, with the encoder or by words."""

    async def answer(shown: Shown, bench: Workbench, emit: Emit) -> Completion:
        return await compare(shown, bench.encoding)

    return TurnMethod(answer, live)
