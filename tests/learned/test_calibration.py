"""A confidence as a fit reads it: lines between knots, the ends, and beta calibration against its formula."""

import pytest

from parley.coordinator.signals.calibration import calibrated
from parley.schemas.afterwards.learned import Calibration
from parley.schemas.wire import InvalidValue


def isotonic(*knots: tuple[float, float]) -> Calibration:
    return Calibration(version="v", method="isotonic", knots=knots, fitted_on="a test", outcomes=10)


def beta(a: float, b: float, c: float) -> Calibration:
    return Calibration(version="v", method="beta", beta=(a, b, c), fitted_on="a test", outcomes=10)


def test_between_knots_is_the_line_and_beyond_them_the_nearest() -> None:
    fit = isotonic((0.2, 0.1), (0.6, 0.5), (0.8, 0.5))
    stated = (0.0, 0.2, 0.4, 0.7, 1.0)
    assert [calibrated(fit, p) for p in stated] == pytest.approx([0.1, 0.1, 0.3, 0.5, 0.5])


def test_beta_calibration_with_one_one_and_nought_changes_nothing() -> None:
    assert calibrated(beta(1, 1, 0), 0.3) == pytest.approx(0.3)


def test_beta_calibration_as_its_formula_says() -> None:
    a, b, c, p = 2.0, 0.5, 0.3, 0.7
    odds = 2.718281828459045**c * p**a / (1 - p) ** b
    assert calibrated(beta(a, b, c), p) == pytest.approx(1 / (1 + 1 / odds))
    assert 0 < calibrated(beta(a, b, c), 0.0) < calibrated(beta(a, b, c), 1.0) < 1


@pytest.mark.parametrize("knots", [(), ((0.5, 0.5), (0.4, 0.6)), ((0.1, 0.6), (0.2, 0.5)), ((0.1, 1.2),)])
def test_knots_rise(knots: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(InvalidValue):
        isotonic(*knots)
