"""What one more round is worth, by a fit on past debates. Pure; not the paper's.

The fit is linear: gain = sum of coefficient times feature. The gain is the change of the chance that the leading answer
is right. Every feature is a figure of rounds that were played, so nothing of the round to come is needed. The round is
worth it where the gain is above its cost: `price`, the chance that one would give for 1,000 tokens, times the tokens
that the round is expected to take, over 1,000.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from parley.schemas.control import Signals
from parley.schemas.wire import InvalidValue, in_range, not_empty

Array = NDArray[np.float64]
RIDGE = 1.0
FEATURES = ("one", "top", "entropy", "disagreement", "blind", "round", "turned", "outcomes")
"""What a fitted value of one more round may look at."""


class RoundValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fit on past debates of what one more round is worth, and what it may cost."""

    version: str
    """Names the coefficients."""
    coefficients: dict[str, float]
    """By feature; those left out are 0."""
    price: float
    """The chance of a right answer that one would give for 1,000 tokens. 0: only rounds that do harm are saved."""
    tokens: float
    """Of a round of the debates that it was fitted on."""
    fitted_on: str
    """Which debates, in words."""
    debates: int
    """How many."""

    def __post_init__(self) -> None:
        not_empty("round_value.version", self.version, 100)
        in_range("round_value.price", self.price, 0, 1_000)
        in_range("round_value.tokens", self.tokens, 0, 1e9)
        for name, figure in self.coefficients.items():
            if name not in FEATURES:
                raise InvalidValue("round_value.coefficients", name, f"known are {', '.join(FEATURES)}")
            in_range(f"round_value.coefficients.{name}", figure, -1e6, 1e6)


def features(rounds: Sequence[Signals]) -> dict[str, float]:
    """What the fit looks at, of the rounds so far, the blind one first.

    Returns
    -------
    `one`: 1. `top`: the greatest probability of the mixture. `entropy`, `disagreement`: of the last round, 0 to 1.
    `blind`: 1 after the blind round alone. `round`: its number. `turned`: 1 where the leading answer is another than
    after the round before. `outcomes`: 1 over their number.
    """
    last = rounds[-1]
    leading = [max(r.mixture, key=lambda name: r.mixture[name]) for r in rounds[-2:]]
    return {
        "one": 1.0,
        "top": max(last.mixture.values()),
        "entropy": last.entropy,
        "disagreement": last.jsd,
        "blind": float(not last.round),
        "round": float(last.round),
        "turned": float(leading[0] != leading[-1]),
        "outcomes": 1 / len(last.mixture),
    }


def gain(fit: RoundValue, values: Mapping[str, float]) -> float:
    """By how much the chance of a right answer changes with one more round: -1 to 1.

    Examples
    --------
    >>> values = dict.fromkeys(FEATURES, 0.5)
    >>> gain(RoundValue(version="v", coefficients={"top": 0.1}, price=0, tokens=1, fitted_on="", debates=1), values)
    0.05
    """
    total = sum(fit.coefficients.get(name, 0.0) * values[name] for name in FEATURES)
    return min(1.0, max(-1.0, total))


def cost(fit: RoundValue, rounds: Sequence[Signals]) -> float:
    """What one more round costs, as a change of that chance. It is expected to take what the dearest round so far took;
    where tokens are not known, what the fit's own debates took."""
    tokens = max(r.tokens for r in rounds)
    return fit.price * (tokens or fit.tokens) / 1_000


def ridge(rows: Array, gains: Array) -> Array:
    """Coefficients of a regression without an intercept (a feature of 1 stands for it), shrunk by `RIDGE`.

    Parameters
    ----------
    rows : shape (rounds, features)
    gains : shape (rounds,)
    """
    squares = rows.T @ rows + RIDGE * np.eye(rows.shape[1])
    return np.asarray(np.linalg.solve(squares, rows.T @ gains), dtype=np.float64)
