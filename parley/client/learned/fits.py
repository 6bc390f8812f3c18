"""Fits by numpy and scipy, as the plain figures that the core applies."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression, minimize

from parley.coordinator.signals.reliability import EDGE
from parley.schemas.past_sessions.learned import MOST_KNOTS, Calibration

Array = NDArray[np.float64]


def isotonic(stated: Sequence[float], right: Sequence[float], version: str, on: str, protocol: str = "") -> Calibration:
    """Rising knots from stated confidence to the share that was right; equal confidences have one knot.

    Parameters
    ----------
    stated, right
        Of as many answers, one or more; 0 to 1.
    """
    places, inverse, counts = np.unique(
        np.round(np.asarray(stated, dtype=np.float64), 9), return_inverse=True, return_counts=True
    )
    means = np.bincount(inverse, weights=np.asarray(right, dtype=np.float64)) / counts
    shares = np.clip(isotonic_regression(means, weights=counts.astype(np.float64)).x, 0, 1)
    knots = list(zip(places.tolist(), shares.tolist(), strict=True))
    inner = [
        knots[i] for i in range(1, len(knots) - 1) if not (knots[i - 1][1] == knots[i][1] == knots[i + 1][1])
    ]  # on a level stretch its ends suffice
    kept = [knots[0], *inner, *knots[1:][-1:]]
    if len(kept) > MOST_KNOTS:
        at = np.linspace(0, len(kept) - 1, MOST_KNOTS).round().astype(int)
        kept = [kept[place] for place in at.tolist()]
    return Calibration(
        version=version, protocol=protocol, method="isotonic", knots=tuple(kept), fitted_on=on, outcomes=len(stated)
    )


def beta(stated: Sequence[float], right: Sequence[float], version: str, on: str, protocol: str = "") -> Calibration:
    """Beta calibration (Kull, Silva Filho and Flach, 2017): logistic regression on ln p and -ln(1 - p), with slopes of
    0 or more, so that a higher confidence never reads lower.

    Parameters
    ----------
    stated, right
        Of as many answers, one or more; 0 to 1.
    """
    p = np.clip(np.asarray(stated, dtype=np.float64), EDGE, 1 - EDGE)
    x = np.stack([np.log(p), -np.log1p(-p), np.ones_like(p)], axis=1)
    y = np.asarray(right, dtype=np.float64)

    def loss(coefficients: Array) -> tuple[float, Array]:
        z = x @ coefficients
        value = float((np.logaddexp(0, z) - y * z).mean() + 1e-6 * (coefficients**2).sum())
        slope = x.T @ (1 / (1 + np.exp(-z)) - y) / len(y) + 2e-6 * coefficients
        return value, slope

    solution = minimize(
        loss, np.array([1.0, 1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0, 50), (0, 50), (-50, 50)]
    ).x
    a, b, c = (round(float(figure), 6) for figure in solution)
    return Calibration(
        version=version, protocol=protocol, method="beta", beta=(a, b, c), fitted_on=on, outcomes=len(stated)
    )
