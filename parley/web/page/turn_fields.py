"""The form with which a person fills a turn: from the reply's own struct, in the words of the protocol's form.

Every kind of turn of every protocol has one: what a struct holds becomes a field, a structure becomes a group of
fields, and a list of structures becomes rows of them. Nothing is written as JSON. What the form says cannot be
answered yet, such as a change of mind in a first round, is left out, and so has its default.
"""

from typing import Any

import msgspec
from msgspec import inspect as types

from parley.agents.context import Shown
from parley.agents.models.human import offered, rules_of
from parley.client.protocols import show_of
from parley.client.show.show import Form
from parley.client.text import line
from parley.web.page.shapes import HumanField

_CHOICES = {"answerer": "answerers", "speaker": "may", "outcome": "outcomes"}
"""Field of a reply -> field of its brief that says what may stand there."""
_DEEP = 4
"""Structures inside one another."""
_BRIEF = 60


class _Form:
    """Fields of one turn."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._form: Form = show_of(shown.protocol).form
        later = self._form.later
        self._told = rules_of(shown).fields
        self._left_out = later if shown.own is None else frozenset()
        self._afresh = later
        """What is said of one turn, and not kept from the one before."""

    def fields(self, of: Any, own: dict[str, Any], within: str = "", deep: int = 0) -> tuple[HumanField, ...]:
        """Those of a struct."""
        info = types.type_info(of)
        if not isinstance(info, types.StructType) or deep > _DEEP:
            return ()
        return tuple(
            self._field(f, own.get(f.encode_name), within, deep)
            for f in info.fields
            if within + f.encode_name not in self._left_out
        )

    def _field(self, field: Any, own: Any, within: str, deep: int) -> HumanField:
        name, path = field.encode_name, within + field.encode_name
        said = self._form.fields
        label, help_ = said.get(path) or said.get(name) or (name.replace("_", " ").capitalize(), "")
        made = HumanField(
            name=name,
            label=label,
            help=help_ or self._told.get(path, ""),
            kind="text",
            required=field.required,
            default=_default(field, None if path in self._afresh else own),
        )
        made = self._typed(made, field.type, path, deep)
        words = self._form.choices
        if made.choices and not made.words:
            sentences = offered(self._shown.brief, made.choices)
            choices = tuple(sentences) or made.choices
            labels = tuple(sentences.get(c) or words.get(f"{path}.{c}", c.replace("_", " ")) for c in choices)
            made = msgspec.structs.replace(made, choices=choices, words=labels)
        return made

    def _typed(self, made: HumanField, of: types.Type, path: str, deep: int) -> HumanField:
        schema: dict[str, Any] = {}
        while isinstance(of, types.Metadata):
            schema, of = {**schema, **(of.extra_json_schema or {})}, of.type
        made = msgspec.structs.replace(made, least=schema.get("minimum"), most=schema.get("maximum"))
        among = self._among(made.name, schema)
        set_ = msgspec.structs.replace
        match of:
            case types.UnionType():
                rest = [t for t in of.types if not isinstance(t, types.NoneType)]
                return self._typed(made, rest[0], path, deep)
            case types.LiteralType():
                return set_(made, kind="choice", choices=tuple(map(str, of.values)))
            case types.BoolType():
                return set_(made, kind="switch")
            case types.IntType() if made.name == "post" and (posts := self._posts()):
                return set_(made, kind="choice", item="integer", choices=tuple(posts), words=tuple(posts.values()))
            case types.IntType():
                return set_(made, kind="integer")
            case types.FloatType():
                return set_(made, kind="number")
            case types.StructType():
                return set_(made, kind="group", fields=self.fields(of.cls, {}, f"{path}.", deep + 1))
            case types.VarTupleType() | types.ListType():
                return self._several(made, _bare(of.item_type), path, deep)
            case types.DictType():
                return set_(made, kind="pairs", item=_item(_bare(of.value_type)))
        if among:
            return set_(made, kind="choice", choices=among)
        if made.name == "document":
            return set_(made, suggested=tuple(d.name for d in self._shown.documents))
        return set_(made, kind="long" if made.required and int(schema.get("maxLength", 9_999)) > 200 else "text")

    def _several(self, made: HumanField, item: types.Type, path: str, deep: int) -> HumanField:
        if isinstance(item, types.StructType):
            fields = self.fields(item.cls, {}, f"{path}.", deep + 1)
            first = [{f.name: choice} for f in fields[:1] if made.required for choice in f.choices]
            return msgspec.structs.replace(made, kind="rows", default=made.default or first, fields=fields)
        return msgspec.structs.replace(made, kind="list", item=_item(item))

    def _among(self, name: str, schema: dict[str, Any]) -> tuple[str, ...]:
        choices = tuple(getattr(self._shown.brief, _CHOICES.get(name, ""), ()) or ())
        return choices or tuple(map(str, schema.get("enum", ())))

    def _posts(self) -> dict[str, str]:
        """Posts of others that were shown: number -> the same in words, and how it begins."""
        beginnings: dict[str, str] = {}
        for other in self._shown.others:
            if other.post >= 0 and other.channel == "public":
                body = msgspec.to_builtins(other.body)
                text = body.get("answer") or body.get("text") or "" if isinstance(body, dict) else body
                beginnings[str(other.post)] = f"post {other.post}: {line(str(text), _BRIEF)}"
        return beginnings


def fields_of(shown: Shown) -> tuple[HumanField, ...]:
    """What is to be filled in."""
    own = msgspec.to_builtins(shown.own) if shown.own is not None else {}
    return _Form(shown).fields(shown.reply, own if isinstance(own, dict) else {})


def turn_request_text(shown: Shown) -> str:
    """What is wanted of the seat, in a sentence."""
    named = shown.kind.replace("_", " ").capitalize()
    return show_of(shown.protocol).form.asks.get(shown.kind, f"{named}.")


def _default(field: Any, own: Any) -> Any:
    if own is not None:
        return own
    if field.default is msgspec.NODEFAULT or field.default is msgspec.UNSET:
        return None
    return msgspec.to_builtins(field.default)


def _bare(of: Any) -> Any:
    while isinstance(of, types.Metadata):
        of = of.type
    return of


def _item(of: types.Type) -> Any:
    return "integer" if isinstance(of, types.IntType) else "number" if isinstance(of, types.FloatType) else "text"
