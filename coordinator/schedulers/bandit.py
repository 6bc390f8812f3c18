"""The learned schedule: how fast the dials move is chosen by a bandit under a budget (appendix L).

An action adds to alpha, which stands for alpha_I and alpha_D, and to gamma. UCB1 (Algorithm 2) and LinUCB (L.5) choose
among the same feasible set. Nothing here draws a number: ties go to the first action, which changes nothing.
"""

import math
from collections.abc import Sequence
from itertools import product
from operator import mul

import msgspec

ACTIONS: tuple[tuple[int, int], ...] = ((0, 0), *product((-1, 0, 1), (-1, 0, 1)))
"""Steps of (alpha, gamma): the no-op, then the nine pairs (L.6). K = 10."""
EXPLORATION = 1.0  # of LinUCB, whose factor the paper leaves open


class Ucb(msgspec.Struct, frozen=True, kw_only=True, tag="ucb"):
    """What Algorithm 2 remembers of its K actions."""

    means: tuple[float, ...] = (0.0,) * len(ACTIONS)
    counts: tuple[int, ...] = (0,) * len(ACTIONS)
    """How often each was taken."""

    def choose(self, feasible: Sequence[int], context: Sequence[float] = ()) -> int | None:
        """argmax of mean + sqrt(2 ln t / max(1, n)) over the feasible actions; None: there is none."""
        spread = 2 * math.log(sum(self.counts) + 1)
        means, counts = self.means, self.counts
        return max(feasible, key=lambda k: means[k] + math.sqrt(spread / max(1, counts[k])), default=None)

    def learn(self, action: int, reward: float, context: Sequence[float] = ()) -> "Ucb":
        """After this action earned this reward, 0 to 1."""
        n, mean = self.counts[action], self.means[action]
        means, counts = list(self.means), list(self.counts)
        means[action], counts[action] = (n * mean + reward) / (n + 1), n + 1
        return Ucb(means=tuple(means), counts=tuple(counts))


class LinUcb(msgspec.Struct, frozen=True, kw_only=True, tag="linucb"):
    """What LinUCB with one linear model an action remembers: A^-1 (d x d, row by row) and b of each of the K actions.
    Empty: not tried yet, so that A is the identity and b is 0."""

    inverse: tuple[tuple[float, ...], ...] = ((),) * len(ACTIONS)
    earned: tuple[tuple[float, ...], ...] = ((),) * len(ACTIONS)

    def choose(self, feasible: Sequence[int], context: Sequence[float]) -> int | None:
        """argmax of theta.x + c sqrt(x' A^-1 x), theta = A^-1 b; None: no action is feasible."""
        return max(feasible, key=lambda k: self._index(k, context), default=None)

    def _index(self, action: int, x: Sequence[float]) -> float:
        if not self.inverse[action]:
            return EXPLORATION * math.sqrt(_dot(x, x))
        ax = _times(self.inverse[action], x)
        return _dot(self.earned[action], ax) + EXPLORATION * math.sqrt(max(0.0, _dot(x, ax)))

    def learn(self, action: int, reward: float, context: Sequence[float]) -> "LinUcb":
        """A <- A + x x', b <- b + reward x; the inverse by Sherman and Morrison, so that no solver is needed whose last
        places differ between machines."""
        d = len(context)
        before = self.inverse[action] or tuple(float(i == j) for i in range(d) for j in range(d))
        ax = _times(before, context)
        share = 1 + _dot(context, ax)
        inverse, earned = list(self.inverse), list(self.earned)
        inverse[action] = tuple(before[i * d + j] - ax[i] * ax[j] / share for i in range(d) for j in range(d))
        sums = earned[action] or (0.0,) * d
        earned[action] = tuple(b + reward * x for b, x in zip(sums, context, strict=True))
        return LinUcb(inverse=tuple(inverse), earned=tuple(earned))


Policy = Ucb | LinUcb


def feasible(costs: Sequence[float], tokens_left: float | None) -> list[int]:
    """Actions whose conservative estimate of the cost fits what is left; all of them where no budget is known."""
    return [k for k, cost in enumerate(costs) if tokens_left is None or cost <= tokens_left]


def reward(
    gain: tuple[float, float], spread: tuple[float, float], cost: float, *, w1: float, w2: float, cost_weight: float
) -> float:
    """r = w1 [IG(t+1) - IG(t)]+ + w2 [D(t) - D(t+1)]+ - lambda c / C_max, clipped to 0 to 1 (L.1, L.3).

    Parameters
    ----------
    gain, spread
        Information gain and dispersion, before and after.
    cost
        Tokens of the round over C_max.
    """
    earned = w1 * max(0.0, gain[1] - gain[0]) + w2 * max(0.0, spread[0] - spread[1]) - cost_weight * cost
    return min(1.0, max(0.0, earned))


def moved(alpha: float, gamma: float, action: int, step: float) -> tuple[float, float]:
    """(alpha, gamma) after an action, each clipped to 0 to 1 (L.1)."""
    up, out = ACTIONS[action]
    return min(1.0, max(0.0, alpha + step * up)), min(1.0, max(0.0, gamma + step * out))


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(map(mul, a, b))


def _times(square: Sequence[float], x: Sequence[float]) -> tuple[float, ...]:
    d = len(x)
    return tuple(_dot(square[i * d : i * d + d], x) for i in range(d))
