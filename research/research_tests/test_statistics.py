"""The bootstrap against what is known of it."""

import math

import numpy as np
import pytest

from parley_research.statistics import HIGH, LOW, SAMPLES, ratio, resampled


def columns(right: int, wrong: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.array([[1, 1]] * right + [[1, 0]] * wrong, dtype=np.int64)


def test_the_first_row_is_the_sample_itself() -> None:
    sums = resampled(columns(30, 70), [str(i) for i in range(100)])
    assert sums.shape == (1 + SAMPLES, 2)
    assert sums[0].tolist() == [100, 30]
    assert set(sums[:, 0]) == {100}


def test_an_interval_has_the_width_of_a_share_s_standard_error() -> None:
    """Of 0.3 of 400: 2 x 1.96 x sqrt(0.3 x 0.7 / 400) = 0.0898; 15 % for the resampling."""
    found = ratio(*resampled(columns(120, 280), [str(i) for i in range(400)])[:, ::-1].T)
    assert found.value == 0.3
    assert found.high - found.low == pytest.approx(2 * 1.96 * math.sqrt(0.3 * 0.7 / 400), rel=0.15)
    assert pytest.approx(0.95 * SAMPLES, abs=2) == HIGH - LOW + 1


def test_rows_of_one_question_are_drawn_together() -> None:
    once = resampled(columns(30, 70), [str(i) for i in range(100)])
    twice = resampled(np.repeat(columns(30, 70), 2, axis=0), [str(i // 2) for i in range(200)])
    assert (twice == 2 * once).all()


def test_differences_are_paired() -> None:
    """Two columns that are always alike never differ, whatever is drawn."""
    both = np.array([[1, i % 2, i % 2] for i in range(50)], dtype=np.int64)
    sums = resampled(both, [str(i) for i in range(50)])
    nothing = ratio(sums[:, 1] - sums[:, 2], sums[:, 0])
    assert (nothing.value, nothing.low, nothing.high) == (0, 0, 0)
    assert ratio(sums[:, 1], sums[:, 0]).low < 0.5
