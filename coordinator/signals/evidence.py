"""What was cited: how well it fits the task (eq. 1), and how much of it both sides cite (eq. 3)."""

import math
from collections.abc import Iterable, Sequence, Set
from itertools import combinations
from struct import pack

import numpy as np

from parley.schemas.similarity import Similar


class Similarities:
    """The helper's figures about n texts, ready to be asked: the embeddings themselves never reach the moderator.

    Parameters
    ----------
    similar
        Gram matrix of the unit embeddings (upper triangle, row by row) and their cosines with the prototype theta.

    Raises
    ------
    ValueError
        The triangle is not that of as many texts as there are cosines.
    """

    def __init__(self, similar: Similar) -> None:
        n = len(similar.dots)
        if len(similar.gram) != n * (n + 1) // 2:
            raise ValueError(f"{len(similar.gram)} figures in the triangle of {n} texts, wanted are {n * (n + 1) // 2}")
        upper = np.frombuffer(pack(f"{len(similar.gram)}d", *similar.gram))
        order = np.arange(n)
        triangle = order[:, np.newaxis] <= order
        self._gram = np.empty((n, n))
        self._gram[triangle] = upper
        self._gram.T[triangle] = upper
        self._dots = similar.dots

    def quality(self, members: Iterable[int]) -> float:
        """Q (eq. 1): cosine of the mean of these texts' unit embeddings with the prototype.

        Equal to mean(dots) / sqrt(mean of the Gram matrix over members x members), since the squared length of a mean
        of vectors is the mean of their products. -1 to 1; 0.0 without a member, and where they cancel out.
        """
        chosen = list(members)
        if not chosen:
            return 0.0
        places = np.array(chosen)
        block = self._gram[places[:, np.newaxis], places]
        squared = float(np.add.reduce(block, axis=None)) / len(chosen) ** 2
        if squared <= 1e-12:
            return 0.0
        cosine = math.fsum([self._dots[member] for member in chosen]) / len(chosen) / math.sqrt(squared)
        return min(1.0, max(-1.0, cosine))


def quality(similar: Similar, members: Sequence[int]) -> float:
    """Q of these texts alone; whoever asks more than once keeps a `Similarities`."""
    return Similarities(similar).quality(members)


def overlap(cited: Sequence[Set[str]]) -> float:
    """O (eq. 3): Jaccard of the cited evidence, mean over pairs of agents. 0 to 1; two empty sets give 0."""
    pairs = list(combinations(cited, 2))
    return math.fsum([_jaccard(a, b) for a, b in pairs]) / len(pairs) if pairs else 0.0


def _jaccard(one: Set[str], other: Set[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0
