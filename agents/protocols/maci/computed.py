"""Turns of the MACI protocol that are computed: its helper finds passages, and measures how near quotations are to
the matter.

    retrieve   BM25 takes twice as many passages as are wanted, an encoder orders them anew (B.2), and the first are
               taken; without an encoder, in the order of BM25
    measure    cosines of the quotations with each other and with the prototype (eq. 1, D.1)

No language model has a part in either, whatever the seat's model is. Only figures leave the process, no vectors.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

import msgspec
import numpy as np

from parley.agents.context import Shown
from parley.agents.encoders import Encoder
from parley.agents.extractive.text_similarity import Done, TextSimilarity
from parley.agents.extractive.turn_method import TurnMethod, compares
from parley.agents.model.base import Completion
from parley.agents.retrieval.corpus import collapse
from parley.agents.retrieval.dense import (
    POOL,
    Rows,
    counted,
    prototype,
    relevant,
    rerank,
    similar,
    subject,
    unit,
)
from parley.agents.retrieval.passages import Piece, passages, ranked, within
from parley.schemas.protocols.maci.messages import Excerpt, MeasureBrief, Measured, Passages, RetrieveBrief, Retrieved
from parley.schemas.session import Document
from parley.schemas.text import Similar
from parley.schemas.turn import Usage

MOST = 400
"""Passages of one reply."""


async def retrieve(shown: Shown, encoding: TextSimilarity) -> Completion:
    """Passages of the documents for the task or for queries; for the task also their similarities."""
    brief: RetrieveBrief = shown.brief
    queries = brief.queries or (shown.question,)
    pieces, left_out = await asyncio.to_thread(_pieces, shown.documents, brief.known)
    pools = await asyncio.to_thread(_pools, queries, pieces, brief)
    texts = list(dict.fromkeys([*queries, matter(shown), *(pieces[i].text for pool in pools for i in pool)]))
    rows = await _TextVectors.of(shown, encoding, texts)
    if rows.encoded:
        pools = [
            [pool[i] for i in rerank(rows.vector(query), rows.many(pieces[i].text for i in pool))]
            for query, pool in zip(queries, pools, strict=True)
        ]
    # The best for each query first, then the second best, so that a bound on all leaves none without.
    turns = (i for layer in zip_longest(*(pool[: brief.k] for pool in pools)) for i in layer if i is not None)
    most = min(MOST, brief.k * len(queries))
    taken = within((pieces[i] for i in dict.fromkeys(turns)), most, brief.tokens)
    passages = [p.text for p in taken]
    body = Retrieved(
        passages=tuple(Excerpt(document=p.document, text=p.text) for p in taken),
        similar=Similar() if brief.queries else rows.similar(shown, passages, passages),
    )
    return Completion(body=body, usage=Usage(calls=1), flags=(*rows.flags, *(("injection",) if left_out else ())))


async def measure(shown: Shown, encoding: TextSimilarity) -> Completion:
    """Similarities of the round's quotations."""
    brief: MeasureBrief = shown.brief
    posts = (o.body for o in shown.others if isinstance(o.body, Passages) and not o.body.queries)
    task = [p.text for body in posts for p in body.passages]
    quotes = [span.quote for span in brief.spans]
    rows = await _TextVectors.of(shown, encoding, [matter(shown), *task, *quotes])
    body = Measured(similar=rows.similar(shown, task, quotes))
    return Completion(body=body, usage=Usage(calls=1), flags=rows.flags)


class _TextVectors:
    """Texts and their vectors, by an encoder or by words counted."""

    def __init__(self, texts: Sequence[str], done: Done[Rows]) -> None:
        self._rows = done.value
        self._place = {text: i for i, text in enumerate(texts)}
        self.encoded = done.encoded
        self.flags = done.flags

    @classmethod
    async def of(cls, shown: Shown, encoding: TextSimilarity, texts: Sequence[str]) -> "_TextVectors":
        """The vectors of texts; what they are by stands in `flags`."""
        unique = list(dict.fromkeys(collapse(t) for t in texts))

        async def encode(encoder: Encoder) -> Rows:
            return unit(np.asarray(await encoder.encode(unique), dtype=np.float64))

        return cls(unique, await encoding.use(shown, encode, lambda: counted(unique)))

    def vector(self, text: str) -> Rows:
        """Shape (dimension,)."""
        return np.asarray(self._rows[self._place[collapse(text)]])

    def many(self, texts: Iterable[str]) -> Rows:
        """Shape (n, dimension)."""
        return np.asarray(self._rows[[self._place[collapse(t)] for t in texts]])

    def similar(self, shown: Shown, task: Sequence[str], texts: Sequence[str]) -> Similar:
        """Similarities of texts, by the prototype that the brief asks for; `task`: the task's passages."""
        about, context = self.vector(matter(shown)), self.many(task)
        if shown.brief.subject is not msgspec.UNSET:
            context = relevant(about, context, shown.brief.subject.relevant_from)
        return similar(self.many(texts), prototype(about, context))


def matter(shown: Shown) -> str:
    """What the question is about, in words."""
    of = shown.brief.subject
    return shown.question if of is msgspec.UNSET else subject(shown.question, of.outcomes)


def _pieces(documents: Sequence[Document], known: Sequence[str]) -> tuple[list[Piece], bool]:
    """(all passages that are not known yet, each text once; whether a sentence was left out)."""
    keys = {collapse(text) for text in known}
    ranked: list[Piece] = []
    left_out = False
    for document in documents:
        pieces, bad = passages(document)
        left_out |= bad
        for piece in pieces:
            if (key := collapse(piece.text)) not in keys:
                keys.add(key)
                ranked.append(piece)
    return ranked, left_out


def _pools(queries: Sequence[str], pieces: Sequence[Piece], brief: RetrieveBrief) -> list[list[int]]:
    """For each query the passages that BM25 puts first. For the task also those without a word of it, at the end: the
    corpus was given for this task; what has no word of a further query is no find."""
    return [
        [i for score, i in ranked(query, pieces)[: POOL * brief.k] if score > 0 or not brief.queries]
        for query in queries
    ]


METHODS: Mapping[str, TurnMethod] = {
    "retrieve": compares(retrieve, lambda body: f"{len(body.passages)} passages"),
    "measure": compares(measure, lambda body: f"{len(body.similar.dots)} quotations measured"),
}
