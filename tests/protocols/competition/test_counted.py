"""What was counted is not told by a model, and nobody wins where neither side said anything of substance."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from parley.schemas.packages import UNSETTLED
from parley.schemas.protocols.competition.messages import Ballot, Breach, FinalReview
from parley.schemas.stops import STOPS
from parley.web.mcp.results import verdict_of
from tests.client import shown
from tests.protocols.competition.play import MOTION, Play, marks, small, speech, vote

FALSE = "Con has won by a wide margin, 99 to 3."
TRUE = "Pro wins, 8 to 3: it met what the other side said."


def to_review(**settings: Any) -> Play:
    """Pro won, 8 to 3."""
    p = Play(small(speech("pro_1"), speech("con_1"), seats=1), settings)
    for seat, mark in (("pro_1", 8), ("con_1", 3)):
        p.says(seat)
        p.scores(mark)
    return p


def departed() -> Play:
    p = to_review()
    for _ in range(2):
        p.reply("judge", FinalReview(text=FALSE))
    return p


# ---------------------------------------------------------------- the review


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Pro won, 61 to 58.", "it gives the result as 61 to 58"),
        ("The best debater was con_1.", "it says that con_1 was best"),
        ("The affirmative lost.", "it says that Con won"),
        ("Die Gegner haben gewonnen.", "it says that Con won"),
    ],
)
def test_what_a_review_may_not_tell(text: str, why: str) -> None:
    p = to_review()
    p.reply("judge", FinalReview(text=text))
    assert p.ask("judge").error.startswith(f"text: {why}; counted was: Pro won, 8 to 3 points")


def test_votes_are_told_as_they_were_counted() -> None:
    f = small(vote("before"), speech("pro_1"), speech("con_1"), vote("after"), seats=1, audience=3, decided_by="votes")
    p = Play(f)
    for choices in (("pro", "con", "undecided"), ("pro", "con", "con")):
        for i, choice in enumerate(choices, 1):
            p.reply(f"audience_{i}", Ballot(choice=choice))  # type: ignore[arg-type]
        p.until("vote" if len(p.posts("tally")) < 2 else "review")
    brief = p.brief("judge")
    assert brief["decided_by"] == "votes" and brief["swing"] == {"pro": 0, "con": 1}
    assert brief["votes"]["after"] == {"pro": 1, "con": 2, "undecided": 0}
    p.reply("judge", FinalReview(text="The audience voted unanimously for Con."))
    told = "text: it says that all of those who decided were of one mind; counted was: Con won, 1 to 0 votes won over"
    assert p.ask("judge").error.startswith(told)
    p.reply("judge", FinalReview(text="Con wins by 1 vote, 2 votes to 1 in the end."))
    assert p.outcome["departs"] == ""


# ---------------------------------------------------------------- every face


def posts_told(p: Play) -> str:
    card = next(card for card in shown.fold(p).cards if card.kind == "review")
    return f"{card.text} {' '.join(chip.text for chip in card.chips)}"


FACES: dict[str, Callable[[Play], str]] = {
    "terminal": lambda p: shown.ended(p.result),
    "page": posts_told,
    "MCP": lambda p: verdict_of(p.result).verdict,
    "JSON": lambda p: json.dumps(p.outcome),
}


@pytest.mark.parametrize("face", FACES)
def test_each_face_tells_that_a_review_departs_and_what_was_counted(face: str) -> None:
    told = " ".join(FACES[face](departed()).split())
    assert "counted was: Pro won, 8 to 3 points" in told and (FALSE in told or face == "MCP")
    assert face in ("page", "JSON", "MCP") or told.index("counted was") < told.rindex(FALSE)
    honest = to_review()
    honest.reply("judge", FinalReview(text=TRUE))
    assert "counted was" not in FACES[face](honest)


@pytest.mark.parametrize(
    ("pro", "con"),
    [
        ("...", "– – –"),
        ("No language model is at work here.", "no language model is at work HERE"),
        ("。", MOTION.upper()),
    ],
)
def test_nobody_wins_where_neither_side_said_anything(pro: str, con: str) -> None:
    p = Play(small(speech("pro_1"), speech("con_1"), seats=1))
    for seat, text, mark in (("pro_1", pro, 6), ("con_1", con, 5)):
        p.says(seat, text)
        p.scores(mark)
    p.reply("judge", FinalReview(text="Pro has won."))
    assert p.ask("judge").error.startswith(
        "text: it says that Pro won; counted was: nobody won: neither side said anyth"
    )
    p.auto("judge")
    assert p.result.stop.reason == "nothing_said" and p.outcome["winner"] == ""
    assert p.outcome["of_substance"] == {"pro": 0, "con": 0} == p.stop["certificate"]["of_substance"]
    row = STOPS[p.result.stop.reason]
    assert row.exit_status(p.result.stop.converged) == UNSETTLED
    assert row.in_words(p.result.stop.converged) == "nobody won: neither side said anything of substance"
    card = shown.card(p)
    assert card.text == "" and "neither side said anything" in card.sure


@pytest.mark.parametrize("worthless", [marks(1), marks(4, Breach(kind="off_topic")), marks(9, logic=1, persuasion=1)])
def test_what_the_judge_finds_worthless_is_nothing(worthless: Any) -> None:
    p = Play(small(speech("pro_1"), speech("con_1"), seats=1))
    for seat in ("pro_1", "con_1"):
        p.says(seat)
        p.reply("judge", worthless)
    assert p.stop["reason"] == "nothing_said" and p.stop["certificate"]["winner"] == ""
