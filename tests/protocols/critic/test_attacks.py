"""Attacks on how a debate ends: none of them ends with exit status 0 and a claim that nobody defended. And honest
sessions, which do end with 0."""

from collections.abc import Callable
from typing import Any

import pytest

from parley.schemas import log
from parley.schemas.citation import Citation
from parley.schemas.protocols.critic import Judgement, Met, Rewritten
from parley.show.view import AnswerView
from tests.protocols.critic.play import ASKED, Play
from tests.protocols.critic.test_critic import document
from tests.protocols.critic.test_hand import Hand

LAST = {"min_rounds": 1, "threshold": 99}
"""What the critic says in the first round may end the debate."""
NO = "No, tape is harmful"


def opened(score: float, text: str = "it burns", **more: Any) -> Play:
    """A round with one objection, and a second answer."""
    play = Play({**LAST, **more})
    play.round(text, score)
    play.answers("Tape")
    return play


def silent(play: Play, *meets: int) -> Play:
    """The critic has nothing new, and the judge rules."""
    play.objects()
    play.judges(100, *meets)
    return play


def printed(play: Play, capsys: pytest.CaptureFixture[str]) -> str:
    """What `--quiet` prints."""
    AnswerView().result(play.result)
    return capsys.readouterr().out


# ---------------------------------------------------------------- objections


def fatal_left_open() -> Play:
    play = silent(opened(0))
    play.verdict()
    return play


def fatal_called_a_repetition_of_a_small_one() -> Play:
    play = opened(90)
    play.objects("nobody can afford it")
    for _ in range(2):
        play.judges(0, repeats=1)
    play.answers()
    silent(play)
    play.verdict()
    return play


def fatal_called_a_repetition_of_one_that_is_met() -> Play:
    play = Play({**LAST, "round_limit": 3})
    play.round("it burns", 60)
    play.answers("Tape", 1)
    play.objects("nobody can afford it")
    for _ in range(2):
        play.judges(0, 1, repeats=1)
    play.answers("Tape", 1)
    silent(play, 1)
    play.verdict()
    return play


def _met_by(quote: str, reasoning: str = "because Tape") -> Play:
    play = Play(LAST)
    play.round("it burns", 20)
    play.answers("Tape", reasoning=reasoning)
    play.objects()
    for _ in range(2):
        play.reply("judge", Judgement(score=100, met=(Met(objection=1, quote=quote),)))
    play.verdict()
    return play


def met_by_an_invented_sentence() -> Play:
    return _met_by("Tape was shown not to burn in any fire")


def met_by_a_scrap() -> Play:
    return _met_by("because")


def met_by_what_the_judge_did_not_accept_before() -> Play:
    return _met_by("because Tape")


def moderate_objections_that_add_up() -> Play:
    play = Play({**LAST, "round_limit": 9})
    for text in ("it burns", "it is slow", "it is dear"):
        play.round(text, 70)
    play.answers()
    silent(play)
    play.verdict()
    return play


def a_threshold_below_doubt() -> Play:
    play = Play({"min_rounds": 1, "threshold": 20})
    play.round("it burns", 40)
    play.verdict()
    return play


def the_words_of_a_closed_objection_against_another_answer() -> Play:
    play = Play({**LAST, "round_limit": 3})
    play.round("it burns", 100)
    play.answers("Paper")
    play.objects("it burns")
    play.judges(0)
    play.answers("Paper")
    silent(play)
    play.verdict()
    return play


def a_fatal_objection_that_mentions_the_word() -> Play:
    play = Play(LAST)
    play.answers()
    for _ in range(2):
        play.objects("NO_NEW_OBJECTION would be wrong: it burns")
    play.judges(0)
    play.answers()
    silent(play)
    play.verdict()
    return play


# ---------------------------------------------------------------- who is missing, and what was not tested


def a_judge_that_is_missing_at_the_end() -> Play:
    play = opened(90)
    play.objects()
    play.fail("judge")
    play.verdict()
    return play


def an_objection_that_nobody_judged() -> Play:
    play = Play(LAST)
    play.answers()
    play.objects("it burns")
    play.fail("judge")
    play.answers()
    silent(play)
    play.verdict()
    return play


def a_critic_that_was_never_heard() -> Play:
    play = Play({"min_rounds": 1, "threshold": 40, "quorum": 1})
    play.answers()
    play.fail("critic")
    play.judges(100)
    play.verdict()
    return play


def a_check_that_is_wrong() -> Play:
    """221 = 13 * 17."""
    play = Play(LAST)
    play.answers("221 is prime")
    play.objects(checked="221 is not divisible by 2, 3, 5, 7 and 11, so it is prime")
    play.judges(100)
    play.verdict()
    return play


# ---------------------------------------------------------------- the verdict


def a_verdict_that_reverses() -> Play:
    play = silent(opened(10))
    play.verdict(NO, "reverses")
    return play


def a_verdict_that_narrows_and_leaves_out() -> Play:
    play = silent(opened(45))
    for text in ("Mostly tape", "Nearly always tape"):
        play.verdict(text, "narrows")
        play.signs()
        play.countersigns(1)
    return play


ATTACKS: tuple[Callable[[], Play], ...] = (
    fatal_left_open, fatal_called_a_repetition_of_a_small_one, fatal_called_a_repetition_of_one_that_is_met,
    met_by_an_invented_sentence, met_by_a_scrap, met_by_what_the_judge_did_not_accept_before,
    moderate_objections_that_add_up, a_threshold_below_doubt, the_words_of_a_closed_objection_against_another_answer,
    a_fatal_objection_that_mentions_the_word, a_judge_that_is_missing_at_the_end, an_objection_that_nobody_judged,
    a_critic_that_was_never_heard,
    a_check_that_is_wrong, a_verdict_that_reverses, a_verdict_that_narrows_and_leaves_out,
)  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_an_attack_ends_with_3(attack: Callable[[], Play], capsys: pytest.CaptureFixture[str]) -> None:
    play = attack()
    assert play.phase == "done" and play.exit_status == 3, play.result.stop
    assert not play.result.stop.converged and "Not settled: " in printed(play, capsys)


REWORDED = [(NO, "upholds"), ("Coffee is the best backup", "narrows"), ("Tape, certainly not disk", "upholds")]


@pytest.mark.parametrize(("text", "ruling"), REWORDED)
@pytest.mark.parametrize("answered", ["no", "missing"])
def test_what_the_answerer_does_not_sign_is_not_the_answer(text: str, ruling: str, answered: str) -> None:
    play = silent(opened(80))
    play.verdict(text, ruling)
    if answered == "missing":
        play.fail("answerer")
    else:
        play.signs("no", text)
        assert f"does not state its answer: {text!r}" in play.brief("judge")["unsigned"]
        play.verdict(f"{text}!", ruling)
        play.signs("no", text)
    got = play.result.outcome
    assert (got["answer"], got["source"], "signed" in got) == ("Tape", "answer", False)
    assert (got["departing"].startswith(text) and "sign" in got["departs"]) or "state" in got["departs"]


def test_a_verdict_that_comes_back_as_it_was_is_not_asked_about_again() -> None:
    play = silent(opened(80))
    play.verdict(NO, "upholds")
    play.signs("no", NO)
    play.verdict(NO, "upholds")
    assert "it was not signed" in play.ask("judge").error
    play.verdict(NO, "upholds")
    assert (play.result.outcome["answer"], play.result.outcome["departing"]) == ("Tape", NO)


def test_one_who_does_not_sign_quotes_what_differs() -> None:
    play = silent(opened(80))
    play.verdict(NO, "upholds")
    play.signs("no", "something else")
    assert play.ask("answerer").error.startswith("differs: quote word for word the clause of")


def test_a_verdict_that_no_seat_has_signed_yet_is_not_taken() -> None:
    play = silent(opened(80))
    play.verdict(NO, "upholds")
    play.event(log.Cancelled(author="client", reason="enough"), "in:10")
    assert (play.result.outcome["answer"], play.result.outcome["departing"]) == ("Tape", NO)
    assert "before it was signed" in play.result.outcome["departs"] and play.exit_status == 130


def test_a_reversal_names_an_objection_that_stands() -> None:
    play = silent(opened(10))
    play.verdict(NO, "reverses", reversed_by=7)
    assert play.ask("judge").error == "reversed_by: name the objection that leaves nothing of the answer: 1"


def test_what_is_left_out_is_an_open_objection() -> None:
    play = silent(opened(80))
    play.verdict("Mostly tape", "narrows")
    play.signs()
    play.countersigns(9)
    assert play.result.outcome["signed"] == ["answerer", "critic"], "there is no objection 9"


def test_quiet_prints_a_refused_answer_with_its_objection(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(fatal_left_open(), capsys) == (
        "Not settled: an objection that stands overturns the answer (overturned)\n"
        "Refused answer: Tape\n"
        "Refused by objection 1 (weight 1.00): it burns\n"
    )
    assert printed(a_verdict_that_reverses(), capsys) == (
        "Not settled: an objection that stands overturns the answer (overturned)\n"
        f"The judge's own answer: {NO}\n"
        "Reversed by objection 1 (weight 0.90): it burns\n"
        "The answer that was debated: Tape\n"
    )


def test_six_paraphrases_of_one_point_end_exhausted() -> None:
    play = Play()
    play.round("it burns", 80)
    said = iter(("fire destroys it", "it is inflammable", "flames are its end", "a blaze ruins it", "heat kills it"))
    while play.phase == "answering":
        play.answers()
        while play.phase in ("critiquing", "pressing"):
            play.objects(next(said))
            play.judges(80, repeats=1)
    play.verdict()
    assert (play.result.stop.reason, play.exit_status) == ("objections_exhausted", 0)
    assert play.certificate["objections"] == 1 and len(play.certificate["duplicates"]) == 2


@pytest.mark.parametrize("quote", ["Lunch is at noon.", "Dinner is at six."])
def test_a_quotation_raises_no_confidence(quote: str) -> None:
    """Whether it is contrary, off the topic, or right: what is counted was tested."""
    found = []
    for cited in ((), (Citation(document="a.md", quote=quote),)):
        play = Play(LAST, documents=[document("a.md", "Lunch is at noon. Dinner is at six.")])
        play.answers("Lunch is at six", citations=cited)
        silent(play)
        found.append(play.session.inner.confidence)
    assert found == [70, 70]


@pytest.mark.parametrize(
    ("rewritten", "left_out"),
    [
        ("Which planet is the largest?", None),
        ("Is tape harmful for a backup?", "best"),
        ("Is tape never the best backup?", "never"),
    ],
)
def test_a_rewriting_of_another_question_is_refused_or_told(rewritten: str, left_out: str | None) -> None:
    play = Play(rewritten=False)
    play.reply("judge", Rewritten(question=rewritten))
    assert play.phase == "rewriting"
    play.reply("judge", Rewritten(question=rewritten))
    if left_out is None:
        assert play.last("question")["question"] == ASKED, "it stands as it was asked"
    else:
        post = play.last("question")
        assert left_out in (*post.get("left_out", ()), *post.get("added", ()))


# ---------------------------------------------------------------- honest sessions


def a_check_that_holds() -> Play:
    play = Play()
    play.answers("221 is composite")
    play.objects(checked="13 * 17 = 221")
    play.judges(100, check_holds=True)
    play.verdict()
    return play


def a_critic_that_finds_nothing() -> Play:
    play = Play()
    play.answers()
    for _ in range(2):
        play.objects()
    play.judges(100)
    play.verdict()
    return play


def a_fatal_objection_that_is_met() -> Play:
    play = Play(LAST)
    play.round("it burns", 0)
    play.answers("Tape in a safe", 1)
    silent(play, 1)
    play.verdict("Tape, kept in a safe", "upholds")
    play.signs()
    return play


def a_verdict_that_narrows() -> Play:
    play = silent(opened(70))
    play.verdict("Tape, where there is no fire", "narrows")
    play.signs()
    play.countersigns()
    return play


def a_verdict_that_is_worded_anew() -> Play:
    play = silent(opened(80))
    play.verdict("Tape, always and for ever", "upholds")
    play.signs("no", "always and for ever")
    play.verdict("It is tape", "upholds")
    play.signs()
    return play


def a_worthless_objection() -> Play:
    play = silent(opened(98))
    play.verdict()
    return play


def a_session_played_by_hand() -> Play:
    return Hand("coffee")


HONEST: tuple[tuple[Callable[[], Play], str], ...] = (
    (a_check_that_holds, "221 is composite"),
    (a_critic_that_finds_nothing, "Tape"),
    (a_fatal_objection_that_is_met, "Tape, kept in a safe"),
    (a_verdict_that_narrows, "Tape, where there is no fire"),
    (a_verdict_that_is_worded_anew, "It is tape"),
    (a_worthless_objection, "Tape"),
    (a_session_played_by_hand, "Moderate coffee drinking is associated"),
)


@pytest.mark.parametrize(("session", "answer"), HONEST, ids=[session.__name__ for session, _ in HONEST])
def test_an_honest_session_ends_with_0(
    session: Callable[[], Play], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    play = session()
    assert (play.phase, play.exit_status) == ("done", 0), play.result.stop
    assert printed(play, capsys).startswith(answer)
