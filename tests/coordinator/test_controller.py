"""The controller: signals in a debate's course, the two dials and their words, and when it ends a debate."""

import math

import msgspec
import msgspec.inspect
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.schedulers import stop_rule as stops
from parley.coordinator.schedulers.controller import Observation, admits, begin, verdict
from parley.coordinator.schedulers.tone import LEVELS, tone
from parley.schemas.control import Control, Verdict
from tests.protocols.maci import naive
from tests.protocols.maci.rounds import OUTCOMES, U, V, control, play, seen

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


def test_mean_crit_is_over_all_arguments_where_it_is_given_and_else_over_the_agents() -> None:
    assert play(control(), [seen(), seen(crit_mean=0.72)]).rounds[1].crit == 0.72
    assert play(control(), [seen(), seen()]).rounds[1].crit == pytest.approx(0.75)
    assert play(control(), [seen(), seen(crit={})]).rounds[1].crit is None


def test_the_weighted_variant_is_reported_and_not_controlled_on() -> None:
    rounds = [seen(), seen(crit={"u": 1.0, "v": 0.0})]
    _, one = play(control(), rounds).rounds
    assert one.logged["weighted_jsd"] != one.jsd
    assert one.jsd == pytest.approx(naive.jsd([list(U), list(V)]), abs=1e-12)
    assert set(one.logged) == {
        "weighted_jsd", "mutual_information", "normalised_mutual_information", "kl", "cross_entropy", "w1",
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_the_keys_of_a_protocols_state_are_texts(name: str) -> None:
    """Others cannot be written in a fixed order, so that a session which has one is stuck."""
    types = list(msgspec.inspect.multi_type_info([PROTOCOLS[name].state, PROTOCOLS[name].settings]))
    structs = set[type]()
    while types:
        found = types.pop()
        match found:
            case msgspec.inspect.StructType():
                if found.cls not in structs:
                    structs.add(found.cls)
                    types += [field.type for field in found.fields]
            case msgspec.inspect.DictType():
                key = found.key_type
                texts = getattr(key, "values", ())  # of a Literal
                assert isinstance(key, msgspec.inspect.StrType) or all(isinstance(v, str) for v in texts or (0,)), found
                types.append(found.value_type)
            case msgspec.inspect.UnionType():
                types += found.types
            case msgspec.inspect.VarTupleType() | msgspec.inspect.ListType():
                types.append(found.item_type)
            case msgspec.inspect.TupleType():
                types += found.item_types
    assert len(structs) > 1


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


def test_a_gate_that_is_off_lets_everything_pass_and_stays_at_0() -> None:
    for name, poor in (("q_gate", (-1.0, 0.3)), ("crit_gate", (0.5, 0.0))):
        config = control(**{name: False})
        state = play(config, [seen()] * 3)
        for gates in [(state.tau_q, state.tau_crit), *((r.tau_q or 0.0, r.tau_crit or 0.0) for r in state.rounds[1:])]:
            assert sorted(gates)[0] == 0.0 and sorted(gates)[1] >= 0.3
        assert admits(config, play(config, [seen()]), *poor)
        assert not admits(control(), play(control(), [seen()]), *poor)


def stop(config: Control, rounds: list[Observation], short: str = "") -> Verdict:
    found = verdict(config, play(config, rounds), short)
    assert found is not None
    return found


def goes_on(config: Control, rounds: list[Observation]) -> bool:
    return verdict(config, play(config, rounds)) is None


def test_each_round_of_a_stalemate_is_held_against_its_own_gate() -> None:
    """The gate is 0.3, 0.4, 0.5 in rounds 1 to 3: 0.35 passes the first. The certificate says that it climbed."""
    middling = seen(crit={"u": 0.35, "v": 0.35}, q=0.0)
    assert goes_on(control(), [seen(), *[middling] * 3])
    found = stop(control(), [seen(), *[middling] * 4])
    assert found.reason == "stalemate"
    assert found.certificate["gates_first"] == {"tau_q": 0.5, "tau_crit": 0.3}
    assert found.certificate["gates"] == pytest.approx({"tau_q": 0.8, "tau_crit": 0.6})
    blind = stops.verdict(control(), [begin(control(), OUTCOMES, seen()).rounds[0]], short="too dear")
    assert blind is not None and blind.certificate["gates_first"] == {"tau_q": None, "tau_crit": None}


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
    [
        (1.0, 0.9), (0.9, 0.9), (0.8, 0.9), (0.79, 0.7), (0.7, 0.7), (0.9 - 0.2, 0.7), (0.6, 0.7), (0.59, 0.5),
        (0.4, 0.5), (0.39, 0.3), (0.2, 0.3), (0.7 - 0.5, 0.3), (0.19, 0.1), (0.0, 0.1),
    ],
)  # fmt: skip
def test_the_nearest_of_the_five_levels_speaks_and_half_way_the_upper(cl: float, level: float) -> None:
    assert tone(cl) == LEVELS[level]


@pytest.mark.parametrize("cl", [-0.01, 1.01, math.nan, math.inf])
def test_what_is_no_level_is_refused(cl: float) -> None:
    with pytest.raises(ValueError, match="allowed is 0 to 1"):
        tone(cl)
