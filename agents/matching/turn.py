"""The helper's turn `match`: computed, whatever model its seat has, from the experts that it has heard of."""

import asyncio
from typing import TYPE_CHECKING

from agents.context import Shown
from agents.encoders import EncoderError
from agents.llm.base import Completion
from agents.matching import Matcher, match
from schemas.critic import BY_ENCODER, BY_WORDS, WHY
from schemas.madp import Match, Matched
from schemas.turn import Usage

if TYPE_CHECKING:  # the bus's client
    from agents.registry import ExpertRegistry

_CALL = Usage(calls=1)


class Matching:
    """What the helper keeps between such turns.

    Always the shipped reader, whatever else the helper compares with: the weights are fitted to it, and it costs
    nothing. Where it cannot be had, words alone decide, and the reply's flags say so.
    """

    def __init__(self) -> None:
        self._matcher: Matcher | None = None
        self._why = ""

    async def matched(self, shown: Shown, registry: "ExpertRegistry") -> Completion:
        """Matched for a Match."""
        brief: Match = shown.brief
        specs = registry.specs()
        if brief.keyword:
            return Completion(body=match(brief.task, specs, keyword=True), usage=_CALL)
        if self._matcher is None:
            self._matcher = await asyncio.to_thread(self._made)
        if not self._why:
            try:
                return self._reply(await self._matcher.match(brief.task, specs), (BY_ENCODER,))
            except EncoderError as error:
                self._why = error.why
        by_words = await self._matcher.by_words(brief.task, specs)
        return self._reply(by_words, (BY_WORDS, f"{WHY}{self._why}"[:200]))

    def _made(self) -> Matcher:
        from agents.matching.reader import make_readers

        try:
            return Matcher(make_readers())
        except EncoderError as error:
            self._why = error.why
            return Matcher()

    @staticmethod
    def _reply(body: Matched, flags: tuple[str, ...]) -> Completion:
        return Completion(body=body, usage=_CALL, flags=flags)
