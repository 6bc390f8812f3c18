"""Text from outside is shown, never obeyed, and what people paste is cleaned of what steers a terminal."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from parley.client.text import clean, hanging_rows, hung, line, line_end
from parley.client.untrusted import cleaned, cleaned_values
from parley.coordinator.admission import refuse_controls

HOSTILE = [
    ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
    ("\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\", "\\x1b]8;;http://evil\\x1b\\click\\x1b]8;;\\x1b\\"),
    ("a\x9b2Jb", "a\\x9b2Jb"),
    ("safe\u202etxt.exe", "safetxt.exe"),
    ("a\u2066b\u2069", "ab"),
    ("over\rwritten", "over\\x0dwritten"),
    ("a\r\nb", "a\nb"),
    ("bell\x07 back\x08 null\x00 del\x7f", "bell\\x07 back\\x08 null\\x00 del\\x7f"),
    ("a\u2028b\u2029c", "a\\u2028b\\u2029c"),
    ("zero\u200bwidth\ufeff", "zerowidth"),
    ("tag\U000e0041", "tag"),
    ("half\ud800", "half\\ud800"),
    ("\u200ea\u200fb\u061cc\u202ad\u202be\u202cf\u202dg\u202eh\u2066i\u2067j\u2068k\u2069", "abcdefghijk"),
    ("soft\u00adhyphen \u2060\ufff9", "softhyphen "),
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_what_a_terminal_would_obey_is_written_out_and_what_nobody_sees_is_dropped(text: str, shown: str) -> None:
    assert clean(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "two\nlines\tand a tab",
        "\u0601\u0661\u06dd",
        "ąčęėį šų 中文 العربية 👩‍👩‍👧",
        "no\u00a0break",
        "[bold]x[/]",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


def test_a_line_is_one_line_of_at_most_so_many_characters() -> None:
    assert line("a\n  b\tc") == "a b c"
    assert line("abcdef", 4) == "abc…"
    assert line("abcd", 4) == "abcd"


def test_markup_is_not_interpreted_and_no_escape_reaches_the_terminal() -> None:
    out = io.StringIO()
    console = Console(
        file=out, force_terminal=True, color_system="truecolor", markup=False, emoji=False, highlight=False
    )
    console.print(Text(clean("[bold red]x[/] :skull: \x1b[2J \x9b1m")), soft_wrap=True)
    assert out.getvalue() == "[bold red]x[/] :skull: \\x1b[2J \\x9b1m\n"


def test_what_is_too_long_is_cut_between_words() -> None:
    text = "one two three four"
    assert [line(text, n) for n in (18, 17, 14, 9, 8)] == [
        text,
        "one two three…",
        "one two three…",
        "one two…",
        "one two…",
    ]
    assert line("unbreakable", 6) == "unbre…"
    assert [line_end(text, n) for n in (18, 12, 9)] == [text, "…three four", "…four"]
    assert line_end("unbreakable", 6) == "…kable"


def test_a_line_that_is_too_long_keeps_its_indent_in_every_row() -> None:
    assert hung("    one two three", 12) == "    one two\n    three"
    assert hung("  short", 12) == hung("  short", 0) == "  short"


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
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
    assert list(hanging_rows("bus   ok  ", "one two three four", 20)) == ["bus   ok  one two", "          three four"]
    assert list(hanging_rows("bus   ok  ", "one two three four", 0)) == ["bus   ok  one two three four"]
    assert list(hanging_rows("a-very-long-name  ", "one two three four", 20)) == [
        "a-very-long-name", "    one two three", "    four",
    ]  # fmt: skip


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
