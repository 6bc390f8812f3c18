"""The controller: signals in a debate's course, and the two dials."""

import math

import msgspec
import msgspec.inspect
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.schedulers.controller import Observation, admits, advance, begin
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


def test_scores_in_the_blind_round_move_no_weight() -> None:
    state = play(control(), [seen(crit={"u": 1.0, "v": 0.0})])
    assert state.reliability == {"u": 0.5, "v": 0.5}
    assert state.rounds[0].crit == 0.5


def test_one_round_by_hand() -> None:
    """u (.6, .3, .1) and v (.1, .2, .7), then u (.5, .3, .2) and v (.2, .3, .5); CRIT .8 and .3."""
    zero, one = play(control(), [seen(), seen(NEAR, (0.2, 0.3, 0.5), crit={"u": 0.8, "v": 0.3})]).rounds
    h0 = naive.entropy([0.35, 0.25, 0.4]) / math.log2(3)
    g_u, g_v = 0.8 * 0.5 + 0.2 * 0.8, 0.8 * 0.5 + 0.2 * 0.3
    w = (g_u + 1e-6) / (g_u + g_v + 2e-6)
    mixed = [w * 0.5 + (1 - w) * 0.2, 0.3, w * 0.2 + (1 - w) * 0.5]
    h1 = naive.entropy(mixed) / math.log2(3)
    d0, d1 = naive.jsd([list(U), list(V)]), naive.jsd([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    assert (zero.jsd, one.jsd) == pytest.approx((d0, d1), abs=1e-12)
    assert (zero.entropy, one.entropy) == pytest.approx((h0, h1), abs=1e-12)
    assert one.weights == pytest.approx({"u": w, "v": 1 - w}, abs=1e-12)
    assert one.mixture == pytest.approx(dict(zip(OUTCOMES, mixed, strict=True)), abs=1e-12)
    assert one.information_gain == pytest.approx(max(0, h0 - h1), abs=1e-12)
    assert one.r_i == pytest.approx(max(0, h0 - h1) / (h0 + 1e-3), abs=1e-12)
    assert one.r_d == pytest.approx((d0 - d1) / (d0 + 1e-3), abs=1e-12)
    assert (one.overlap, one.q) == (0.5, 0.62)
    assert one.crit == pytest.approx(0.55)


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


@pytest.mark.parametrize(
    ("beliefs", "message"),
    [
        ({"u": U, "w": V}, "belief of w, which has none of the blind round"),
        ({"u": (0.5, 0.5), "v": V}, "belief of u: 2 probabilities for 3 outcomes"),
    ],
)
def test_beliefs_that_do_not_fit_are_refused(beliefs: dict[str, tuple[float, ...]], message: str) -> None:
    state = play(control(), [seen()])
    with pytest.raises(ValueError, match=message):
        advance(control(), state, Observation(beliefs=beliefs))


def test_a_debate_has_two_agents_and_two_outcomes_at_least() -> None:
    with pytest.raises(ValueError, match="1 agents, wanted are 2 or more"):
        begin(control(), OUTCOMES, Observation(beliefs={"u": U}))
    with pytest.raises(ValueError, match="1 outcomes, wanted are 2 or more"):
        begin(control(), ("a",), Observation(beliefs={"u": (1.0,), "v": (1.0,)}))


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


def test_by_default_a_belief_stands_as_stated_and_the_blind_round_always_does() -> None:
    assert play(control(), [seen(), seen()]).beliefs == {"u": U, "v": V}
    assert play(control(averaging=0.5), [seen()]).beliefs == {"u": U, "v": V}


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


@given(st.integers(0, 10_000), st.integers(2, 8))
def test_agents_of_one_mind_that_move_together_are_not_held_back(seed: int, m: int) -> None:
    dice = np.random.default_rng(seed)
    rounds = []
    for _ in range(5):
        belief = tuple(dice.dirichlet(np.ones(7)).tolist())
        rounds.append(Observation(beliefs={f"d{i}": belief for i in range(m)}))
    assert play(control(smoothing=1e-6), rounds, outcomes=tuple("abcdefg")).held == ()


@given(st.integers(0, 10_000), st.integers(3, 8))
def test_agents_that_change_places_are_not_held_back(seed: int, m: int) -> None:
    """The dispersion stays the same, and its last digit may not."""
    rows = [tuple(p) for p in np.random.default_rng(seed).dirichlet(np.ones(7), size=m).tolist()]
    rounds = []
    for turn in range(m):
        rounds.append(Observation(beliefs={f"d{i}": rows[(i + turn) % m] for i in range(m)}))
    assert play(control(smoothing=1e-6), rounds, outcomes=tuple("abcdefg")).held == ()


# ---------------------------------------------------------------- dials


def levels(schedule: str, rounds: int = 5, **given: float) -> list[float | None]:
    """CL in force in rounds 1, 2, ... of a debate in which nothing moves."""
    state = play(control(schedule=schedule, **given), [seen(q=0.6)] * (rounds + 1))
    return [signals.cl for signals in state.rounds[1:]]


def test_a_start_that_is_given_overrides_the_bins() -> None:
    assert play(control(cl=0.35), [seen((1, 0, 0), (0, 0, 1), q=0.5)]).cl == 0.35


def test_a_gate_that_is_off_lets_everything_pass_and_stays_at_0() -> None:
    for name, poor in (("q_gate", (-1.0, 0.3)), ("crit_gate", (0.5, 0.0))):
        config = control(**{name: False})
        state = play(config, [seen()] * 3)
        for gates in [(state.tau_q, state.tau_crit), *((r.tau_q or 0.0, r.tau_crit or 0.0) for r in state.rounds[1:])]:
            assert sorted(gates)[0] == 0.0 and sorted(gates)[1] >= 0.3
        assert admits(config, play(config, [seen()]), *poor)
        assert not admits(control(), play(control(), [seen()]), *poor)


def test_the_absolute_test_can_replace_the_relative_one() -> None:
    """A drop of 0.04 from 0.04 is all that was left (r_D near 1), and less than 0.05."""
    rounds = [seen((0.62, 0.38, 0), (0.38, 0.62, 0)), seen((0.5, 0.5, 0), (0.5, 0.5, 0))]
    assert play(control(), rounds).rounds[1].pi_d is False
    assert play(control(plateau="absolute"), rounds).rounds[1].pi_d is True
