"""A turn of a kind as nothing is known of it yet: the least brief, nobody heard, at most a document."""

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from parley.agents.context import Shown
from parley.agents.turn_kinds.kit import Kind
from parley.schemas.session import Document

_DOCUMENT = Document(id="", name="a.md", text="-")
_LEAST: dict[Any, Any] = {str: "-", int: 1, float: 0.0, bool: False, bytes: b""}
"""Of each plain type the least value that says nothing and that no message refuses."""


def blank(protocol: str, name: str, kind: Kind, *, documents: bool) -> Shown:
    """Such a turn, of a seat that holds a document or none."""
    return Shown(
        session="",
        protocol=protocol,
        question="",
        seat="",
        role="",
        kind=name,
        round=0,
        brief=_value(kind.brief),
        reply=kind.reply,
        documents=(_DOCUMENT,) if documents else (),
    )


def _value(hint: Any) -> Any:
    """The least value of a type: a message has its defaults, and one of what it always lists."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = [m.extra_json_schema or {} for m in args[1:] if isinstance(m, msgspec.Meta)]
        return next((b["minimum"] for b in bounds if "minimum" in b), None) or _value(args[0])
    if origin is Union or origin is UnionType:
        return _value(args[0])
    if origin is Literal:
        return args[0]
    if origin in (tuple, list):
        return origin([_value(args[0])])
    if origin is dict:
        return {}
    if hasattr(hint, "__struct_fields__"):
        return hint(**{f.name: _value(f.type) for f in msgspec.structs.fields(hint) if f.required})
    return _LEAST.get(hint)
