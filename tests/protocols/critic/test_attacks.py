"""Attacks on how a debate ends: none of them ends with exit status 0 and a claim that nobody defended. And honest
sessions, which do end with 0."""

from collections.abc import Callable
from typing import Any

import pytest

from parley.schemas.protocols.critic import Judgement, Met, Rewritten
from parley.show.view import AnswerView
from tests.client import shown
from tests.protocols.critic.play import ASKED, Hand, Play

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
    """The critic has nothing new, and the judge rules where there is something to rule on."""
    play.objects()
    if play.phase == "judging":
        play.judges(100, *meets)
    return play


def printed(play: Play, capsys: pytest.CaptureFixture[str], *, told: bool = False) -> str:
    """What `--quiet` prints; `told`: on stderr."""
    view = AnswerView()
    fold = shown.fold(play)
    fold.result = play.result
    view.begins(fold)
    view.result(play.result)
    said = capsys.readouterr()
    return said.out if not told else said.err


# ---------------------------------------------------------------- objections


def fatal_left_open() -> Play:
    play = silent(opened(0))
    play.verdict()
    return play


def a_threshold_below_doubt() -> Play:
    play = Play({"min_rounds": 1, "threshold": 20})
    play.round("it burns", 40)
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


# ---------------------------------------------------------------- what was not tested


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


# ---------------------------------------------------------------- what the critic has not seen


def _flipped() -> Play:
    """What an earlier answer won; then another one, that the critic does not see."""
    play = Play({"min_rounds": 2, "threshold": 90, "quorum": 1})
    play.round("it burns", 100)
    play.answers("Paper")
    play.objects("it tears")
    play.judges(50)
    play.answers("Stone", 2)
    play.fail("critic")
    play.judges(100, 2)
    play.verdict()
    return play


def an_answer_that_flips_while_the_critic_is_away() -> Play:
    play = _flipped()
    play.fail("critic")
    return play


def met_by_an_unrelated_sentence() -> Play:
    quote = "Our office is painted green and has four windows"
    play = Play(LAST)
    play.round("it burns", 5)
    play.answers("Tape", reasoning=f"because Tape; {quote}")
    play.objects()
    play.reply("judge", Judgement(score=100, met=(Met(objection=1, quote=quote),)))
    play.verdict()
    play.countersigns(1)
    return play


def a_judge_that_waves_everything_through() -> Play:
    play = silent(opened(100))
    play.verdict()
    play.countersigns(1)
    return play


def a_fatal_objection_that_the_judge_calls_small_and_met() -> Play:
    """By the judge it weighs next to nothing. The critic says what it weighs."""
    play = Play(LAST)
    play.round("it burns", 94)
    play.answers("Tape", 1)
    silent(play, 1)
    play.verdict()
    play.countersigns(1, fatal="it burns, and no copy is left")
    return play


def _hidden(first: float) -> Play:
    """What the critic says later is called a repetition of a trifle. At the end it is shown to the critic again."""
    play = opened(first, "tape is a short word")
    play.objects("it burns")
    play.judges(94, repeats=1)
    play.verdict()
    assert play.brief("critic")["objections"][0]["repeated"] == ["it burns"]
    play.countersigns(fatal="it burns")
    return play


def a_sound_objection_called_a_repetition_of_a_small_one() -> Play:
    return _hidden(90)


def a_sound_objection_called_a_repetition_of_a_worthless_one() -> Play:
    return _hidden(100)


ATTACKS: tuple[Callable[[], Play], ...] = (
    fatal_left_open, a_threshold_below_doubt, a_fatal_objection_that_mentions_the_word, a_check_that_is_wrong,
    a_verdict_that_reverses, an_answer_that_flips_while_the_critic_is_away, met_by_an_unrelated_sentence,
    a_judge_that_waves_everything_through, a_fatal_objection_that_the_judge_calls_small_and_met,
    a_sound_objection_called_a_repetition_of_a_small_one, a_sound_objection_called_a_repetition_of_a_worthless_one,
)  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_an_attack_ends_with_3(attack: Callable[[], Play], capsys: pytest.CaptureFixture[str]) -> None:
    play = attack()
    assert play.phase == "done" and play.exit_status == 3, play.result.stop
    assert not play.result.stop.converged and "Not settled: " in printed(play, capsys)


@pytest.mark.parametrize("answered", ["no", "missing"])
def test_what_the_answerer_does_not_sign_is_not_the_answer(answered: str) -> None:
    text = "Tape, certainly not disk"
    play = silent(opened(80))
    play.verdict(text, "narrows")
    if answered == "missing":
        play.fail("answerer")
    else:
        play.signs("no", text)
        assert f"does not state its answer: {text!r}" in play.brief("judge")["unsigned"]
        play.verdict(f"{text}!", "narrows")
        play.signs("no", text)
    play.countersigns()
    got = play.result.outcome
    assert (got["answer"], got["source"], got["signed"]) == ("Tape", "answer", ["critic"])
    assert got["departing"].startswith(text) and got["departs"].startswith("answer: ")


def test_one_who_does_not_sign_quotes_what_differs() -> None:
    play = silent(opened(80))
    play.verdict(NO, "narrows")
    play.signs("no", "something else")
    assert play.ask("answerer").error.startswith("differs: quote word for word the clause of")


def test_a_reversal_names_an_objection_that_stands() -> None:
    play = silent(opened(10))
    play.verdict(NO, "reverses", reversed_by=7)
    assert play.ask("judge").error == "reversed_by: name the objection that leaves nothing of the answer: 1"


def test_the_critic_names_objections_that_there_are() -> None:
    play = silent(opened(80))
    play.verdict("Mostly tape", "narrows")
    play.signs()
    play.countersigns(9)
    assert play.result.outcome["signed"] == ["answerer", "critic"], "there is no objection 9"


def test_a_verdict_that_upholds_restates_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Tape is not the best"
    play = silent(opened(80))
    play.verdict(text, "upholds")
    play.countersigns()
    assert play.exit_status == 0 and printed(play, capsys) == "Tape\n"
    assert text not in str(play.result.outcome) + str([p.body for p in play.posts("verdict")])


def test_a_dispute_stands_beside_what_the_judge_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(met_by_an_unrelated_sentence(), capsys) == (
        "Not settled: an objection that stands overturns the answer; refused by objection 1 (weight 0.95): it burns; "
        "disputed: the judge says that it is answered by “Our office is painted green and has four windows”; "
        "the critic says: it is not met\n"
        "Refused answer: Tape\n"
    )


def test_a_critic_that_is_away_at_the_end_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(an_answer_that_flips_while_the_critic_is_away(), capsys, told=True)
    assert "the critic has not seen the answer as it stands: critic did not reply: " in said


def test_what_one_answer_won_does_not_count_for_another() -> None:
    play = Play({"min_rounds": 1, "threshold": 99})
    play.round("it burns", 100)
    assert play.session.inner.confidence == 93
    play.answers("Paper")
    silent(play)
    assert play.session.inner.confidence == 70, "the critic has nothing against it, and nobody tested it"


@pytest.mark.parametrize(
    ("still", "confidence"), [((), 0.93), ((1,), 0.45)], ids=["the critic agrees", "the critic disputes it"]
)
def test_a_score_that_nobody_backs_is_worth_no_more_than_silence(still: tuple[int, ...], confidence: float) -> None:
    capped = Play({"round_limit": 1})
    capped.round("it burns", 100)
    capped.verdict()
    assert capped.result.stop.reason == "round_limit" and capped.result.outcome["confidence"] == 0.7
    told = shown.card(capped).weak
    assert "nothing but the judge's scores speaks for the 93 of the last round, so it is 0.70" in told
    play = silent(opened(100))
    play.verdict()
    play.countersigns(*still)
    assert play.result.outcome["confidence"] == confidence


def test_quiet_prints_a_refused_answer_with_its_objection(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(fatal_left_open(), capsys) == (
        "Not settled: an objection that stands overturns the answer; refused by objection 1 (weight 1.00): it burns\n"
        "Refused answer: Tape\n"
    )
    assert printed(a_verdict_that_reverses(), capsys) == (
        "Not settled: an objection that stands overturns the answer; reversed by objection 1 (weight 0.90): it burns\n"
        f"The judge's own answer: {NO}\n"
    )


@pytest.mark.parametrize(
    ("rewritten", "left_out"),
    [
        ("Which planet is the largest?", None),
        ("Is tape harmful for a backup?", "best"),
        ("Is tape never the best backup?", "never"),
        ("Is tape the only best backup?", "only"),
    ],
)
def test_a_rewriting_of_another_question_is_refused_or_told(
    rewritten: str, left_out: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    play = Play(rewritten=False)
    play.reply("judge", Rewritten(question=rewritten))
    assert play.phase == "rewriting"
    play.reply("judge", Rewritten(question=rewritten))
    if left_out is None:
        assert play.last("question")["question"] == ASKED, "it stands as it was asked"
    else:
        post = play.last("question")
        assert left_out in (*post.get("left_out", ()), *post.get("added", ()))
        for step in (play.answers, play.objects, play.verdict):
            assert ASKED in play.session.question, "who is asked sees both wordings"
            step()
        assert f": {left_out}" in printed(play, capsys, told=True)


# ---------------------------------------------------------------- honest sessions


def a_fatal_objection_that_is_met() -> Play:
    play = Play(LAST)
    play.round("it burns", 0)
    play.answers("Tape in a safe", 1)
    silent(play, 1)
    play.ends()
    return play


def a_small_objection_that_stays_open() -> Play:
    """The critic says so, as the judge does."""
    play = silent(opened(90))
    play.ends(1)
    return play


def an_answer_that_changed_while_the_critic_was_away() -> Play:
    play = _flipped()
    play.countersigns()
    return play


def a_verdict_that_narrows() -> Play:
    play = silent(opened(70))
    play.verdict("Tape, where there is no fire", "narrows")
    play.signs()
    play.countersigns()
    return play


def a_verdict_that_is_worded_anew() -> Play:
    play = silent(opened(80))
    play.verdict("Tape, always and for ever", "narrows")
    play.signs("no", "always and for ever")
    play.verdict("Tape for a year", "narrows")
    play.signs()
    play.countersigns()
    return play


def a_session_played_by_hand() -> Play:
    return Hand("coffee")


HONEST: tuple[tuple[Callable[[], Play], str], ...] = (
    (a_fatal_objection_that_is_met, "Tape in a safe"),
    (a_small_objection_that_stays_open, "Tape"),
    (an_answer_that_changed_while_the_critic_was_away, "Stone"),
    (a_verdict_that_narrows, "Tape, where there is no fire"),
    (a_verdict_that_is_worded_anew, "Tape for a year"),
    (a_session_played_by_hand, "Associated with lower mortality, but not shown to cause it"),
)


@pytest.mark.parametrize(("session", "answer"), HONEST, ids=[session.__name__ for session, _ in HONEST])
def test_an_honest_session_ends_with_0(
    session: Callable[[], Play], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    play = session()
    assert (play.phase, play.exit_status) == ("done", 0), play.result.stop
    assert printed(play, capsys).startswith(answer)
