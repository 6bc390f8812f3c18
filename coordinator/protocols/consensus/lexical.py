"""consensus: agreement without a model, which is what the moderator falls back on when the analyst fails.

What an analyst would say of approach and priority (seed, "Future Enhancements", 4): the weighted mean over all pairs of
positions of a similarity in [0, 1], shown as 0 to 100. The pair (i, j) weighs w_i * w_j. Pure functions of texts;
nothing here understands anything. Facts are counted from the groups, which equal words decide then (score.py).
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

from parley.schemas.protocols.consensus import Position
from parley.schemas.text import squeeze, tokens

T = TypeVar("T")


def pairwise(items: Sequence[T], weights: Sequence[float], similarity: Callable[[T, T], float]) -> float:
    """Weighted mean similarity over all pairs.

    Parameters
    ----------
    items, weights
        Of the same length; weights above 0.
    similarity
        Symmetric, in [0, 1].

    Returns
    -------
    float
        In [0, 1]; 1.0 for fewer than two items, which cannot disagree.
    """
    if len(items) != len(weights):
        raise ValueError(f"{len(items)} items, {len(weights)} weights")
    if any(not w > 0 for w in weights):
        raise ValueError(f"weights must be above 0, got {list(weights)}")
    total = shared = 0.0
    for i, j in combinations(range(len(items)), 2):
        w = weights[i] * weights[j]
        total += w
        shared += w * similarity(items[i], items[j])
    return shared / total if total else 1.0


def jaccard(one: frozenset[T], other: frozenset[T]) -> float:
    """Shared over all members; 1.0 for two empty sets."""
    union = len(one | other)
    return len(one & other) / union if union else 1.0


def cosine(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Cosine of two word counts, in [0, 1]; 1.0 for two empty ones, 0.0 where one is empty."""
    if not one or not other:
        return 1.0 if not one and not other else 0.0
    dot = sum(n * other.get(word, 0) for word, n in one.items())
    norms = sum(n * n for n in one.values()) * sum(n * n for n in other.values())
    return min(1.0, dot / math.sqrt(norms))


def dimensions(positions: Sequence[Position], weights: Sequence[float]) -> dict[str, float]:
    """approach (similarity of reasoning), priority (overlap of cited evidence): 0 to 100."""
    evidence = [frozenset((c.document, squeeze(c.quote)) for c in p.citations) for p in positions]
    return {
        "approach": 100 * pairwise([Counter(tokens(p.reasoning)) for p in positions], weights, cosine),
        "priority": 100 * pairwise(evidence, weights, jaccard),
    }
