"""Argument quality by a panel of judges, and what follows for whose word counts (E.1-E.3, eq. 4)."""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import combinations
from struct import pack

import msgspec
import numpy as np

from parley.schemas.text import Similar

START = 0.5  # Gamma_u(0), E.3


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """What K judges say of N arguments."""

    means: tuple[float, ...]
    """CRIT of each argument: mean over the judges, 0 to 1."""
    mean: float | None
    """Over all arguments and judges (E.2); None: there is no argument, or no judge."""
    variance: float | None
    """Across judges, of each one's mean over the arguments, divided by K (E.7). None for fewer than two judges: what
    one judge says has no spread, which is not the same as stable."""


def panel(composites: Sequence[Sequence[float]]) -> Panel:
    """Scores of K judges, one row of N composites each (E.1); a judge that missed has no row. Raises ValueError: rows
    of different lengths."""
    if not composites or not composites[0]:
        return Panel(means=(), mean=None, variance=None)
    means = tuple(average(column) for column in zip(*composites, strict=True))
    by_judge = [average(row) for row in composites]
    middle = average(by_judge)
    spread = average([(score - middle) ** 2 for score in by_judge]) if len(by_judge) > 1 else None
    return Panel(means=means, mean=middle, variance=spread)


def by_agent(means: Sequence[float], owners: Sequence[str]) -> dict[str, float]:
    """Mean CRIT of each agent's arguments, admitted or not (E.2); who argued nothing is not in it."""
    values: dict[str, list[float]] = {}
    for score, owner in zip(means, owners, strict=True):
        values.setdefault(owner, []).append(score)
    return {owner: average(scores) for owner, scores in values.items()}


def reliability(before: Mapping[str, float], crit: Mapping[str, float], smoothing: float) -> dict[str, float]:
    """G_u <- lambda G_u + (1 - lambda) CRIT_u (eq. 4); who has no CRIT this round keeps its G."""
    return {u: smoothing * g + (1 - smoothing) * crit[u] if u in crit else g for u, g in before.items()}


def weights(standing: Mapping[str, float], eps: float) -> dict[str, float]:
    """omega_u = (G_u + eps) / sum(G_v + eps) (eq. 4)."""
    total = math.fsum([g + eps for g in standing.values()])
    return {u: (g + eps) / total for u, g in standing.items()}


def trusted(omega: Mapping[str, float], trust: Mapping[str, float]) -> dict[str, float]:
    """The weights times what each agent's record is worth (parley.coordinator.signals.reliability), summing to 1;
    without any record, as they are."""
    if not trust:
        return dict(omega)
    parts = {u: w * trust[u] for u, w in omega.items()}
    total = math.fsum(parts.values())
    return {u: part / total for u, part in parts.items()}


def average(values: Sequence[float]) -> float:
    """Mean of at least one value."""
    return math.fsum(values) / len(values)


# ---------------------------------------------------------------- evidence (eq. 1)


class Similarities:
    """The helper's figures about n texts, ready to be asked: the embeddings themselves never reach the moderator.

    Parameters
    ----------
    similar
        Gram matrix of the unit embeddings (upper triangle, row by row) and their cosines with the prototype theta.
    """

    def __init__(self, similar: Similar) -> None:
        n = len(similar.dots)
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


def overlap(cited: Sequence[Set[str]]) -> float:
    """O (eq. 3): Jaccard of the cited evidence, mean over pairs of agents. 0 to 1; two empty sets give 0."""
    pairs = list(combinations(cited, 2))
    return math.fsum([_jaccard(a, b) for a, b in pairs]) / len(pairs) if pairs else 0.0


def _jaccard(one: Set[str], other: Set[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0
