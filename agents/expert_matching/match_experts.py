"""The helper's turn `match`: computed, whatever model its seat has, from the experts that it has heard of; where that
is unsure and the seat has a language model, this is asked (agents/expert_matching/ask_model.py)."""

import asyncio
from typing import TYPE_CHECKING

from parley.agents.context import Shown
from parley.agents.encoders import EncoderError
from parley.agents.expert_matching import ask_model, keyword_baseline
from parley.agents.expert_matching.expert_scores import Matcher, matching_encoder
from parley.agents.model.base import Completion, Emit, Model
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Asking, Match, Task
from parley.schemas.text import BY_ENCODER, BY_WORDS, WHY
from parley.schemas.turn import Usage

if TYPE_CHECKING:  # the bus's client
    from parley.agents.expert_registry import ExpertRegistry

_CALL = Usage(calls=1)


class ExpertMatching:
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
        self._flags: tuple[str, ...] = (BY_ENCODER,)

    async def matched(self, shown: Shown, registry: "ExpertRegistry", emit: Emit) -> Completion:
        """Matched for a Match."""
        brief: Match = shown.brief
        specs = registry.specs()
        if brief.keyword:
            return Completion(body=keyword_baseline.match(brief.task, specs, name="keyword"), usage=_CALL)
        completion, matcher = await self._computed(brief.task, specs)
        asking = brief.asking
        if (
            self._asks is None
            or not isinstance(asking, Asking)
            or not ask_model.is_unsure(completion.body, asking.below)
        ):
            return completion
        everybody = await matcher.everybody(brief.task, specs)
        return await ask_model.ask(self._asks, shown, emit, completion, everybody) if everybody else completion

    async def _computed(self, task: Task, specs: tuple[ExpertSpec, ...]) -> tuple[Completion, Matcher]:
        """The match, and what made it; by words where the encoder cannot be had."""
        try:
            matcher = self._matcher or Matcher(await asyncio.to_thread(matching_encoder))
            found = await matcher.match(task, specs)
        except EncoderError as error:
            self._flags = (BY_WORDS, f"{WHY}{error.why}"[:200])
            matcher = Matcher()
            found = await matcher.match(task, specs)
        self._matcher = matcher
        return Completion(body=found, usage=_CALL, flags=self._flags), matcher
