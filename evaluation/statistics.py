"""Shares with paired bootstrap intervals.

Everything that is resampled is a whole number, and intervals are order statistics, so the figures are the same on every
machine.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

SAMPLES = 2_000
SEED = 20
LOW, HIGH = 49, 1_950
"""Of the sorted samples, counted from 0: what lies between is 95 % of them."""

Counts = NDArray[np.int64]


class Interval(msgspec.Struct, frozen=True):
    """A figure and the 95 % around it."""

    value: float
    low: float
    high: float


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
