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
    assert short(play).startswith("no consensus: 2 of 3 hold “tea”")


def test_who_had_no_answer_at_first_is_said_to_have_come_to_one() -> None:
    play = Play()
    play.round(40.0, "tea", "coffee", NOTHING)
    play.answers("tea", says("tea", change="adopted", change_reason="so it is"), says("tea", change="kept"))
    assert short(play).startswith("all 3 agree, 0.80; 1 came to an answer later, one changed its answer")


def test_where_nobody_moved_that_is_said() -> None:
    play = Play({"round_limit": 2})
    play.round(40.0, "tea", "tea", "coffee")
    play.answers("tea", "tea", "coffee")
    assert short(play).startswith("no consensus: 2 of 3 hold “tea”, 0.53; panelist_3 does not sign it")
    told = [text for _, text in face_of("consensus").present().brief_beside(play.result)]
    assert "2 calls saved: nothing changed (1), the answer was known (1)" in told
    assert "came to an answer later" not in short(play)


def test_who_signs_another_answer_than_its_own_is_said_to_have_changed_it() -> None:
    play = Play({"threshold": 60})
    play.round(50.0, "tea", "tea", "coffee")
    play.sign("panelist_3")
    told = "all 3 agree (2 said it, 1 signed), 0.80; one changed its answer by signing another answer in round 1"
    assert short(play) == told


LONG = "Tea is what most of us drink here. It is hot. "


def test_an_answer_in_the_analysts_words_stands_beside_a_seats_own() -> None:
    play = Play({"threshold": 60})
    play.round(95.0, f"{LONG}So tea.", says(f"{LONG}Tea it is.", confidence=0.9), f"{LONG}Tea.")
    play.synthesize("Tea is better by 43 percent")
    play.sign_all()
    told = face_of("consensus").present().reasoning(play.result)
    assert told.startswith("The analyst worded this answer. panelist_2 (0.90) said: “Tea is what most")
    assert told.endswith("”  The analyst's reasons: the panel says so")


def test_an_answer_in_a_seats_own_words_stands_alone() -> None:
    play = Play()
    play.answers("tea", "tea", "Tea.")
    assert "worded" not in face_of("consensus").present().reasoning(play.result)
