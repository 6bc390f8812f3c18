"""The card of a result: its order, its words, and how each kind of ending reads; and that the same stands on every
screen."""

import re

import msgspec
import pytest

from parley.client.records import read_record
from parley.client.rendering.told import to_api
from parley.client.show.answer import MOST_WORDS, ResultCard, lines_of
from parley.client.show.card import Quote
from parley.client.view.fold import fold_of, of_result
from parley.client.view.shapes import VERSION, SessionView
from parley.show.view import TerminalView
from tests.client import endings, golden, shown

ORDER = ["answer", "sure", "why", "dissent", "weak", "next"]


@pytest.mark.parametrize("protocol", golden.SESSIONS)
def test_a_card_has_its_lines_in_one_order_and_at_most_60_words(protocol: str) -> None:
    card = fold_of(read_record(golden.LOGS / f"{protocol}.jsonl")).answer()
    assert card is not None
    told = [line.what for line in card.lines]
    assert told == [what for what in ORDER if what in told] and told[:2] == ["answer", "sure"] and told[-1] == "next"
    assert words_of(card) <= MOST_WORDS


def words_of(card: ResultCard) -> int:
    """Words of a card's lines."""
    told = (f"{line.label} {line.text} {line.quote.quote if line.quote else ''}" for line in card.lines)
    return sum(len(text.split()) for text in told)


def test_of_long_lines_each_keeps_some_words_and_says_that_it_is_cut() -> None:
    long = "word " * 100
    told = lines_of([(what, f"{what}:", long) for what in ORDER], Quote(document="a.md", quote=long), (3,))
    assert sum(len(f"{t.label} {t.text} {t.quote.quote if t.quote else ''}".split()) for t in told) <= MOST_WORDS
    assert all(t.cut and t.text.endswith("…") for t in told) and told[2].quote is not None and told[2].posts == (3,)
    (alone,) = lines_of([("answer", "", long)], None, ())
    assert len(alone.text.split()) == MOST_WORDS, "what nobody else needs it has"


@pytest.mark.parametrize("name", endings.ENDINGS)
def test_each_kind_of_ending_reads_as_what_it_is(name: str) -> None:
    """The card says no more than the certificate: who agreed where it converged, and never where it did not."""
    play = endings.ENDINGS[name]()
    card, result = shown.card(play), play.result
    assert (card.kind == "agreed") is result.stop.converged and (card.exit_code == 0) is (
        card.kind in ("agreed", "done")
    )
    for claim in ("agree;", "agree,", "agreed by", "approved by"):
        assert claim not in card.sure or result.stop.converged or "the plan is approved" in card.sure, card.sure
    assert ("not settled" in card.sure) is (card.kind == "unsettled")
    assert bool(card.text) is bool(result.outcome.get("answer") or result.outcome.get("winner"))
    assert card.dissent in ("", "nobody") or card.text, "nobody dissents from no answer"
    assert (
        len(" ".join(f"{t.label} {t.text} {t.quote.quote if t.quote else ''}" for t in card.lines).split())
        <= MOST_WORDS
    )


def test_the_cards_of_all_endings_are_those_that_were_read() -> None:
    assert endings.text() == (golden.FOLDER / "endings.txt").read_text(encoding="utf-8"), (
        "python -m tests.client.golden"
    )


@pytest.mark.parametrize("protocol", golden.SESSIONS)
def test_programs_get_the_view_with_its_version_and_what_is_decoded_is_the_same(protocol: str) -> None:
    view = fold_of(read_record(golden.LOGS / f"{protocol}.jsonl")).view()
    again = msgspec.json.decode(msgspec.json.encode(view), type=SessionView)
    assert again == view and view.version == VERSION == 1


def test_a_result_of_the_python_api_has_its_card_its_view_and_its_posts_in_rows() -> None:
    fold = fold_of(read_record(golden.LOGS / "consensus.jsonl"))
    assert fold.result is not None and fold.answer() is not None
    result = to_api(fold.result, posts=fold.posts)
    assert result.card.text == of_result(fold.result).text and result.view()["version"] == VERSION
    rows = result.posts_rows()
    said = "Pump A, but only if the largest total lift is at most 45 m, which my document does not give."
    row = next(row for row in rows if row["seat"] == "panelist_1")
    assert (row["position"], row["confidence"]) == (said, 0.5)
    assert "<details>" in result._repr_html_() and "agree" in str(result)
    try:
        import pandas  # noqa: F401  # an extra of whoever uses notebooks
    except ModuleNotFoundError:
        with pytest.raises(ModuleNotFoundError, match="pandas"):
            result.posts_frame()
    else:
        assert said in set(result.posts_frame()["position"])


@pytest.mark.parametrize("form", golden.FORMS)
@pytest.mark.parametrize("protocol", golden.SESSIONS)
def test_a_recorded_session_is_shown_as_it_was_read(protocol: str, form: str) -> None:
    kept = (golden.FOLDER / f"{protocol}.{form}").read_text(encoding="utf-8")
    assert golden.made(protocol, form) == kept, "python -m tests.client.golden"


@pytest.mark.parametrize("protocol", golden.SESSIONS)
def test_one_screen_has_no_word_that_only_a_developer_knows_and_ends_with_the_card(protocol: str) -> None:
    screen = golden.made(protocol, "screen.txt")
    for word in (
        "lexical_fallback",
        "unaccounted",
        "never part",
        "_[0-9](?!/)",
        "(?<![`/])[a-z]+-engineer",
        "None",
        "{",
        r"\[]",
    ):
        assert not re.search(word, screen), word
    explained = golden.made(protocol, "explain.txt")
    assert len(explained.split("\n")) <= 24, "one screen"
    assert all(line.text.removesuffix("…") in " ".join(screen.split()) for line in of_card(protocol).lines[1:])


def of_card(protocol: str) -> ResultCard:
    card = fold_of(read_record(golden.LOGS / f"{protocol}.jsonl")).answer()
    assert card is not None
    return card


def test_a_document_of_a_result_names_the_turns_that_no_seat_answered() -> None:
    view = TerminalView()
    view.begins(shown.fold(endings.ENDINGS["single, the seat fails"]()))
    (nothing,) = view.told()["unanswered"]
    assert (nothing.seat, nothing.kind, nothing.why) == ("answerer", "answer", "model unreachable")
    view.begins(shown.fold(endings.ENDINGS["single, an answer"]()))
    assert view.told() == {}
