"""How far confidences may be believed: expected calibration error with its bias, Brier's score and its parts, log loss.

A confidence is what a method gave to its own answer. The outcome is 1 where that answer is right, 0 where it is wrong,
and between where it was one of several that are tied.

An abstention claims no option to be right, so there is nothing of it to calibrate. Whoever calls these functions leaves
it out, and reports beside them the share of questions that were answered (coverage; El-Yaniv and Wiener 2010). Else a
method that abstains more could look better calibrated, and nobody would see the price. Log loss scores the whole
distribution over the options, which an abstention has, too: it is over all questions.

A plug-in ECE is too high, since within a bin the share of right answers differs from the confidence by chance. Two
figures say by how much:

- `bias`: how far the plug-in ECE of resampled bins lies above the plug-in ECE (Kumar, Liang and Ma 2019, as they do it
  for any norm). `debiased` is the plug-in less this, and not below 0. It takes out less than half of the excess where
  confidences are right, and nearly all of it where they are far off: so the next figure stands beside it.
- `calibrated`: what the plug-in ECE would be on average were every confidence right (Broecker and Smith 2007).

Brier's score of bins is reliability - resolution + uncertainty + what varies within bins (Murphy 1973; Stephenson,
Coelho and Jolliffe 2008 for the last).
"""

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from parley_research.debates.statistics import SEED, bca
from parley_research.statistics import Interval

BINS = 10
DRAWS = 100
CLIP = 0.01
"""Log loss: no probability below it counts. A vote that gave the right option nothing would else be infinitely bad."""
Array = NDArray[np.float64]
How = Literal["width", "mass"]


class Bin(msgspec.Struct, frozen=True):
    """Answers of about the same confidence."""

    count: int
    confidence: float
    """Their mean, 0 to 1."""
    accuracy: float


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How well confidences and outcomes agree."""

    equal_width: float
    """Plug-in ECE, ten bins of equal width."""
    equal_mass: float
    """Plug-in ECE, ten bins of as many answers each, equal confidences together."""
    bias: float
    """Of `equal_mass`."""
    debiased: float
    calibrated: float
    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float
    log_loss: float
    """Nats, of the probability that the right option got."""
    bins: tuple[Bin, ...]
    """Of equal mass, for the plot."""


def bins_of(confidences: Array, how: How) -> NDArray[np.intp]:
    """The bin of each confidence, 0 to 9. Of equal mass: equal confidences share a bin."""
    if how == "width":
        return np.minimum((confidences * BINS).astype(np.intp), BINS - 1)
    edges = np.quantile(confidences, np.linspace(0, 1, BINS + 1)[1:-1], method="lower")
    return np.searchsorted(np.unique(edges), confidences, side="right").astype(np.intp)


def tallied(confidences: Array, outcomes: Array, at: NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """(count, mean confidence, mean outcome) of each bin that holds anything."""
    counts = np.bincount(at).astype(np.float64)
    there = counts > 0
    sums = (np.bincount(at, weights=values)[there] for values in (confidences, outcomes))
    sure, right = (total / counts[there] for total in sums)
    return counts[there], sure, right


def ece(confidences: Array, outcomes: Array, how: How = "mass") -> float:
    """Plug-in expected calibration error: the mean over answers of |confidence - accuracy| of their bin. 0 to 1."""
    counts, sure, right = tallied(confidences, outcomes, bins_of(confidences, how))
    return float((counts * np.abs(sure - right)).sum() / counts.sum())


def bias(counts: Array, sure: Array, right: Array) -> Array:
    """How far above the plug-in ECE the ECE of resampled bins lies on average; 0 or more.

    A bin's resampled accuracy is taken as normal, so its distance to the confidence is a folded normal, whose mean is
    known.

    Parameters
    ----------
    counts, sure, right : shape (..., bins)
        A bin may be empty.
    """
    gap = np.abs(sure - right)
    spread = np.sqrt(np.clip(right * (1 - right), 0, None) / np.maximum(counts, 1))
    wide = np.where(spread > 0, spread, 1.0)
    folded = wide * np.sqrt(2 / np.pi) * np.exp(-(gap**2) / (2 * wide**2)) + gap * (1 - 2 * ndtr(-gap / wide))
    excess = np.where(spread > 0, folded - gap, 0.0)
    return np.asarray((counts * excess).sum(-1) / counts.sum(-1))


def debiased(confidences: Array, outcomes: Array) -> float:
    """The ECE of equal mass less its bias, not below 0."""
    table = tallied(confidences, outcomes, bins_of(confidences, "mass"))
    return max(0.0, ece(confidences, outcomes) - float(bias(*table)))


def calibration(confidences: Sequence[float], outcomes: Sequence[float], right: Sequence[float]) -> Calibration:
    """All figures of one method.

    Parameters
    ----------
    confidences, outcomes
        Of as many answers that name an option, one or more.
    right
        The probability that the right option got, on every question; those without an answer included.
    """
    sure, true = np.asarray(confidences, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
    at = bins_of(sure, "mass")
    counts, means, shares = tallied(sure, true, at)
    whole, base = counts.sum(), float(true.mean())
    plug_in = float((counts * np.abs(means - shares)).sum() / whole)
    off = float(bias(counts, means, shares))
    dice = np.random.default_rng(SEED)
    fair = [ece(sure, (dice.random(len(sure)) < sure).astype(np.float64)) for _ in range(DRAWS)]
    # a tie is drawn: right with the chance that `true` says, so its expected square has a variance, too
    brier = float(((sure - true) ** 2 + true * (1 - true)).mean())
    reliability = float((counts * (means - shares) ** 2).sum() / whole)
    resolution = float((counts * (shares - base) ** 2).sum() / whole)
    uncertainty = base * (1 - base)
    return Calibration(
        equal_width=ece(sure, true, "width"),
        equal_mass=plug_in,
        bias=off,
        debiased=max(0.0, plug_in - off),
        calibrated=float(np.mean(fair)),
        brier=brier,
        reliability=reliability,
        resolution=resolution,
        uncertainty=uncertainty,
        within=brier - (reliability - resolution + uncertainty),
        log_loss=float(-np.log(np.clip(np.asarray(right, dtype=np.float64), CLIP, 1)).mean()),
        bins=tuple(Bin(int(n), float(c), float(a)) for n, c, a in zip(counts, means, shares, strict=True)),
    )


def debiased_interval(confidences: Sequence[float], outcomes: Sequence[float], questions: Sequence[str]) -> Interval:
    """The debiased ECE with a 95 % BCa interval. Questions are drawn; the bins stay those of the whole sample."""
    sure, true = np.asarray(confidences, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
    at = bins_of(sure, "mass")
    questions_at = {name: place for place, name in enumerate(dict.fromkeys(questions))}
    cells = np.array([questions_at[name] for name in questions]) * (at.max() + 1) + at
    shape = (len(questions_at), int(at.max()) + 1)
    sums = [
        np.bincount(cells, weights=values, minlength=shape[0] * shape[1]).reshape(shape)
        for values in (np.ones(len(sure)), sure, true)
    ]

    def figure(drawn: NDArray[np.intp], axis: int) -> Array:
        rows = np.atleast_2d(np.moveaxis(drawn, axis, -1))
        weights = np.stack([np.bincount(row, minlength=shape[0]) for row in rows]).astype(np.float64)
        counts, confident, correct = (weights @ table for table in sums)
        there = np.maximum(counts, 1e-12)
        means, shares = confident / there, correct / there
        plug_in = (counts * np.abs(means - shares)).sum(-1) / counts.sum(-1)
        got = np.maximum(0.0, plug_in - bias(counts, means, shares))
        return got if drawn.ndim > 1 else np.asarray(got[0])

    return bca(shape[0], figure)
