"""The harness: what a method is shown, what is fitted where, and what an outcome must be."""

from collections.abc import Sequence

import pytest

from parley_research.debates.harness import credit, reciprocal_rank, run
from parley_research.debates.measures import Compared
from parley_research.debates.method import UNLIMITED, Budget, Method, Outcome, checked
from parley_research.debates.record import UNKNOWN, RecordedDebate, Round, Statement, half, of_half
from parley_research.debates.registry import Registry, loaded
from parley_research.statistics import Interval


def debate(*rounds: Sequence[int | None], gold: int = 0, question: str = "q", options: int = 2) -> RecordedDebate:
    """Rounds of the members' answers, ten words each."""
    return RecordedDebate(
        id=question,
        question=question,
        group="pair",
        options=tuple("abcde"[:options]),
        gold=gold,
        members=tuple(f"m{i}" for i in range(len(rounds[0]))),
        rounds=tuple(
            Round(statements=tuple(Statement(member=i, answer=a, words=10) for i, a in enumerate(answers)))
            for answers in rounds
        ),
    )


class Spy(Method):
    """Answers with the gold that it sees."""

    name = title = "spy"

    def __init__(self) -> None:
        self.golds: list[int] = []
        self.learned: list[int] = []

    def fit(self, debates: Sequence[RecordedDebate]) -> Method:
        self.learned = [d.gold for d in debates]
        return self

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        self.golds.append(debate.gold)
        return Outcome(probabilities=(0.5, 0.5), leading=(0, 1))


def test_a_method_is_shown_no_gold_unless_it_is_a_bound() -> None:
    spy = Spy()
    run(spy, [], [debate((0, 1), gold=1)])
    spy.hindsight = True
    run(spy, [], [debate((0, 1), gold=1)])
    assert spy.golds == [UNKNOWN, 1]


def test_a_method_that_fits_learns_from_the_fit_debates_of_each_group_alone() -> None:
    spy = Spy()
    spy.fits = True
    assert len(run(spy, [debate((0, 1), gold=1)], [debate((0, 0))])) == 1
    assert spy.learned == [1]
    assert run(spy, [], [debate((0, 0))]) == []


def test_tied_answers_share_the_credit() -> None:
    tied = Outcome(probabilities=(0.5, 0.5), leading=(0, 1))
    assert credit(tied, frozenset({1})) == 0.5
    assert credit(Outcome(probabilities=(0.5, 0.5), leading=()), frozenset({1})) == 0


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (Outcome(probabilities=(1.0,), leading=(0,)), "1 probabilities for 2"),
        (Outcome(probabilities=(0.7, 0.7), leading=(0,)), "do not sum to 1"),
        (Outcome(probabilities=(1.5, -0.5), leading=(0,)), "do not sum to 1"),
        (Outcome(probabilities=(1.0, 0.0), leading=(2,)), "none of the 2"),
    ],
)
def test_an_outcome_that_cannot_be_is_refused(outcome: Outcome, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        checked(outcome, debate((0, 1)))


def test_a_question_lies_in_one_half_whatever_else_there_is() -> None:
    names = [f"q{i}" for i in range(200)]
    halves = [half("s", name) for name in names]
    assert halves == [half("s", name) for name in names]
    assert 70 < halves.count("fit") < 130
    debates = [debate((0, 1), question=name) for name in names]
    fit, test = of_half("s", debates, "fit"), of_half("s", debates, "test")
    assert len(fit) + len(test) == 200
    assert not {d.question for d in fit} & {d.question for d in test}


def test_votes_play_within_the_budget() -> None:
    methods = {m.name: m for m in loaded().methods()}
    argued = debate((0, 1), (1, 1), gold=1)
    (blind,) = run(methods["vote"], [], [argued])
    (full,) = run(methods["full"], [], [argued])
    (short,) = run(methods["full"], [], [argued], Budget(words=20))
    (nothing,) = run(methods["full"], [], [argued], Budget(calls=1))
    assert (blind.credit, blind.outcome.words, blind.outcome.calls) == (0.5, 20, 2)
    assert (full.credit, full.outcome.words, full.outcome.rounds, full.outcome.flips) == (1, 40, 1, 1)
    assert (short.outcome.rounds, short.credit) == (0, 0.5)
    assert (nothing.outcome.leading, nothing.outcome.words) == ((), 0)
    assert (nothing.credit, nothing.reciprocal_rank) == (0, 0), "it named no option"


def test_the_reciprocal_rank_shares_ties() -> None:
    assert reciprocal_rank((0.5, 0.3, 0.2), frozenset({1})) == 0.5
    assert reciprocal_rank((0.5, 0.5, 0.0), frozenset({0})) == 1 / 1.5
    assert reciprocal_rank((0.5, 0.3, 0.2), frozenset({1, 0})) == 1
    assert reciprocal_rank((1.0, 0.0), frozenset()) == 0


def test_two_methods_of_one_name_are_refused() -> None:
    registry = Registry()
    registry.add_method("spy", Spy)
    with pytest.raises(ValueError, match="two methods"):
        registry.add_method("spy", Spy)
    assert [m.name for m in registry.methods()] == ["spy"]
    assert UNLIMITED.allows(10**9, 10**9, 10**9)


@pytest.mark.parametrize(
    ("p", "low", "high", "same", "word"),
    [
        (0.01, 0.01, 0.03, 1.0, "better"),
        (0.01, -0.03, -0.01, 1.0, "worse"),
        (0.01, -0.03, 0.01, 1.0, "not decided"),
        (0.01, 0.0, 0.03, 1.0, "not decided"),
        (0.2, 0.01, 0.03, 1.0, "not decided"),
        (0.01, -0.005, 0.004, 0.01, "the same"),
    ],
)
def test_a_verdict_agrees_with_the_test_and_with_the_interval(
    p: float, low: float, high: float, same: float, word: str
) -> None:
    gain = Interval((low + high) / 2, low, high)
    got = Compared(
        method="a", against="b", gain=gain, better=1, worse=1, wilcoxon=p, mcnemar=p, adjusted=p, equivalent=same
    )
    assert got.word == word
