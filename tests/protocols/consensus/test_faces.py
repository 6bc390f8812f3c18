"""Who signed a panel's answer, as the card of its result says it, in each of its shapes."""

from collections.abc import Callable
from typing import Any

import pytest

from parley.client.rendering import explain, html
from parley.schemas.protocols.consensus import Position
from parley.schemas.session import Seat
from parley.web import verdicts
from tests.client import shown
from tests.protocols.consensus.play import Play

ALONE: dict[str, Any] = {"styles": {"*": "none"}}
"""Seats that work as they like."""
ALIKE = ("tea", "green tea", "tea with milk")
"""One group for the analyst, three answers by their words."""


def put(*answers: str | Position, **settings: Any) -> Play:
    """A round that the analyst calls one answer, so that the surest seat's words are put."""
    play = Play({"threshold": 60, **ALONE, **settings}, panel=len(answers))
    play.answers(*answers)
    play.score(90.0)
    return play


def said_by_all() -> Play:
    play = Play(ALONE)
    play.answers("tea", "tea", "tea")
    return play


def signed_by_two() -> Play:
    play = put(*ALIKE)
    play.sign_all()
    return play


def reserved() -> Play:
    play = put(*ALIKE)
    play.sign("panelist_2", reservation="only before noon")
    play.sign("panelist_3")
    return play


def one_never_answered() -> Play:
    play = Play(ALONE)
    play.answers("tea", "tea", None)
    return play


def one_does_not_sign() -> Play:
    play = put(*ALIKE)
    play.sign("panelist_2")
    play.sign("panelist_3", "neither", differs="tea")
    return play


def tie() -> Play:
    play = Play({"round_limit": 1}, panel=4)
    play.answers("tea", "tea", "coffee", "coffee")
    play.score(40.0, "which leaf")
    return play


def weighty() -> Play:
    """Weights decided it."""
    play = Play({"threshold": 60}, seats=seats(4.0))
    play.answers("tea", "tea", "coffee")
    play.score(70.0)
    play.sign("panelist_3", "neither")
    return play


def said_in(number: str) -> Play:
    play = Play(ALONE)
    play.answers(number, number, number)
    return play


def seats(weight: float) -> tuple[Seat, ...]:
    """The first with this weight."""
    others = (Seat(seat=f"panelist_{n}", role="panelist", queue=f"panelist_{n}") for n in (2, 3))
    return (Seat(seat="panelist_1", role="panelist", queue="panelist_1", weight=weight), *others)


@pytest.mark.parametrize(
    ("play", "told"),
    [
        (one_never_answered, "Panelist 3 is missing: model unreachable"),
        (reserved, "Panelist 2's reservation: “only before noon”"),
        (weighty, "weight 5 against 1"),
        (lambda: said_in("1.000"), "1.000 may be read as 1 or as 1000"),
        (lambda: said_in("1.500"), "1.500 may be read as 1.5 or as 1500"),
    ],
)
def test_what_weakens_an_answer_is_named(play: Callable[[], Play], told: str) -> None:
    assert told in shown.card(play()).weak


def test_a_reservation_is_counted_and_printed() -> None:
    card = shown.card(reserved())
    assert "signed it" in card.behind, card.behind
    assert any("only before noon" in text for text in shown.part(card, "signatures").lines)


def test_a_least_value_that_was_not_met_is_named_as_what_kept_them_apart() -> None:
    play = Play({"round_limit": 1, "least": {"priority": 50, "approach": 70}})
    play.round(76.0, "tea", "tea", "tea")
    assert play.posts("put") == [] and play.certificate["least"]["approach"] == {"value": 40, "least": 70}
    card = shown.card(play)
    low = "approach 40 is below the least value of 70, priority 40 is below the least value of 50"
    assert card.open == low == card.weak[0]
    score = next(c for c in shown.fold(play).cards if c.place == "score")
    assert "weakest: approach 40, at least 70 is wanted" in [c.text for c in score.chips]
    assert card.sure.startswith("not settled: 3 of 3 hold it; the last round allowed was played")


def test_every_face_shows_each_seats_stand_and_the_hash_that_it_binds() -> None:
    play = signed_by_two()
    fold = shown.fold(play)
    forms = ("\n".join(explain.explanation_lines(fold, "all")), "\n".join(html.html(fold)), shown.screen(play))
    for given in play.outcome["signatures"]:
        assert all(f"[{given['binds']}]" in text for text in forms)
    assert all("3 of 3 seats said or signed it, weight 3 of 3 (100 %)" in text for text in forms)
    figures = verdicts.figures(play.result)
    assert figures["stop"]["certificate"]["signatures"]["panelist_2"]["stands"] == "signed"
    assert "all 3 agree (2 signed it)" in verdicts.verdict(play.result)


@pytest.mark.parametrize(("weight", "threshold", "told"), [(5.0, 70, True), (5.0, 90, False), (1.0, 60, False)])
def test_weights_that_would_let_few_decide_are_told_before_anything_was_said(
    weight: float, threshold: float, told: bool
) -> None:
    play = Play({"threshold": threshold}, seats=seats(weight))
    play.answers("tea", "tea", "tea")
    line = "weights: Panelist 1 has 71 % of the weight; more than half of the seats must sign all the same"
    fold = shown.fold(play)
    assert (line in [notice.text for notice in fold.notices()]) is told
    assert (line in list(explain.explanation_lines(fold))) is told
