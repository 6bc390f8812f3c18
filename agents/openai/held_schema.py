"""A turn's schema with what the check demands, for a server that holds its model to every word of it.

Ranges, lengths and numbers of items come from the reply's type (parley.schemas.wire.between and its like), names of
documents from what the turn shows, and the rest from the kind of turn (`Kind.narrow`). A field with only one value is
left out (agents/turn_kinds/settled.py). Lengths are dealt so that the longest reply that the schema allows fits the
answer's cap: a weak model that never comes to an end is ended by its grammar.
"""

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.openai.reply_schema import strict_schema
from parley.agents.protocols import kind_of
from parley.agents.turn_kinds.blank import blank
from parley.agents.turn_kinds.kit import NOTHING
from parley.agents.turn_kinds.settled import document_names, is_citation, settled

Schema = dict[str, Any]
_CHARS_PER_TOKEN = 3.5
_LONGEST = 2_000
"""Grammars take no longer repetition (llama.cpp); a text that may be much longer is left without a limit."""
_WHOLE = 50_000
"""A text that may be so long is the result itself: the answer's cap alone ends it, and it takes no share of others."""
_LEAST = 40
"""Characters that a text is given at least."""
_ITEM = 250
"""Characters of an item of a list that is long enough to be divided."""
_FEW = 3
"""A list is not made shorter than that: prompts ask for so many items."""
_ITEMS = 50
"""Above it a list is left without a limit, unless its share of the answer says so."""
_NAMES, _NAME_CHARS = 100, 5_000
"""Strict endpoints take no longer enumerations."""
_BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")


def schema_of(shown: Shown, *, bounds: bool) -> Schema:
    """The schema of a turn's reply. The same object for the same turn: not to be changed. `bounds`: with ranges and
    lengths, which some endpoints refuse; else enumerations alone."""
    kind = kind_of(shown.protocol, shown.kind)
    left_out = settled(kind, shown)
    narrowed = {} if kind.narrow is None else kind.narrow(shown)
    wanted = {path: keywords for path, keywords in narrowed.items() if path.partition(".")[0] not in left_out}
    return _build(
        shown.reply,
        tuple(document_names(shown)),
        msgspec.json.encode(wanted),
        left_out,
        kind.order,
        shown.caps.output_tokens,
        bounds,
    )


@lru_cache
def form_of(protocol: str, kind: str, *, documents: bool) -> Schema:
    """The schema of a kind of turn's reply before anything was said: what it shows comes with what is heard."""
    return schema_of(blank(protocol, kind, kind_of(protocol, kind), documents=documents), bounds=True)


@lru_cache(maxsize=512)
def _build(
    reply: Any,
    names: tuple[str, ...],
    narrowed: bytes,
    left_out: frozenset[str],
    order: tuple[str, ...],
    tokens: int,
    bounds: bool,
) -> Schema:
    schema: Schema = _ordered(strict_schema(reply, bounds=True), {name: i for i, name in enumerate(order)})
    schema["properties"] = {name: node for name, node in schema["properties"].items() if name not in left_out}
    schema["required"] = list(schema["properties"])
    for path, keywords in msgspec.json.decode(narrowed, type=dict[str, dict[str, Any]]).items():
        _put(schema, path.split("."), keywords, bounds)
    few = len(names) <= _NAMES and sum(map(len, names)) <= _NAME_CHARS
    for node in _nodes(schema):
        if names and few and is_citation(node.get("properties", {})):
            node["properties"]["document"] = {"type": "string", "enum": list(names)}
        if not names and is_citation(node.get("items", {}).get("properties", {})):
            node["maxItems"] = 0  # where there is no document, there is nothing to cite
        if not bounds:
            for keyword in _BOUNDS:
                node.pop(keyword, None)
    if bounds:
        _deal(schema, tokens * _CHARS_PER_TOKEN)
    return schema


def _ordered(node: Any, rank: Mapping[str, int]) -> Any:
    """A copy, with each object's properties by rank: a model that is held to it writes in that order."""
    if isinstance(node, list):
        return [_ordered(v, rank) for v in node]
    if not isinstance(node, dict):
        return node
    ordered = {k: _ordered(v, rank) for k, v in node.items()}
    if isinstance(named := ordered.get("properties"), dict) and ordered.get("type") == "object":
        ordered["properties"] = dict(sorted(named.items(), key=lambda item: rank.get(item[0], len(rank))))
        if "required" in ordered:
            ordered["required"] = list(ordered["properties"])
    return ordered


def _nodes(node: Schema) -> Iterator[Schema]:
    """A schema, and every one in it."""
    yield node
    for child in (
        *node.get("properties", {}).values(),
        *([node["items"]] if node.get("items") else ()),
        *node.get("anyOf", ()),
    ):
        yield from _nodes(child)


def _put(node: Schema, path: list[str], keywords: Mapping[str, Any], bounds: bool) -> None:
    """Keywords at a field, through lists and what may be null. Yes or no and numbers are held for weak models alone."""
    above = node
    for name in path:
        while "properties" not in node:
            node = node["items"] if "items" in node else node["anyOf"][0]
        above, node = node, node["properties"][name]
    if keywords == NOTHING:
        del above["properties"][path[-1]]
        above["required"].remove(path[-1])
        return
    if node.get("type") in ("boolean", "number") and not bounds:
        return
    for keyword, value in keywords.items():
        at = node
        while keyword in ("enum", "maxLength") and "items" in at:
            at = at["items"]
        at[keyword] = value


# ---------------------------------------------------------------- lengths


def _deal(node: Schema, chars: float) -> None:
    """Give each text and each list below a share of so many characters: the root of its limit says how large."""
    if "properties" in node:
        fields = node["properties"]
        for name, share in _divided(fields, chars - 8 * len(fields) - sum(map(len, fields))).items():
            _deal(fields[name], max(float(_LEAST), share))
    elif "anyOf" in node:
        for child in node["anyOf"]:
            _deal(child, chars)
    elif node.get("type") == "array":
        most = node.get("maxItems", _ITEMS)
        if node.get("items") and most:
            size = min(float(_ITEM), _most_chars(node["items"]))
            few = max(_FEW, node.get("minItems", 0))
            node["maxItems"] = most if most <= few else max(few, min(most, int(chars // size)))
            _deal(node["items"], chars / node["maxItems"])
    elif node.get("type") == "string" and "enum" not in node and "const" not in node:
        whole = _is_whole(node)
        most = min(node.get("maxLength", math.inf), max(float(_LEAST), chars))
        node.pop("maxLength", None)
        if most <= 3 * _LONGEST and not whole:
            node["maxLength"] = int(min(most, _LONGEST))
        if not node.get("minLength"):
            node.pop("minLength", None)


def _divided(fields: Mapping[str, Schema], room: float) -> dict[str, float]:
    """Each field's share of so many characters. What one cannot use is left to the others."""
    shares: dict[str, float] = {}
    left = dict(fields)
    while left:
        total = sum(map(_want, left.values())) or 1.0
        even = {name: room * _want(child) / total for name, child in left.items()}
        small = {name: most for name, child in left.items() if (most := _most_chars(child)) <= even[name]}
        shares |= small or even
        room -= sum(small.values())
        left = {name: child for name, child in left.items() if name not in shares}
    return shares


def _want(node: Schema) -> float:
    """How large a share a field gets, against its neighbours."""
    if node.get("maxItems") == 0 or node.get("maxLength") == 0 or _is_whole(node):
        return 0.0
    return math.sqrt(_most_chars(node))


def _is_whole(node: Schema) -> bool:
    return bool(node.get("maxLength", 0) >= _WHOLE)


def _most_chars(node: Schema) -> float:
    """Characters of a value at most, as far as that is said."""
    if "properties" in node:
        return sum(_most_chars(child) + len(name) + 8 for name, child in node["properties"].items())
    if "anyOf" in node:
        return max(map(_most_chars, node["anyOf"]))
    if node.get("type") == "array":
        return float(node.get("maxItems", _ITEMS)) * _most_chars(node.get("items") or {})
    if "enum" in node:
        return float(max((len(str(x)) for x in node["enum"]), default=0))
    return float(node.get("maxLength", 10_000)) if node.get("type") == "string" else 8.0
