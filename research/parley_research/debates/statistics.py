"""Intervals and tests of what methods come to, by question.

Debates about one question are not independent, so a question is what is drawn, and what a test sees is the mean of a
question's debates. Nearly everything here is scipy's; tests check each function against a published example.

- `share`, `difference`: a ratio of sums with its BCa bootstrap interval (Efron 1987), questions drawn with replacement.
  A share that is the same for all questions has Wilson's interval.
- `wilcoxon`, `mcnemar`: paired tests of a difference. `adjusted` is Benjamini and Hochberg's false discovery rate.
- `equivalent`: two one-sided t tests (Schuirmann 1987). "No difference that shows" is not "no difference".
- `detectable`: what difference a McNemar test of so many questions finds four times in five (Connor 1987).
"""

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from parley_research.statistics import Interval, wilson

SEED = 22
RESAMPLES = 2_000
LEVEL = 0.95
ALPHA = 0.05
POWER = 0.8

Array = NDArray[np.float64]


def by_question(values: Sequence[float], questions: Sequence[str]) -> tuple[Array, Array]:
    """(sum of the values, number of values) of each question, in the order in which questions come up."""
    places = {name: place for place, name in enumerate(dict.fromkeys(questions))}
    at = np.array([places[name] for name in questions], dtype=np.intp)
    sums = np.bincount(at, weights=np.asarray(values, dtype=np.float64), minlength=len(places)).astype(np.float64)
    return sums, np.bincount(at, minlength=len(places)).astype(np.float64)


def bca(size: int, statistic: Callable[[NDArray[np.intp], int], Array], *, seed: int = SEED) -> Interval:
    """A figure of a sample and its 95 % BCa bootstrap interval.

    Parameters
    ----------
    size
        Of the sample, 1 or more.
    statistic
        From places in the sample, along an axis, to the figure.
    seed
        Of the resamplings: the same for every call, so that two figures of one sample are resampled alike.

    Returns
    -------
    Interval
        Where every resampling gives the same figure, or there are fewer than two to draw, the interval is that figure.
    """
    places = np.arange(size)
    value = float(statistic(places, 0))
    if size < 2:
        return Interval(value, value, value)
    with warnings.catch_warnings():
        # scipy warns where the figure does not vary; the interval is then the figure itself
        warnings.simplefilter("ignore")
        got = stats.bootstrap(
            (places,), lambda drawn, axis: statistic(drawn, axis), n_resamples=RESAMPLES, confidence_level=LEVEL,
            method="BCa", vectorized=True, batch=200, rng=np.random.default_rng(seed),
        )  # fmt: skip
    low, high = float(got.confidence_interval.low), float(got.confidence_interval.high)
    if np.isnan(low) or np.isnan(high):
        spread = np.asarray(got.bootstrap_distribution)
        low, high = (float(x) for x in np.percentile(spread, [2.5, 97.5]))
    return Interval(value, low, high)


def share(values: Sequence[float], questions: Sequence[str]) -> Interval:
    """A share of right answers, with an interval over questions. Where all values are 0, or all are 1, no resampling
    varies; the interval is then Wilson's, of as many trials as there are questions."""
    sums, counts = by_question(values, questions)
    if np.array_equal(sums, 0 * counts) or np.array_equal(sums, counts):
        return wilson(len(sums) if sums.any() else 0, len(sums))
    return _mean(sums, counts)


def difference(first: Sequence[float], second: Sequence[float], questions: Sequence[str]) -> Interval:
    """The mean of the first less that of the second, of the same debates, with an interval over questions."""
    return _mean(*by_question([a - b for a, b in zip(first, second, strict=True)], questions))


def _mean(sums: Array, counts: Array) -> Interval:
    return bca(len(sums), lambda drawn, axis: np.asarray(sums[drawn].sum(axis) / counts[drawn].sum(axis)))


def of_questions(first: Sequence[float], second: Sequence[float], questions: Sequence[str]) -> Array:
    """The mean difference of each question."""
    sums, counts = by_question([a - b for a, b in zip(first, second, strict=True)], questions)
    return np.asarray(sums / counts)


def wilcoxon(differences: Array) -> float:
    """Two-sided p of Wilcoxon's signed-rank test. Differences of 0 are left out; 1.0 where nothing else is there."""
    moved = differences[np.abs(differences) > 1e-12]
    return float(stats.wilcoxon(moved).pvalue) if len(moved) else 1.0


def mcnemar(better: int, worse: int) -> float:
    """Two-sided exact p of McNemar's test, from the questions on which one method is better than the other, and worse.
    1.0 where there is none."""
    return float(stats.binomtest(better, better + worse, 0.5).pvalue) if better + worse else 1.0


def adjusted(values: Sequence[float]) -> list[float]:
    """Each p, adjusted for their number (Benjamini and Hochberg 1995): below .05, one in twenty of those called a
    difference is none."""
    return [float(p) for p in stats.false_discovery_control(np.asarray(values))] if values else []


def equivalent(differences: Array, margin: float) -> float:
    """p of the test that the mean difference lies beyond the margin on either side: the larger one of two t tests.

    Below .05 the two are the same within the margin. Differences that hardly vary tell a t test too much: ten questions
    without a difference do not show that there is none. So p is at least the chance of seeing no difference at all,
    were one question in 1/margin different ("rule of three"). With a margin of .01 that takes 299 questions.

    Parameters
    ----------
    differences
        One a question, of at most 1 either way where they are of accuracy.
    margin
        Above 0, of the same unit.
    """
    if len(differences) < 2:
        return 1.0
    unseen = max(0.0, 1 - margin) ** len(differences)
    if float(np.ptp(differences)) == 0.0:
        return unseen if abs(float(differences[0])) < margin else 1.0
    above = stats.ttest_1samp(differences, -margin, alternative="greater").pvalue
    below = stats.ttest_1samp(differences, margin, alternative="less").pvalue
    return float(max(above, below, unseen))


def pairs_needed(gain: float, discordant: float) -> float:
    """How many questions McNemar's test needs to find a gain four times in five (Connor 1987).

    Parameters
    ----------
    gain
        Of accuracy, above 0, at most `discordant`.
    discordant
        The share of questions on which just one of the two methods is right.
    """
    at, power = stats.norm.ppf(1 - ALPHA / 2), stats.norm.ppf(POWER)
    root = at * np.sqrt(discordant) + power * np.sqrt(discordant - gain * gain)
    return float((root / gain) ** 2)


def detectable(questions: int, discordant: float) -> float | None:
    """The smallest gain of accuracy that so many questions show four times in five. None: not even the largest."""
    if questions < 1 or pairs_needed(discordant, discordant) > questions:
        return None
    low, high = 0.0, discordant
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if pairs_needed(middle, discordant) <= questions else (middle, high)
    return high
