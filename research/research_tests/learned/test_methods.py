"""Learned methods: fitted on small debates by hand, blind to the gold of what they answer, and worth what they say."""

import numpy as np
import pytest

from parley.client.learned.learning import beta
from parley.coordinator.signals.reliability import calibrated
from parley_research.debates.harness import run
from parley_research.debates.method import UNLIMITED, Budget
from parley_research.debates.record import RecordedDebate, Round, Statement
from parley_research.debates.registry import loaded
from parley_research.learned.agreement import by_agreement
from parley_research.learned.records import BestByRecord, ByRecord, counted, posterior
from parley_research.learned.stopping import LearnedStop, isotonic, read_as, steps


def debate(number: int, gold: int, *rounds: tuple[int | None, ...], kind: str = "k") -> RecordedDebate:
    """Each round: what every member answered, in ten words each."""
    spoken = (
        Round(statements=tuple(Statement(member=m, answer=a, words=10) for m, a in enumerate(answers)))
        for answers in rounds
    )
    members = tuple("xyz"[: len(rounds[0])])
    return RecordedDebate(
        id=f"d{number}", question=f"q{number}", kind=kind, options=("a", "b"), gold=gold, members=members,
        rounds=tuple(spoken),
    )  # fmt: skip


LAW = [debate(i, 0, (0, 1), (0, 1), kind="law") for i in range(30)]
"""The first member is right, and nothing moves."""
TAX = [debate(100 + i, 0, (1, 0), (1, 0), kind="tax") for i in range(30)]
"""The second is."""
OPEN = [debate(200 + i, i % 2, (i // 2 % 2, 1 - i // 2 % 2), (i % 2, i % 2), kind="open") for i in range(40)]
"""Nobody knows when alone, and talking finds the answer."""


def test_records_are_posterior_means_by_kind() -> None:
    found = counted([*LAW[:6], *TAX[:2]])
    assert found[""] == pytest.approx(((6 + 1) / 10, (2 + 1) / 10))
    assert found["law"][0] == pytest.approx((4 * 0.7 + 6) / 10)


def test_the_posterior_of_two_that_differ_is_that_of_bayes() -> None:
    # odds .8/.2 against .6/.4
    assert posterior((0, 1), (0.8, 0.6), 2)[0] == pytest.approx(4 / (4 + 1.5))


def test_the_better_member_of_each_kind_is_asked_alone() -> None:
    method = BestByRecord("m", "").fit([*LAW[:20], *TAX[:20]])
    law, tax = (method.run(d.hidden(), UNLIMITED) for d in (LAW[-1], TAX[-1]))
    assert (law.leading, tax.leading, law.words, law.calls) == ((0,), (0,), 10, 1)
    assert method.run(debate(1, 0, (None, 1), kind="law"), UNLIMITED).words == 20, "the next one was asked too"
    assert method.run(LAW[-1].hidden(), Budget(words=5)).leading == ()


def test_a_vote_by_record_breaks_the_tie() -> None:
    assert [s.credit for s in run(ByRecord("m", ""), [*LAW, *TAX], [*LAW, *TAX])] == [1.0] * 60


def test_a_learned_stop_plays_on_only_where_that_helps() -> None:
    method = LearnedStop("m", "", 10.0).fit([*LAW[:20], *OPEN[:20]])
    known, unknown = (method.run(d.hidden(), UNLIMITED) for d in (LAW[-1], OPEN[-1]))
    assert (known.rounds, known.leading, known.stop) == (0, (0,), "no_gain")
    assert (unknown.rounds, unknown.leading) == (1, (OPEN[-1].gold,))


def test_a_high_price_plays_nothing() -> None:
    method = LearnedStop("m", "", 1_000.0).fit([*LAW[:20], *OPEN[:20]])
    assert {method.run(d.hidden(), UNLIMITED).rounds for d in OPEN} == {0}


def test_the_gold_of_what_is_answered_is_not_looked_at() -> None:
    method = LearnedStop("m", "", 0.1).fit([*LAW, *OPEN[:20]])
    for one in OPEN[20:]:
        turned = debate(int(one.id[1:]), 1 - one.gold, *next_answers(one), kind="open")
        assert method.run(one.hidden(), UNLIMITED) == method.run(turned.hidden(), UNLIMITED)


def next_answers(one: RecordedDebate) -> list[tuple[int | None, ...]]:
    return list(one.standing())


def test_gold_that_is_shuffled_gives_chance() -> None:
    dice = np.random.default_rng(3)
    shuffled = [debate(500 + i, int(dice.integers(2)), (i % 2, 1 - i % 2)) for i in range(600)]
    found = run(ByRecord("m", ""), shuffled[:300], shuffled[300:])
    assert abs(np.mean([s.credit for s in found]) - 0.5) < 0.1


def test_records_without_gold_find_the_member_that_the_others_bear_out() -> None:
    pytest.importorskip("crowdkit", reason="NOT CHECKED: crowd-kit is not installed (the extra agreement)")
    dice = np.random.default_rng(5)
    three = []
    for i in range(200):
        gold = int(dice.integers(2))
        answers = tuple(gold if dice.random() < p else 1 - gold for p in (0.95, 0.8, 0.6))
        three.append(debate(i, gold, answers, kind=""))
    first, second, third = by_agreement([d.hidden() for d in three])[""]
    assert first > second > third and first > 0.85


def test_steps_know_what_a_session_knows() -> None:
    found = steps(OPEN[0], (0.5, 0.5))
    assert len(found) == 2 and found[0].features["blind"] == 1.0 and found[1].features["disagreement"] < 0.01
    assert found[0].cost == 20


def test_isotonic_knots_pool_what_falls() -> None:
    fit = isotonic((0.1, 0.2, 0.3, 0.4), (0, 1, 0, 1), "v", "a test")
    assert fit.knots == ((0.1, 0.0), (0.2, 0.5), (0.3, 0.5), (0.4, 1.0))
    assert isotonic((0.5, 0.5), (0, 1), "v", "a test").knots == ((0.5, 0.5),)


def test_beta_calibration_finds_the_map_that_made_the_data() -> None:
    dice = np.random.default_rng(7)
    stated = dice.uniform(0.05, 0.95, 20_000)
    true = 1 / (1 + 1 / (np.exp(-0.5) * stated**0.6 / (1 - stated) ** 0.4))
    fit = beta(stated.tolist(), (dice.random(20_000) < true).astype(float).tolist(), "v", "a test")
    assert fit.beta == pytest.approx((0.6, 0.4, -0.5), abs=0.1)
    assert [calibrated(fit, p) for p in (0.2, 0.8)] == pytest.approx(
        [1 / (1 + 1 / (np.exp(-0.5) * p**0.6 / (1 - p) ** 0.4)) for p in (0.2, 0.8)], abs=0.02
    )


def test_a_reading_moves_the_leading_probability_and_keeps_the_rest_in_proportion() -> None:
    fit = isotonic((0.5, 0.6), (0, 1), "v", "a test")
    given = read_as(fit, (0.2, 0.55, 0.25))
    assert given == pytest.approx((0.5 * 0.2 / 0.45, 0.5, 0.5 * 0.25 / 0.45)) and sum(given) == pytest.approx(1)


def test_they_are_methods_of_the_harness() -> None:
    there = {method.name: method for method in loaded().methods()}
    assert {"record_alone", "record_vote", "learned_stop", "judge_learned"} <= there.keys()
    assert all(there[name].fits for name in ("record_alone", "learned_stop"))
