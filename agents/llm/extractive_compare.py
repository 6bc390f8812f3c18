"""The helper of the critic protocol without a language model: how like is a new objection to each of the profile's?

    encoder    cosine of what the two quote, or of all that they say; halved where their figures differ
    words      share of words of meaning, where there is no encoder or it fails (extractive_critic_judge.alike)

Which of the two it was stands in the reply's flags: their scales differ, and so do their thresholds. An encoder is
loaded by the first turn that needs one, so only in the helper's process.
"""

import logging
from typing import Any

from agents.context import Shown
from agents.encoders import Encoder, EncoderError
from agents.encoders.settings import from_options
from agents.llm.extractive_critic_judge import LEAST_WORDS, alike, quoted
from agents.retrieval.corpus import sentence
from schemas.critic import BY_ENCODER, BY_WORDS, CompareBrief, Similarities

_LOGGER = logging.getLogger(__name__)


class Comparer:
    """Compares objections.

    Parameters
    ----------
    own
        `options.encoder` as agents.encoders.settings takes it; None: the embedded one, if it can be had.

    Raises
    ------
    EncoderMisconfigured
        What was asked for cannot be had. Nothing is loaded before the first comparison.
    """

    def __init__(self, own: Any = None) -> None:
        self._found: tuple[Encoder | None, str] | None = None if own is None else from_options(own)
        self._told = ""

    def close(self) -> None:
        """Close the encoder's connections, if it has any."""
        if self._found is not None and self._found[0] is not None:
            self._found[0].close()

    def compare(self, shown: Shown) -> tuple[Similarities, tuple[str, ...]]:
        """(one similarity for each objection of the profile, the flag that says what they are by)."""
        brief: CompareBrief = shown.brief
        if self._found is None:
            self._found = from_options(None)
        encoder, why = self._found
        if encoder is not None:
            try:
                values = by_encoder(encoder, brief.objection, brief.profile)
                return Similarities(values=values), (BY_ENCODER,)
            except EncoderError as error:
                why = error.why
        if why != self._told:
            self._told = why
            _LOGGER.warning("objections are compared by their words: %s", why)
        words = tuple(round(alike(brief.objection, text), 4) for text in brief.profile)
        return Similarities(values=words), (BY_WORDS,)


def by_encoder(encoder: Encoder, new: str, profile: tuple[str, ...]) -> tuple[float, ...]:
    """Likeness of a text to each of others, 0 to 1. Raises EncoderError."""
    texts = [_said(new), *(_said(text) for text in profile)]
    vectors = encoder.encode(texts)
    cosines = vectors[1:] @ vectors[0]
    figures = [_figures(text) for text in texts]
    found = []
    for cosine, other in zip(cosines, figures[1:], strict=True):
        value = min(1.0, max(0.0, float(cosine)))
        if figures[0] and other and not figures[0] & other:
            value /= 2
        found.append(round(value, 4))
    return tuple(found)


def _said(text: str) -> str:
    """What an objection quotes, if that is a sentence: what it says around quotations is the same each time."""
    quotes = quoted(text)
    return quotes if len(sentence(quotes).stems) >= LEAST_WORDS else text


def _figures(text: str) -> set[str]:
    return {w for w in sentence(text).words if any(c.isdigit() for c in w)}
