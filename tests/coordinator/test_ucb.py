"""The learned schedule: Algorithm 2 and L.5 under a budget, on arms and in a debate."""

import math

import numpy as np
import pytest

from parley.coordinator.schedulers.ucb import ACTIONS, LinUcb, Ucb, feasible, moved, reward
from tests.protocols.maci.rounds import control, play, seen


def test_an_action_moves_alpha_and_gamma_by_the_step_within_0_and_1() -> None:
    up_down = ACTIONS.index((1, -1))
    assert moved(0.2, 0.1, up_down, 0.2) == pytest.approx((0.4, 0.0))
    assert moved(0.9, 0.9, ACTIONS.index((1, 1)), 0.2) == (1.0, 1.0)
    assert moved(0.2, 0.1, 0, 0.2) == (0.2, 0.1)


def test_only_actions_whose_cost_fits_the_budget_are_feasible() -> None:
    assert feasible([10, 20, 30], 20) == [0, 1]
    assert feasible([10, 20, 30], None) == [0, 1, 2]
    assert feasible([10, 20, 30], 9) == []
    assert Ucb().choose([]) is None
    assert LinUcb().choose([], (1.0,)) is None


def test_ucb_takes_the_largest_mean_plus_spread() -> None:
    """t = 8: spreads sqrt(2 ln 8 / n) are 2.04, 1.02 and 2.04."""
    means, counts = (0.2, 0.9, 0.1), (1, 4, 0)
    indices = [m + math.sqrt(2 * math.log(6) / max(1, n)) for m, n in zip(means, counts, strict=True)]
    known = Ucb(means=means, counts=counts)
    assert known.choose([0, 1, 2]) == indices.index(max(indices)) == 0
    assert known.choose([1, 2]) == 2
    assert Ucb(means=(0.0, 0.9, 0.0), counts=(4, 4, 4)).choose([0, 1, 2]) == 1


def test_ucb_keeps_the_mean_reward_of_each_action() -> None:
    known = Ucb().learn(3, 0.5).learn(3, 0.1).learn(4, 1.0)
    assert known.means[3:5] == pytest.approx((0.3, 1.0))
    assert known.counts == (0, 0, 0, 2, 1, 0, 0, 0, 0, 0)


def test_the_reward_is_gain_and_fall_of_dispersion_less_the_cost_clipped() -> None:
    def worth(gain: tuple[float, float], spread: tuple[float, float], cost: float) -> float:
        return reward(gain, spread, cost, w1=0.5, w2=0.5, cost_weight=0.1)

    assert worth((0.1, 0.3), (0.8, 0.4), 0.5) == pytest.approx(0.5 * 0.2 + 0.5 * 0.4 - 0.05)
    assert worth((0.3, 0.1), (0.4, 0.8), 0.0) == 0.0
    assert worth((0.0, 0.0), (0.0, 0.0), 1.0) == 0.0
    assert worth((0.0, 1.0), (3.0, 0.0), 0.0) == 1.0


def test_linucbs_inverse_is_that_of_the_sum_of_outer_products() -> None:
    dice = np.random.default_rng(5)
    known, a, b = LinUcb(), np.eye(4), np.zeros(4)
    for _ in range(30):
        x = dice.normal(size=4)
        known = known.learn(2, 0.5, tuple(x.tolist()))
        a += np.outer(x, x)
        b += 0.5 * x
    assert np.array(known.inverse[2]).reshape(4, 4) == pytest.approx(np.linalg.inv(a), abs=1e-9)
    assert known.earned[2] == pytest.approx(b.tolist())
    x = dice.normal(size=4)
    index = float(np.linalg.inv(a) @ b @ x) + math.sqrt(float(x @ np.linalg.inv(a) @ x))
    rival = float(np.linalg.norm(x))
    assert known.choose([1, 2], tuple(x.tolist())) == (2 if index > rival else 1)


# ---------------------------------------------------------------- in a debate


def test_the_learned_schedule_chooses_after_each_round_and_is_rewarded_after_the_next() -> None:
    config = control(schedule="learned", cl=0.8)
    rounds = [
        seen((0.6, 0.3, 0.1), (0.1, 0.2, 0.7), tokens=1_000),
        seen((0.6, 0.3, 0.1), (0.2, 0.2, 0.6), tokens=2_000),
        seen((0.7, 0.2, 0.1), (0.6, 0.2, 0.2), tokens=4_000),
    ]
    first = play(config, rounds[:2]).learned
    assert first is not None and isinstance(first.policy, Ucb)
    assert (first.action, first.alpha, first.gamma, sum(first.policy.counts)) == (0, 0.2, 0.1, 0)
    state = play(config, rounds, ordered=True)  # so that dispersion, which is rewarded, is not the disagreement
    assert state.learned is not None and isinstance(state.learned.policy, Ucb)
    zero, one, two = state.rounds
    assert one.information_gain is not None and two.information_gain is not None
    c_max = 3_800  # 95th percentile of 1,000, 2,000, 4,000
    earned = (
        0.5 * max(0, two.information_gain - one.information_gain)
        + 0.5 * (one.dispersion - two.dispersion)
        - 0.1 * 4_000 / c_max
    )
    assert earned > 0
    assert state.learned.policy.means[0] == pytest.approx(earned)
    assert state.learned.policy.counts[0] == 1
    assert (two.alpha, two.gamma) == (state.learned.alpha, state.learned.gamma)
    assert zero.alpha is None
    given = play(control(schedule="learned", cl=0.8, c_max=8_000.0), rounds, ordered=True).learned
    assert given is not None and isinstance(given.policy, Ucb)
    assert given.policy.means[0] == pytest.approx(earned + 0.1 * 4_000 / c_max - 0.1 * 4_000 / 8_000)


def test_with_too_little_left_nothing_is_chosen_and_nothing_moves() -> None:
    config = control(schedule="learned")
    state = play(config, [seen(tokens=500), seen(tokens=900, tokens_left=899.0)])
    assert state.learned is not None
    assert (state.learned.action, state.learned.alpha, state.learned.gamma) == (None, 0.2, 0.1)
    enough = play(config, [seen(tokens=500), seen(tokens=900, tokens_left=900.0)])
    assert enough.learned is not None and enough.learned.action == 0
