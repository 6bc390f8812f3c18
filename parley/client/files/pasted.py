"""Cleans text that people paste from a terminal or another system, and names what was removed.

Line ends become line feeds, and so do form feeds; tabs stay. Colours and other terminal sequences go as a whole, other
control characters and signs that reorder text one by one.
"""

import re
from collections import Counter
from typing import Any, NamedTuple

from parley.client.text import count
from parley.coordinator.admission import steers

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
    """The text without what would steer a terminal. Half a character stays: it is refused where it is read."""
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
