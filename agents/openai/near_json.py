"""Objects that are nearly JSON, as models write them: trailing commas, comments, other quotation marks, Python's words.

Nothing is filled in: a text that was cut off holds no object. (Libraries that repair JSON close what is open, and would
make an answer of half of one.)
"""

import re
from typing import Any

_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.S)
_CLOSERS = {'"': '"', "'": "'", "“": "”“", "„": "“”", "‘": "’‘", "”": "”", "’": "’", "`": "`"}
_AFTER = re.compile(r"\s*(?:[,:}\]]|//|/\*|\Z)")
"""What follows the end of a text: a quotation mark before anything else belongs to the text."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_WORDS = {"true": True, "false": False, "null": None, "none": None, "nan": None, "infinity": None, "undefined": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_DEEPEST = 64


class _NotNear(ValueError):
    """It is no object. `at`: where that was seen."""

    def __init__(self, at: int) -> None:
        self.at = at
        super().__init__(f"no object: {at}")


def near_object(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    """The object that begins there, and where it ends. What is no number (NaN) is null. None: there is none; then how
    far one has looked."""
    try:
        return _object(text, at, 0)
    except _NotNear as error:
        return None, error.at


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    c = text[at : at + 1]
    if c == "{":
        return _object(text, at, depth + 1)
    if c == "[":
        return _list(text, at, depth + 1)
    if c in _CLOSERS:
        return _text(text, at)
    if number := _NUMBER.match(text, at):
        try:
            whole = number[0].lstrip("+-").isdigit()
            return int(number[0]) if whole else float(number[0]), number.end()
        except ValueError:  # more digits than an int may have
            raise _NotNear(at) from None
    word = _WORD.match(text, at + (text[at : at + 1] == "-"))
    if word is None or word[0].lower() not in _WORDS:
        raise _NotNear(at)
    return _WORDS[word[0].lower()], word.end()


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    if depth > _DEEPEST:
        raise _NotNear(at)
    found: dict[str, Any] = {}
    at = _blank(text, at + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] in _CLOSERS:
            key, at = _text(text, at)
        elif word := _WORD.match(text, at):
            key, at = word[0], word.end()
        else:
            raise _NotNear(at)
        at = _blank(text, at)
        if text[at : at + 1] != ":":
            raise _NotNear(at)
        found[key], at = _value(text, _blank(text, at + 1), depth)
        at = _comma(text, at, "}")
    return found, at + 1


def _list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    if depth > _DEEPEST:
        raise _NotNear(at)
    found: list[Any] = []
    at = _blank(text, at + 1)
    while text[at : at + 1] != "]":
        value, at = _value(text, at, depth)
        found.append(value)
        at = _comma(text, at, "]")
    return found, at + 1


def _comma(text: str, at: int, end: str) -> int:
    """Where the next item, or the end, stands."""
    at = _blank(text, at)
    if text[at : at + 1] == ",":
        return _blank(text, at + 1)
    if text[at : at + 1] != end:
        raise _NotNear(at)
    return at


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _text(text: str, at: int) -> tuple[str, int]:
    """A text between quotation marks, with line ends in it and escapes that JSON does not know (`\\(`) as they are."""
    closers, at = _CLOSERS[text[at]], at + 1
    pieces: list[str] = []
    while at < len(text):
        c = text[at]
        if c in closers and _AFTER.match(text, at + 1):
            # two halves of a character that were escaped one by one become one; a half alone is left to be refused
            return "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"), at + 1
        if c != "\\":
            pieces.append(c)
            at += 1
            continue
        escape = text[at + 1 : at + 2]
        code = text[at + 2 : at + 6]
        if escape == "u" and re.fullmatch("[0-9a-fA-F]{4}", code):
            pieces.append(chr(int(code, 16)))
            at += 6
            continue
        pieces.append(_ESCAPES.get(escape, escape if escape in "\"'\\/“”" else "\\" + escape))
        at += 2
    raise _NotNear(at)
