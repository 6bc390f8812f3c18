"""Text that others wrote, made safe to show: control characters and terminal escapes become visible text."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parley.schemas.wire import figure

_KEPT = frozenset("\n\t\u200c\u200d")
"""Line feed and tab; the joiners, without which some scripts and emoji fall apart."""
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls (C0, C1), format characters (bidi overrides, zero width, tags), surrogates, private use, unassigned,
separators."""


def _visible(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def clean(text: str) -> str:
    r"""The text with every character that a terminal would obey, or hide, written out.

    ESC becomes the four characters `\x1b`, a right-to-left override `\u202e`; line feeds and tabs stay, CR LF is a
    line feed. Nothing is removed, so that what was tried can be seen. Markup is not touched: show it as plain text.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return "".join(
        c if c in _KEPT or (c.isprintable() and unicodedata.category(c) not in _HIDDEN) else _shown(c) for c in text
    )


def _shown(char: str) -> str:
    return char if unicodedata.category(char) == "Zs" else _visible(char)


def line(text: str, width: int = 0) -> str:
    """The cleaned text on one line, cut to `width` characters with an ellipsis, between words where there are any; 0
    cuts nothing."""
    flat = " ".join(clean(text).split())
    if not width or len(flat) <= width:
        return flat
    cut = flat[: max(0, width - 1)]
    words = cut.rpartition(" ")[0] if flat[len(cut)] != " " else cut
    return (words if len(words) >= len(cut) // 2 else cut).rstrip() + "…"


def line_end(text: str, width: int) -> str:
    """The last `width` characters of the cleaned text on one line, from the beginning of a word."""
    flat = " ".join(clean(text).split())
    if len(flat) <= width:
        return flat
    cut = flat[len(flat) - width + 1 :]
    words = cut.partition(" ")[2]
    return "…" + (words if len(words) >= len(cut) // 2 else cut)


def wrapped(text: str, width: int) -> Iterator[str]:
    """The cleaned text of one paragraph in lines of at most `width` columns, between words where there are any; wide
    characters take two. Nothing for nothing."""
    room = max(10, width)
    row, used = "", 0
    for word in clean(text).split():
        for part in _parts(word, room):
            size = columns(part)
            if row and used + 1 + size > room:
                yield row
                row, used = "", 0
            row, used = (f"{row} {part}", used + 1 + size) if row else (part, size)
    if row:
        yield row


def hung(text: str, width: int) -> str:
    """A line in rows of at most `width` columns, further ones below its first word; 0, or one that fits: as it is."""
    bare = text.lstrip(" ")
    if not width or not bare or "\n" in text or columns(text) <= width:
        return text
    indent = text[: len(text) - len(bare)]
    return "\n".join(indent + row for row in wrapped(bare, width - len(indent)))


def beside(head: str, text: str, width: int) -> Iterator[str]:
    """`head` and then a text, in rows of at most `width` columns; further rows stand below the beginning of the text,
    or are indented by 4 where the head takes half of the width. 0: one row."""
    used = columns(head)
    if not width or used + columns(text) <= width:
        yield (head + text).rstrip()
        return
    under = 4
    if used <= width // 2:
        under = used
    else:
        yield head.rstrip()
        head = " " * under
    for row in wrapped(text, width - under):
        yield head + row
        head = " " * under


def columns(text: str) -> int:
    """Columns that a terminal shows it in."""
    if text.isascii():
        return len(text)
    marks = ("Mn", "Me", "Cf")
    return sum(
        0 if unicodedata.category(c) in marks else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def _parts(word: str, room: int) -> Iterator[str]:
    """A word, cut where it is longer than a row."""
    if columns(word) <= room:
        yield word
        return
    part, used = "", 0
    for char in word:
        size = columns(char)
        if used + size > room:
            yield part
            part, used = "", 0
        part, used = part + char, used + size
    yield part


def few(names: Sequence[str], most: int = 4) -> str:
    """`a, b, c, d and 12 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def count(number: int, what: str) -> str:
    """`1 turn`, `2,000 turns`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def plain(value: Any) -> str:
    """A JSON value in words: `a 1, b 2`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {plain(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(plain(v) for v in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        text = f"{value:g}"
        return figure(value) if "e+" in text else text
    return "–" if value is None else str(value)
