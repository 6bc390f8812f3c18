"""Who signed a panel's answer, as the card of its result says it, in each of its shapes."""

from typing import Any

import pytest

from parley.client.rendering import explain, html
from parley.schemas.protocols.consensus import Position
from parley.schemas.session import Seat
from parley.web import verdicts
from tests.client import shown
from tests.protocols.consensus.play import Play

NOTHING = Position(answer="", reasoning="I know nothing", confidence=0, abstains=True)
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


def one_without_an_answer(states: str = "neither") -> Play:
    play = Play({"threshold": 60, **ALONE})
    play.answers("tea", "tea", NOTHING)
    play.sign("panelist_3", states)
    return play


def tie() -> Play:
    play = Play({"round_limit": 1}, panel=4)
    play.answers("tea", "tea", "coffee", "coffee")
    play.score(40.0, "which leaf")
    return play


def no_agreement() -> Play:
    play = put(*ALIKE, threshold=90, round_limit=1)
    play.sign("panelist_2")
    play.sign("panelist_3", "neither", differs="tea")
    play.synthesize("some tea")
    for seat in play.put.asked:
        play.sign(seat, "neither", differs="some")
    return play


SHAPES = [
    (said_by_all, "tea", "all 3 agree; confidence 0.80, self-rated", "nobody", ""),
    (signed_by_two, "tea", "all 3 agree (2 signed it); confidence 0.80, self-rated", "nobody", ""),
    (reserved, "tea", "all 3 agree (2 signed it); confidence 0.80",
     "nobody", "Panelist 2's reservation: “only before noon”"),
    (one_never_answered, "tea", "agreed by 2 of 3; confidence 0.80", "nobody",
     "Panelist 3 is missing: model unreachable"),
    (one_does_not_sign, "tea", "agreed by 2 of 3 (1 signed it); confidence 0.53",
     "Panelist 3 holds “tea with milk” and rejects “tea”", ""),
    (one_without_an_answer, "tea", "agreed by 2 of 3; confidence", "Panelist 3 disagrees and rejects “tea”", ""),
    (lambda: one_without_an_answer("sentence"), "tea", "all 3 agree (1 signed it)", "nobody",
     "1 signed without an answer of its own"),
    (tie, "", "not settled: 2 hold “tea”, 2 hold “coffee”; last round played", "", "in dispute: which leaf"),
    (no_agreement, "tea", "not settled: 2 of 3 hold it (1 signed it); last round played",
     "Panelist 3 holds “tea with milk” and rejects “tea”", ""),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "text", "sure", "dissent", "weak"), SHAPES)
def test_the_card_says_who_is_behind_the_answer_and_who_is_not(
    shape: Any, text: str, sure: str, dissent: str, weak: str
) -> None:
    card = shown.card(shape())
    assert card.text == text and card.sure.startswith(sure), card.sure
    assert (card.dissent == dissent if dissent else not text) and (not weak or weak in " | ".join(card.weak)), card.weak


def test_a_seat_that_does_not_sign_stands_in_the_card_and_dissents() -> None:
    card = shown.card(one_does_not_sign())
    assert card.sure.startswith("agreed by 2 of 3") and card.dissent.startswith("Panelist 3 holds")


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


def test_a_tie_has_no_answer_and_both_stand() -> None:
    card = shown.card(tie())
    assert card.lines[0].text == "No answer."
    assert {"Tied: tea (2 seats)", "Tied: coffee (2 seats)"} <= set(shown.part(card, "signatures").lines)


def test_a_seat_that_gave_no_form_is_said_to_have_given_none_once() -> None:
    play = put(*ALIKE)
    play.sign("panelist_2")
    play.fail("panelist_3")
    lines = shown.screen(play).split("\n")
    assert sum(text.startswith("  Panelist 3: gave no signature: ") for text in lines) == 1
    assert not any("Panelist 3 is missing (" in text for text in lines)


def test_an_end_for_want_of_signers_says_what_to_do_next() -> None:
    play = Play(panel=5)
    play.answers("tea", "coffee", None, None, None)
    card = shown.card(play)
    assert card.reason == "incomplete" and card.sure.startswith(
        "not settled: 1 holds “tea”, 1 holds “coffee”; too few seats left"
    )
    assert card.next == "mend or replace the seats that do not answer, then ask again"


def test_a_least_value_that_was_not_met_is_named_as_what_kept_them_apart() -> None:
    play = Play({"round_limit": 1, "least": {"priority": 50, "approach": 70}})
    play.round(76.0, "tea", "tea", "tea")
    card = shown.card(play)
    low = "approach 40 is below the least value of 70, priority 40 is below the least value of 50"
    assert card.open == low == card.weak[0]
    score = next(c for c in shown.fold(play).cards if c.place == "score")
    assert "weakest: approach 40, at least 70 is wanted" in [c.text for c in score.chips]
    assert card.sure.startswith("not settled: 3 of 3 hold it; last round played")


def test_posts_say_what_was_put_and_what_each_seat_said_to_it() -> None:
    play = put(*ALIKE)
    play.sign("panelist_2", reservation="only before noon")
    play.sign("panelist_3", "neither", differs="tea")
    lines = shown.posts(play.session.posts)
    assert "  put to be signed: tea" in lines and "      Asked: Panelist 2, Panelist 3" in lines
    assert "  Panelist 2: signs with a reservation: only before noon" in lines
    assert "  Panelist 3: disagrees and rejects “tea”" in lines
    brief = shown.posts(play.session.posts, brief=True)
    assert not any("put to be signed" in text for text in brief), "one screen has who disagrees"


def test_every_face_shows_each_seats_stand_and_the_hash_that_it_binds() -> None:
    play = signed_by_two()
    fold = shown.fold(play)
    forms = ("\n".join(explain.words(fold, "all")), "\n".join(html.html(fold)), shown.screen(play))
    for given in play.outcome["signatures"]:
        assert all(f"[{given['binds']}]" in text for text in forms)
    assert all("3 of 3 seats said or signed it, weight 3 of 3 (100 %)" in text for text in forms)
    figures = verdicts.figures(play.result)
    assert figures["stop"]["certificate"]["signatures"]["panelist_2"]["stands"] == "signed"
    assert "all 3 agree (2 signed it)" in verdicts.verdict(play.result)


def test_who_is_behind_the_answer_carried_it() -> None:
    play = one_does_not_sign()
    held = {p.seat: p.n for p in play.posts("position")}
    assert set(shown.card(play).posts) == {held["panelist_1"], held["panelist_2"]}


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
    assert (line in list(explain.words(fold))) is told
