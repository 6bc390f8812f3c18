"""When the controller ends a debate, in which order it asks, and what its certificates carry."""

import operator
from typing import Any

import msgspec
import pytest

from parley.coordinator.schedulers import stop_rule as stops
from parley.coordinator.schedulers.controller import Observation, begin, verdict
from parley.schemas.control import Control, Verdict
from tests.protocols.maci.rounds import OUTCOMES, U, V, control, play, seen

NEAR = (0.5, 0.3, 0.2)
APART = ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def stop(config: Control, rounds: list[Observation], short: str = "") -> Verdict:
    found = verdict(config, play(config, rounds), short)
    assert found is not None
    return found


def goes_on(config: Control, rounds: list[Observation]) -> bool:
    return verdict(config, play(config, rounds)) is None


def test_evaluator_stability_is_part_of_the_plateau_where_it_is_on() -> None:
    """E.7: variance below 0.01 and a change of mean CRIT below 0.02, both for two rounds."""
    config = control(evaluator_stability=True, tau_q=0.1, tau_crit=0.1, tau_max=0.1, round_limit=50)

    def after(*rounds: dict[str, Any]) -> bool:
        return not goes_on(config, [seen(crit={}), *(seen(**r) for r in rounds)])

    calm, other = {"crit_variance": 0.0099, "crit_mean": 0.7}, {"crit_variance": 0.0099, "crit_mean": 0.7199}
    assert after(calm, other, calm)
    assert not after(calm, other), "round 1 has nothing before it to change from"
    assert not after()
    assert not after(calm, other, {**calm, "crit_variance": 0.01})
    assert not after(calm, {**other, "crit_variance": 0.01}, calm)
    assert not after(calm, calm, {**calm, "crit_mean": 0.72})
    assert not after(calm, {**calm, "crit_mean": 0.72}, {**calm, "crit_mean": 0.72})
    assert not after(calm, other, {"crit_mean": 0.7}), "one judge alone is not stable"
    assert not after(calm, {"crit": {}}, calm)


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


def test_a_round_without_arguments_breaks_a_stalemate() -> None:
    poor, silent = seen(crit={"u": 0.1}, q=0.0), seen(crit={}, q=0.0)
    assert goes_on(control(), [seen(), poor, poor, silent, poor, poor])
    assert stop(control(), [seen(), poor, silent, poor, poor, poor]).reason == "stalemate"


def test_a_crit_gate_that_is_off_knows_no_stalemate() -> None:
    assert goes_on(control(crit_gate=False), [seen(), *[seen(crit={"u": 0.0}, q=-0.1)] * 5])


RELATIONS = {">=": operator.ge, "<": operator.lt, "<=": operator.le, "!=": operator.ne}


def test_a_certificate_carries_every_predicate_with_its_value_and_threshold() -> None:
    config = control(evaluator_stability=True, round_limit=3)
    steady = seen(crit_variance=0.001, tokens=100)
    certificate = stop(config, [steady] * 4).certificate
    assert list(certificate["stops"]) == ["plateau", "stalemate", "budget", "round_limit"]
    tests = [test for one in certificate["stops"].values() for test in one["tests"]]
    assert len(tests) == 4 + 4 + 1 + 1 + 1
    for test in [*tests, certificate["near_consensus"]]:
        assert RELATIONS[test["relation"]](test["value"], test["limit"]) == test["holds"], test
    for one in certificate["stops"].values():
        assert one["holds"] == all(test["holds"] for test in one["tests"])
    assert certificate["spent"] == {"tokens": 400}
    assert msgspec.json.decode(msgspec.json.encode(certificate)) == certificate


@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_a_certificate_can_be_computed_again_from_the_history_that_it_carries(kind: str) -> None:
    rounds = [seen(U, V), seen(NEAR, V, q=0.9), seen(NEAR, (0.2, 0.3, 0.5), q=0.9), *[seen(NEAR, NEAR, q=0.9)] * 6]
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
