"""The learned schedule: how fast the dials move is chosen by a bandit under a budget (appendix L).

An action adds to alpha, which stands for alpha_I and alpha_D, and to gamma. UCB1 (Algorithm 2) and LinUCB (L.5) choose
among the same feasible set. Nothing here draws a number: ties go to the first action, which changes nothing.
"""

import math
from collections.abc import Sequence
from itertools import product
from operator import mul

import msgspec

from parley.coordinator.schedulers.dials import percentile
from parley.schemas.control import Control, Signals

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


# ---------------------------------------------------------------- the learned schedule of one debate


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """State of the learned schedule between rounds."""

    alpha: float
    """Stands for alpha_I and alpha_D."""
    gamma: float
    policy: Policy
    action: int | None = None
    """Chosen last, and not rewarded yet; None: there is none, or nothing was feasible."""
    context: tuple[float, ...] = ()
    """x_t as it was then (L.1)."""


def begin(config: Control) -> Learned:
    """Before any action of this debate; alpha is the mean of the two that it stands for."""
    constants = config.constants
    return Learned(
        alpha=(constants.alpha_i + constants.alpha_d) / 2,
        gamma=constants.gamma,
        policy=LinUcb() if config.policy == "linucb" else Ucb(),
    )


def earned(config: Control, rounds: Sequence[Signals]) -> float:
    """What the action before the last of these rounds earned (L.1). `rounds`: from the blind one on, two or more."""
    before, now, constants = rounds[-2], rounds[-1], config.constants
    scale = constants.c_max or percentile([r.tokens for r in rounds], 95)
    return reward(
        (before.information_gain or 0.0, now.information_gain or 0.0),
        (before.dispersion, now.dispersion),
        now.tokens / scale if scale else 0.0,
        w1=constants.w1,
        w2=constants.w2,
        cost_weight=constants.cost_weight,
    )


def after(config: Control, state: Learned, rounds: Sequence[Signals], tokens_left: float | None) -> Learned:
    """Reward the action before this round, and choose the next.

    Parameters
    ----------
    rounds
        From the blind one to the round just played, two or more.
    tokens_left
        Tokens left of the budget; None: not known. The next round is estimated to cost what the dearest so far did.
    """
    policy = state.policy
    if state.action is not None:
        policy = policy.learn(state.action, earned(config, rounds), state.context)
    context = _context(rounds, tokens_left)
    dearest = float(max(r.tokens for r in rounds))
    action = policy.choose(feasible([dearest] * len(ACTIONS), tokens_left), context)
    alpha, gamma = state.alpha, state.gamma
    if action is not None:
        alpha, gamma = moved(alpha, gamma, action, config.constants.step)
    return Learned(alpha=alpha, gamma=gamma, policy=policy, action=action, context=context)


def _context(rounds: Sequence[Signals], tokens_left: float | None) -> tuple[float, ...]:
    """x_t (L.1) and a constant: D, its last change, Q, its change, IG, its change, the share of the budget left."""
    before, now = rounds[-2], rounds[-1]
    spent = sum(r.tokens for r in rounds)
    share = (
        1.0
        if tokens_left is None or tokens_left + spent <= 0
        else max(0.0, tokens_left) / (max(0.0, tokens_left) + spent)
    )
    gain, gained = now.information_gain or 0.0, before.information_gain or 0.0
    return (
        1.0,
        now.dispersion,
        now.dispersion - before.dispersion,
        now.q,
        now.q - before.q,
        gain,
        gain - gained,
        share,
    )
