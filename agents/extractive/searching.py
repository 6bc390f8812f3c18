"""A search for an answer within a turn, with the seat's encoder."""

import asyncio
from collections.abc import Sequence

import numpy as np

from parley.agents.context import Shown
from parley.agents.encoders import Encoder, Spent
from parley.agents.extractive.answer_search import Search, SearchResult
from parley.agents.extractive.evidence import EvidenceSentence
from parley.agents.extractive.text_similarity import Done, TextSimilarity
from parley.schemas.text import BY_ENCODER
from parley.schemas.turn import Usage


async def search(
    shown: Shown, encoding: TextSimilarity, question: str, evidence: Sequence[EvidenceSentence]
) -> Done[SearchResult]:
    """What sentences answer, as sure as encoder and words say it; by words alone where there is no encoder."""
    begun = await asyncio.to_thread(Search, question, evidence)
    if not begun.texts:
        return Done(begun.result(None), False, (), Usage(calls=1))

    async def compare(encoder: Encoder, spent: Spent) -> SearchResult:
        rows = np.asarray(await encoder.encode(begun.texts, spent))
        return begun.result(dict(zip(begun.texts, rows, strict=True)))

    done = await encoding.use(shown, compare, lambda: begun.result(None))
    return Done(done.value, done.encoded, tuple(f for f in done.flags if f != BY_ENCODER), done.usage)
