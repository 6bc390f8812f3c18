"""What is learned of members: their records, and calibrated confidence."""

import math

import msgspec
import pytest

from parley.client.learned.verdicts import (
    KIND_PRIOR,
    KnownOutcome,
    MemberAnswer,
    interval,
    posterior_mean,
    question_hash,
    table,
)
from parley.coordinator.signals import reliability
from parley.coordinator.signals.reliability import calibrated
from parley.schemas.past_sessions.learned import Calibration, Reliability, Standing
from parley.schemas.session import Seat
from parley.schemas.wire import InvalidValue

DAY_NS = 86_400 * 10**9
NOW = 1_000 * DAY_NS


def said(
    right: bool, *, at: float = 0, model: str = "m", kind: str = "", question: str = "q", n: int = 0
) -> KnownOutcome:
    """`at`: days before now."""
    return KnownOutcome(
        session=f"s{n}", question=question_hash(question), kind=kind, at_ns=NOW - round(at * DAY_NS),
        members=(MemberAnswer(seat="panelist_1", model=model, right=right),), right=right,
    )  # fmt: skip


def row(found: Reliability, by: str, name: str, kind: str = "") -> Standing:
    return next(r for r in found.rows if (r.by, r.name, r.kind) == (by, name, kind))


def test_a_beta_posterior_of_seven_right_and_one_wrong() -> None:
    assert posterior_mean(7, 1, (1, 1)) == 0.8
    low, high = interval(7, 1, (1, 1))
    # the quantiles of Beta(8, 2) at 2.5 % and 97.5 %, from tables
    assert (low, high) == pytest.approx((0.5175, 0.9719), abs=1e-4)


def test_an_answer_of_one_half_life_ago_counts_half() -> None:
    found = table([said(True, at=180)], now_ns=NOW)
    assert row(found, "model", "m").right == 0.5
    assert row(found, "model", "m").mean == pytest.approx(1.5 / 2.5)


def test_copies_of_one_model_count_as_one_answer() -> None:
    members = (
        *(MemberAnswer(seat=f"panelist_{n}", model="m", right=n < 3) for n in (1, 2, 3)),
        MemberAnswer(seat="panelist_4", model="other", right=False),
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


def test_beta_calibration_as_its_formula_says() -> None:
    a, b, c, p = 2.0, 0.5, 0.3, 0.7
    odds = 2.718281828459045**c * p**a / (1 - p) ** b
    assert calibrated(beta(a, b, c), p) == pytest.approx(1 / (1 + 1 / odds))
    assert 0 < calibrated(beta(a, b, c), 0.0) < calibrated(beta(a, b, c), 1.0) < 1


@pytest.mark.parametrize("knots", [(), ((0.5, 0.5), (0.4, 0.6)), ((0.1, 0.6), (0.2, 0.5)), ((0.1, 1.2),)])
def test_knots_rise(knots: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(InvalidValue):
        isotonic(*knots)
