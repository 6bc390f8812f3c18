"""Text that others wrote, made safe to show: what a terminal would obey becomes visible text, what nobody sees is
dropped, and no line break in it begins a row at the edge.

A text that is yielded, told or printed as a line is one line of Parley's. A line break in it is somebody else's, so
whatever follows it stands in a margin (`rows`).
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parley.schemas.wire import figure

_KEPT = frozenset(
    "\n\t\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Line feed and tab; the joiners, without which some scripts and emoji fall apart; signs before numbers that are seen
(parley/web/static/js/dom.js has the same list)."""
_UNSEEN = "Cf"
"""Direction marks, overrides and isolates, zero width, byte order mark, soft hyphen, tags."""
_MARGIN = "│ "
"""Before what follows a line break of somebody else's."""
_INDENT = re.compile(f" *(?:{_MARGIN})?")


def _visible(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def clean(text: str) -> str:
    r"""The text with every character that a terminal would obey written out, and without those that nobody sees.

    ESC becomes the four characters `\x1b`, so that what was tried can be seen; direction marks and other invisible
    format characters are dropped alike; line feeds and tabs stay, CR LF is a line feed. Markup is not touched: show it
    as plain text.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text.replace("\r\n", "\n")))


def _shown(char: str) -> str:
    if char in _KEPT or char.isprintable():
        return char
    category = unicodedata.category(char)
    if category == _UNSEEN:
        return ""
    return char if category == "Zs" else _visible(char)


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


def rows(text: str, width: int = 0) -> Iterator[str]:
    """A line of Parley's in rows, of at most `width` columns where that is not 0. Only the first can begin at the edge:
    the others are indented as it is, by two blanks at least, and what follows a line break has a bar before it."""
    first, *broken = clean(text).rstrip("\n").split("\n")
    own = _INDENT.match(first)[0]  # type: ignore[index]  # it matches nothing, too
    under = own if len(own) > 1 else "  "
    yield from _row(first, own, under, width)
    under = under if under.endswith(_MARGIN) else under + _MARGIN
    for row in broken:
        yield from _row(under + row, under, under, width)


def _row(text: str, own: str, under: str, width: int) -> Iterator[str]:
    """A text that begins with the indent `own`, wrapped; further rows have the indent `under`."""
    if not width or columns(text) <= width or not text[len(own) :].strip():
        yield text.rstrip()
        return
    for row in wrapped(text[len(own) :], width - len(under)):
        yield own + row
        own = under


def hung(text: str, width: int = 0) -> str:
    """The same as one text."""
    return "\n".join(rows(text, width))


def hanging_rows(head: str, text: str, width: int) -> Iterator[str]:
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
