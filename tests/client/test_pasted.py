"""What people paste: nothing that steers a terminal is left of it, and everything that was taken out is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.client.files.pasted import cleaned, cleaned_values
from parley.coordinator.admission import refuse_controls

PASTED = {
    "colours": ("\x1b[1;31merror\x1b[0m: \x1b[38;2;1;2;3mx", "error: x", ("3 terminal sequences removed",)),
    "colours in 8 bits": ("\x9b31mred\x9bm", "red", ("2 terminal sequences removed",)),
    "a title": ("\x1b]0;title\x07$ ls", "$ ls", ("1 terminal sequence removed",)),
    "a link": ("\x1b]8;;http://x\x1b\\a\x1b]8;;\x1b\\ b", "a b", ("2 terminal sequences removed",)),
    "a title without an end": ("\x1b]0;title", "0;title", ("1 terminal sequence removed",)),
    "a character set": ("\x1b(Bx\x1bcy", "xy", ("2 terminal sequences removed",)),
    "an escape alone": ("a\x1b", "a", ("1 control character removed (U+001B)",)),
    "line ends": ("a\r\nb\rc\fd\n", "a\nb\nc\nd\n", ("3 line ends made a line feed",)),
    "tabs stay": ("a\tb\n", "a\tb\n", ()),
    "other signs stay": ("né 👩\u200d🚀 שלום", "né 👩\u200d🚀 שלום", ()),
    "controls": ("a\0b\bc\x85d\x80", "abc\nd", (
        "1 line end made a line feed", "3 control characters removed (U+0000, U+0008, U+0080)",
    )),
    "signs that reorder": ("a\u202eb\u2066", "ab", ("2 control characters removed (U+202E, U+2066)",)),
    "many": ("".join(map(chr, range(1, 9))), "", (
        "8 control characters removed (U+0001, U+0002, U+0003, U+0004, U+0005, ...)",
    )),
}  # fmt: skip


@pytest.mark.parametrize("case", PASTED)
def test_what_steers_a_terminal_is_taken_out_and_named(case: str) -> None:
    text, left, notes = PASTED[case]
    assert cleaned(text) == (left, notes)
    assert cleaned(left) == (left, ())


SIGNS = st.sampled_from("ab[]0;1m\\\n\r\t\x1b\x9b\x9d\x07\x90\x00\u202e\u2069é(PX")


@given(st.text(SIGNS) | st.text(st.characters(exclude_categories=["Cs"])))
def test_whatever_is_pasted_is_taken_by_moderators(text: str) -> None:
    found = cleaned(text)
    refuse_controls("question", found.text)
    assert cleaned(found.text) == (found.text, ()) and bool(found.notes) == (found.text != text)


def test_it_takes_no_longer_for_what_is_made_to_take_long() -> None:
    for part in ("\x1b]", "\x1b[", "\x1b[0", "\x9d0", "\x1b]8;;", "\x90"):
        cleaned(part * 200_000)


def test_half_a_character_stays_to_be_refused() -> None:
    assert cleaned("a\ud800\x07") == ("a\ud800", ("1 control character removed (U+0007)",))


def test_notes_name_the_place() -> None:
    given = [{"role": "user", "text": "a\x07"}, {"role": "user", "text": "b"}]
    found, notes = cleaned_values(given, "prior_conversation")
    assert found[0]["text"] == "a" and found[1] == given[1]
    assert notes == ["prior_conversation[0].text: 1 control character removed (U+0007)"]
