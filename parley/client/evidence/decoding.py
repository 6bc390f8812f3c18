"""Bytes as text, whatever their encoding is."""

import codecs
import re

import charset_normalizer

from parley.client.evidence.document_writer import CannotRead

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HIGH = re.compile(rb"[\x80-\xff]+")
_LATIN_SIGNS = frozenset("€‚„…‹‘’“”•–—›¡£§«°±²³µ·»¿½¼×ß")
_ALONE = 0.7
"""Share of runs of high bytes that are one byte long, from which a text is of Latin letters."""
_GUESSED = 200_000
"""Bytes by which an encoding is guessed."""


def decoded(data: bytes, declared: str = "") -> str:
    """The text.

    Parameters
    ----------
    declared
        The encoding that the file itself names; it counts where the bytes are no UTF-8.

    Raises
    ------
    CannotRead
        They are no text.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    try:
        text = data.decode("utf-8")
        if "\0" not in text:
            return text
    except UnicodeDecodeError:
        pass
    if b"\0" in data:
        raise CannotRead("is no text: it is a binary file of a kind that is not read")
    if declared:
        try:
            return data.decode(declared)
        except (LookupError, ValueError):
            pass
    return _latin(data) or _guessed(data)


def _latin(data: bytes) -> str:
    """As Windows-1252, of which Latin-1 is a part; empty: it is another encoding."""
    runs = _HIGH.findall(data[:_GUESSED])
    if not runs or sum(len(run) == 1 for run in runs) < _ALONE * len(runs):
        return ""
    signs = b"".join(runs).decode("cp1252", "replace")
    if sum(c.isalpha() or c in _LATIN_SIGNS for c in signs) < 0.95 * len(signs):
        return ""
    return data.decode("cp1252", "replace")


def _guessed(data: bytes) -> str:
    found = charset_normalizer.from_bytes(data[:_GUESSED]).best()
    if found is None:
        raise CannotRead("is no text in an encoding that can be told: save it as UTF-8")
    text = data.decode(found.encoding, "replace")
    if sum(not c.isprintable() and not c.isspace() for c in text[:_GUESSED]) > 0.02 * len(text[:_GUESSED]):
        raise CannotRead("is no text: it is a binary file of a kind that is not read")
    return text
