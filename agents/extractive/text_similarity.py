"""Compares texts for the helper with an encoder, within the turn's deadline, and by words where there is none.

By which of the two it was stands in the reply's flags, and why an encoder failed: their scales differ, and so do their
thresholds. An encoder is loaded by the first turn that needs one, so only in the helper's process.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import msgspec

from parley.agents.context import Shown
from parley.agents.encoders import EMBEDDED, Encoder, EncoderError, make_encoder
from parley.schemas.text import BY_ENCODER, BY_WORDS, WHY

_LOGGER = logging.getLogger(__name__)
T = TypeVar("T")


class Done(msgspec.Struct, Generic[T], frozen=True):
    """The result of a comparison."""

    value: T
    encoded: bool
    """By the encoder; else by words."""
    flags: tuple[str, ...]
    """What the figures are by; and, where an encoder was wanted and failed, why (parley.schemas.text.WHY)."""


class TextSimilarity:
    """The helper's encoder.

    Parameters
    ----------
    name
        As `make_encoder` takes it; None: the embedded one, if it can be had.

    Raises
    ------
    EncoderError
        What was asked for cannot be had. Nothing is loaded before the first use.
    """

    def __init__(self, name: str | None = None) -> None:
        self._encoder: Encoder | None = None if name is None else make_encoder(name)
        self._is_chosen = name is not None
        self._why = ""
        """Why the embedded one cannot be had."""
        self._last_why = ""

    async def use(self, shown: Shown, work: Callable[[Encoder], Awaitable[T]], by_words: Callable[[], T]) -> Done[T]:
        """What `work` makes of the encoder a little before the turn's deadline; else `by_words`."""
        if not self._is_chosen:
            self._is_chosen = True
            try:
                self._encoder = make_encoder(EMBEDDED)
            except EncoderError as error:
                self._why = error.why
        why = self._why
        if self._encoder is not None:
            try:
                async with asyncio.timeout(_seconds_left(shown)):
                    return Done(await work(self._encoder), True, (BY_ENCODER,))
            except EncoderError as error:
                why = error.why
            except TimeoutError:
                why = "no vectors before the turn's deadline"
            why = f"encoder {self._encoder.name}: {why}"
        if why != self._last_why:
            self._last_why = why
            _LOGGER.warning("texts are compared by their words: %s", why)
        reason = (f"{WHY}{why}"[:200],) if why else ()
        return Done(await asyncio.to_thread(by_words), False, (BY_WORDS, *reason))


def _seconds_left(shown: Shown) -> float | None:
    """How long the encoder may take. A turn whose deadline is past is no live one (a worker begins none): no limit."""
    left_s = (shown.deadline_ns - time.time_ns()) / 1e9
    return left_s * 0.95 if left_s > 0 else None
