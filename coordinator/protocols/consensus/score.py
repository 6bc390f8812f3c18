"""consensus: what a score is made of and means: dimensions, band, direction, and when a session is stuck.

The score is computed, from who holds the same answer and from what the analyst says of the rest:

    facts      the chance that two seats, drawn by weight, hold the same answer                 0 to 100
    approach   the analyst's: would they do the same?                                           0 to 100
    priority   the analyst's: do the same things matter to them?                                0 to 100
    score      their sum, each times its share (settings: 0.6, 0.25, 0.15)                      0 to 100

So positions that differ in the answer never come to a threshold of 90, whatever an analyst says of them. The score
has trend and bands, and says when a session is stuck; what is agreed, the seats sign (signing.py).
"""

from collections.abc import Mapping, Sequence

from parley.schemas.protocols.consensus import Settings

BANDS = ((90.0, "strong"), (70.0, "moderate"), (50.0, "weak"), (0.0, "none"))  # seed, "ConsensusAnalyzer"
PROGRESS = 1.0  # points
"""A change of the score that is not above this is none."""


def facts(sides: Sequence[Sequence[float]]) -> float:
    """The chance that two seats, drawn by weight, hold the same answer, times 100; 100 for fewer than two seats.
    `sides`: the weights of the seats of each answer, above 0."""
    total = sum(map(sum, sides))
    alone = sum(w * w for side in sides for w in side)
    pairs = total * total - alone
    if sum(map(len, sides)) < 2:
        return 100.0
    return 100 * (sum(sum(side) ** 2 for side in sides) - alone) / pairs


def score(parts: Mapping[str, float], shares: Mapping[str, float]) -> float:
    """The mean of the dimensions that were measured, each weighing its share, 0 to 100, to two decimals."""
    measured = {name: share for name, share in shares.items() if name in parts}
    return round(sum(share * parts[name] for name, share in measured.items()) / sum(measured.values()), 2)


def weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    """The value at which half of the weight is reached, from below; the mean of two where it is reached exactly between
    them. One seat that is too sure, or too modest, does not move it.

    Parameters
    ----------
    values
        At least one.
    weights
        As many, each above 0.
    """
    ranked = sorted(zip(values, weights, strict=True))
    half, reached = sum(weights) / 2, 0.0
    for n, (value, weight) in enumerate(ranked):
        reached += weight
        if reached == half:
            return (value + ranked[n + 1][0]) / 2
        if reached > half:
            return value
    return ranked[-1][0]


def band(score: float) -> str:
    """strong | moderate | weak | none (seed, "ConsensusAnalyzer")."""
    return next(name for least, name in BANDS if score >= least)


def direction(trend: Sequence[float]) -> str:
    """improving | stable | diverging: the last score against the one before."""
    change = trend[-1] - trend[-2] if len(trend) > 1 else 0.0
    if change > PROGRESS:
        return "improving"
    return "diverging" if change < -PROGRESS else "stable"


def is_stuck(trend: Sequence[float], settings: Settings) -> bool:
    """No progress over `stuck_rounds` rounds: none of the last scores is above the first of them by more than that."""
    window = trend[-settings.stuck_rounds :]
    return len(window) == settings.stuck_rounds and max(window) - window[0] <= PROGRESS
