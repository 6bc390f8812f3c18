"""What controllers learn across recorded debates: fitted on small debates by hand, blind to the gold they answer."""

import random

import pytest

from parley.client.reliability.policy import Grid
from parley_research.debates.harness import reads_gold, run
from parley_research.debates.method import UNLIMITED
from parley_research.debates.methods.controlled import Controlled
from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import loaded
from parley_research.learned import report
from parley_research.learned.policies import FLAGS, GRID, PAPER, CarriedBandit, LearnedSettings, case
from tests.research.learned.test_methods import LAW, OPEN, debate

SPOILT = [debate(300 + i, 0, (0, 1), (0, 0), (0, 1), (1, 1), kind="spoilt") for i in range(60)]
"""One round finds the answer, and those after it lose it again."""


def permuted(debates: list[RecordedDebate]) -> list[RecordedDebate]:
    """Each with the gold of another one, drawn evenly."""
    dice = random.Random(11)
    return [debate(n, dice.randrange(2), *_answers(d)) for n, d in enumerate(debates)]


def _answers(d: RecordedDebate) -> list[tuple[int | None, ...]]:
    return [tuple(said.answer for said in spoken.statements) for spoken in d.rounds]


def settings(price: float = 0.0) -> LearnedSettings:
    return LearnedSettings("m", "", price, price)


def test_the_row_that_saves_right_answers_is_chosen() -> None:
    published, learned = Controlled("p", "", PAPER), settings().fit(SPOILT)
    assert learned.control.round_limit == 1 and published.control.round_limit == 8
    assert [s.credit for s in run(published, SPOILT, SPOILT[:5])] == [0.0] * 5
    outcomes = run(settings(), SPOILT, SPOILT[:5])
    assert [s.credit for s in outcomes] == [1.0] * 5 and outcomes[0].outcome.words == 40


def test_permuted_gold_leaves_the_published_settings() -> None:
    assert settings().fit(permuted([*SPOILT, *OPEN])).control == settings().control


def test_with_too_few_debates_the_published_settings_stand() -> None:
    few = settings().fit(SPOILT[:20])
    assert few.compared == () and few.control == settings().control


@pytest.mark.parametrize(("grid", "row"), [(grid, row) for grid in (GRID, FLAGS) for row in grid])
def test_a_case_ends_where_the_method_itself_stops(grid: Grid, row: str) -> None:
    method = Controlled("m", "", {**PAPER, **grid[row]})
    for one in (SPOILT[0], LAW[0], OPEN[0]):
        found = case(settings().control, one, grid).course
        outcome = method.run(one.hidden(), UNLIMITED)
        end = found.ends[row]
        assert (end, found.tokens[end]) == (outcome.rounds, outcome.words)
        assert found.right[end] == sum(place in one.right for place in outcome.leading) / len(outcome.leading)


@pytest.mark.parametrize("policy", ["ucb", "linucb"])
def test_a_bandit_takes_over_what_the_fit_half_earned_and_changes_no_recorded_outcome(policy: str) -> None:
    learned = CarriedBandit("m", "", policy).fit(SPOILT)
    assert sum(arm.pulls for arm in learned.arms) > len(SPOILT) / 2
    assert all(arm.tokens == 20 for arm in learned.arms if arm.pulls), "each action has its cost"
    assert bool(learned.arms[0].inverse) and sum(bool(arm.pulls) for arm in learned.arms) > 1
    published = Controlled("p", "", PAPER)
    for one in (*SPOILT[:3], *OPEN[:3]):
        found, plain = learned.run(one.hidden(), UNLIMITED), published.run(one.hidden(), UNLIMITED)
        assert (found.rounds, found.probabilities) == (plain.rounds, plain.probabilities)


def test_no_method_reads_the_gold_of_what_it_answers() -> None:
    names = {"maci_learned", "maci_learned_free", "maci_flags_learned", "maci_ucb_carried", "maci_linucb_carried"}
    found = [method for method in loaded().methods() if method.name in names]
    assert len(found) == len(names)
    for method in found:
        assert not reads_gold(method.fit(SPOILT), [*SPOILT[:3], *LAW[:3]])
        assert not hasattr(method.fit(SPOILT), "debates")


def test_the_page_says_what_was_chosen_and_where_nothing_was() -> None:
    told = report.chosen_rows({"a": settings().fit(SPOILT), "b": settings().fit(LAW[:20]), "c": settings().fit(LAW)})
    lines = told.splitlines()
    assert (
        lines[2].startswith("| a | 60 | round_limit 1 | 1.6, 98.4 | 80, 40 | +96.8 [") and "too few debates" in lines[3]
    )
    assert "the published ones" in lines[4]
