"""Reads values of a post or a result that may come from anybody, in any version, as the types that they should have."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, TypeVar

import msgspec

from parley.client.text import line, plain
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


def words(value: Any) -> str:
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
            yield f"{line(str(name))}: {line(words(value), width)}"


def figures_of(body: msgspec.Raw, width: int) -> str:
    """A post's body as lines `name: value`; one that is no object as it is."""
    value = body_of(body)
    return "\n".join(figures(value, width=width)) if isinstance(value, dict) and value else words(value)


def shaped(make: Callable[[], Iterable[T]], otherwise: Callable[[], Iterable[T]]) -> list[T]:
    """What `make` gives; where a value has not the shape that it expects (another version, or an altered record), all
    of what `otherwise` gives."""
    try:
        return list(make())
    except _ODD:
        return list(otherwise())
