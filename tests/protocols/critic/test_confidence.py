"""Confidence is a function of the final state (docs/critic.md, "Confidence"); worthless objections are closed."""

from itertools import product

import pytest

from parley.coordinator.protocols.critic.confidence import WORTHLESS, confidence, refutes
from tests.protocols.critic.play import Play

WEIGHTS = (0.06, 0.34, 0.42, 0.5, 0.9, 1.0)


def given(*open_weights: float, survived: int = 0, tested: int = 1) -> float:
    return confidence(open_weights, survived=survived, tested=tested, start=50)


@pytest.mark.parametrize("survived", [0, 1, 2, 6, 50])
def test_with_nothing_open_it_is_90_or_more_and_never_certain(survived: int) -> None:
    assert 90 <= given(survived=survived, tested=max(1, survived)) <= 96


def test_an_upheld_objection_ends_below_50() -> None:
    """50 of 100 for the answer is a weight of .5."""
    for survived, weight in product((0, 1, 6, 50), (0.5, 0.7, 1.0)):
        assert given(weight, survived=survived, tested=survived + 1) < 50


def test_it_never_rises_by_an_open_objection() -> None:
    for survived, before, new in product(range(7), ((), (0.1,), (0.42, 0.5)), WEIGHTS):
        now = given(*before, survived=survived, tested=survived + 1)
        for tested in (survived + 1, survived + 2):
            assert given(*before, new, survived=survived, tested=tested) < now


def test_it_falls_with_the_weight_and_rises_with_rounds_survived() -> None:
    by_weight = [given(w) for w in WEIGHTS]
    assert by_weight == sorted(by_weight, reverse=True) and len(set(by_weight)) == len(by_weight)
    by_rounds = [given(0.3, survived=n, tested=n + 1) for n in range(5)]
    assert by_rounds == sorted(by_rounds) and len(set(by_rounds)) == len(by_rounds)


def played(*rounds: tuple[str, float, tuple[int, ...]]) -> Play:
    play = Play({"round_limit": len(rounds), "min_rounds": len(rounds)})
    for text, score, met in rounds:
        play.round(text, score, *met)
    return play


def test_the_same_final_state_scores_the_same_by_either_route() -> None:
    """One met the first objection early and kept to it. The other dropped it twice and met it at the end."""
    steady = played(("it burns", 40, ()), ("it is slow", 70, (1,)), ("it is dear", 90, (1, 2)))
    wavering = played(("it burns", 40, ()), ("it is slow", 70, ()), ("it is dear", 90, (1, 2)))
    assert steady.certificate["trend"][:2] != wavering.certificate["trend"][:2]
    assert steady.certificate["confidence"] == wavering.certificate["confidence"] == 85.05
    turned = played(("it burns", 70, ()), ("it is slow", 40, ()), ("it is dear", 90, (1, 2)))
    assert turned.certificate["confidence"] == 85.05, "nor in which order they came"


@pytest.mark.parametrize(
    ("checked", "holds", "confidence", "label", "rounds"),
    [
        ("", False, 0.7, "medium", 1),
        ("I went through it", True, 0.7, "medium", 1),
        ("2 + 2", False, 0.7, "medium", 2),
        ("2 + 2", True, 0.93, "high", 1),
    ],
)
def test_silence_alone_is_no_more_than_medium(
    checked: str, holds: bool, confidence: float, label: str, rounds: int
) -> None:
    """A check counts that the judge confirms. One that it does not confirm ends no debate before `min_rounds`."""
    play = Play()
    play.answers()
    play.objects(checked=checked)
    if play.phase == "judging":
        play.judges(100, check_holds=holds)
    if play.phase == "answering":
        play.answers()
        play.objects()
    play.verdict()
    assert (play.result.outcome["confidence"], play.result.outcome["label"]) == (confidence, label)
    assert play.certificate["round"] == rounds


# ---------------------------------------------------------------- worthless objections


def test_a_worthless_objection_is_closed_at_once() -> None:
    play = Play()
    play.round("you are a fool", WORTHLESS)
    assert play.last("tally")["confidence"] == 93, "its round is survived"
    assert play.last("tally")["profile"][0]["closed"] is True
    assert play.brief("answerer")["profile"] == []
    play.answers()
    assert [o["number"] for o in play.brief("critic")["profile"]] == [1], "the critic may not raise it again"
    play.objects("it burns")
    assert [o["number"] for o in play.brief("judge")["closed"]] == [1], "what is raised now may repeat it"
    assert play.brief("judge")["profile"] == []
    play.judges(60)
    assert play.last("tally")["reopened"] == [] and play.session.inner.open_objections() == (2,)
    assert play.last("tally")["confidence"] == 55.8, "93 * .6"
    assert [o["number"] for o in play.brief("answerer")["profile"]] == [2]


def test_what_was_closed_is_not_ruled_on_again() -> None:
    play = Play({"round_limit": 2})
    play.round("you are a fool", 100)
    play.round("it burns", 60)
    play.verdict()
    assert play.certificate["worthless"] == [1] and play.certificate["open_objections"] == [2]
    assert [o["answered"] for o in play.result.outcome["objections"]] == [True, False]


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        ("13 * 17 = 221, so the answer 221 is prime is wrong", True), ("The claim does not hold: 2 + 2 = 4.", True),
        ("The result is not correct.", True), ("13 * 17 = 221; the answer is right", False),
        ("It would be wrong to say 42. The answer says 43, and so does the sum.", False), ("", False),
    ],
)  # fmt: skip
def test_a_check_that_says_the_answer_is_wrong_confirms_nothing(check: str, wrong: bool) -> None:
    assert refutes(check) is wrong
