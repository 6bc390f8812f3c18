"""Who signed a panel's answer, as every face says it: the first line in each of its shapes, dissent, posts, cards."""

from typing import Any

import pytest

from parley.client.protocols import face_of
from parley.client.records import Record
from parley.client.rendering import explain, page, transcript
from parley.client.show.presenter import Presenter
from parley.schemas.protocols.consensus import Position
from parley.schemas.session import Seat
from parley.web import verdicts
from tests.protocols.consensus.play import Play

NOTHING = Position(answer="", reasoning="I know nothing", confidence=0, abstains=True)
ALIKE = ("tea", "green tea", "tea with milk")
"""One group for the analyst, three answers by their words."""


def presenter(play: Play) -> Presenter:
    return face_of("consensus").present(play.session.opened.settings)


def short(play: Play) -> str:
    return presenter(play).in_short(play.result)


def dissent(play: Play) -> str:
    return presenter(play).dissent(play.result)


def brief(play: Play) -> list[str]:
    return [text for _, text in transcript.brief_result(play.result)]


def record(play: Play) -> Record:
    return Record(sid=play.result.session, entries=tuple(bytes(e).decode() for e in play.log))


def put(*answers: str | Position, **settings: Any) -> Play:
    """A round that the analyst calls one answer, so that the surest seat's words are put."""
    play = Play({"threshold": 60, **settings}, panel=len(answers))
    play.answers(*answers)
    play.score(90.0)
    return play


# -- the first line, in each of its shapes


def test_all_said_it() -> None:
    play = Play()
    play.answers("tea", "tea", "tea")
    assert short(play) == "all 3 agree, 0.80; all the same from the start"
    assert dissent(play) == "nobody" and not any(text.startswith("Signatures") for text in brief(play))


def test_one_said_it_and_two_signed() -> None:
    play = put(*ALIKE)
    play.sign_all()
    assert short(play) == "all 3 agree (1 said it, 2 signed), 0.80"
    told = "panelist_2 signed it (its own words: “green tea”); panelist_3 signed it (its own words: “tea with milk”)"
    assert f"Signatures: panelist_1 said it; {told}" in brief(play)
    assert dissent(play) == "nobody"


def test_a_reservation_is_counted_in_the_first_line_and_printed_below_the_answer() -> None:
    play = put(*ALIKE)
    play.sign("panelist_2", reservation="only before noon")
    play.sign("panelist_3")
    assert short(play) == "all 3 agree (1 said it, 2 signed, 1 of them with a reservation), 0.80"
    told = "1 with a reservation: panelist_2: “only before noon”"
    for lines in (brief(play), verdicts.verdict(play.result).splitlines(), list(transcript.show(record(play)))):
        assert told in lines


def test_a_seat_that_never_answered_stands_in_the_first_line() -> None:
    play = Play()
    play.answers("tea", "tea", None)
    assert short(play).startswith("agreed by 2 of 3; panelist_3 never answered: model unreachable; confidence 0.80")
    assert dissent(play) == "nobody", "who was heard said it"


def test_a_seat_that_does_not_sign_stands_in_the_first_line_and_dissents() -> None:
    play = put(*ALIKE)
    play.sign("panelist_2")
    play.sign("panelist_3", "neither", differs="tea")
    expected = "agreed by 2 of 3; panelist_3 does not sign it: “tea” differs; 1 said it, 1 signed; confidence 0.53"
    assert short(play) == expected
    assert dissent(play) == "panelist_3 holds “tea with milk” (0.80), and does not sign: “tea” differs"


def test_a_seat_without_an_answer_of_its_own_is_no_nobody() -> None:
    play = Play({"threshold": 60})
    play.answers("tea", "tea", NOTHING)
    play.sign("panelist_3", "neither")
    assert short(play).startswith("agreed by 2 of 3; panelist_3 does not sign it: “tea” differs; confidence")
    assert dissent(play) == "panelist_3 does not sign it: “tea” differs"


def test_a_seat_without_an_answer_that_accepts_one_signs_it() -> None:
    play = Play({"threshold": 60})
    play.answers("tea", "tea", NOTHING)
    play.sign("panelist_3")
    assert short(play) == "all 3 agree (2 said it, 1 signed, 1 of them without an answer of its own), 0.80"
    assert dissent(play) == "nobody"


def test_weights_that_decided_are_named() -> None:
    seats = [Seat(seat="panelist_1", role="panelist", queue="panelist_1", weight=4.0)]
    play = Play({"threshold": 60}, seats=[
        *seats, *(Seat(seat=f"panelist_{n}", role="panelist", queue=f"panelist_{n}") for n in (2, 3)),
    ])  # fmt: skip
    play.answers("tea", "tea", "coffee")
    play.score(70.0)
    play.sign("panelist_3", "neither")
    assert "; weight 5 against 1" in short(play)


def test_a_number_that_may_be_read_in_two_ways_is_named() -> None:
    play = Play()
    play.answers("1.000", "1.000", "1.000")
    assert "; 1.000 may be read as 1 or as 1000" in short(play)
    assert "1.500 may be read as 1.5 or as 1500" in "\n".join(explain_of("1.500"))


def explain_of(answer: str) -> list[str]:
    play = Play()
    play.answers(answer, answer, answer)
    return list(explain.words(record(play)))


def test_a_tie_has_no_answer_and_both_stand() -> None:
    play = Play({"round_limit": 1}, panel=4)
    play.answers("tea", "tea", "coffee", "coffee")
    play.score(40.0, "which leaf")
    assert short(play) == "no answer: 2 hold “tea”, 2 hold “coffee”; open: which leaf"
    lines = brief(play)
    assert "No answer." in lines and not any(text.startswith("Answer:") for text in lines)
    assert "Tied: tea (2 seats)" in lines and "Tied: coffee (2 seats)" in lines


def test_without_agreement_the_best_signed_sentence_stands_with_who_does_not_sign_and_why() -> None:
    play = put(*ALIKE, threshold=90, round_limit=1)
    play.sign("panelist_2")
    play.sign("panelist_3", "neither", differs="tea")
    play.synthesize("some tea")
    for seat in play.put.asked:
        play.sign(seat, "neither", differs="some")
    expected = "no consensus: 2 of 3 sign “tea”, 0.53; 1 said it, 1 signed; panelist_3 does not sign it: “tea” differs"
    assert short(play) == expected
    assert dissent(play).startswith("panelist_3 holds “tea with milk” (0.80), and does not sign: “tea” differs")


def test_a_seat_that_gave_no_form_is_said_to_have_given_none_once() -> None:
    play = put(*ALIKE)
    play.sign("panelist_2")
    play.fail("panelist_3")
    assert "; panelist_3 gave no form: " in short(play)
    lines = list(transcript.show(record(play)))
    assert sum(text.startswith("  panelist_3 gave no form: ") for text in lines) == 1
    assert not any("panelist_3 is missing" in text for text in lines)


def test_an_end_for_want_of_signers_says_what_to_do_next() -> None:
    play = Play(panel=5)
    play.answers("tea", "coffee", None, None, None)
    assert play.result.stop.reason == "incomplete"
    told = short(play)
    assert told.startswith("no consensus: too few seats are left to sign an answer; panelist_3 never answered: ")
    assert told.endswith("; next: mend or replace the seats that do not answer, then ask again")


def test_a_least_value_that_was_not_met_is_named_as_what_kept_them_apart() -> None:
    play = Play({"round_limit": 1, "least": {"approach": 70}})
    play.round(76.0, "tea", "tea", "tea")
    told = "approach 40 is below the least value of 70"
    assert short(play) == f"no consensus: 3 of 3 hold “tea”, 0.80; {told}"
    assert any(text.endswith(told) for text in lines_of(play))
    assert dissent(play) == ""


# -- posts and cards


def lines_of(play: Play) -> list[str]:
    return list(transcript.show(record(play)))


def test_posts_say_what_was_put_and_what_each_seat_said_to_it() -> None:
    play = put(*ALIKE)
    play.sign("panelist_2", reservation="only before noon")
    play.sign("panelist_3", "neither", differs="tea")
    lines = lines_of(play)
    assert "  put to be signed: “tea”; asked: panelist_2, panelist_3" in lines
    assert "  panelist_2 signs with a reservation: only before noon" in lines
    assert "  panelist_3 does not sign: “tea” differs" in lines


def test_cards_show_the_sentence_and_each_signature() -> None:
    play = put(*ALIKE)
    play.sign_all()
    shows = presenter(play)
    cards = {}
    for post in play.session.posts:
        shows.take(post)
        cards[post.kind, post.seat] = shows.card(post)
    assert cards["put", ""].position == "tea" and cards["put", ""].text == "Asked: panelist_2, panelist_3"
    assert cards["signature", "panelist_2"].text == "signs"


# -- every face


def test_explain_shows_each_seats_stand_and_the_hash_that_it_binds() -> None:
    play = put(*ALIKE)
    play.sign_all()
    lines = list(explain.words(record(play)))
    for given in play.outcome["signatures"]:
        verb = "said it" if given["stands"] == "said" else "signed it (its own words: “"
        (told,) = (text for text in lines if text.startswith(f"  {given['seat']} {verb}"))
        assert told.endswith(f" [{given['binds']}]")
    assert (
        "3 of 3 seats said or signed it, weight 3 of 3 (100 %); wanted are 60 %, and more than half of the seats."
        in lines
    )


def test_programs_get_who_signed_in_words_and_in_the_certificate() -> None:
    play = put(*ALIKE)
    play.sign_all()
    figures = verdicts.figures(play.result)
    assert figures["stop"]["certificate"]["signatures"]["panelist_2"]["stands"] == "signed"
    assert "panelist_2 signed it" in verdicts.verdict(play.result)


def test_the_exported_page_shows_the_signatures() -> None:
    play = put(*ALIKE)
    play.sign_all()
    assert "Signatures: panelist_1 said it; panelist_2 signed it" in "\n".join(page.html(record(play)))


def test_the_certificates_rows_say_where_each_seat_stands() -> None:
    play = put(*ALIKE)
    play.sign_all()
    rows = dict(presenter(play).certificate_rows(play.result.stop.certificate))
    assert rows["Sentence that was put to be signed"] == "tea"
    assert rows["Where each seat stands, and the hash it binds"].startswith("panelist_1: said it, ")
    assert rows["What stands behind the sentence"] == "3 of 3 seats said or signed it, weight 3 of 3 (100 %)"


def test_who_is_behind_the_answer_carried_it() -> None:
    play = put(*ALIKE)
    play.sign("panelist_2")
    play.sign("panelist_3", "neither")
    held = {p.seat: (p.n, "") for p in play.posts("position")}
    assert set(presenter(play).carried(play.result, held)) == {held["panelist_1"][0], held["panelist_2"][0]}


# -- weights


def heavy(weight: float, **settings: Any) -> Play:
    seats = [Seat(seat=f"panelist_{n}", role="panelist", queue=f"panelist_{n}") for n in (2, 3)]
    first = Seat(seat="panelist_1", role="panelist", queue="panelist_1", weight=weight)
    return Play(settings, seats=(first, *seats))


@pytest.mark.parametrize(("weight", "threshold", "told"), [(5.0, 70, True), (5.0, 90, False), (1.0, 60, False)])
def test_weights_that_would_let_few_decide_are_told_before_anything_was_said(
    weight: float, threshold: float, told: bool
) -> None:
    play = heavy(weight, threshold=threshold)
    play.answers("tea", "tea", "tea")
    line = "weights: panelist_1 has 71 % of the weight; more than half of the seats must sign all the same"
    assert (line in lines_of(play)[:3]) is told
    assert (line in list(explain.words(record(play)))) is told
