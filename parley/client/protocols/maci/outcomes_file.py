"""Reads what `--outcomes` names: the answers between which a MACI session may choose."""

import json
from pathlib import Path
from typing import Any

from parley.client.errors import BadInput
from parley.client.text import clean
from parley.observability.plain_files import read_plain

MAX_BYTES = 1_000_000
_FIELD = "outcomes"


def read_outcomes(text: str) -> list[str]:
    """The lines of a file that is there (or the texts of its JSON array; empty lines and those that begin with `#` are
    passed over), else what stands between commas, or a JSON array itself.

    Raises
    ------
    BadInput
        A file that cannot be read or holds fewer than two; one word that is no file; a name with characters that cannot
        be shown. Whether two are the same is for the protocol to say.
    """
    path = Path(text)
    try:
        there = path.exists()
    except (OSError, ValueError):  # too long for a path, and so a list
        there = False
    if there:
        outcomes = _of_text(_text(path), str(path))
    elif text.lstrip().startswith(("[", "{")):
        outcomes = _of_json(text, "it")
    elif "," in text:
        outcomes = [part.strip() for part in text.split(",")]
        if not all(outcomes):
            raise BadInput(_FIELD, f"got {text!r}: nothing stands between two of the commas")
    else:
        raise BadInput(_FIELD, f"got {text!r}: no such file, and no list of outcomes between commas")
    if len(outcomes) < 2:
        raise BadInput(_FIELD, f"{text} names {len(outcomes)}, expected two or more")
    for name in outcomes:
        if clean(name) != name or "\n" in name or "\t" in name:
            raise BadInput(_FIELD, f"got {name!r}: a name has no control characters")
    return outcomes


def _text(path: Path) -> str:
    try:
        data = read_plain(path, MAX_BYTES)
    except OSError as error:
        raise BadInput(_FIELD, f"cannot read {path}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise BadInput(_FIELD, f"{path} has more than the {MAX_BYTES:,} bytes that are allowed")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(_FIELD, f"{path} is not UTF-8 text (byte {error.start})") from error


def _of_text(text: str, name: str) -> list[str]:
    if text.lstrip().startswith(("[", "{")):
        return _of_json(text, name)
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if line and not line.startswith("#")]


def _of_json(text: str, name: str) -> list[str]:
    """`name`: of what it stands in."""
    try:
        items: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(_FIELD, f"{name} begins like JSON and is none: {error}") from error
    if not isinstance(items, list):
        raise BadInput(_FIELD, f"{name} holds a JSON object, and no list of outcomes")
    for item in items:
        if not isinstance(item, str) or not item.strip():
            raise BadInput(_FIELD, f"{name} holds {item!r}, expected texts")
    return [item.strip() for item in items]
