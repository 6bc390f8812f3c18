"""Structured replies: the schema that a server is given, and the reply taken out of what comes.

The schema is the reply type's, made acceptable to strict mode: every field required, no other allowed, nothing referred
to, and a map as a list of {key, value}, since strict mode knows no open keys. `parse` takes maps in both forms.
Whatever was asked for and whatever the status, what comes is checked against the type itself.
"""

import json
import re
from enum import Enum
from functools import lru_cache
from typing import Any

import msgspec

from parley.agents.openai.near_json import near_object
from parley.schemas.turn import Usage

_TAG = r"(?:seed:|antml:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratchpad|analysis)"
_OPENED = re.compile(
    rf"\s*(?:<{_TAG}\b[^>]*>|\[think\]|◁think▷|<\|START_THINKING\|>|<unused94>"
    r"|(?:<\|start\|>assistant)?<\|channel\|?>\s*(?:analysis|commentary|thought))",
    re.I,
)
_CLOSED = re.compile(
    rf"</{_TAG}\s*>|\[/think\]|◁/think▷|<\|END_THINKING\|>|<unused95>|<channel\|>"
    r"|<\|channel\|>\s*final\b(?:\s*<\|constrain\|>)?[^<{]*<\|message\|>|\bassistantfinal(?=\s*[{`])",
    re.I,
)
_TOKENS = re.compile(r"(?:\s*(?:<\|[a-z_]{1,30}\|>|<\|im_end\|>|</s>))+\s*\Z", re.I)
"""What models end with, where a server leaves it in the text."""
_END = 200
"""Characters of a text that are searched for that: white space without end is not gone through again and again."""
_HALF = re.compile("[\ud800-\udfff]")
_HALF_TOLD = "a text holds half of a character (an escape \\ud800 to \\udfff alone): write the character itself"
_KEPT = ("type", "enum", "const", "format")
_BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "maxItems")
_LONGEST = 400_000
"""Characters of a reply's text, those that the model thought not counted."""
_MOST_PARTS = 20_000
"""Lists and objects in a reply: more take long to build and to throw away."""
RESCALED = "rescaled"
"""Flag of a reply whose numbers were read as percent."""
REASONED = "reasoned"
"""Flag of a reply that stood among the thoughts, where nothing followed them."""
_OF_TEN = 10
_TRIES = 200
_SCANNED = 1_000_000
"""So many characters are gone through in search of an object, one try after the other."""


class How(Enum):
    """How a reply was found."""

    PLAIN = "plain"
    """The text was one JSON object and nothing else."""
    EXTRACTED = "extracted"
    """It was taken out of prose or a fence: the server did not hold the model to JSON."""


def flags_of(how: How, usage: Usage, repaired: bool, notes: set[str]) -> tuple[str, ...]:
    """What a transcript shows beside a reply, before what its prompt says."""
    here = {
        "repaired": repaired,
        "extracted": how is How.EXTRACTED,
        "estimated": usage.estimated,
        "unpriced": bool(usage.unpriced),
    }
    return (*(flag for flag, is_so in here.items() if is_so), *sorted(notes))


class Unusable(Exception):
    """What came is not the reply that was asked for. `is_json`: it was one JSON object, though not a valid one;
    `complete`: with every field that the reply's type demands: of the others a turn's schema may leave some out."""

    def __init__(self, why: str, *, is_json: bool = False, complete: bool = False) -> None:
        self.why = why
        self.is_json = is_json
        self.complete = complete
        super().__init__(why)


@lru_cache(maxsize=256)
def strict_schema(reply: Any, *, bounds: bool = False) -> dict[str, Any]:
    """JSON Schema of a reply type as strict mode takes it. The same object each time: not to be changed. `bounds`: with
    ranges and lengths, as far as the type tells them."""
    full = msgspec.json.schema(reply)
    schema = _strict(full, full.get("$defs", {}), (), _KEPT + _BOUNDS if bounds else _KEPT)
    assert schema.get("type") == "object", f"a reply is an object, {reply} is not"
    return schema


def _strict(
    node: dict[str, Any], defs: dict[str, Any], inside: tuple[str, ...], keywords: tuple[str, ...]
) -> dict[str, Any]:
    reference = node.get("$ref")
    if reference is not None:
        name = reference.rpartition("/")[2]
        assert name not in inside, f"{name} contains itself: no strict schema"
        return _strict(defs[name], defs, (*inside, name), keywords)
    new = {k: v for k, v in node.items() if k in keywords}
    if "anyOf" in node:
        new["anyOf"] = [_strict(n, defs, inside, keywords) for n in node["anyOf"]]
    if "items" in node:
        new["items"] = _strict(node["items"], defs, inside, keywords) if isinstance(node["items"], dict) else {}
    if node.get("type") == "object" and "properties" not in node and isinstance(node.get("additionalProperties"), dict):
        value = _strict(node["additionalProperties"], defs, inside, keywords)
        key = _strict(node.get("propertyNames", {}), defs, inside, keywords) | {"type": "string"}
        pair = {"key": key, "value": value}
        item = {"type": "object", "properties": pair, "required": ["key", "value"], "additionalProperties": False}
        most = {"maxItems": len(key["enum"])} if "enum" in key and "maxItems" in keywords else {}
        return {"type": "array", "items": item, **most}
    if node.get("type") == "object":
        new["properties"] = {k: _strict(v, defs, inside, keywords) for k, v in node.get("properties", {}).items()}
        new["required"] = list(new["properties"])
        new["additionalProperties"] = False
    return new


def is_empty(text: str) -> bool:
    """Whether nothing stands in a text but what the model thought, to an end or not."""
    return not without_thought(text)


def without_thought(text: str) -> str:
    """What stands in a text after what the model thought: after the last closing tag, whether one was opened or not."""
    text = text.strip()
    text = text[:-_END] + _TOKENS.sub("", text[-_END:])
    if _is_object(text):
        return text
    rest = text[_thoughts_end(text) :].strip()
    return "" if _OPENED.match(rest) else rest


def holds_thought(text: str) -> bool:
    """Whether a text begins with what the model thought."""
    return _OPENED.match(text) is not None or (_thoughts_end(text) > 0 and not _is_object(text))


def _thoughts_end(text: str) -> int:
    """Where the last closing tag of thoughts ends; 0: there is none."""
    end = 0
    for tag in _CLOSED.finditer(text):
        end = tag.end()
    return end


def _is_object(text: str) -> bool:
    try:
        return text.lstrip()[:1] == "{" and msgspec.json.decode(text.encode("utf-8", "replace")) is not None
    except (msgspec.DecodeError, RecursionError):
        return False


def parse(text: str, reply: Any, notes: set[str] | None = None, thought: str = "") -> tuple[Any, How]:
    """The reply in a model's text: the last valid one, if there are several.

    Parameters
    ----------
    notes
        Gets RESCALED where numbers of a range from 0 to 1 all came as percent, REASONED where it stood among thoughts.
    thought
        What the model thought beside its text: looked at where that has nothing else.

    Raises
    ------
    Unusable
        None, or an invalid one.
    """
    notes = set() if notes is None else notes
    body = without_thought(text)
    try:
        return _read(body, reply, notes)
    except Unusable:
        if not body and (thought.strip() or text.strip()):
            try:
                among = _read((thought or text).strip(), reply, set())
            except Unusable:
                raise Unusable("the reply is empty") from None
            notes.add(REASONED)
            return among
        around = _around(text, reply)
        if around is None:
            raise
        return around, How.EXTRACTED


def _around(text: str, reply: Any) -> Any:
    """A reply that mentions the tag at which a text was cut; None: there is none."""
    cut = _thoughts_end(text)
    if not 0 < cut < len(text) <= _LONGEST:
        return None
    for value, start, end in _objects(text):
        if start < cut <= end:
            try:
                return _convert(value, reply)
            except msgspec.ValidationError:
                continue
    return None


def _read(body: str, reply: Any, notes: set[str]) -> tuple[Any, How]:
    """The reply in a text without thoughts. Raises Unusable."""
    if len(body) > _LONGEST:
        raise Unusable(f"the reply has more than {_LONGEST:,} characters: be much shorter", is_json=True, complete=True)
    if body.count("[") + body.count("{") > _MOST_PARTS:
        raise Unusable(f"the reply has more than {_MOST_PARTS:,} lists and objects", is_json=True, complete=True)
    try:
        value = msgspec.json.decode(body.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return extract(body, reply), How.EXTRACTED
    rescaled = _from_percent(value, reply)
    if rescaled is not None:
        notes.add(RESCALED)
        return rescaled, How.PLAIN
    try:
        return _convert(value, reply), How.PLAIN
    except msgspec.ValidationError as error:
        is_object = isinstance(value, dict)
        raise Unusable(str(error), is_json=is_object, complete=is_object and _needed(reply) <= set(value)) from error


def _from_percent(value: Any, reply: Any) -> Any:
    """The reply with numbers as 87 read as 0.87, where every number of a range from 0 to 1 is 0 or in (1, 100]; else
    None: a 1 among them may be either, and where none is above 10 they may be marks out of ten."""
    percents: list[float] = []
    try:
        scaled = _scaled(value, strict_schema(reply, bounds=True), percents)
        if max(percents, default=0) <= _OF_TEN or not all(n == 0 or 1 < n <= 100 for n in percents):
            return None
        return _convert(scaled, reply)
    except (msgspec.ValidationError, RecursionError):
        return None


def _scaled(value: Any, node: dict[str, Any], percents: list[float]) -> Any:
    """A copy with each number of a range from 0 to 1 divided by 100; `found` gets them as they came."""
    if isinstance(value, dict):
        fields = node.get("properties", {})
        if not fields and "items" in node:  # a map: strict mode has it as a list of pairs
            pair = node["items"]["properties"]["value"] if "properties" in node["items"] else {}
            return {k: _scaled(v, pair, percents) for k, v in value.items()}
        return {k: _scaled(v, fields.get(k, {}), percents) for k, v in value.items()}
    if isinstance(value, list):
        return [_scaled(v, node.get("items") or {}, percents) for v in value]
    is_share = node.get("minimum") == 0 and node.get("maximum") == 1
    if is_share and isinstance(value, int | float) and not isinstance(value, bool):
        percents.append(value)
        return value / 100
    return value


def _has_half(value: Any) -> bool:
    r"""Whether a text in it cannot be written down: `\ud800` without the escape that belongs to it."""
    return bool(_HALF.search(json.dumps(value, ensure_ascii=False)))


def extract(text: str, reply: Any) -> Any:
    """The last valid reply among the objects in prose. Raises Unusable."""
    found, why = None, "there is no JSON object in the reply" if text else "the reply is empty"
    for value, _, _ in _objects(text):
        try:
            found = _convert(value, reply)
        except msgspec.ValidationError as error:
            why = str(error)
    if found is None:
        raise Unusable(why)
    return found


def _objects(text: str) -> list[tuple[Any, int, int]]:
    """Objects in a text that stand in no other, JSON or nearly, and where each begins and ends."""
    decoder = json.JSONDecoder(parse_constant=lambda _word: None)
    found: list[tuple[Any, int, int]] = []
    at, tries, scanned = text.find("{"), 0, 0
    while at >= 0 and tries < _TRIES and scanned < _SCANNED:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            scanned += error.pos - at
            value, end = near_object(text, at)
            scanned += end - at
        except (ValueError, RecursionError):
            value, end = None, at + 1
        if value is not None:
            found.append((value, at, end))
            at = text.find("{", end)
        else:
            at = text.find("{", at + 1)
    return found


def _convert(value: Any, reply: Any) -> Any:
    """The value as a reply: as it is, else what is inside it, with numbers that came as texts, and without a null that
    stands for what may be left out. Raises msgspec.ValidationError, which tells of the value as it is."""
    try:
        return _as_is(value, reply, strict=True)
    except msgspec.ValidationError as error:
        for inner in _inside(value):
            try:
                return _as_is(inner, reply, strict=False)
            except msgspec.ValidationError:
                continue
        raise error from None


def _inside(value: Any) -> list[Any]:
    """A value, and what it holds if that is all: an only item, an only field, JSON in a text."""
    found = [value]
    for _ in range(3):
        only = (
            next(iter(value.values() if isinstance(value, dict) else value))
            if (isinstance(value, dict | list) and len(value) == 1)
            else value
        )
        if isinstance(only, str) and only.lstrip()[:1] in ("{", "["):
            try:
                only = msgspec.json.decode(only)
            except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
                break
        if only is value or not isinstance(only, dict | list):
            break
        value = only
        found.append(value)
    return found


def _as_is(value: Any, reply: Any, *, strict: bool) -> Any:
    full = _full_schema(reply)
    try:
        if _has_half(value):
            raise msgspec.ValidationError(_HALF_TOLD)
        fitted = _fitted(value, full, full.get("$defs", {}), nulls=strict)
        return msgspec.convert(fitted, reply, strict=strict)
    except RecursionError as error:
        raise msgspec.ValidationError("nested too deeply") from error


@lru_cache(maxsize=256)
def _full_schema(reply: Any) -> dict[str, Any]:
    return msgspec.json.schema(reply)


def _needed(reply: Any) -> frozenset[str]:
    """The fields that no reply of a type may leave out."""
    full = _full_schema(reply)
    whole = full["$defs"][full["$ref"].rpartition("/")[2]] if "$ref" in full else full
    return frozenset(whole.get("required", ()))


def _fitted(value: Any, node: dict[str, Any], defs: dict[str, Any], *, nulls: bool) -> Any:
    """A copy with maps for lists of {key, value}, and without `nulls` in fields that may be left out."""
    if "$ref" in node:
        node = defs[node["$ref"].rpartition("/")[2]]
    if isinstance(value, dict):
        fields, needed = node.get("properties", {}), node.get("required", ())
        stays = nulls or "properties" not in node
        return {
            k: _fitted(v, fields.get(k, {}), defs, nulls=nulls)
            for k, v in value.items()
            if stays or v is not None or k in needed or "anyOf" in fields.get(k, {})
        }
    if isinstance(value, list):
        if node.get("type") == "object" and all(isinstance(v, dict) and set(v) == {"key", "value"} for v in value):
            return {str(v["key"]): v["value"] for v in value}
        items = node.get("items")
        return [_fitted(v, items, defs, nulls=nulls) for v in value] if isinstance(items, dict) else value
    return value
