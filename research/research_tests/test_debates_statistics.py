"""Each statistic against an example that somebody published."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from parley_research.debates import agreement, calibration
from parley_research.debates.statistics import (
    adjusted,
    bca,
    detectable,
    difference,
    equivalent,
    mcnemar,
    pairs_needed,
    share,
    wilcoxon,
)
from parley_research.statistics import wilson

SPATIAL = [48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41]
"""Efron and Tibshirani, An Introduction to the Bootstrap (1993), table 14.1, test A."""


def test_bca_of_the_spatial_test() -> None:
    """Their section 14.2 has the plug-in variance 171.5 and the 90 % BCa interval (115.8, 259.6). Of 95 % it must be
    wider, and like theirs far from symmetric: the normal interval would be."""
    scores = np.array(SPATIAL, dtype=np.float64)
    got = bca(len(scores), lambda drawn, axis: np.asarray(scores[drawn].var(axis)))
    assert got.value == pytest.approx(171.5, abs=0.05)
    assert 95 < got.low < 115.8
    assert 259.6 < got.high < 305
    assert got.high - got.value > 1.4 * (got.value - got.low)


def test_a_question_is_drawn_whole() -> None:
    """Ten debates of each of twenty questions say no more than one of each."""
    values = [float(i % 3 == 0) for i in range(20)]
    names = [f"q{i}" for i in range(20)]
    one, many = share(values, names), share(values * 10, names * 10)
    assert (many.low, many.high) == pytest.approx((one.low, one.high))
    loose = share(values * 10, [str(i) for i in range(200)])
    assert loose.high - loose.low < 0.5 * (one.high - one.low)


def test_a_difference_that_does_not_vary_has_itself_as_interval() -> None:
    got = difference([1.0, 1.0, 0.0], [1.0, 1.0, 0.0], ["a", "b", "c"])
    assert (got.value, got.low, got.high) == (0, 0, 0)


def test_a_share_that_does_not_vary_has_wilsons_interval() -> None:
    none, all_ = share([0.0] * 10, list("abcdefghij")), share([1.0] * 20, list("abcdefghij") * 2)
    assert (none.value, none.low, none.high) == pytest.approx((0, 0, 0.2775), abs=1e-4)
    assert (all_.value, all_.low, all_.high) == pytest.approx((1, 0.7225, 1), abs=1e-4)


def test_wilcoxon_of_darwins_maize() -> None:
    """Heights of cross-fertilised less self-fertilised plants: W 24, p .0413 (as scipy's manual quotes them)."""
    heights = [6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]
    assert wilcoxon(np.array(heights, dtype=np.float64)) == pytest.approx(0.04125976)
    assert wilcoxon(np.zeros(3)) == 1.0


def test_mcnemar_is_the_sign_test_of_what_differs() -> None:
    """Conover's example of ten changes, nine one way: 2 (1 + 10) / 2^10."""
    assert mcnemar(9, 1) == pytest.approx(22 / 1024)
    assert mcnemar(1, 9) == mcnemar(9, 1)
    assert mcnemar(0, 0) == 1.0


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (2, 100, 0.0055, 0.0700),
        (3, 100, 0.0103, 0.0845),
    ],
)
def test_wilsons_interval(part: int, whole: int, low: float, high: float) -> None:
    """Newcombe (1998), table I, method 3; the last two: MACI's table 10, judge swap."""
    got = wilson(part, whole)
    assert (got.low, got.high) == pytest.approx((low, high), abs=5e-5)
    assert wilson(0, 0).high == 1.0


def test_benjamini_and_hochbergs_own_example() -> None:
    """Their section 3.2: of fifteen p, four are significant at a false discovery rate of .05 (Bonferroni's three)."""
    values = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590,
        1.0,
    ]  # fmt: skip
    assert sum(q <= 0.05 for q in adjusted(values)) == 4
    assert adjusted([]) == []


def sample(size: int, mean: float, deviation: float) -> NDArray[np.float64]:
    """Numbers with just this mean and deviation."""
    plain = np.random.default_rng(1).standard_normal(size)
    return np.asarray((plain - plain.mean()) / plain.std(ddof=1) * deviation + mean)


def test_equivalence_of_lakens_example() -> None:
    """Lakens (2017), TOSTpaired: 65 pairs, means 5.83 and 5.75, deviations 1.17 and 1.29, correlation .75, bounds of .4
    deviations. His formula gives t 3.96 and -2.49 with 64 degrees of freedom, so p .0077."""
    deviation = (1.17**2 + 1.29**2 - 2 * 0.75 * 1.17 * 1.29) ** 0.5
    differences = sample(65, 0.08, deviation)
    assert equivalent(differences, 0.4 * deviation) == pytest.approx(0.0077, abs=1e-4)
    assert equivalent(differences, 0.1 * deviation) > 0.05


def test_equivalence_of_what_does_not_vary() -> None:
    """Few questions without a difference do not show that there is none: at one point it takes 299."""
    assert equivalent(np.zeros(5), 0.01) == pytest.approx(0.951, abs=1e-3)
    assert equivalent(np.zeros(298), 0.01) > 0.05 > equivalent(np.zeros(299), 0.01)
    assert equivalent(np.array([0.0] * 50 + [0.1]), 0.01) > 0.5
    assert equivalent(np.full(5, 0.5), 0.01) == 1.0
    assert equivalent(np.zeros(1), 0.01) == 1.0


def test_power_of_connors_formula() -> None:
    """23 pairs for .45 against .05, 155 for .30 against .15 (two public calculators of Connor's formula)."""
    assert np.ceil(pairs_needed(0.40, 0.50)) == 23
    assert np.ceil(pairs_needed(0.15, 0.45)) == 155
    assert detectable(155, 0.45) == pytest.approx(0.15, abs=1e-3)
    assert detectable(3, 0.2) is None


def test_the_power_is_what_it_says() -> None:
    """Of simulated runs at the detectable gain, about four in five are significant."""
    gain = detectable(400, 0.3)
    assert gain is not None
    dice = np.random.default_rng(3)
    better = dice.multinomial(400, [(0.3 + gain) / 2, (0.3 - gain) / 2, 0.7], size=600)
    hits = sum(mcnemar(int(b), int(w)) < 0.05 for b, w, _ in better)
    assert 0.72 < hits / 600 < 0.86


KRIPPENDORFF: Sequence[Sequence[float]] = [
    [1, 1, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4], [4, 4, 4, 4], [1, 1, 2, 1],
    [2, 2, 2, 2], [5, 5, 5], [1, 1], [3],
]  # fmt: skip
"""Krippendorff (2011), example D: four observers, twelve units, ratings missing."""


@pytest.mark.parametrize(("level", "wanted"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_krippendorffs_example(level: agreement.Level, wanted: float) -> None:
    got = agreement.alpha(KRIPPENDORFF, level)
    assert got.value == pytest.approx(wanted, abs=1e-3)
    assert got.low < got.value < got.high <= 1


def test_alpha_needs_two_ratings_of_something() -> None:
    with pytest.raises(ValueError, match="two ratings"):
        agreement.alpha([[1.0], []])


def test_murphys_parts_add_up_to_briers_score() -> None:
    """Two forecasts: .8 comes true 8 of 10 times, .3 comes true 5 of 10 times. By hand: reliability .02, resolution
    .0225, uncertainty .2275, Brier's score .225."""
    sure = [0.8] * 10 + [0.3] * 10
    true = [1.0] * 8 + [0.0] * 2 + [1.0] * 5 + [0.0] * 5
    got = calibration.calibration(sure, true, sure)
    assert (got.reliability, got.resolution) == pytest.approx((0.02, 0.0225))
    assert (got.uncertainty, got.brier, got.within) == pytest.approx((0.2275, 0.225, 0.0), abs=1e-12)
    assert got.equal_mass == pytest.approx(0.1)


def test_a_tie_costs_what_drawing_one_would() -> None:
    """Two options at .5 each: right or wrong, the square of what is missing is .25."""
    got = calibration.calibration([0.5] * 4, [0.5] * 4, [0.5] * 4)
    assert (got.brier, got.uncertainty, got.reliability, got.within) == (0.25, 0.25, 0, 0)
    assert got.log_loss == pytest.approx(np.log(2))


def test_debiasing_takes_out_what_chance_put_in() -> None:
    """Of forty samples with confidences that are right the plug-in error is on average what `calibrated` says, and the
    debiased one well below it; of confidences .2 too high the debiased one is .2."""
    plug_in, less, said, high = [], [], [], []
    for seed in range(40):
        dice = np.random.default_rng(seed)
        sure = dice.uniform(0.3, 0.7, 300)
        true = (dice.random(300) < sure).astype(np.float64)
        fair = calibration.calibration(list(sure), list(true), list(sure))
        plug_in.append(fair.equal_mass)
        less.append(fair.debiased)
        said.append(fair.calibrated)
        high.append(calibration.debiased(sure + 0.2, true))
    assert np.mean(plug_in) == pytest.approx(np.mean(said), abs=0.01)
    assert np.mean(less) < 0.8 * np.mean(plug_in)
    assert np.mean(high) == pytest.approx(0.2, abs=0.01)


def test_the_interval_of_the_error_holds_it() -> None:
    dice = np.random.default_rng(6)
    sure = dice.uniform(0.5, 0.9, 150)
    true = (dice.random(150) < sure - 0.15).astype(np.float64)
    got = calibration.debiased_interval(list(sure), list(true), [str(i // 2) for i in range(150)])
    assert 0 <= got.low < got.value < got.high
    assert got.low < 0.15 < got.high


def test_bins_of_equal_mass_keep_equal_confidences_together() -> None:
    sure = np.array([0.5] * 50 + [0.9] * 50)
    assert set(calibration.bins_of(sure, "mass")[:50]) != set(calibration.bins_of(sure, "mass")[50:])
    assert len(set(calibration.bins_of(sure, "mass"))) == 2
    assert calibration.ece(np.array([1.0]), np.array([1.0]), "width") == 0.0
