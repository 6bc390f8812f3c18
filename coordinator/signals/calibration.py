"""A stated confidence as past outcomes say it should be read. Pure: the fit is in the opening
(parley.schemas.past_sessions.learned)."""

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import msgspec

from parley.schemas.log import Opened
from parley.schemas.past_sessions.learned import Calibrated, Calibration

EDGE = 1e-6
"""Beta calibration has no value at 0 and 1: what is nearer is taken at this distance."""


def calibrated(fit: Calibration, stated: float) -> float:
    """The share of answers with this confidence that should be right: 0 to 1.

    Parameters
    ----------
    stated
        0 to 1; outside it the nearest.

    Examples
    --------
    >>> fit = Calibration(version="v", method="isotonic", knots=((0.5, 0.2), (1.0, 0.8)), fitted_on="", outcomes=9)
    >>> calibrated(fit, 0.75)
    0.5
    """
    p = min(max(stated, 0.0), 1.0)
    if fit.method == "beta":
        assert fit.beta is not None
        a, b, c = fit.beta
        p = min(max(p, EDGE), 1 - EDGE)
        z = c + a * math.log(p) - b * math.log1p(-p)
        return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))
    knots = fit.knots
    place = bisect_right(knots, p, key=lambda knot: knot[0])
    if place == 0:
        return knots[0][1]
    if place == len(knots):
        return knots[-1][1]
    (x0, y0), (x1, y1) = knots[place - 1], knots[place]
    return y0 + (y1 - y0) * (p - x0) / (x1 - x0)


def of(opened: Opened, outcome: Mapping[str, Any]) -> Calibrated | msgspec.UnsetType:
    """A result's confidence with what it rests on; unset: the outcome has none, or nothing was fitted."""
    learned, stated = opened.learned, outcome.get("confidence")
    if learned is msgspec.UNSET or learned.calibration is msgspec.UNSET or not isinstance(stated, int | float):
        return msgspec.UNSET
    fit = learned.calibration
    return Calibrated(
        stated=float(stated),
        confidence=round(calibrated(fit, stated), 6),
        version=fit.version,
        fitted_on=fit.fitted_on,
        outcomes=fit.outcomes,
    )
