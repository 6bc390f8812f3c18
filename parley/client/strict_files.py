"""Files that people write in YAML or JSON: read whole and strictly, each fault with its place, its value and what is
wanted."""

import json
import re
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from parley.agents import strict_yaml
from parley.bus.files.plain import read_plain
from parley.client.errors import BadInput, bad_input
from parley.schemas.wire import MAX_DEPTH, InvalidValue, in_words, nested_too_deep

T = TypeVar("T")
MAX_FILE = 1_000_000
"""Bytes of a file."""


def read_yaml(path: Path, field: str = "config") -> dict[str, Any]:
    """One settings file, which `field` names. Raises BadInput if it is missing, too large, no YAML mapping, or says a
    key twice."""
    try:
        with bad_input(field, OSError, UnicodeDecodeError, what=f"cannot read {path}"):
            text = read_plain(path, MAX_FILE)
            if len(text) > MAX_FILE:
                raise BadInput(field, f"{path} has more than the {MAX_FILE:,} bytes that are allowed")
            data = strict_yaml.load(text.decode())
    except strict_yaml.BadYaml as error:
        comma = "," if error.why.startswith("line") else ""
        raise BadInput(field, f"{path}{comma} {error.why}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise BadInput(field, f"{path} holds a {type(data).__name__}, expected keys with values")
    return data


class _Twice(dict[str, Any]):
    """An object in which this key stands twice."""

    key = ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    keys = [key for key, _ in pairs]
    twice = _Twice(members)
    twice.key = next(key for key in keys if keys.count(key) > 1)
    return twice


def load_json(data: bytes, whole: str = "the file") -> Any:
    """The JSON document, in which no key stands twice and every number is one.

    Parameters
    ----------
    whole
        What the document is called in an error.

    Raises
    ------
    InvalidValue
    """

    def refused(text: str) -> NoReturn:
        raise InvalidValue(whole, text, "which is no number in JSON")

    if nested_too_deep(data):
        raise InvalidValue(whole, "lists and objects nested too deep", f"allowed are {MAX_DEPTH} levels")
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=refused)
    except UnicodeDecodeError as error:
        raise InvalidValue(whole, f"byte {error.start}", "expected UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise InvalidValue(whole, f"line {error.lineno}, column {error.colno}", f"no JSON: {error.msg}") from error
    except InvalidValue:
        raise
    except ValueError as error:
        raise InvalidValue(whole, "a number", f"which cannot be read: {error}") from error
    _proper(value, "")
    return value


def _proper(value: Any, path: str) -> None:
    """Refuse keys that stand twice, and texts that are none."""
    if isinstance(value, _Twice):
        raise InvalidValue(join(path, value.key), value.key, "it is given twice, expected once")
    if isinstance(value, dict):
        for key, part in value.items():
            _proper(key, path)
            _proper(part, join(path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            _proper(part, f"{path}[{place}]")
    elif isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise InvalidValue(path, value, "half a character (a lone surrogate), expected text")


def struct_of(
    value: Any, wanted: type[T], path: str, whole: str = "the file", sections: re.Pattern[str] | None = None
) -> T:
    """An object as this struct; a key that it does not have is refused.

    Parameters
    ----------
    path
        Where it stands; empty: it is the whole, which an error calls `whole`.
    sections
        What the type's own errors put in front of its fields, where it stands under another name in the document.

    Raises
    ------
    InvalidValue
        Names the place, the value and what is wanted.
    """
    if isinstance(value, dict):
        known = [field.encode_name for field in msgspec.structs.fields(wanted)]  # type: ignore[arg-type]
        for key in value:
            if key not in known:
                raise InvalidValue(join(path, key), value[key], f"no such key; there are {', '.join(known)}")
    return value_of(value, wanted, path, whole, sections)


def value_of(
    value: Any, wanted: type[T], path: str, whole: str = "the file", sections: re.Pattern[str] | None = None
) -> T:
    """A value as this type, errors with their whole path in the document. Takes and raises what struct_of does."""
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        cause = error.__cause__
        if isinstance(cause, InvalidValue):
            field, limit = cause.field, cause.limit
            if sections is not None:
                field, limit = sections.sub("", field), sections.sub(f"{path}.", limit)
            raise InvalidValue(join(path, field), cause.value, limit) from error
        what, _, where = str(error).partition(" - at `$")
        where = where.rstrip("`")
        said = in_words(what, wanted, where.removeprefix("."))
        raise InvalidValue((path + where).lstrip(".") or whole, _at(value, where), said) from error


def _at(value: Any, where: str) -> Any:
    """What stands at `.rounds[0]`."""
    for key, place in re.findall(r"\.(\w+)|\[(\d+)\]", where):
        value = value[key] if key else value[int(place)]
    return value


def join(path: str, key: str) -> str:
    """The place of a key in what stands at a place."""
    return f"{path}.{key}" if path else key
