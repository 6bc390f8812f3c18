"""The bandit at work in one debate: what it chose, what that earned, what alpha and gamma are now (Algorithm 2)."""

from collections.abc import Sequence

import msgspec

from parley.coordinator.schedulers import bandit
from parley.coordinator.schedulers.dials import percentile
from parley.schemas.control import Control, Signals


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """State of the learned schedule between rounds."""

    alpha: float
    """Stands for alpha_I and alpha_D."""
    gamma: float
    policy: bandit.Policy
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
        policy=bandit.LinUcb() if config.policy == "linucb" else bandit.Ucb(),
    )


def earned(config: Control, rounds: Sequence[Signals]) -> float:
    """What the action before the last of these rounds earned (L.1). `rounds`: from the blind one on, two or more."""
    before, now, constants = rounds[-2], rounds[-1], config.constants
    scale = constants.c_max or percentile([r.tokens for r in rounds], 95)
    return bandit.reward(
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
    action = policy.choose(bandit.feasible([dearest] * len(bandit.ACTIONS), tokens_left), context)
    alpha, gamma = state.alpha, state.gamma
    if action is not None:
        alpha, gamma = bandit.moved(alpha, gamma, action, config.constants.step)
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
