"""How every message is written and read.

Messages are msgspec structs, JSON on the wire. Whoever decodes gets a complete, typed message or `Undecodable`; a
message that would be invalid cannot be built (`__post_init__` refuses it).

What is made at every step has `gc=False`: it holds values alone, so no cycle can go through it, and the collector need
not know of it.
"""

import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from itertools import accumulate
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

T = TypeVar("T")

Json = msgspec.Raw
"""A JSON value carried verbatim: its meaning belongs to whoever decodes it, by the kind of turn or post."""

_encoder = msgspec.json.Encoder(order="deterministic")
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}

MAX_DEPTH = 800
"""Lists and objects within each other, in what is read from a file or a record: every command can show as many."""
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_EXPECTED = re.compile(r"Expected `([^`]+)`(?:, got `[^`]+`)?")
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
    "string": "text",
    **dict.fromkeys(("dict", "mapping", "model"), "a mapping"),
    **dict.fromkeys(("list", "tuple", "set"), "a list"),
}
"""A type, as an error of msgspec or pydantic begins with it -> in words."""
_LIMITS = {
    "ge": "at least",
    "gt": "above",
    "le": "at most",
    "lt": "below",
    "min_length": "at least",
    "max_length": "at most",
}
"""What pydantic calls a limit -> in words."""
_FIELDS = {"missing": "it is missing", "extra_forbidden": "there is no such field"}
_OF_TYPES = re.compile(r"function-|Hand$|literal\[")
"""Parts of a place that pydantic adds for kinds of values."""
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class SchemaError(Exception):
    """The base of all errors that this package raises."""


class Undecodable(SchemaError):
    """The bytes are not a message of the wanted type. The peer's fault."""

    def __init__(self, wanted: str, why: str) -> None:
        self.wanted = wanted
        self.why = why
        super().__init__(f"not a {wanted}: {why}")


class InvalidValue(SchemaError, ValueError):
    """A value outside what its field allows. Names the field, the value and the limit."""

    def __init__(self, field: str, value: object, limit: str) -> None:
        self.field = field
        self.value = value
        self.limit = limit
        shown = repr(value)
        super().__init__(f"{field}: got {shown if len(shown) <= 80 else shown[:77] + '...'}, {limit}")


encode: Callable[[object], bytes] = _encoder.encode
"""The message as deterministic JSON bytes (same value, same bytes)."""


def raw(message: object) -> Json:
    """The message as a JSON value to be carried inside another message."""
    return msgspec.Raw(_encoder.encode(message))


def decode(data: bytes | bytearray | memoryview | msgspec.Raw, as_type: type[T]) -> T:
    """Read one message.

    Raises
    ------
    Undecodable
        The bytes are not JSON, or not a message of that type.
    InvalidValue
        A field that must be named, though it may be left out where settings are made, is left out.
    """
    decoder = _decoders.get(as_type)
    if decoder is None:
        decoder = _decoders[as_type] = msgspec.json.Decoder(as_type)
    try:
        return decoder.decode(data)  # type: ignore[no-any-return]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        name = getattr(as_type, "__name__", None) or str(as_type)
        deep = isinstance(error, RecursionError)
        raise Undecodable(name, "its lists and objects are nested too deep" if deep else str(error)) from error


def decode_or_none(data: bytes | msgspec.Raw, as_type: type[T]) -> T | None:
    """The message; None for what is not of that form, such as another release may write."""
    try:
        return decode(data, as_type)
    except SchemaError:
        return None


def nested_too_deep(data: bytes) -> bool:
    """Whether a JSON text has more than MAX_DEPTH lists and objects within each other, closed or not."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _TEXT.sub(b"", data).translate(_ONE_KIND, _NO_BRACKETS)
    return max(accumulate(92 - c for c in brackets), default=0) > MAX_DEPTH  # [ is 91, ] is 93


def compact(value: Json) -> Json:
    """The same JSON value without insignificant white space, so that it fits on one line. Raises Undecodable: a text in
    it is not UTF-8: a value carried verbatim is not looked into when its message is decoded."""
    try:
        bytes(value).decode()
    except UnicodeDecodeError as error:
        raise Undecodable("JSON value", str(error)) from error
    return msgspec.Raw(msgspec.json.format(bytes(value), indent=-1))


def in_words(error: str, struct: type, field: str) -> str:
    """What a decoder says of a wrong value, in words: "allowed is a whole number", or what a field of this struct that
    takes some words alone allows; anything else as it is."""
    hints = get_type_hints(struct) if error.startswith("Invalid enum value") and isinstance(struct, type) else {}
    if field in hints:
        return f"allowed are {', '.join(_literals(hints[field]))}"
    return _EXPECTED.sub(lambda m: f"allowed is {' or '.join(_KINDS.get(k, k) for k in m[1].split(' | '))}", error)


def _literals(hint: Any) -> list[str]:
    if isinstance(hint, str):
        return [hint] if hint else []
    return [word for inner in get_args(hint) for word in _literals(inner)]


def model_fault(first: Mapping[str, Any]) -> tuple[str, str]:
    """(field, what is wrong) of an error that pydantic lists: the value, if it is short, and what is allowed."""
    field = ".".join(str(part) for part in first["loc"] if not _OF_TYPES.match(str(part)))
    kind, limits, value = first["type"], first.get("ctx", {}), first["input"]
    if kind == "value_error":
        return field, first["msg"].removeprefix("Value error, ")
    if kind in _FIELDS:
        return field, _FIELDS[kind]
    got = f"got {repr(value)[:80]}, " if isinstance(value, str | int | float | None) else ""
    for name, words in _LIMITS.items():
        if name in limits:
            if name.endswith("_length"):
                one, more = ("character", "characters") if isinstance(value, str) else ("entry", "entries")
                got = f"it has {len(value):,} {one if len(value) == 1 else more}, "
            return field, f"{got}allowed is {words} {figure(limits[name], apart=',')}"
    wanted = limits["expected"] if kind == "literal_error" else _KINDS.get(kind.partition("_")[0])
    return field, got + (f"allowed is {wanted}" if wanted else first["msg"])


def figure(value: float, places: int = 6, apart: str = "") -> str:
    """A number as people write it: so many decimals at most, and no exponent below 10^12; `apart` stands between
    thousands."""
    if not math.isfinite(value) or abs(value) >= 1e12:
        return f"{value:g}"
    text = f"{value:{apart}.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def in_range(field: str, value: float, low: float, high: float) -> None:
    """Refuse a number outside [low, high], NaN included."""
    if not low <= value <= high:
        raise InvalidValue(field, value, f"allowed is {figure(low)} to {figure(high)}")


# Limits that a field's type names. They stand in its JSON Schema, so that a server that holds a model to the schema
# cannot produce what is refused; `Limited` refuses it, in errors that name the field.


def between(low: float, high: float) -> msgspec.Meta:
    """A number in [low, high]."""
    return msgspec.Meta(extra_json_schema={"minimum": low, "maximum": high})


def chars(most: int, least: int = 0) -> msgspec.Meta:
    """A text of so many characters; `least` 1: it is not empty, nor white space alone."""
    return msgspec.Meta(extra_json_schema={"minLength": least, "maxLength": most})


def items(most: int) -> msgspec.Meta:
    """A list of at most so many items."""
    return msgspec.Meta(extra_json_schema={"maxItems": most})


def one_line(field: str, value: str, most: int) -> None:
    """Refuse an empty text, one longer than `most` characters, and one of several lines."""
    not_empty(field, value, most)
    if len(value.splitlines()) > 1 or value.splitlines()[0] != value:
        raise InvalidValue(field, value, "it must be one line")


def not_empty(field: str, value: str, most: int) -> None:
    """Refuse an empty text and one longer than `most` characters."""
    if not value.strip():
        raise InvalidValue(field, value, "it must not be empty")
    if len(value) > most:
        raise InvalidValue(field, f"{len(value):,} characters", f"allowed are at most {most:,}")


def at_most(field: str, text: str, characters: int) -> None:
    """Refuse a text that is too long: a whole round, and a panel's positions in one turn, must fit one message."""
    if len(text) > characters:
        raise InvalidValue(field, f"{len(text):,} characters", f"allowed are at most {characters:,}")


def few(field: str, items: tuple[object, ...], most: int) -> None:
    """Refuse a list that is too long."""
    if len(items) > most:
        raise InvalidValue(field, f"{len(items)} items", f"allowed are at most {most}")


class Limited(msgspec.Struct, frozen=True, kw_only=True):
    """A message that cannot be built outside the limits that the types of its fields name."""

    where: ClassVar[str] = ""
    """What stands before a field's name in an error: `met.` for an item of the list `met`."""

    def __post_init__(self) -> None:
        for field, name, absent, check in _checks_of(type(self)):
            value = getattr(self, field)
            if value not in absent:
                check(name, value)


Check = Callable[[str, Any], None]


@cache
def _checks_of(message: type[Limited]) -> tuple[tuple[str, str, tuple[Any, ...], Check], ...]:
    """(field, what it is called in an error, what stands for no value, its check) of each field that has limits: made
    once, and called for every message that is read."""
    hints = get_type_hints(message, include_extras=True)
    bare = get_type_hints(message)
    fields = zip(message.__struct_fields__, message.__struct_encode_fields__, strict=True)
    limits = {field: (f"{message.where}{name}", _keywords(hints[field])) for field, name in fields}
    return tuple((field, name, _absent(bare[field]), _check(of)) for field, (name, of) in limits.items() if of)


def _absent(hint: Any) -> tuple[Any, ...]:
    kinds = {NoneType: None, msgspec.UnsetType: msgspec.UNSET}
    return tuple(value for kind, value in kinds.items() if kind in get_args(hint))


def _keywords(hint: Any) -> dict[str, Any]:
    """The limits that a type names, as its JSON Schema has them."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        metas = (meta.extra_json_schema or {} for meta in args[1:] if isinstance(meta, msgspec.Meta))
        return {**_keywords(args[0]), **{key: value for meta in metas for key, value in meta.items()}}
    if origin is tuple:
        return {"items": inner} if (inner := _keywords(args[0])) else {}
    return {k: v for arg in args for k, v in _keywords(arg).items()} if origin in (Union, UnionType) else {}


def _check(limits: dict[str, Any]) -> Check:
    if "maxLength" in limits:
        refuse, most = not_empty if limits["minLength"] else at_most, limits["maxLength"]
        return lambda field, value: refuse(field, value, most)
    if "minimum" in limits:
        return lambda field, value: in_range(field, value, limits["minimum"], limits["maximum"])
    each = _check(limits["items"]) if "items" in limits else None

    def check(field: str, values: tuple[Any, ...]) -> None:
        few(field, values, limits.get("maxItems", len(values)))
        if each is not None:
            for value in values:
                each(field, value)

    return check


def points(field: str, value: float) -> float:
    """A threshold in points, 0 to 100, of a number up to 1 too, which is a share."""
    if not 0 < value <= 100:
        raise InvalidValue(field, value, "allowed is above 0 to 100 (or a share up to 1)")
    if 1 < value < 2:
        raise InvalidValue(field, value, "is it a share (up to 1) or points (from 2)?")
    return value * 100 if value <= 1 else value
