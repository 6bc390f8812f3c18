"""The helper's turn `match`: computed, whatever model its seat has, from the experts that it has heard of; where that
is unsure and the seat has a language model, this is asked (agents/matching/ask_model.py)."""

import asyncio
import contextlib
from typing import TYPE_CHECKING

from parley.agents.context import Shown
from parley.agents.encoders import EncoderError
from parley.agents.matching import Matcher, embedded, match
from parley.agents.model.base import Completion, Emit, Model
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Asking, Candidate, Match, Matched, Task
from parley.schemas.similarity import BY_ENCODER, BY_WORDS, WHY
from parley.schemas.turn import Usage

if TYPE_CHECKING:  # the bus's client
    from parley.agents.expert_registry import ExpertRegistry

_CALL = Usage(calls=1)


class Matching:
    """What the helper keeps between such turns.

    Always the embedded encoder, whatever else the helper compares with: the matcher's figures were chosen for it, and
    it costs nothing. Where it cannot be had, words alone decide, and the reply's flags say so.

    Parameters
    ----------
    asks
        The seat's language model; None: it has none.
    """

    def __init__(self, asks: Model | None = None) -> None:
        self._asks = asks
        self._matcher: Matcher | None = None
        self._why = ""

    async def matched(self, shown: Shown, registry: "ExpertRegistry", emit: Emit) -> Completion:
        """Matched for a Match."""
        brief: Match = shown.brief
        specs = registry.specs()
        if brief.keyword:
            return Completion(body=match(brief.task, specs, keyword=True), usage=_CALL)
        completion = await self._computed(brief, specs)
        if self._asks is None or not isinstance(brief.asking, Asking):
            return completion
        from parley.agents.matching.ask_model import ask, is_unsure

        if not is_unsure(completion.body, brief.asking.below):
            return completion
        everybody = await self._everybody(brief.task, specs)
        return await ask(self._asks, shown, emit, completion, everybody) if everybody else completion

    async def _everybody(self, task: Task, specs: tuple[ExpertSpec, ...]) -> list[tuple[ExpertSpec, Candidate]]:
        assert self._matcher is not None, "it has just matched"
        with contextlib.suppress(EncoderError):
            return await self._matcher.everybody(task, specs, by_words=bool(self._why))
        return await self._matcher.everybody(task, specs, by_words=True)

    async def _computed(self, brief: Match, specs: tuple[ExpertSpec, ...]) -> Completion:
        """The match; by words where the encoder cannot be had."""
        if self._matcher is None:
            self._matcher = await asyncio.to_thread(self._make_matcher)
        if not self._why:
            try:
                return self._reply(await self._matcher.match(brief.task, specs), (BY_ENCODER,))
            except EncoderError as error:
                self._why = error.why
        by_words = await self._matcher.by_words(brief.task, specs)
        return self._reply(by_words, (BY_WORDS, f"{WHY}{self._why}"[:200]))

    def _make_matcher(self) -> Matcher:
        try:
            return Matcher(embedded())
        except EncoderError as error:
            self._why = error.why
            return Matcher()

    @staticmethod
    def _reply(body: Matched, flags: tuple[str, ...]) -> Completion:
        return Completion(body=body, usage=_CALL, flags=flags)
