"""The card of a result: its order, its words, and how each kind of ending reads; and that the same stands on every
screen."""

import re

import msgspec
import pytest

from parley.client.rendering.told import to_api
from parley.client.show.answer import MOST_WORDS, Line, lines_of
from parley.client.show.card import Quote
from parley.client.view.fold import fold_of, of_result
from parley.client.view.shapes import VERSION, SessionView
from parley.show.view import TerminalView
from tests.client import endings, golden, shown

ORDER = ["answer", "sure", "why", "dissent", "weak", "next"]
NOT_ON_A_SCREEN = re.compile(r"lexical_fallback|unaccounted|never part|_[0-9](?!/)|(?<![`/])[a-z]+-engineer|None|{|\[]")
"""Words that only a developer knows."""


def words_of(*lines: Line) -> int:
    told = (f"{line.label} {line.text} {line.quote.quote if line.quote else ''}" for line in lines)
    return sum(len(text.split()) for text in told)


def test_of_long_lines_each_keeps_some_words_and_says_that_it_is_cut() -> None:
    long = "word " * 100
    told = lines_of([(what, f"{what}:", long) for what in ORDER], Quote(document="a.md", quote=long), (3,))
    assert words_of(*told) <= MOST_WORDS
    assert all(t.cut and t.text.endswith("…") for t in told) and told[2].quote is not None and told[2].posts == (3,)
    (alone,) = lines_of([("answer", "", long)], None, ())
    assert len(alone.text.split()) == MOST_WORDS, "what nobody else needs it has"


@pytest.mark.parametrize("name", endings.ENDINGS)
def test_each_kind_of_ending_reads_as_what_it_is(name: str) -> None:
    """The card says no more than the certificate: who agreed where it converged, and never where it did not."""
    play = endings.ENDINGS[name]()
    card, result = shown.card(play), play.result
    assert (card.kind == "agreed") is result.stop.converged
    assert (card.exit_code == 0) is (card.kind in ("agreed", "done"))
    for claim in ("agree;", "agree,", "agreed by", "approved by"):
        assert claim not in card.sure or result.stop.converged or "the plan is approved" in card.sure, card.sure
    assert ("not settled" in card.sure) is (card.kind == "unsettled")
    assert bool(card.text) is bool(result.outcome.get("answer") or result.outcome.get("winner"))
    assert card.dissent in ("", "nobody") or card.text, "nobody dissents from no answer"
    told = [line.what for line in card.lines]
    assert told == [what for what in ORDER if what in told] and told[0] == "answer" and told[-1] == "next"
    assert words_of(*card.lines) <= MOST_WORDS


def test_the_cards_of_all_endings_are_those_that_were_read() -> None:
    kept = (golden.FOLDER / "endings.txt").read_text(encoding="utf-8")
    assert endings.text() == kept, "python -m tests.client.golden"


@pytest.mark.parametrize("name", golden.SESSIONS)
def test_a_recorded_session_is_shown_as_it_was_read(name: str) -> None:
    made, kept = golden.made(name), golden.kept(name)
    assert made.keys() == kept.keys()
    for form, text in made.items():
        assert text == kept[form], "python -m tests.client.golden"
    fold = fold_of(golden.recorded(name))
    card, view = fold.answer(), fold.view()
    assert not NOT_ON_A_SCREEN.search(made["screen"])
    assert len(made["explain"].split("\n")) <= 24, "one screen"
    assert card is not None
    assert all(line.text.removesuffix("…") in " ".join(made["screen"].split()) for line in card.lines[1:])
    assert msgspec.json.decode(msgspec.json.encode(view), type=SessionView) == view and view.version == VERSION == 1


def test_a_result_of_the_python_api_has_its_card_its_view_and_its_posts_in_rows() -> None:
    fold = fold_of(golden.recorded("consensus"))
    assert fold.result is not None
    result = to_api(fold.result, posts=fold.posts)
    assert result.card.text == of_result(fold.result).text and result.view()["version"] == VERSION
    said = "Pump A, but only if the largest total lift is at most 45 m, which my document does not give."
    row = next(row for row in result.posts_rows() if row["seat"] == "panelist_1")
    assert (row["position"], row["confidence"]) == (said, 0.5)
    assert "<details>" in result._repr_html_() and "agree" in str(result)


def test_a_document_of_a_result_names_the_turns_that_no_seat_answered() -> None:
    view = TerminalView()
    view.begins(shown.fold(endings.ENDINGS["single, the seat fails"]()))
    (nothing,) = view.told()["unanswered"]
    assert (nothing.seat, nothing.kind, nothing.why) == ("answerer", "answer", "model unreachable")
    view.begins(shown.fold(endings.ENDINGS["single, no answer"]()))
    assert view.told() == {}
