"""The words for a level of contentiousness (table 15)."""

import math

import pytest

from parley.coordinator.schedulers.tone import LEVELS, tone


@pytest.mark.parametrize(
    "cl, level",
    [
        (1.0, 0.9), (0.9, 0.9), (0.8, 0.9), (0.79, 0.7), (0.7, 0.7), (0.9 - 0.2, 0.7), (0.6, 0.7), (0.59, 0.5),
        (0.4, 0.5), (0.39, 0.3), (0.2, 0.3), (0.7 - 0.5, 0.3), (0.19, 0.1), (0.0, 0.1),
    ],
)  # fmt: skip
def test_the_nearest_of_the_five_levels_speaks_and_half_way_the_upper(cl: float, level: float) -> None:
    assert tone(cl) == LEVELS[level]


def test_the_five_levels_differ_and_fit_an_anchor() -> None:
    assert sorted(LEVELS) == [0.1, 0.3, 0.5, 0.7, 0.9] and len(set(LEVELS.values())) == 5
    assert all(100 < len(words) < 500 and "\n" not in words for words in LEVELS.values())


@pytest.mark.parametrize("cl", [-0.01, 1.01, math.nan, math.inf])
def test_what_is_no_level_is_refused(cl: float) -> None:
    with pytest.raises(ValueError, match="allowed is 0 to 1"):
        tone(cl)
