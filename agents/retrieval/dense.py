"""Texts ordered by how near their vectors are to a query's: the second stage behind BM25 (B.2).

Any encoder serves (docs/encoders.md); the embedded one is the paper's. Without one, rows are words counted.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parley.agents.retrieval.corpus import stems
from parley.agents.text.words import words

Rows = NDArray[np.float64]
"""Shape (n, dimension), each of length 1, or all 0 for a text without a word."""

POOL = 2
"""So many times as many passages as are wanted are taken from BM25 and ordered anew."""


def rerank(query: Rows, rows: Rows) -> list[int]:
    """Indices of the rows, the nearest to the query first; equally near ones in their order.

    Parameters
    ----------
    query
        Shape (dimension,).
    rows
        Shape (n, dimension).
    """
    # Rounded: what is the same text twice must not be ordered by the last bit.
    near = np.round(rows @ query, 6)
    return sorted(range(len(rows)), key=lambda i: (-float(near[i]), i))


def counted(texts: Sequence[str]) -> Rows:
    """Texts as counts of their stems (of words where none carries meaning), at length 1: rows without an encoder."""
    bags = [Counter(stems(text) or words(text)) for text in texts]
    place = {term: i for i, term in enumerate(sorted(set().union(*bags)))} if bags else {}
    rows = np.zeros((len(bags), max(1, len(place))))
    for row, bag in zip(rows, bags, strict=True):
        for term, count in bag.items():
            row[place[term]] = count
    return unit(rows)


def unit(rows: Rows) -> Rows:
    """Rows at length 1; one without a direction stays 0."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))
