"""Signals that are reported and never controlled on (D.2, D.3). The paper names them and gives no formula for three.

Each is of the M smoothed beliefs p_u; sums over all pairs are taken apart into sums over agents.
"""

import math
from collections.abc import Iterable, Sequence
from operator import mul

from parley.coordinator.signals.beliefs import BeliefSpread, entropy, jsd, wasserstein


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
