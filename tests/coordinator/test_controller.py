"""The controller: signals in a debate's course, the two dials and their words, and when it ends a debate."""

import math

import msgspec
import msgspec.inspect
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.coordinator.schedulers.controller import Observation, verdict
from parley.coordinator.schedulers.tone import LEVELS, tone
from parley.coordinator.schedulers.ucb import ACTIONS, LinUcb, Ucb, moved, reward
from parley.schemas.control import Control, Verdict
from tests.protocols.maci import naive
from tests.protocols.maci.rounds import U, V, control, play, seen

NEAR = (0.5, 0.3, 0.2)


def drawn(dice: np.random.Generator, m: int, size: int, rounds: int) -> list[Observation]:
    """Rounds at random; not everybody argues in every one."""
    found = []
    for _ in range(rounds):
        beliefs = {f"d{i}": tuple(dice.dirichlet(np.ones(size)).tolist()) for i in range(m)}
        crit = {agent: float(dice.random()) for agent in beliefs if dice.random() < 0.8}
        found.append(Observation(beliefs=beliefs, crit=crit, q=float(dice.random())))
    return found


# ---------------------------------------------------------------- rounds


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 9), st.integers(1, 6), st.integers(1, 4))
def test_a_debate_is_as_the_equations_written_out_say(seed: int, m: int, size: int, rounds: int, w: int) -> None:
    seen_rounds = drawn(np.random.default_rng(seed), m, size, rounds + 1)
    config = control(smoothing=1e-6, monotone_gate=False, w=w)
    state = play(config, seen_rounds, outcomes=tuple(f"y{i}" for i in range(size)))
    plain = [{"beliefs": {u: list(p) for u, p in o.beliefs.items()}} for o in seen_rounds]
    for row, signals in zip(naive.debate(plain, [o.crit for o in seen_rounds], w=w), state.rounds, strict=True):
        flat = {**msgspec.to_builtins(signals), **{f"weight {u}": x for u, x in signals.weights.items()}}
        assert {name: flat[name] for name in row} == pytest.approx(row, abs=1e-9)


def test_the_weighted_variant_is_reported_and_not_controlled_on() -> None:
    rounds = [seen(), seen(crit={"u": 1.0, "v": 0.0})]
    _, one = play(control(), rounds).rounds
    assert one.logged["weighted_jsd"] != one.jsd
    assert one.jsd == pytest.approx(naive.jsd([list(U), list(V)]), abs=1e-12)
    assert set(one.logged) == {
        "weighted_jsd", "mutual_information", "normalised_mutual_information", "kl", "cross_entropy", "w1",
    }  # fmt: skip


# ---------------------------------------------------------------- averaging (M.1)


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_averaging_keeps_the_mean_and_contracts_the_dispersion(share: float) -> None:
    """Lemma 1: without noise the mixture stays, and the dispersion is at most (1 - beta) of what it was."""
    config = control(smoothing=0, averaging=share, monotone_gate=False)
    blind, *rounds = play(config, [seen(), seen(), seen()]).rounds
    plain = play(control(smoothing=0, monotone_gate=False), [seen(), seen(), seen()]).rounds
    assert rounds[0].dispersion <= (1 - share) * blind.dispersion + 1e-12 < plain[1].dispersion
    assert rounds[1].dispersion == pytest.approx(rounds[0].dispersion), "of what is stated anew"
    middle = [sum(b[i] for b in (U, V)) / 2 for i in range(3)]
    state = play(config, [seen(), seen()])
    assert [sum(b[i] for b in state.beliefs.values()) / 2 for i in range(3)] == pytest.approx(middle)
    assert state.beliefs["u"] == pytest.approx([(1 - share) * p + share * m for p, m in zip(U, middle, strict=True)])


# ---------------------------------------------------------------- monotone gate


def test_nu_is_the_rise_that_the_gate_lets_pass() -> None:
    rise = naive.dispersion([list(U), list(V)]) - naive.dispersion([list(NEAR), list(V)])
    assert play(control(nu=rise + 1e-9), [seen(NEAR, V), seen(U, V)]).held == ()
    assert play(control(nu=rise - 1e-9), [seen(NEAR, V), seen(U, V)]).held == (1,)


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 9))
def test_dispersion_never_rises_under_the_monotone_gate(seed: int, m: int, size: int) -> None:
    rounds = drawn(np.random.default_rng(seed), m, size, 8)
    state = play(control(smoothing=1e-6), rounds, outcomes=tuple(f"y{i}" for i in range(size)))
    course = [signals.dispersion for signals in state.rounds]
    assert course == sorted(course, reverse=True)
    for signals in state.rounds[1:]:
        offered = [[(1 - 1e-6) * x + 1e-6 / size for x in p] for p in rounds[signals.round].beliefs.values()]
        assert signals.held == (naive.dispersion(offered) > course[signals.round - 1] + 1e-9)


# ---------------------------------------------------------------- dials


def stop(config: Control, rounds: list[Observation], short: str = "") -> Verdict:
    found = verdict(config, play(config, rounds), short)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_a_certificate_can_be_computed_again_from_the_history_that_it_carries(kind: str) -> None:
    rounds = [
        seen(U, V),
        seen(NEAR, V, q=0.9),
        seen(NEAR, (0.2, 0.3, 0.5), q=0.9),
        *[seen(NEAR, NEAR, q=0.9)] * 6,
    ]
    certificate = stop(control(plateau=kind, w=2), rounds).certificate
    history, window = certificate["history"], certificate["window"]
    assert [row["round"] for row in history] == list(range(len(history)))
    for t, row in enumerate(history[1:], 1):
        gains = [max(0.0, history[s - 1]["entropy"] - history[s]["entropy"]) for s in range(1, t + 1)]
        drops = [max(0.0, history[s - 1]["jsd"] - history[s]["jsd"]) for s in range(1, t + 1)]
        before = history[max(0, t - window["w"]) : t]

        def mean(values: list[float]) -> float:
            return sum(values) / len(values) if values else 0.0

        r_i = mean(gains[-window["w"] :]) / (mean([b["entropy"] for b in before]) + window["eta"])
        r_d = mean(drops[-window["w"] :]) / (mean([b["jsd"] for b in before]) + window["eta"])
        assert (row["r_i"], row["r_d"]) == pytest.approx((r_i, r_d), abs=1e-12)
        delta_i = mean(gains[-window["w"] :]) - mean(gains[:-1][-window["w"] :])
        delta_d = abs(row["jsd"] - history[t - 1]["jsd"])
        low = (r_i, r_d) if kind == "relative" else (delta_i, delta_d)
        assert (row["pi_i"], row["pi_d"]) == (low[0] < window["eps_i"], low[1] < window["eps_d"])
    last = history[-2:]
    counted = [sum(row["pi_i"] for row in last), sum(row["pi_d"] and not row["held"] for row in last)]
    tests = certificate["stops"]["plateau"]["tests"]
    assert [test["value"] for test in tests[:2]] == counted
    assert [test["value"] for test in tests[2:]] == [history[-1]["q"], history[-1]["overlap"]]
    assert [test["limit"] for test in tests[2:]] == [certificate["gates"]["tau_q"], 0.3]


@pytest.mark.parametrize(
    "cl, level",
    [(1.0, 0.9), (0.8, 0.9), (0.79, 0.7), (0.6, 0.7), (0.59, 0.5), (0.7 - 0.5, 0.3), (0.19, 0.1), (0.0, 0.1)],
)
def test_the_nearest_of_the_five_levels_speaks_and_half_way_the_upper(cl: float, level: float) -> None:
    assert tone(cl) == LEVELS[level]


@pytest.mark.parametrize("cl", [-0.01, 1.01, math.nan, math.inf])
def test_what_is_no_level_is_refused(cl: float) -> None:
    with pytest.raises(ValueError, match="allowed is 0 to 1"):
        tone(cl)


# ---------------------------------------------------------------- the learned schedule (Algorithm 2, L.5)


def test_an_action_moves_alpha_and_gamma_by_the_step_within_0_and_1() -> None:
    assert moved(0.2, 0.1, ACTIONS.index((1, -1)), 0.2) == pytest.approx((0.4, 0.0))
    assert moved(0.9, 0.9, ACTIONS.index((1, 1)), 0.2) == (1.0, 1.0)


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
