"""A consensus session in one sentence: whom it counts, and who moved."""

from parley.client.protocols import face_of
from parley.schemas.protocols.consensus import Position
from tests.protocols.consensus.play import Play, says

NOTHING = Position(answer="", reasoning="I know nothing", confidence=0, abstains=True)


def short(play: Play) -> str:
    """The sentence."""
    return face_of("consensus").present().in_short(play.result)


def test_a_cancelled_session_counts_its_panel_and_not_the_analyst() -> None:
    play = Play()
    play.round(40.0, "tea", "tea", "coffee")
    play.answers("tea", "tea", "coffee")
    play.cancel()
    assert "analyst" in play.result.usage.by_seat
    assert short(play).startswith("no consensus: 2 of 3 hold tea")


def test_who_had_no_answer_at_first_is_said_to_have_come_to_one() -> None:
    play = Play()
    play.round(40.0, "tea", "tea", NOTHING)
    play.round(95.0, "tea", "tea", says("tea", change="kept"))
    play.synthesize("tea")
    assert short(play).startswith("all 3 agree, 0.80; 1 came to an answer later")


def test_where_nobody_moved_that_is_said() -> None:
    play = Play()
    play.round(40.0, "tea", "tea", "coffee")
    play.round(40.0, "tea", "tea", "coffee")
    play.round(40.0, "tea", "tea", "coffee")
    play.synthesize("tea")
    assert "came to an answer later" not in short(play)


def test_an_answer_in_the_analysts_words_stands_beside_a_seats_own() -> None:
    play = Play()
    play.round(95.0, "tea", says("tea", confidence=0.9), "tea")
    play.synthesize("Coffee is better by 43 percent")
    told = face_of("consensus").present().reasoning(play.result)
    assert told == "The analyst worded this answer. panelist_2 (0.90) said: “tea”  the panel says so"


def test_an_answer_in_a_seats_own_words_stands_alone() -> None:
    play = Play()
    play.round(95.0, "tea", "tea", "tea")
    play.synthesize("Tea.")
    assert "worded" not in face_of("consensus").present().reasoning(play.result)
