"""Compares texts for the helper with an encoder: within the turn's caps and deadline, and by words where there is none.

By which of the two it was stands in the reply's flags, and why an encoder failed: their scales differ, and so do their
thresholds. What a server's encoder used is the turn's usage. An encoder is loaded by the first turn that needs one, so
only in the helper's process.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import msgspec

from parley.agents.context import Shown
from parley.agents.encoders import Encoder, EncoderError, Spent
from parley.agents.encoders.settings import NOT_WANTED, from_options
from parley.schemas.text import BY_ENCODER, BY_WORDS, WHY
from parley.schemas.turn import Usage

_LOGGER = logging.getLogger(__name__)
T = TypeVar("T")


class Done(msgspec.Struct, Generic[T], frozen=True):
    """The result of a comparison."""

    value: T
    encoded: bool
    """By the encoder; else by words."""
    flags: tuple[str, ...]
    """What the figures are by; and, where an encoder was wanted and failed, why
    (parley.schemas.protocols.critic.WHY)."""
    usage: Usage


class TextSimilarity:
    """The helper's encoder.

    Parameters
    ----------
    own
        `options.encoder` as parley.agents.encoders.settings takes it; None: the embedded one, if it can be had.

    Raises
    ------
    EncoderMisconfigured
        What was asked for cannot be had. Nothing is loaded before the first use.
    """

    def __init__(self, own: Any = None) -> None:
        self._choice: tuple[Encoder | None, str] | None = None if own is None else from_options(own)
        self._last_why = ""

    @property
    def encoder(self) -> Encoder | None:
        """The encoder; None: there is none, or it is the embedded one, not made yet."""
        return None if self._choice is None else self._choice[0]

    async def aclose(self) -> None:
        """Close the encoder's connections, if it has any."""
        if self.encoder is not None:
            await self.encoder.aclose()

    async def use(
        self, shown: Shown, work: Callable[[Encoder, Spent], Awaitable[T]], by_words: Callable[[], T]
    ) -> Done[T]:
        """What `work` makes of the encoder within the turn's caps, a little before its deadline; else `by_words`."""
        if self._choice is None:
            self._choice = from_options(None)
        encoder, why = self._choice
        caps = shown.caps
        spent = Spent(most_tokens=min(caps.input_tokens * caps.calls, caps.all_tokens), most_calls=caps.calls)
        if encoder is not None:
            try:
                async with asyncio.timeout(_seconds_left(shown)):
                    value = await work(encoder, spent)
                return Done(value, True, (BY_ENCODER, *_unpriced(encoder)), _usage(encoder, spent))
            except EncoderError as error:
                why = error.why
            except TimeoutError:
                why = "no vectors before the turn's deadline"
            why = f"encoder {encoder.name}: {why}"
        if why != self._last_why:
            self._last_why = why
            _LOGGER.warning("texts are compared by their words: %s", why)
        reason = () if why == NOT_WANTED else (f"{WHY}{why}"[:200],)
        return Done(await asyncio.to_thread(by_words), False, (BY_WORDS, *reason), _usage(encoder, spent))


def _seconds_left(shown: Shown) -> float | None:
    """How long the encoder may take. A turn whose deadline is past is no live one (a worker begins none): no limit."""
    left_s = (shown.deadline_ns - time.time_ns()) / 1e9
    return left_s * 0.95 if left_s > 0 else None


def _usage(encoder: Encoder | None, spent: Spent) -> Usage:
    """A turn is a call, whether or not a server was asked."""
    price = 0.0 if encoder is None else encoder.usd_per_million or 0.0
    return Usage(
        calls=max(1, spent.calls),
        input_tokens=spent.tokens,
        cost_usd=spent.tokens * price / 1e6,
        estimated=spent.estimated,
        unpriced=encoder is not None and encoder.usd_per_million is None and spent.tokens > 0,
    )


def _unpriced(encoder: Encoder) -> tuple[str, ...]:
    return ("unpriced",) if encoder.usd_per_million is None else ()
