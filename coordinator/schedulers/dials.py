"""The two dials: contentiousness (eq. 8) and the gates (eq. 9)."""

from collections.abc import Sequence
from math import floor

import msgspec

from parley.schemas.control import Control

STEPS = (0.9, 0.7, 0.5, 0.3)  # B.1


def behaviour(cl: float, pi_i: bool, pi_d: bool, alpha_i: float, alpha_d: float) -> float:
    """CL <- [CL - alpha_I pi_I - alpha_D pi_D]+ (eq. 8)."""
    return max(0.0, cl - alpha_i * pi_i - alpha_d * pi_d)


def stepped(number: int) -> float:
    """CL of round 1, 2, ... by the standard progression; from the fourth on it stays."""
    return STEPS[min(number, len(STEPS)) - 1]


def information(tau: float, pi_i: bool, gamma: float, tau_max: float) -> float:
    """tau <- min(tau + gamma pi_I, tau_max), for either gate (eq. 9)."""
    return min(tau + gamma * pi_i, tau_max)


def bounded(tau: float, raised: float, reached: Sequence[float], quantile: float) -> float:
    """What a gate rises to where it may not pass that quantile of the figures that the round's arguments reach. It
    never falls; where no figure is known it stays."""
    return max(tau, min(raised, percentile(reached, 100 * quantile))) if reached else tau


def percentile(values: Sequence[float], percent: float) -> float:
    """Percentile of at least one value, interpolated between neighbours (numpy's default)."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


# ---------------------------------------------------------------- the start (3.4, F.1)


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
