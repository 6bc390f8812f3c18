"""Where each rule stops debates made by hand, and what is answered then."""

import msgspec
import pytest

from parley.schemas.control import Control
from parley_research import stops
from parley_research.stops import ABSOLUTE, RELATIVE, UNGATED, WHOLE, Played, equation_10
from research_tests.debates import debate


@pytest.mark.parametrize(
    ("answers", "leading"),
    [((0, 0, 1), (0,)), ((0, 1), (0, 1)), ((2, 1, 0), (0, 1, 2)), ((None, 1), (1,)), ((None, None), ())],
)
def test_a_vote_has_all_that_are_tied_and_none_of_silence(answers: tuple[int | None, ...], leading: tuple[int]) -> None:
    assert stops.vote(answers) == leading


def test_a_tie_shares_the_credit_and_silence_is_wrong() -> None:
    assert [stops.credit(leading, 0) for leading in ((0,), (0, 1), (0, 1, 2), (1, 2), ())] == [60, 30, 20, 0, 0]
    assert all(WHOLE % n == 0 for n in range(1, 7))


def test_no_debate_and_one_agent_alone_cost_their_words_of_the_blind_round() -> None:
    told = debate("ABB", "AAA", gold="A")
    assert stops.no_debate(told) == Played(credit=0, words=30, rounds=0, early=True)
    assert stops.alone(0)(told) == Played(credit=60, words=10, rounds=0, early=True)
    assert stops.alone(1)(told).credit == 0
    assert stops.alone(0)(debate("-A", "AA")).credit == 0


def test_the_full_debate_is_never_early() -> None:
    assert stops.full(debate("AB", "AB", "AA")) == Played(credit=60, words=60, rounds=2, early=False)


def test_unanimity_wants_an_answer_of_everybody() -> None:
    assert stops.unanimity(debate("AA", "AB")) == Played(credit=60, words=20, rounds=0, early=True)
    assert stops.unanimity(debate("-A", "BA", "AA", "AB")).rounds == 2
    assert stops.unanimity(debate("--", "--", "AB")) == Played(credit=30, words=60, rounds=2, early=False)


def test_one_unchanged_round_is_not_the_blind_one_and_needs_no_agreement() -> None:
    assert stops.unchanged(debate("AB", "AB", "AA")) == Played(credit=30, words=40, rounds=1, early=True)
    assert stops.unchanged(debate("AB", "BA", "BA", "AA")).rounds == 2
    assert stops.unchanged(debate("AB", "BA")) == Played(credit=30, words=40, rounds=1, early=False)


def test_the_oracle_takes_the_first_of_the_best_rounds() -> None:
    assert stops.oracle(debate("AB", "AA", "BB", "AA")) == Played(credit=60, words=40, rounds=1, early=True)
    assert stops.oracle(debate("BB", "CC")) == Played(credit=0, words=20, rounds=0, early=True)


def test_equation_10_stops_a_deadlock_after_two_rounds_and_does_not_call_it_agreement() -> None:
    stuck = debate("AB", "AB", "AB", "AA")
    for control in (RELATIVE, ABSOLUTE, UNGATED):
        assert equation_10(control)(stuck) == Played(credit=30, words=60, rounds=2, early=True, plateau="split")


def test_equation_10_stops_where_two_swap_their_answers_for_votes_cannot_tell() -> None:
    assert equation_10(RELATIVE)(debate("AB", "BA", "AB", "AA")).rounds == 2


def test_equation_10_calls_agreement_agreement() -> None:
    assert equation_10(RELATIVE)(debate("AA", "AA", "AA", "BB")) == Played(
        credit=60, words=60, rounds=2, early=True, plateau="agreed"
    )


def test_the_relative_form_remembers_a_gain_for_w_rounds_and_the_absolute_form_does_not() -> None:
    """A gain in round 1 stays in the averages of w = 3 rounds; with tau_stop = 2 that is rounds 5 and 3."""
    won = debate("AB", *["AA"] * 7)
    assert equation_10(RELATIVE)(won).rounds == 5
    assert equation_10(ABSOLUTE)(won).rounds == 3


def test_equation_10_with_its_thresholds_never_holds_where_q_and_overlap_are_not_recorded() -> None:
    stuck = debate("AB", *["AB"] * 6)
    assert equation_10(Control())(stuck) == stops.full(stuck)
    assert equation_10(msgspec.structs.replace(RELATIVE, tau_o=0.3))(stuck) == stops.full(stuck)
    assert equation_10(RELATIVE)(stuck) != stops.full(stuck)


def test_the_monotone_gate_refuses_the_first_answer_of_who_had_none_if_it_disagrees() -> None:
    late = debate("-A", "BA", "BA", "BA", gold="A")
    assert equation_10(RELATIVE)(late) == Played(credit=60, words=80, rounds=3, early=False, held=3)
    assert equation_10(UNGATED)(late) == Played(credit=30, words=80, rounds=3, early=False)
    assert equation_10(RELATIVE)(debate("-A", "AA")).held == 0


def test_equation_10_answers_nothing_where_nobody_has() -> None:
    assert equation_10(RELATIVE)(debate("--", "--", gold="A")).credit == 0


def test_beliefs_are_one_hot_and_even_where_there_is_no_answer() -> None:
    assert stops.beliefs((1, None), 4) == {"a0": (0.0, 1.0, 0.0, 0.0), "a1": (0.25, 0.25, 0.25, 0.25)}
