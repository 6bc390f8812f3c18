"""Text from outside is shown, never obeyed, and what people paste is cleaned of what steers a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.client.text import clean, hanging_rows, hung, line, line_end
from parley.client.untrusted import cleaned, cleaned_values
from parley.coordinator.admission import refuse_controls

HOSTILE = [
    ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
    ("\x1b]8;;http://evil\x1b\\click", "\\x1b]8;;http://evil\\x1b\\click"),
    ("a\x9b2Jb", "a\\x9b2Jb"),
    ("over\rwritten", "over\\x0dwritten"),
    ("a\r\nb", "a\nb"),
    ("bell\x07 back\x08 null\x00 del\x7f", "bell\\x07 back\\x08 null\\x00 del\\x7f"),
    ("a\u2028b\u2029c", "a\\u2028b\\u2029c"),
    ("half\ud800", "half\\ud800"),
    ("\u200ea\u200fb\u061cc\u202ad\u202be\u202cf\u202dg\u202eh\u2066i\u2067j\u2068k\u2069", "abcdefghijk"),
    ("zero\u200bwidth\ufeff soft\u00adhyphen \u2060\ufff9tag\U000e0041", "zerowidth softhyphen tag"),
    *((text, text) for text in (
        "two\nlines\tand a tab", "\u0601\u0661\u06dd", "ąčęėį šų 中文 العربية 👩‍👩‍👧", "no\u00a0break", "[bold]x[/]",
    )),
]  # fmt: skip


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_what_a_terminal_would_obey_is_written_out_and_what_nobody_sees_is_dropped(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_what_is_too_long_is_cut_between_words() -> None:
    text = "one two three four"
    cut = {18: text, 17: "one two three…", 14: "one two three…", 9: "one two…", 8: "one two…"}
    assert {n: line(text, n) for n in cut} == cut
    assert line("a\n  b\tc") == "a b c" and line("abcd", 4) == "abcd" and line("unbreakable", 6) == "unbre…"
    assert [line_end(text, n) for n in (18, 12, 9)] == [text, "…three four", "…four"]
    assert line_end("unbreakable", 6) == "…kable"


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("    one two three", 12, "    one two\n    three"),
        ("Answer: yes\nDissent: nobody\n\n", 0, "Answer: yes\n  │ Dissent: nobody"),
        ("Answer: yes\n\n  - one\r\n- two", 0, "Answer: yes\n  │\n  │   - one\n  │ - two"),
        ("    why\nand more", 0, "    why\n    │ and more"),
        ("Answer: one two six\nthree four five", 15, "Answer: one\n  two six\n  │ three four\n  │ five"),
        ("  │ three four five", 15, "  │ three four\n  │ five"),
        ("\nDissent: nobody", 0, "\n  │ Dissent: nobody"),
        ("", 20, ""),
    ],
)
def test_what_somebody_else_broke_off_stands_in_a_margin(text: str, width: int, shown: str) -> None:
    assert hung(text, width) == shown
    assert "\n".join(hung(row, width) for row in shown.split("\n")) == shown, "told again it stays"


def test_a_row_goes_on_below_the_beginning_of_its_text() -> None:
    text = "one two three four"
    assert list(hanging_rows("bus   ok  ", text, 20)) == ["bus   ok  one two", "          three four"]
    assert list(hanging_rows("bus   ok  ", text, 0)) == [f"bus   ok  {text}"]
    assert list(hanging_rows("a-very-long-name  ", text, 20)) == ["a-very-long-name", "    one two three", "    four"]


PASTED = {
    "colours": ("\x1b[1;31merror\x1b[0m: \x1b[38;2;1;2;3mx", "error: x", ("3 terminal sequences removed",)),
    "a link": ("\x1b]8;;http://x\x1b\\a\x1b]8;;\x1b\\ b", "a b", ("2 terminal sequences removed",)),
    "a title without an end": ("\x1b]0;title", "0;title", ("1 terminal sequence removed",)),
    "a character set": ("\x1b(Bx\x1bcy", "xy", ("2 terminal sequences removed",)),
    "an escape alone, half a character": ("a\ud800\x1b", "a\ud800", ("1 control character removed (U+001B)",)),
    "line ends": ("a\r\nb\rc\fd\n", "a\nb\nc\nd\n", ("3 line ends made a line feed",)),
    "other signs stay": ("né\t👩\u200d🚀 שלום\n", "né\t👩\u200d🚀 שלום\n", ()),
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


def test_notes_name_the_place() -> None:
    found, notes = cleaned_values([{"role": "user", "text": "a\x07"}, {"text": "b"}], "prior_conversation")
    assert found == [{"role": "user", "text": "a"}, {"text": "b"}]
    assert notes == ["prior_conversation[0].text: 1 control character removed (U+0007)"]
