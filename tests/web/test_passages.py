"""Where a quotation stands in a document, and in which one."""

from hypothesis import given
from hypothesis import strategies as st

from parley.client.show.card import Quote
from parley.client.view.passages import Marked, number_of, passages
from parley.schemas.session import Document
from parley.schemas.text import stands_in

TEXT = "The canary takes ten\n  minutes. The canary is safe."


def test_what_is_quoted_is_marked_white_space_aside_and_the_rest_is_not() -> None:
    pieces, missing = passages(TEXT, [Marked("3-0", "ten minutes."), Marked("4-1", "no such words")])
    assert [(p.text, p.quotes) for p in pieces] == [
        ("The canary takes ", ()), ("ten\n  minutes.", ("3-0",)), (" The canary is safe.", ()),
    ]  # fmt: skip
    assert missing == ("4-1",)


def test_quotations_that_overlap_share_a_piece() -> None:
    pieces, _ = passages("one two three", [Marked("1-0", "one two"), Marked("2-0", "two three")])
    assert [(p.text, p.quotes) for p in pieces] == [
        ("one ", ("1-0",)), ("two", ("1-0", "2-0")), (" three", ("2-0",)),
    ]  # fmt: skip


def test_signs_of_patterns_are_letters_like_others_and_nothing_stands_nowhere() -> None:
    assert passages("a.c (b)*", [Marked("1-0", "(b)*"), Marked("1-1", "abc"), Marked("1-2", " ")])[1] == ("1-1", "1-2")


@given(st.text(alphabet="ab \n", max_size=40), st.lists(st.text(alphabet="ab \n", max_size=6), max_size=5))
def test_the_pieces_are_the_text_and_a_place_is_there_where_the_check_says_so(text: str, quotes: list[str]) -> None:
    pieces, missing = passages(text, [Marked(f"1-{i}", quote) for i, quote in enumerate(quotes)])
    assert "".join(p.text for p in pieces) == text
    assert set(missing) == {f"1-{i}" for i, quote in enumerate(quotes) if not stands_in(quote, text)}


def test_of_two_documents_with_one_name_it_is_the_one_that_has_the_words() -> None:
    both = [Document(id=str(n), name="a.md", text=text) for n, text in enumerate(("It is tea.", "It is coffee."))]
    assert number_of(both, Quote(document="a.md", quote="is coffee")) == 1
    assert number_of(both, Quote(document="a.md", quote="is water")) == 0
    assert number_of(both, Quote(document="b.md", quote="is tea")) is None
