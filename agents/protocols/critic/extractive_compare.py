"""The helper of the critic protocol without a language model: how like is a new objection to each of the profile's?

    encoder    cosine of what the two quote, or of all that they say; halved where their figures differ
    words      share of words of meaning, where there is no encoder or it fails (extractive_judge.alike)

Which of the two it was stands in the reply's flags (agents/extractive/encoding.py).
"""

from parley.agents.context import Shown
from parley.agents.encoders import Encoder, Spent
from parley.agents.extractive.encoding import Encoding
from parley.agents.model.base import Completion
from parley.agents.protocols.critic.extractive_judge import LEAST_WORDS, alike, quoted
from parley.agents.retrieval.corpus import sentence
from parley.schemas.protocols.critic import CompareBrief, Similarities


async def compare(shown: Shown, encoding: Encoding) -> Completion:
    """One similarity for each objection of the profile: by the encoder; else by words."""
    brief: CompareBrief = shown.brief
    done = await encoding.use(
        shown,
        lambda encoder, spent: by_encoder(encoder, brief.objection, brief.profile, spent),
        lambda: tuple(round(alike(brief.objection, text), 4) for text in brief.profile),
    )
    return Completion(body=Similarities(values=done.value), usage=done.usage, flags=done.flags)


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
