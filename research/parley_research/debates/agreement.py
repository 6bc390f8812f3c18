"""Krippendorff's alpha: how far raters agree beyond chance, with missing ratings.

alpha = 1 - observed disagreement / disagreement expected by chance, both from the coincidences of pairs of ratings of
the same unit (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"). 1: they agree; 0: as chance would have
it. The usual package for it has a licence that this project cannot take, so the coincidences are counted here.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from parley_research.debates.statistics import bca
from parley_research.statistics import Interval

Level = Literal["nominal", "ordinal", "interval"]
Array = NDArray[np.float64]


def coincidences(units: Sequence[Sequence[float]]) -> tuple[Array, Array]:
    """(the values in order, coincidences of each unit).

    Parameters
    ----------
    units
        The ratings of each unit that are there. A unit with fewer than two counts for nothing.

    Returns
    -------
    values : shape (V,)
    pairs : shape (units, V, V)
    """
    values = sorted({value for ratings in units if len(ratings) > 1 for value in ratings})
    places = {value: place for place, value in enumerate(values)}
    pairs = np.zeros((len(units), len(values), len(values)))
    for unit, ratings in enumerate(units):
        if len(ratings) > 1:
            counts = np.bincount([places[value] for value in ratings], minlength=len(values)).astype(np.float64)
            pairs[unit] = (np.outer(counts, counts) - np.diag(counts)) / (len(ratings) - 1)
    return np.asarray(values, dtype=np.float64), pairs


def distances(values: Array, counts: Array, level: Level) -> Array:
    """Squared distances of values, (V, V). Ordinal ones depend on how often each value is given."""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "interval":
        return np.subtract.outer(values, values) ** 2
    total = np.cumsum(counts)
    middle = total - counts / 2
    return np.subtract.outer(middle, middle) ** 2


def alpha_of(values: Array, pairs: Array, level: Level) -> float:
    """Alpha from the coincidences of all units, (V, V). NaN: all ratings are the same."""
    counts = pairs.sum(1)
    whole = counts.sum()
    apart = distances(values, counts, level)
    expected = (np.outer(counts, counts) * apart).sum() / (whole - 1) if whole > 1 else 0.0
    return float(1 - (pairs * apart).sum() / expected) if expected > 0 else float("nan")


def alpha(units: Sequence[Sequence[float]], level: Level = "nominal") -> Interval:
    """Alpha with a 95 % BCa interval, units drawn.

    Raises
    ------
    ValueError
        No unit has two ratings.
    """
    rated = [ratings for ratings in units if len(ratings) > 1]
    if not rated:
        raise ValueError("no unit has two ratings")
    values, pairs = coincidences(rated)

    def figure(drawn: NDArray[np.intp], axis: int) -> Array:
        rows = np.atleast_2d(np.moveaxis(drawn, axis, -1))
        weights = [np.bincount(row, minlength=len(rated)).astype(np.float64) for row in rows]
        got = np.array([alpha_of(values, np.tensordot(w, pairs, 1), level) for w in weights])
        return got if drawn.ndim > 1 else np.asarray(got[0])

    return bca(len(rated), figure)
