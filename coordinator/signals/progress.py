"""Measures how much a debate still moves: information gain (eq. 5), progress ratios (eq. 6), plateau flags (eq. 7,
D.5).

All are functions of the history: `entropy` and `d` have one value a round, the blind round 0 first; entropies are those
of the mixture, normalised by log2 |Y|.

Equation 6 takes positive parts, because the monotone gate (M.2) forbids D to rise. Where beliefs may move apart, a rise
is motion too, and its size counts either way.
"""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from parley.coordinator.signals.crit import average


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far the last round moved. All values are 0 to 1 but the deltas."""

    r_i: float
    r_d: float
    delta_i: float
    """MA(I(t)) - MA(I(t-1)), -1 to 1 (D.4); either way |H(t) - H(t-1)|, 0 to 1."""
    delta_d: float
    """|D(t) - D(t-1)| (D.5)."""


def information_gain(before: float, after: float) -> float:
    """I = [H(p(t-1)) - H(p(t))]+ / log2 |Y| (eq. 5), of entropies that are normalised already."""
    return max(0.0, before - after)


def moving(values: Sequence[float], w: int) -> float:
    """Mean of the last w values, or of as many as there are; 0.0 of none."""
    last = values[-w:]
    return average(last) if last else 0.0


def progress(entropy: Sequence[float], d: Sequence[float], w: int, eta: float, *, either_way: bool) -> Progress:
    """Equations 6 and D.4-D.5 after the last round of the history.

    Parameters
    ----------
    entropy, d
        Of rounds 0 to t, t >= 1; d is the disagreement in control.
    w, eta
        Window in rounds, and what keeps the ratios finite.
    either_way
        Whether a rise of entropy or disagreement is motion (|delta|); else only a fall is (eq. 6 as printed).
    """
    gains = [abs(a - b) if either_way else information_gain(a, b) for a, b in pairwise(entropy)]
    steps = [abs(a - b) if either_way else max(0.0, a - b) for a, b in pairwise(d)]
    return Progress(
        r_i=moving(gains, w) / (moving(entropy[:-1], w) + eta),
        r_d=moving(steps, w) / (moving(d[:-1], w) + eta),
        delta_i=gains[-1] if either_way else moving(gains, w) - moving(gains[:-1], w),
        delta_d=abs(d[-1] - d[-2]),
    )


def flags(moved: Progress, kind: str, eps_i: float, eps_d: float) -> tuple[bool, bool]:
    """pi_I and pi_D: `relative` by the ratios (eq. 7), `absolute` by the differences (D.5). Below, not at, is a
    plateau."""
    if kind == "absolute":
        return moved.delta_i < eps_i, moved.delta_d < eps_d
    return moved.r_i < eps_i, moved.r_d < eps_d
