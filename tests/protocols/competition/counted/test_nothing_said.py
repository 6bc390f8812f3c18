"""Nobody wins a debate in which neither side said anything of substance."""

from typing import Any

import pytest

from parley.coordinator.protocols.competition.speech_words import spelt
from parley.schemas.protocols.competition.messages import Breach, Review
from parley.schemas.stops import STOPS, UNSETTLED
from tests.client import shown
from tests.protocols.competition.play import MOTION, Play, exchange, marks, small, speech


@pytest.mark.parametrize(
    ("pro", "con"),
    [
        ("...", "– – –"),
        (MOTION, "This house would ban children."),
        ("No language model is at work here.", "no language model is at work HERE"),
        ("。", MOTION.upper()),
    ],
)
def test_nobody_wins_where_neither_side_said_anything(pro: str, con: str) -> None:
    p = Play(small(speech("pro_1"), speech("con_1"), seats=1))
    for seat, text, mark in (("pro_1", pro, 6), ("con_1", con, 5)):
        p.says(seat, text)
        p.scores(mark)
    p.reply("judge", Review(text="Pro has won."))
    assert p.ask("judge").error.startswith(
        "text: it says that Pro won; counted was: nobody won: neither side said anyth"
    )
    p.auto("judge")
    assert p.result.stop.reason == "nothing_said" and p.outcome["winner"] == ""
    assert p.outcome["of_substance"] == {"pro": 0, "con": 0} == p.stop["certificate"]["of_substance"]
    row = STOPS[p.result.stop.reason]
    assert row.exit_status(p.result.stop.converged) == UNSETTLED
    assert row.in_words(p.result.stop.converged) == "nobody won: neither side said anything"
    card = shown.card(p)
    assert card.text == "" and "neither side said anything" in card.sure


@pytest.mark.parametrize("worthless", [marks(1), marks(4, Breach(kind="off_topic")), marks(9, logic=1, persuasion=1)])
def test_what_the_judge_finds_worthless_is_nothing(worthless: Any) -> None:
    p = Play(small(speech("pro_1"), speech("con_1"), seats=1))
    for seat in ("pro_1", "con_1"):
        p.says(seat)
        p.reply("judge", worthless)
    assert p.stop["reason"] == "nothing_said" and p.stop["certificate"]["winner"] == ""


def test_silence_and_questions_alone_are_nothing() -> None:
    p = Play(small(exchange("pro_1", "con_1"), seats=1))
    p.asks("pro_1", "con_1")
    p.scores(9)
    p.fail("con_1")
    assert p.stop["reason"] == "nothing_said" and p.stop["certificate"]["winner"] == ""


def test_where_one_side_said_something_the_count_decides() -> None:
    p = Play(small(speech("pro_1"), speech("con_1"), seats=1))
    p.says("pro_1", "...")
    p.scores(2)
    p.says("con_1", "Advertising teaches a child to read.")
    p.scores(1, logic=2)
    assert p.stop["reason"] == "played" and p.stop["certificate"]["winner"] == "pro"
    assert p.stop["certificate"]["of_substance"] == {"pro": 0, "con": 1}


def test_words_are_compared_without_what_is_between_them() -> None:
    assert spelt("Ban it, NOW!") == spelt("ban   it – now") == ("ban", "it", "now") and spelt("...") == ()
