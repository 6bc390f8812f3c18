"""Texts as vectors: ordered by how near they are to a query, the second stage behind BM25 (B.2); and what they are like
beside the prototype of a task, the figures from which Q is computed (eq. 1, D.1, F).

Any encoder serves (docs/encoders.md); the embedded one is the paper's. Without one, rows are words counted. Vectors
stay here: what goes over the bus is the Gram matrix of the texts and their cosines with the prototype.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parley.agents.retrieval.corpus import stems
from parley.agents.text.words import words
from parley.schemas.text import Similar

Rows = NDArray[np.float64]
"""Shape (n, dimension), each of length 1, or all 0 for a text without a word."""

DECIMALS = 6
POOL = 2
"""So many times as many passages as are wanted are taken from BM25 and ordered anew."""
NAMED = 20
"""Outcomes that a subject names at most: the question must not drown in them, and an encoder reads some 200 words."""


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


def subject(task: str, outcomes: Sequence[str]) -> str:
    """The task's text, and after it its outcomes where they are few: what a passage must be near to be relevant."""
    return f"{task} {', '.join(outcomes)}" if 0 < len(outcomes) <= NAMED else task


def prototype(task: Rows, passages: Rows) -> Rows:
    """Unit mean of the unit vectors of the task's text and of its passages.

    Parameters
    ----------
    task
        Shape (dimension,).
    passages
        Shape (n, dimension); n may be 0, the prototype is then the task.

    Returns
    -------
    ndarray, shape (dimension,)
        Of length 1; all 0 where the mean has no direction.
    """
    return unit(np.vstack([task[None, :], passages]).mean(axis=0))


def relevant(subject: Rows, passages: Rows, at_least: float) -> Rows:
    """The passages whose cosine with the subject is that high: the others do not say what the subject is like."""
    return np.asarray(passages[passages @ subject >= at_least])


def similar(rows: Rows, theta: Rows) -> Similar:
    """Cosines of n texts with each other and with the prototype, to 6 decimals.

    Parameters
    ----------
    rows
        Unit vectors, shape (n, dimension).
    theta
        The prototype, shape (dimension,).
    """
    if not len(rows):
        return Similar()
    gram = np.clip(rows @ rows.T, -1.0, 1.0)
    upper = gram[np.triu_indices(len(rows))]
    dots = np.clip(rows @ theta, -1.0, 1.0)
    return Similar(gram=_rounded(upper), dots=_rounded(dots))


def _rounded(values: Rows) -> tuple[float, ...]:
    # 0.0 is added so that no -0.0 goes into the log.
    return tuple((np.round(values, DECIMALS) + 0.0).tolist())
