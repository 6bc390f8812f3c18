"""Reads values of a post or a result that may come from anybody, in any version, as the types that they should have.

It also cleans what people paste from a terminal or another system, and names what was removed.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, NamedTuple, TypeVar

import msgspec

from parley.client.text import count, line, plain
from parley.coordinator.admission import steers
from parley.schemas.wire import SchemaError

T = TypeVar("T")
_WIDE = 300
_ODD = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, msgspec.MsgspecError, SchemaError)
"""What code raises that expects another shape."""


def mapping(value: Any) -> Mapping[str, Any]:
    """The object; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:
    """The list's items; none for anything else."""
    return list(value) if isinstance(value, list | tuple) else []


def number(value: Any) -> float | None:
    """The number; None for anything else, and for one that is not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None


def value_as_text(value: Any) -> str:
    """Any JSON value in words: a text as it is, `a 1, b 2` for an object."""
    try:
        return value if isinstance(value, str) else plain(value)
    except (OverflowError, RecursionError):
        return "a value that cannot be shown"


def body_of(body: msgspec.Raw) -> Any:
    """A post's body as JSON values; its text where it is no JSON."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return bytes(body).decode(errors="replace")


def object_of(body: msgspec.Raw) -> dict[str, Any]:
    """A post's body; an empty object where it is none."""
    value = body_of(body)
    return value if isinstance(value, dict) else {}


def figures(values: Mapping[str, Any], told: Iterable[str] = (), width: int = _WIDE) -> Iterator[str]:
    """`name: value` of everything that has a value and is not `told` in other words."""
    shown = frozenset(told)
    for name, value in values.items():
        if name not in shown and value not in (None, "", [], {}, ()):
            yield f"{line(str(name))}: {line(value_as_text(value), width)}"


def figures_of(body: msgspec.Raw, width: int) -> str:
    """A post's body as lines `name: value`; one that is no object as it is."""
    value = body_of(body)
    return "\n".join(figures(value, width=width)) if isinstance(value, dict) and value else value_as_text(value)


def shaped(make: Callable[[], Iterable[T]], otherwise: Callable[[], Iterable[T]]) -> list[T]:
    """What `make` gives; where a value has not the shape that it expects (another version, or an altered record), all
    of what `otherwise` gives."""
    try:
        return list(make())
    except _ODD:
        return list(otherwise())


# -- what is pasted

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # colours, movements
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x90\x98\x9b-\x9f]*+(?:\x07|\x1b\\|\x9c)"  # titles, links
    r"|\x1b[ -/]*+[0-~]"  # character sets, resets
)
_LINE_END = re.compile("\r\n|[\r\v\f\x85]")
_NAMED = 5
"""Characters that one note names."""


class Pasted(NamedTuple):
    """A text as it is used, and what was done to it."""

    text: str
    notes: tuple[str, ...] = ()
    """In words; none: it is as it was given."""


def cleaned(text: str) -> Pasted:
    """The text without what would steer a terminal. Line ends become line feeds, and so do form feeds; tabs stay.
    Colours and other sequences go as a whole, other control characters and signs that reorder text one by one. Half a
    character stays: it is refused where it is read."""
    if text.isascii() and text.isprintable():
        return Pasted(text)
    plain, sequences = _SEQUENCE.subn("", text)
    plain, ends = _LINE_END.subn("\n", plain)
    odd = Counter(c for c in plain if steers(c) and not "\ud800" <= c <= "\udfff")
    notes = []
    if sequences:
        notes.append(f"{count(sequences, 'terminal sequence')} removed")
    if ends:
        notes.append(f"{count(ends, 'line end')} made a line feed")
    if odd:
        names = [f"U+{ord(c):04X}" for c in sorted(odd)]
        named = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
        notes.append(f"{count(odd.total(), 'control character')} removed ({named})")
        plain = "".join(c for c in plain if c not in odd)
    return Pasted(plain, tuple(notes))


def cleaned_values(value: Any, field: str) -> tuple[Any, list[str]]:
    """Every text in lists and objects cleaned, and what was done, each note with its place."""
    if isinstance(value, str):
        result = cleaned(value)
        return result.text, [f"{field}: {note}" for note in result.notes]
    if isinstance(value, dict):
        pairs = {key: cleaned_values(part, f"{field}.{key}") for key, part in value.items()}
        return {key: part for key, (part, _) in pairs.items()}, [n for _, notes in pairs.values() for n in notes]
    if isinstance(value, list):
        parts = [cleaned_values(part, f"{field}[{place}]") for place, part in enumerate(value)]
        return [part for part, _ in parts], [note for _, notes in parts for note in notes]
    return value, []
