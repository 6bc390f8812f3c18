"""The two dials: contentiousness (eq. 8) and the gates (eq. 9)."""

from collections.abc import Sequence
from math import floor

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
