"""Shares with paired bootstrap intervals.

Everything that is resampled is a whole number, and intervals are order statistics, so the figures are the same on every
machine.
"""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

SAMPLES = 2_000
SEED = 20
LOW, HIGH = 49, 1_950
"""Of the sorted samples, counted from 0: what lies between is 95 % of them."""

Z = 1.959963984540054
"""Of the standard normal, what 2.5 % lie above."""

Counts = NDArray[np.int64]


class Interval(msgspec.Struct, frozen=True):
    """A figure and the 95 % around it."""

    value: float
    low: float
    high: float


def wilson(part: int, whole: int) -> Interval:
    """A share and its 95 % score interval (Wilson 1927, without a correction for continuity); 0 to 1 of nothing."""
    if whole == 0:
        return Interval(0.0, 0.0, 1.0)
    p = part / whole
    wide = 1 + Z * Z / whole
    middle = (p + Z * Z / (2 * whole)) / wide
    half = Z * math.sqrt(p * (1 - p) / whole + Z * Z / (4 * whole * whole)) / wide
    return Interval(p, max(0.0, middle - half), min(1.0, middle + half))


def resampled(columns: Counts, clusters: Sequence[str]) -> Counts:
    """Column sums of the sample itself and of its resamplings.

    Parameters
    ----------
    columns : shape (rows, figures)
        Whole numbers, one row a debate.
    clusters : one for each row
        Rows with this in common are drawn together, with replacement, as many clusters as there are.

    Returns
    -------
    shape (1 + SAMPLES, figures)
        The sums of all rows, then of each resampling. The same seed for every call: differences of columns are paired.
    """
    places = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
    by_cluster = np.zeros((len(places), columns.shape[1]), dtype=np.int64)
    np.add.at(by_cluster, [places[c] for c in clusters], columns)
    dice = np.random.Generator(np.random.PCG64(SEED))
    sums = [by_cluster.sum(axis=0)]
    for _ in range(SAMPLES):
        drawn = np.bincount(dice.integers(0, len(places), len(places)), minlength=len(places))
        sums.append(drawn @ by_cluster)
    return np.stack(sums)


def ratio(over: Counts, under: Counts) -> Interval:
    """Of two columns of sums, one divided by the other in the sample and in each resampling."""
    shares = over / under
    ordered = np.sort(shares[1:])
    return Interval(float(shares[0]), float(ordered[LOW]), float(ordered[HIGH]))
