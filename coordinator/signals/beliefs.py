"""Beliefs, and the distance between them.

A belief is a tuple of |Y| probabilities in the order of the outcomes; M agents hold one each. Entropies are in bits,
and 0 log 0 is 0. Logarithms are `math.log2` and sums `math.fsum`, which rounds once whatever the order: a session's log
is recomputed byte for byte on other machines, where the vectorised ones may differ in the last place.
"""

import math
from collections.abc import Iterable, Sequence
from operator import mul

import msgspec
import numpy as np
import numpy.typing as npt

from parley.schemas.belief import SUM_WITHIN, Share
from parley.schemas.text import ClosedList
from parley.schemas.wire import InvalidValue

Belief = tuple[float, ...]
Array = npt.NDArray[np.float64]
ROUNDING = 1e-12
"""Bits: a smaller difference of entropies is taken for rounding, so agents of one mind have a dispersion of 0."""
_SUM_ROUNDING = 1e-9
"""A sum of 0.98 or 1.02 in decimals may come out a little beyond it."""
_log2 = math.log2
_fsum = math.fsum


def parse_belief(shares: Iterable[Share], outcomes: Sequence[str], field: str = "belief") -> Belief:
    """Read a belief that names its outcomes; those it leaves out have 0. Case counts only where two names differ in it.
    Raises InvalidValue: names an outcome that is unknown or named twice, a probability that is not 0 to 1 (within
    0.02), or a sum farther from 1 than 0.02. Within 0.02 it is renormalised."""
    known = ClosedList(outcomes)
    places = {name: place for place, name in enumerate(outcomes)}
    values = [0.0] * len(outcomes)
    named = set()
    for share in shares:
        name = known.find(share.outcome)
        if name is None:
            raise InvalidValue(f"{field}.outcome", share.outcome, f"no such outcome; there are {_some(outcomes)}")
        place = places[name]
        if place in named:
            raise InvalidValue(f"{field}.outcome", share.outcome, "named twice, allowed is once")
        named.add(place)
        values[place] = share.p
    return checked(values, field, outcomes)


def checked(values: Sequence[float], field: str, outcomes: Sequence[str] = ()) -> Belief:
    """Probabilities in the order of the outcomes, as they are or renormalised. Raises InvalidValue: as `parse_belief`
    does; an entry's field is `field[i]`, or `field.name` where outcomes are given."""
    within = SUM_WITHIN + _SUM_ROUNDING
    for place, p in enumerate(values):
        if not 0 <= p <= 1 + within:
            name = f"{field}.{outcomes[place]}" if outcomes else f"{field}[{place}]"
            raise InvalidValue(name, p, "a probability is wanted, 0 to 1")
    total = _fsum(values)
    if not abs(total - 1) <= within:
        raise InvalidValue(field, total, f"allowed is a sum of 1 within {SUM_WITHIN:g}")
    return tuple(values) if total == 1 else tuple(p / total for p in values)


def _some(outcomes: Sequence[str]) -> str:
    more = f" and {len(outcomes) - 10} more" if len(outcomes) > 10 else ""
    return ", ".join(repr(name) for name in outcomes[:10]) + more


def smooth(rows: Array, share: float) -> Array:
    """p <- (1 - d) p + d / |Y| (M.1) of beliefs (M, |Y|), so that no probability is 0 where d is above it."""
    return rows * (1 - share) + share / int(rows.shape[1]) if share else rows


def entropy(belief: Sequence[float]) -> float:
    """H(p) in bits, 0 to log2 |Y|."""
    likely = belief if all(belief) else [p for p in belief if p]
    return max(0.0, -_fsum(map(mul, likely, map(_log2, likely))))


class BeliefSpread(msgspec.Struct, frozen=True, kw_only=True):
    """M beliefs, smoothed, and what several signals need of them."""

    rows: Array
    """(M, |Y|)"""
    middle: Belief
    """Their mean."""
    logs: list[list[float]] | None
    """log2 of every probability; None: one of them is 0."""
    entropies: list[float]
    dispersion: float
    """Mean KL(p_u || mean p) in bits, 0 to log2 M (M.1)."""


def spread(beliefs: Iterable[Belief], smoothing: float = 0.0) -> BeliefSpread:
    """How far M >= 1 beliefs lie apart, once they are smoothed.

    The dispersion is equal to H(mean p) - mean H(p_u), as which it is computed: the generalised Jensen-Shannon
    divergence (eq. 2) before it is normalised. So what holds for the one, the monotone gate for instance, holds for the
    other.
    """
    rows = smooth(np.array(list(beliefs)), smoothing)
    smoothed = rows.tolist()
    middle = tuple((np.add.reduce(rows) / len(smoothed)).tolist())
    if all(map(all, smoothed)):
        logs = [list(map(_log2, belief)) for belief in smoothed]
        entropies = [-_fsum(map(mul, belief, log)) for belief, log in zip(smoothed, logs, strict=True)]
    else:
        logs, entropies = None, list(map(entropy, smoothed))
    apart = entropy(middle) - _fsum(entropies) / len(smoothed)
    return BeliefSpread(
        rows=rows, middle=middle, logs=logs, entropies=entropies, dispersion=apart if apart > ROUNDING else 0.0
    )


def averaged(beliefs: Sequence[Belief], share: float) -> tuple[Belief, ...]:
    """Each belief so far towards the mean of all (eq. 13): the mean stays, the dispersion is at most (1 - share) of
    it."""
    middle = [_fsum(column) / len(beliefs) for column in zip(*beliefs, strict=True)]
    return tuple(tuple((1 - share) * p + share * m for p, m in zip(b, middle, strict=True)) for b in beliefs)


def mixture(rows: Array, weights: Sequence[float]) -> Belief:
    """p = sum omega_u p_u (eq. 5) of M beliefs, (M, |Y|); the M weights sum to 1."""
    return tuple(np.add.reduce(rows * np.array(weights)[:, np.newaxis]).tolist())


def jsd(bits: float, agents: int) -> float:
    """Disagreement D_JS (eq. 2) from the dispersion of M agents' beliefs: for M > 2 divided by log2 M. 0 to 1."""
    return min(1.0, bits / _log2(agents)) if agents > 1 else 0.0


def total_variation(one: Belief, other: Belief) -> float:
    """How much probability lies elsewhere in the other: half the sum of |p - q|. 0 to 1.

    Examples
    --------
    >>> total_variation((0.8, 0.2), (0.5, 0.5))
    0.3
    """
    return round(_fsum(abs(p - q) for p, q in zip(one, other, strict=True)) / 2, 12)


def wasserstein(rows: Array, positions: Sequence[float] = ()) -> float:
    """Normalised Wasserstein-1 of M beliefs over ordered outcomes, mean over pairs (D.4).

    Parameters
    ----------
    rows
        (M, |Y|), |Y| >= 2.
    positions
        |Y| rising positions on the scale; none: one unit apart.

    Returns
    -------
    float
        0 to 1: the area between two cumulative distributions, over the largest there can be, from one end of the scale
        to the other. 0.0 for fewer than two beliefs.
    """
    m, size = int(rows.shape[0]), int(rows.shape[1])
    if m < 2:
        return 0.0
    gaps = np.diff(positions) if positions else np.ones(size - 1)
    rising = np.sort(np.add.accumulate(rows, axis=1)[:, :-1], axis=0)
    # The sum of |a - b| over pairs: the i-th of M in order is the larger one of i pairs, the smaller one of M - 1 - i.
    ranks = 2.0 * np.arange(m)[:, np.newaxis] - (m - 1)
    area = _fsum((np.add.reduce(ranks * rising) * gaps).tolist())
    most = m * (m - 1) / 2 * _fsum(gaps.tolist())
    return float(min(1.0, max(0.0, area / most)))


def bits(size: int) -> float:
    """log2 of a number of outcomes or agents: the largest entropy."""
    return _log2(size)


# ---------------------------------------------------------------- reported, and never controlled on (D.2, D.3)


def logged(
    spread: BeliefSpread, weights: Sequence[float], mixed: Sequence[float], positions: Sequence[float] = ()
) -> dict[str, float]:
    """What D.2 logs; a figure that is infinite is left out.

    Parameters
    ----------
    spread, weights
        Of M >= 2 agents; the weights omega sum to 1.
    mixed
        The mixture under those weights.
    positions
        As for `wasserstein`.

    Returns
    -------
    dict
        `mutual_information`, bits: I(U; Y) of the outcome Y and of who is asked, U, drawn by omega: how much the answer
        depends on whom one asks. (The paper names neither variable.) `normalised_mutual_information`: 2 I / (H(U) +
        H(Y)). `weighted_jsd`: eq. 2 with omega, H(mixture) - sum omega_u H(p_u), which is I(U; Y), for M > 2 divided
        by log2 M. `kl` and `cross_entropy`, bits: means over ordered pairs u != v. `w1`: D.4; where outcomes have no
        order, in the order in which they are listed.
    """
    m = len(spread.entropies)
    h_mixed, h_weights = entropy(mixed), entropy(weights)
    information = max(0.0, h_mixed - _dot(weights, spread.entropies))
    signals = {
        "weighted_jsd": jsd(information, m),
        "mutual_information": information,
        "normalised_mutual_information": 2 * information / (h_weights + h_mixed) if h_weights + h_mixed else 0.0,
        "w1": wasserstein(spread.rows, positions),
    }
    if spread.logs:  # otherwise one may exclude what another allows
        own = math.fsum(spread.entropies)
        # Everybody's belief against everybody's logarithms, less each one's against its own.
        everybody = m * math.fsum([_dot(spread.middle, log) for log in spread.logs])
        signals["cross_entropy"] = max(0.0, -(everybody + own) / (m * (m - 1)))
        signals["kl"] = max(0.0, signals["cross_entropy"] - own / m)
    return signals


def _dot(p: Iterable[float], q: Iterable[float]) -> float:
    return math.fsum(map(mul, p, q))
