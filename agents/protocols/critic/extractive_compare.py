"""Which objection of the profile a new one repeats, without a language model.

    encoder    cosine of what the two quote, or of all that they say; halved where their figures differ
    words      share of words of meaning, where there is no encoder or it fails (extractive_judge.alike)

Which of the two it was stands in the reply's flags (agents/extractive/encoding.py).
"""

import msgspec

from parley.agents.context import Shown
from parley.agents.encoders import Encoder, Spent
from parley.agents.extractive.encoding import Encoding
from parley.agents.model.base import Completion
from parley.agents.protocols.critic.extractive_judge import LEAST_WORDS, alike, quoted, ruling
from parley.agents.retrieval.corpus import sentence
from parley.schemas.protocols.critic import JudgeBrief, Raised
from parley.schemas.turn import Usage

REPEATS_BY_ENCODER = 0.75  # cosine; measured in docs/encoders.md for the embedded encoder
"""Likeness by the encoder from which an objection repeats one of the profile."""
REPEATS_BY_WORDS = 0.6  # 0 to 1; paraphrases share less of their words
"""The same by words."""


async def judge(shown: Shown, encoding: Encoding) -> Completion:
    """The ruling, and which objection the new one repeats: the nearest, if it is near enough."""
    brief: JudgeBrief = shown.brief
    body, injected = ruling(shown)
    flags = ("injection",) if injected else ()
    new = next((o.body.objection for o in shown.others if isinstance(o.body, Raised)), "")
    known = (*brief.profile, *brief.closed)
    if not new or not known:
        return Completion(body=body, usage=Usage(calls=1), flags=flags)
    texts = tuple(o.text for o in known)
    done = await encoding.use(
        shown,
        lambda encoder, spent: by_encoder(encoder, new, texts, spent),
        lambda: tuple(round(alike(new, text), 4) for text in texts),
    )
    nearest = max(range(len(known)), key=lambda i: done.value[i])
    least = REPEATS_BY_ENCODER if done.encoded else REPEATS_BY_WORDS
    if done.value[nearest] >= least:
        body = msgspec.structs.replace(body, repeats=known[nearest].number)
    return Completion(body=body, usage=done.usage, flags=(*flags, *done.flags))


async def by_encoder(
    encoder: Encoder, new: str, profile: tuple[str, ...], spent: Spent | None = None
) -> tuple[float, ...]:
    """Likeness of a text to each of others, 0 to 1. Raises EncoderError."""
    texts = [_quoted_part(new), *(_quoted_part(text) for text in profile)]
    vectors = await encoder.encode(texts, spent)
    cosines = vectors[1:] @ vectors[0]
    figures = [_figures(text) for text in texts]
    similarities = []
    for cosine, other in zip(cosines, figures[1:], strict=True):
        value = min(1.0, max(0.0, float(cosine)))
        if figures[0] and other and not figures[0] & other:
            value /= 2
        similarities.append(round(value, 4))
    return tuple(similarities)


def _quoted_part(text: str) -> str:
    """What an objection quotes, if that is a sentence: what it says around quotations is the same each time."""
    quotes = quoted(text)
    return quotes if len(sentence(quotes).stems) >= LEAST_WORDS else text


def _figures(text: str) -> set[str]:
    return {w for w in sentence(text).words if any(c.isdigit() for c in w)}
