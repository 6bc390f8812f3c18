"""Who signed a panel's answer, as the card of its result says it, in each of its shapes."""

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


def test_a_seat_that_never_answered_is_named() -> None:
    card = shown.card(one_never_answered())
    assert "Panelist 3 is missing: model unreachable" in card.weak
    assert "Panelist 3 never answered: model unreachable" in shown.part(card, "signatures").lines


def test_a_reservation_is_counted_and_printed() -> None:
    card = shown.card(reserved())
    assert "signed it" in card.behind, card.behind
    assert card.weak[0] == "Panelist 2's reservation: “only before noon”"
    assert any("only before noon" in text for text in shown.part(card, "signatures").lines)


def test_weights_that_decided_are_named() -> None:
    seats = [Seat(seat="panelist_1", role="panelist", queue="panelist_1", weight=4.0)]
    play = Play({"threshold": 60}, seats=[
        *seats, *(Seat(seat=f"panelist_{n}", role="panelist", queue=f"panelist_{n}") for n in (2, 3)),
    ])  # fmt: skip
    play.answers("tea", "tea", "coffee")
    play.score(70.0)
    play.sign("panelist_3", "neither")
    assert "weight 5 against 1" in shown.card(play).weak


@pytest.mark.parametrize(("answer", "told"), [("1.000", "1 or as 1000"), ("1.500", "1.5 or as 1500")])
def test_a_number_that_may_be_read_in_two_ways_is_named(answer: str, told: str) -> None:
    play = Play(ALONE)
    play.answers(answer, answer, answer)
    assert f"{answer} may be read as {told}" in shown.card(play).weak


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
    seats = [Seat(seat=f"panelist_{n}", role="panelist", queue=f"panelist_{n}") for n in (2, 3)]
    first = Seat(seat="panelist_1", role="panelist", queue="panelist_1", weight=weight)
    play = Play({"threshold": threshold}, seats=(first, *seats))
    play.answers("tea", "tea", "tea")
    line = "weights: Panelist 1 has 71 % of the weight; more than half of the seats must sign all the same"
    fold = shown.fold(play)
    assert (line in [notice.text for notice in fold.notices()]) is told
    assert (line in list(explain.explanation_lines(fold))) is told
