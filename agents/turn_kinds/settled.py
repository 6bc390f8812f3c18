"""Fields of a reply that can have only one value in a turn.

Nobody explains such a field, sends it in the schema or asks for it: the reply's type has that value as the field's
default, and so whoever reads the reply fills it in. Without documents these are most of a position's fields.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, get_args, get_origin

import msgspec

from parley.agents.context import Shown
from parley.agents.text.inside import plain_values
from parley.agents.turn_kinds.kit import Kind

_CITATION = {"document", "quote"}
_NULL = [{"type": "null"}]


def settled(kind: Kind, shown: Shown) -> frozenset[str]:
    """Names of the fields of this turn's reply that can have their default alone. All steps of a turn with tools are
    asked for the same fields, whatever each is shown."""
    if shown.steps is not None or not hasattr(shown.reply, "__struct_fields__"):
        return frozenset()
    narrowed = {} if kind.narrow is None else kind.narrow(shown)
    quotable = any(True for _ in document_names(shown))
    names = []
    for field in msgspec.structs.fields(shown.reply):
        values = _values(narrowed.get(field.name, {}))
        if not quotable and _quotes(field.type):
            values = [()]
        if len(values) == 1 and values[0] == _default(field):
            names.append(field.name)
    return frozenset(names)


def document_names(shown: Shown) -> Iterable[str]:
    """Of the documents that the seat holds, and of those that others cite."""
    names = dict.fromkeys(d.name for d in shown.documents)
    said = plain_values([*(o.body for o in shown.others), shown.brief])
    cited = [item["document"] for item in said if isinstance(item, dict) and is_citation(item)]
    names |= dict.fromkeys(name for name in cited if isinstance(name, str))
    return names


def is_citation(fields: Mapping[str, Any]) -> bool:
    """Whether these are the fields of a quotation from a document."""
    return set(fields) == _CITATION


def _values(keywords: Mapping[str, Any]) -> list[Any]:
    """The values that keywords of JSON Schema leave, where they are few."""
    if keywords.get("maxLength") == 0:
        return [""]
    if keywords.get("maxItems") == 0:
        return [()]
    if keywords.get("anyOf") == _NULL:
        return [None]
    return list(keywords.get("enum", ()))


def _quotes(hint: Any) -> bool:
    """Whether a field is a list of quotations from documents."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    item = next(iter(get_args(hint)), None) if get_origin(hint) is tuple else None
    return set(getattr(item, "__struct_fields__", ())) == _CITATION


def _default(field: msgspec.structs.FieldInfo) -> Any:
    """What a field is if a reply leaves it out; UNSET: it may not."""
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return msgspec.UNSET if field.default_factory is msgspec.NODEFAULT else field.default_factory()
