"""The start value of contentiousness (3.4, F.1)."""

import msgspec

from parley.coordinator.schedulers.dials import percentile
from parley.schemas.control import Control

EASY, USUAL, HARD = 0.7, 0.8, 0.9  # B.1


class Bins(msgspec.Struct, frozen=True, kw_only=True):
    """What counts as high and low before the debate."""

    q_hi: float
    q_lo: float
    d_lo: float
    d_hi: float


def bins(config: Control) -> Bins:
    """The four thresholds, or the 30th and 70th percentiles of a development set where one is given (F.1)."""
    constants = config.constants
    development = constants.development
    if development is None:
        return Bins(q_hi=constants.q_hi, q_lo=constants.q_lo, d_lo=constants.d_lo, d_hi=constants.d_hi)
    return Bins(
        q_hi=percentile(development.q, 70),
        q_lo=percentile(development.q, 30),
        d_lo=percentile(development.d, 30),
        d_hi=percentile(development.d, 70),
    )


def level(at: Bins, q: float, d: float) -> float:
    """CL(1) from Q(0) and D(0): 0.7 where evidence is good and disagreement low, 0.9 where it is the other way round,
    0.8 otherwise (3.4)."""
    if q >= at.q_hi and d <= at.d_lo:
        return EASY
    if q <= at.q_lo and d >= at.d_hi:
        return HARD
    return USUAL
