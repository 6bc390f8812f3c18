"""Nothing is called agreed that its owners did not sign: one rule a test."""

from typing import Any

import pytest

from parley.coordinator.protocols.consensus.signing import binding
from parley.schemas.protocols.consensus import Conclusion, Signature
from parley.schemas.wire import decode
from tests.protocols.consensus.play import Play, cite, document, says

ADOPTS: dict[str, Any] = {"change": "adopted", "change_reason": "convinced"}
ONCE = {"round_limit": 1, "least": {"approach": 0.0}}
"""With a least value the analyst is asked, whatever words say."""
LONG = "It is Vilnius. The law of 1992 says so"
"""More than a sentence."""


def stands(play: Play) -> list[str]:
    """Where each seat stands to the answer of the result, in the order of the opening."""
    return [x["stands"] for x in play.outcome["signatures"]]


def agreed(play: Play) -> bool:
    return play.result.stop.converged


def signs(play: Play, *seats: str) -> None:
    """Of those asked, these sign, and the others do not."""
    for seat in play.put.asked:
        play.sign(seat, "sentence" if seat in seats else "neither")


def words_anew(play: Play, sentence: str) -> None:
    """The sentence goes back, and the analyst words it anew."""
    assert play.ask("analyst").kind == "conclude"
    play.synthesize(sentence)


# ---------------------------------------------------------------- how many must sign

TABLE = [
    (3, 0, (2, 3, 3)), (3, 1, (2, 2, 2)), (3, 2, None),
    (5, 0, (3, 4, 5)), (5, 1, (3, 3, 4)), (5, 2, (3, 3, 3)), (5, 3, None),
]  # fmt: skip
ROWS = [
    (panel, never, threshold, None if wanted is None else wanted[place])
    for panel, never, wanted in TABLE
    for place, threshold in enumerate((60, 70, 90))
]


def signed_by(panel: int, never: int, threshold: float, signers: int) -> Play:
    """All who answer say the same in other words; the first `signers` of them sign what is put."""
    play = Play({"round_limit": 1, "threshold": threshold}, panel=panel)
    there = panel - never
    play.answers(*(f"Vilnius, said {n} times" for n in range(1, there + 1)), *[None] * never)
    if play.session.closed:
        return play
    play.compare({"Vilnius": "".join(str(n) for n in range(1, there + 1))})
    willing = play.panel[:signers]
    signs(play, *willing)
    if not play.session.closed:
        words_anew(play, "The capital is Vilnius")
        signs(play, *willing)
    return play


@pytest.mark.parametrize(("panel", "never", "threshold", "wanted"), ROWS)
def test_signatures_that_a_threshold_asks_for(panel: int, never: int, threshold: float, wanted: int | None) -> None:
    if wanted is None:
        play = signed_by(panel, never, threshold, panel - never)
        assert not agreed(play) and play.result.stop.reason in ("incomplete", "quorum")
        return
    enough, short = (signed_by(panel, never, threshold, n) for n in (wanted, wanted - 1))
    assert (enough.result.stop.reason, agreed(enough)) == ("threshold", True)
    assert (short.result.stop.reason, agreed(short)) == ("round_limit", False)
    assert enough.outcome["signed"] == {
        "weight": wanted, "of_weight": panel - never, "seats": wanted, "of_seats": panel,
    }  # fmt: skip


# ---------------------------------------------------------------- lasting disagreement


def test_a_two_to_two_tie_has_no_answer() -> None:
    play = Play(ONCE, panel=4)
    play.round(40, "Vilnius", "Kaunas", "Vilnius", "Kaunas")
    assert (play.result.stop.reason, play.posts("put")) == ("round_limit", [])
    assert (play.outcome["answer"], play.outcome["tied"]) == ("", ["Vilnius", "Kaunas"])
    assert len(play.outcome["minority"]) == 4


CONTRARY = ("I do not hold that it is Vilnius", "It is Kaunas", "The answer is wrong", "Not Vilnius",
            "In truth I hold the opposite.")  # fmt: skip


@pytest.mark.parametrize("reservation", CONTRARY)
def test_a_reservation_that_contradicts_what_is_signed_is_no_signature(reservation: str) -> None:
    play = Play({**ONCE, "threshold": 60})
    play.answers("Vilnius", "The city of Vilnius", "Kaunas")
    play.compare({"Vilnius": "12", "Kaunas": "3"})
    play.sign("panelist_2", reservation=reservation)
    assert "it contradicts the sentence that you choose" in play.turn("panelist_2").ask.error
    play.sign("panelist_2", reservation=reservation)
    play.sign("panelist_3", "rival")
    told = play.bodies("signature")[0]
    assert (told["states"], told["reservation"]) == ("neither", reservation)


# ---------------------------------------------------------------- an analyst that errs


def test_who_parts_equal_words_is_told_the_pair_and_then_words_decide() -> None:
    play = Play()
    play.answers("C++", "C#", "C++")
    held = play.session.inner.held
    pair = sorted((held["panelist_1"], held["panelist_3"]))
    play.compare({"C++": "1", "C#": "23"})
    error = play.ask("analyst").error
    assert all(str(post) in error for post in pair) and "say the same word for word, 'C++'; put them together" in error
    play.compare({"C++": "1", "C#": "23"})
    told = play.last("assessment")
    assert told["source"] == "lexical_fallback"
    assert [(g["label"], g["seats"]) for g in told["groups"]] == [
        ("C++", ["panelist_1", "panelist_3"]), ("C#", ["panelist_2"]),
    ]  # fmt: skip


def test_a_conclusion_for_another_answer_is_refused_once_and_then_a_seats_own_words_are_put() -> None:
    play = Play(ONCE)
    play.answers(says(LONG, confidence=0.9), "Vilnius", "Kaunas")
    play.compare({"Vilnius": "12", "Kaunas": "3"})
    for _ in range(2):
        play.reply("analyst", Conclusion(group="Kaunas", reasoning="I know better", answer="It is Kaunas."))
        if play.phase == "wording":
            assert "you word 'Kaunas'" in play.ask("analyst").error
    assert (play.put.sentence, play.put.worded_by) == (LONG, "panelist_1")
    signs(play, "panelist_2")
    words_anew(play, "Vilnius")
    signs(play, "panelist_1")
    assert (play.outcome["departing"], agreed(play)) == ("It is Kaunas.", False)


# ---------------------------------------------------------------- approach and priority


def garden(**settings: Any) -> Play:
    play = Play(settings, question="Should the primary school keep its vegetable garden?")
    play.answers(says("Yes", confidence=0.8), says("Yes, keep it.", confidence=0.75), "It should be kept.")
    play.compare({"Keep it": "123"}, approach=70, priority=40)
    return play


# ---------------------------------------------------------------- who is not there


def test_a_seat_that_never_answered_counts_where_that_is_set() -> None:
    play = Play({"absent": "counts"})
    play.answers("Vilnius", "Vilnius", None)
    assert (play.result.stop.reason, agreed(play)) == ("incomplete", False)


def test_a_seat_that_answered_another_thing_and_died_stays_in_the_share() -> None:
    play = Play()
    play.round(40, "Vilnius", "Vilnius", "Kaunas")
    for _ in range(2):
        play.answers("Vilnius", "Vilnius", None)
    assert (play.result.stop.reason, agreed(play), len(play.result.rounds)) == ("incomplete", False, 3)
    assert [(m["seat"], m["answer"]) for m in play.outcome["minority"]] == [("panelist_3", "Kaunas")]
    assert (stands(play), play.outcome["signatures"][2]["why"]) == (["said", "said", "none"], "model unreachable")


# ---------------------------------------------------------------- abstentions


@pytest.mark.parametrize("nothing", [".", "?", "..."])
def test_an_answer_of_signs_alone_is_an_abstention_after_one_retry(nothing: str) -> None:
    play = Play()
    play.reply("panelist_1", says(nothing))
    assert "names no answer" in play.ask("panelist_1").error
    play.reply("panelist_1", says(nothing))
    for seat in play.panel[1:]:
        play.reply(seat, says("Vilnius"))
    assert play.asked() == [("panelist_1", "sign")]
    play.sign_all()
    assert (agreed(play), play.outcome["answer"], stands(play)) == (True, "Vilnius", ["signed", "said", "said"])


# ---------------------------------------------------------------- the turn to sign


def test_a_form_missed_twice_is_no_signature_and_hangs_nothing() -> None:
    play = Play({"round_limit": 1, "threshold": 60})
    play.answers("Vilnius", "The city of Vilnius", "It is Vilnius")
    play.compare({"Vilnius": "123"})
    bad = Signature(states="neither", differs="words that do not stand there")
    play.reply("panelist_2", bad)
    assert "the clause that differs from your answer" in play.ask("panelist_2").error
    play.reply("panelist_2", bad)  # its choice counts, without the words
    play.fail("panelist_3")
    play.fail("analyst")
    assert stands(play) == ["said", "neither", "none"]
    assert (play.outcome["signatures"][1]["differs"], play.outcome["signatures"][2]["why"]) == ("", "model unreachable")


@pytest.mark.parametrize("other", [("Kaunas", "a", "p1"), ("Vilnius", "b", "p1"), ("Vilnius", "a", "p2")])
def test_what_a_signature_binds(other: tuple[str, str, str]) -> None:
    assert binding(*other) != binding("Vilnius", "a", "p1") == binding(" vilnius. ", "a", "p1")


def test_a_signature_stands_in_the_log_and_the_certificate_with_what_it_binds() -> None:
    play = garden()
    play.sign_all()
    wanted = binding("Yes", "It should be kept.", "panelist_3")
    assert {post.seat: decode(post.body, dict[str, Any])["binds"] for post in play.posts("signature")}[
        "panelist_3"
    ] == wanted
    assert play.certificate["sentence"] == "Yes"
    assert play.certificate["signatures"]["panelist_3"] == {"stands": "signed", "binds": wanted}
    assert play.certificate["signed"] == {"weight": 3, "of_weight": 3, "seats": 3, "of_seats": 3}


# ---------------------------------------------------------------- who changed, and why


def test_signing_another_answer_is_a_change_of_that_round() -> None:
    play = Play({"threshold": 60})
    play.answers("Vilnius", "The city of Vilnius", "Kaunas")
    play.compare({"Vilnius": "12", "Kaunas": "3"})
    play.sign_all()
    assert play.outcome["changed"] == {"signature": 1}
    (played,) = play.result.rounds
    assert {seat: p.get("moved") for seat, p in played["positions"].items()} == {
        "panelist_1": None, "panelist_2": None, "panelist_3": "signature",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("quoted", "by"),
    [
        ("Lunch is at noon.", "unexplained"),  # nobody showed it, and it says nothing
        ("That is what it is.", "unexplained"),
        ("Trakai was the capital before.", "quotation"),  # it bears on the question
        ("The law of 1992 says it.", "unexplained"),  # another showed it, and it says nothing of either
    ],
)
def test_what_explains_a_change_was_shown_or_bears_on_the_question(quoted: str, by: str) -> None:
    text = "Lunch is at noon. That is what it is. Trakai was the capital before. The law of 1992 says it."
    play = Play(documents=[document("a.md", text, "panelist_2")])
    held = says("Vilnius", citations=(cite("a.md", "The law of 1992 says it."),))
    play.round(40, held, held, "Kaunas")
    play.answers(held, held, says("Vilnius", **ADOPTS, moved_by=(cite("a.md", quoted),)))
    assert play.last("assessment")["moved"] == {"panelist_3": by}
