"""What is learned of members and rounds: records, calibrated confidence, what one more round is worth."""

import itertools
import math
from typing import Any

import msgspec
import pytest

from parley.client.reliability.table import KIND_PRIOR, interval, posterior_mean, table
from parley.client.reliability.verdicts import Member, Verdict, question_hash
from parley.coordinator.schedulers import controller, round_value
from parley.coordinator.schedulers.controller import Observation
from parley.coordinator.signals import reliability
from parley.coordinator.signals.calibration import calibrated
from parley.schemas.afterwards.learned import Calibration, Reliability, Standing
from parley.schemas.control import Control, RoundValue, Tuned
from parley.schemas.session import Seat
from parley.schemas.wire import InvalidValue
from tests.support.tuned import control

DAY_NS = 86_400 * 10**9
NOW = 1_000 * DAY_NS


def said(right: bool, *, at: float = 0, model: str = "m", kind: str = "", question: str = "q", n: int = 0) -> Verdict:
    """`at`: days before now."""
    return Verdict(
        session=f"s{n}", question=question_hash(question), kind=kind, at_ns=NOW - round(at * DAY_NS),
        members=(Member(seat="panelist_1", model=model, right=right),), right=right,
    )  # fmt: skip


def row(found: Reliability, by: str, name: str, kind: str = "") -> Standing:
    return next(r for r in found.rows if (r.by, r.name, r.kind) == (by, name, kind))


def test_a_beta_posterior_of_seven_right_and_one_wrong() -> None:
    assert posterior_mean(7, 1, (1, 1)) == 0.8
    low, high = interval(7, 1, (1, 1))
    # the quantiles of Beta(8, 2) at 2.5 % and 97.5 %, from tables
    assert (low, high) == pytest.approx((0.5175, 0.9719), abs=1e-4)


def test_the_interval_holds_what_it_says() -> None:
    low, high = interval(0, 0, (1, 1))  # even: quantiles are themselves
    assert (low, high) == pytest.approx((0.025, 0.975))


def test_an_answer_of_one_half_life_ago_counts_half() -> None:
    found = table([said(True, at=180)], now_ns=NOW, half_life_days=180)
    assert row(found, "model", "m").right == 0.5
    assert row(found, "model", "m").mean == pytest.approx(1.5 / 2.5)


def test_copies_of_one_model_count_as_one_answer() -> None:
    members = (
        *(Member(seat=f"panelist_{n}", model="m", right=n < 3) for n in (1, 2, 3)),
        Member(seat="panelist_4", model="other", right=False),
    )
    found = table([msgspec.structs.replace(said(True), members=members)], now_ns=NOW)
    copied = row(found, "model", "m")
    assert (copied.right, copied.wrong) == pytest.approx((2 / 3, 1 / 3), abs=1e-6)
    assert row(found, "model", "other").wrong == row(found, "seat", "panelist_1").right == 1


def test_a_record_of_a_kind_begins_with_that_of_all_kinds() -> None:
    verdicts = [said(True, kind="law", n=i) for i in range(6)] + [said(False, kind="tax", n=9)]
    found = table(verdicts, now_ns=NOW)
    whole = row(found, "model", "m").mean
    assert whole == pytest.approx(7 / 9, abs=1e-6)
    assert row(found, "model", "m", "tax").mean == pytest.approx(KIND_PRIOR * whole / (KIND_PRIOR + 1), abs=1e-5)
    assert row(found, "seat", "panelist_1", "law").right == 6


def test_the_question_at_hand_and_what_is_later_count_nothing() -> None:
    verdicts = [said(True, question="Is it  safe?"), said(True, question="Another?", n=1), said(False, at=-1, n=2)]
    found = table(verdicts, now_ns=NOW, question="is it safe?")
    assert (found.sessions, found.left_out) == (1, 1)
    assert row(found, "model", "m").right == 1 and row(found, "model", "m").wrong == 0


def test_weights_are_log_odds_against_chance() -> None:
    assert reliability.weight(0.8, 2) == pytest.approx(math.log(4))
    assert reliability.weight(0.8, 5) == pytest.approx(math.log(0.8 * 4 / 0.2))
    # three at .6 are outvoted by one at .9 (Nitzan and Paroush): 3 log 1.5 = 1.22 < log 9 = 2.20
    assert 3 * reliability.weight(0.6, 2) < reliability.weight(0.9, 2)


def test_a_worse_record_weighs_less_but_never_nothing() -> None:
    found = [reliability.weight(mean / 100, 2) for mean in range(30, 96)]
    assert all(before < after for before, after in itertools.pairwise(found))
    assert found[0] > 0 and reliability.weight(0.0, 2) >= 0
    below, above = reliability.weight(0.52497, 2), reliability.weight(0.52499, 2)
    assert below == pytest.approx(reliability.BEND, abs=1e-3) and above == pytest.approx(below, abs=1e-3)


def test_no_record_is_taken_as_certain() -> None:
    assert reliability.weight(1.0, 4) == reliability.weight(0.999, 4) < math.inf


def test_equal_or_no_records_change_nothing() -> None:
    assert reliability.shares({"a": 0.7, "b": 0.7}, 2) == {"a": 1.0, "b": 1.0}
    assert reliability.shares({"a": None, "b": None}, 3) == {"a": 1.0, "b": 1.0}


def test_who_has_no_record_has_the_mean_weight_of_those_that_have_one() -> None:
    found = reliability.shares({"a": 0.8, "b": 0.6, "c": None}, 2)
    assert found["c"] == 1.0
    assert found["a"] + found["b"] == pytest.approx(2.0, abs=1e-5)
    assert found["a"] / found["b"] == pytest.approx(math.log(4) / math.log(1.5), abs=1e-4)


def standing(name: str, by: str, kind: str, mean: float) -> Standing:
    return msgspec.convert(
        {"name": name, "by": by, "kind": kind, "right": 1, "wrong": 1, "mean": mean, "low": 0, "high": 1}, Standing
    )


def test_the_model_on_this_kind_goes_before_all_kinds_and_before_the_seat() -> None:
    rows = (standing("m", "model", "law", 0.9), standing("m", "model", "", 0.6), standing("s", "seat", "law", 0.2))
    records = Reliability(rows=rows, sessions=3, as_of_ns=0, half_life_days=180)
    seat = Seat(seat="s", role="panelist", queue="s", model="m")

    def mean(seat: Seat, kind: str) -> float | None:
        found = reliability.standing(records, seat, kind)
        return None if found is None else found.mean

    assert mean(seat, "law") == 0.9
    assert mean(seat, "tax") == 0.6
    assert mean(msgspec.structs.replace(seat, model="other"), "law") == 0.2
    assert mean(msgspec.structs.replace(seat, model="other", seat="t"), "law") is None


def isotonic(*knots: tuple[float, float]) -> Calibration:
    return Calibration(version="v", method="isotonic", knots=knots, fitted_on="a test", outcomes=10)


def beta(a: float, b: float, c: float) -> Calibration:
    return Calibration(version="v", method="beta", beta=(a, b, c), fitted_on="a test", outcomes=10)


def test_between_knots_is_the_line_and_beyond_them_the_nearest() -> None:
    fit = isotonic((0.2, 0.1), (0.6, 0.5), (0.8, 0.5))
    stated = (0.0, 0.2, 0.4, 0.7, 1.0)
    assert [calibrated(fit, p) for p in stated] == pytest.approx([0.1, 0.1, 0.3, 0.5, 0.5])


def test_beta_calibration_with_one_one_and_nought_changes_nothing() -> None:
    assert calibrated(beta(1, 1, 0), 0.3) == pytest.approx(0.3)


def test_beta_calibration_as_its_formula_says() -> None:
    a, b, c, p = 2.0, 0.5, 0.3, 0.7
    odds = 2.718281828459045**c * p**a / (1 - p) ** b
    assert calibrated(beta(a, b, c), p) == pytest.approx(1 / (1 + 1 / odds))
    assert 0 < calibrated(beta(a, b, c), 0.0) < calibrated(beta(a, b, c), 1.0) < 1


@pytest.mark.parametrize("knots", [(), ((0.5, 0.5), (0.4, 0.6)), ((0.1, 0.6), (0.2, 0.5)), ((0.1, 1.2),)])
def test_knots_rise(knots: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(InvalidValue):
        isotonic(*knots)


def fit(price: float = 0.0, tokens: float = 500, **coefficients: float) -> RoundValue:
    return RoundValue(
        version="v1", coefficients=coefficients, price=price, tokens=tokens, fitted_on="a test", debates=3
    )


def played(config: Control, *beliefs: tuple[float, float], tokens: int = 0) -> controller.State:
    """Rounds of two agents; the second of them always believes (.2, .8)."""
    seen = [Observation(beliefs={"u": first, "v": (0.2, 0.8)}, tokens=tokens) for first in beliefs]
    state = controller.begin(config, ("a", "b"), seen[0])
    for observation in seen[1:]:
        state = controller.advance(config, state, observation)
    return state


def test_features_are_of_the_rounds_played() -> None:
    state = played(Control(), (0.9, 0.1), (0.1, 0.9))
    found = round_value.features(state.rounds)
    assert found["top"] == pytest.approx(0.85, abs=1e-5) and found["turned"] == 1.0
    assert (found["blind"], found["round"], found["outcomes"], found["one"]) == (0.0, 1.0, 0.5, 1.0)
    assert found["disagreement"] == state.rounds[-1].jsd
    first = round_value.features(state.rounds[:1])
    assert (first["blind"], first["turned"]) == (1.0, 0.0)


def test_the_gain_is_the_sum_and_never_more_than_a_certain_answer() -> None:
    found = round_value.features(played(Control(), (0.9, 0.1)).rounds)
    assert round_value.gain(fit(one=0.3, outcomes=-0.2), found) == pytest.approx(0.2)
    assert round_value.gain(fit(one=5), found) == 1.0


def test_the_cost_is_the_price_of_the_dearest_round_so_far() -> None:
    spent, unknown = played(Control(), (0.9, 0.1), tokens=2_000), played(Control(), (0.9, 0.1))
    assert round_value.cost(fit(price=0.01), spent.rounds) == pytest.approx(0.02)
    assert round_value.cost(fit(price=0.01), unknown.rounds) == pytest.approx(0.005)


def stop(price: float, gain: float, *beliefs: tuple[float, float]) -> Any:
    config = control(round_value=fit(price=price, one=gain))
    return controller.verdict(config, played(config, *beliefs))


def test_a_round_that_is_worth_its_cost_is_played() -> None:
    assert stop(0.1, 0.06, (0.9, 0.1)) is None
    found = stop(0.1, 0.05, (0.9, 0.1))
    assert (found.reason, found.round, found.converged) == ("no_gain", 0, False)
    told = found.certificate["round_value"]
    assert (told["version"], told["price"], told["features"]["blind"]) == ("v1", 0.1, 1.0)
    assert found.certificate["stops"]["no_gain"]["tests"][0]["limit"] == pytest.approx(0.05)


def test_only_near_agreement_is_it_convergence() -> None:
    assert stop(1.0, 0.0, (0.25, 0.75)).converged
    assert not stop(1.0, 0.0, (0.9, 0.1)).converged


def test_without_a_fit_nothing_is_tested_or_told() -> None:
    config = Control(round_limit=1)
    found = controller.verdict(config, played(config, (0.9, 0.1), (0.9, 0.1)))
    assert found is not None and found.reason == "round_limit"
    assert "no_gain" not in found.certificate["stops"] and "round_value" not in found.certificate


def test_a_fit_names_features_that_there_are() -> None:
    with pytest.raises(InvalidValue, match="known are one, top"):
        fit(wordiness=1.0)


def test_a_fit_is_a_setting_and_survives_the_bus() -> None:
    config = control(round_value=fit(price=0.5, top=-0.25))
    assert msgspec.json.decode(msgspec.json.encode(config), type=Tuned) == config


def test_records_move_the_mixture_that_the_fit_sees() -> None:
    seen = Observation(beliefs={"u": (1.0, 0.0), "v": (0.0, 1.0)})
    plain = controller.begin(Control(), ("a", "b"), seen)
    known = controller.begin(Control(), ("a", "b"), seen, trust={"u": 1.5, "v": 0.5})
    assert round_value.features(plain.rounds)["top"] == pytest.approx(0.5)
    assert round_value.features(known.rounds)["top"] == pytest.approx(0.75, abs=1e-5)
    later = controller.advance(Control(), known, seen)
    assert later.mixture["a"] == pytest.approx(0.75, abs=1e-5)
