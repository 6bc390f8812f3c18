"""Forms: the fields of a reply that a person gives, and those of a new session's settings.

Every kind of turn of every protocol has a form: what a struct holds becomes a field, a structure becomes a group of
fields, and a list of structures becomes rows of them. Nothing is written as JSON. What the form says cannot be
answered yet, such as a change of mind in a first round, is left out, and so has its default.

What may be started is told by the same fields: protocols, their settings with defaults and ranges, options with a line
of help.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect as types
from msgspec.structs import replace

from parley.agents.context import Shown
from parley.agents.models.human import offered, rules_of
from parley.client.protocols import setup_of, show_of
from parley.client.setup.options import Option, base_of, taken
from parley.client.show.show import Form
from parley.client.text import line
from parley.coordinator.admission import build_settings
from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.table import Protocol
from parley.web.page.shapes import FormField, ProtocolOffer

_SIMPLE: tuple[tuple[type[types.Type], str], ...] = (
    (types.IntType, "integer"),
    (types.FloatType, "number"),
    (types.StrType, "text"),
    (types.BoolType, "switch"),
)
_CHOICES = {"answerer": "answerers", "speaker": "may", "outcome": "outcomes"}
"""Field of a reply -> field of its brief that says what may stand there."""
_DEEP = 4
"""Structures inside one another."""
_BRIEF = 60
_FAR = 10**13
"""Out of every range: what is said of it names the range."""
_RANGE = re.compile(r"allowed (?:is|are) (?:above )?(-?[\d.,]+(?:e[+-]?\d+)?) to (-?[\d.,]+(?:e[+-]?\d+)?)")
_PLACED = ("protocol", "continues", "panel", "wait_for_human")
"""What the form has a place of its own for."""


def _kind(of: types.Type) -> tuple[str, str, tuple[str, ...]]:
    """(kind, kind of its items, choices) of a type; `other`: a form has no simple field for it."""
    of = _bare(of)
    if isinstance(of, types.LiteralType):
        return "choice", "text", tuple(map(str, of.values))
    if isinstance(of, types.VarTupleType | types.ListType | types.DictType):
        inner = _bare(of.value_type if isinstance(of, types.DictType) else of.item_type)
        item = next((name for wanted, name in _SIMPLE[:3] if isinstance(inner, wanted)), "")
        many = "pairs" if isinstance(of, types.DictType) else "list"
        return (many, item, ()) if item else ("other", "text", ())
    return next((name for wanted, name in _SIMPLE if isinstance(of, wanted)), "other"), "text", ()


def _described(of: types.Type) -> tuple[types.Type, dict[str, Any]]:
    """A type without None and without what is said beside it, and that."""
    schema: dict[str, Any] = {}
    while isinstance(of, types.Metadata | types.UnionType):
        if isinstance(of, types.Metadata):
            schema, of = {**schema, **(of.extra_json_schema or {})}, of.type
            continue
        rest = [t for t in of.types if not isinstance(t, types.NoneType)]
        if len(rest) > 1:
            break
        of = rest[0]
    return of, schema


def _bare(of: types.Type) -> types.Type:
    return _described(of)[0]


def _default(field: Any) -> Any:
    if field.default is msgspec.NODEFAULT or field.default is msgspec.UNSET:
        return None
    return msgspec.to_builtins(field.default)


# -- a turn


class _Form:
    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._form: Form = show_of(shown.protocol).form
        self._told = rules_of(shown).fields
        self._left_out = self._form.later if shown.own is None else frozenset()

    def fields(self, of: Any, own: dict[str, Any], within: str = "", deep: int = 0) -> tuple[FormField, ...]:
        """Those of a struct."""
        info = types.type_info(of)
        if not isinstance(info, types.StructType) or deep > _DEEP:
            return ()
        return tuple(
            self._field(f, own.get(f.encode_name), within, deep)
            for f in info.fields
            if within + f.encode_name not in self._left_out
        )

    def _field(self, field: Any, own: Any, within: str, deep: int) -> FormField:
        name, path = field.encode_name, within + field.encode_name
        said = self._form.fields
        label, help_ = said.get(path) or said.get(name) or (name.replace("_", " ").capitalize(), "")
        kept = own is not None and path not in self._form.later  # those are said of one turn
        made = FormField(
            name=name,
            label=label,
            help=help_ or self._told.get(path, ""),
            kind="text",
            required=field.required,
            default=own if kept else _default(field),
        )
        made = self._typed(made, field.type, path, deep)
        words = self._form.choices
        if made.choices and not made.words:
            sentences = offered(self._shown.brief, made.choices)
            choices = tuple(sentences) or made.choices
            labels = tuple(sentences.get(c) or words.get(f"{path}.{c}", c.replace("_", " ")) for c in choices)
            made = replace(made, choices=choices, words=labels)
        return made

    def _typed(self, made: FormField, of: types.Type, path: str, deep: int) -> FormField:
        of, schema = _described(of)
        kind, item, choices = _kind(of)
        made = replace(made, least=schema.get("minimum"), most=schema.get("maximum"), item=item, choices=choices)
        if isinstance(of, types.StructType):
            return replace(made, kind="group", fields=self.fields(of.cls, {}, f"{path}.", deep + 1))
        if isinstance(of, types.VarTupleType | types.ListType) and isinstance(_bare(of.item_type), types.StructType):
            fields = self.fields(_bare(of.item_type).cls, {}, f"{path}.", deep + 1)  # type: ignore[attr-defined]
            first = [{f.name: choice} for f in fields[:1] if made.required for choice in f.choices]
            return replace(made, kind="rows", default=made.default or first, fields=fields)
        if kind == "integer" and made.name == "post" and (posts := self._posts()):
            return replace(made, kind="choice", item=kind, choices=tuple(posts), words=tuple(posts.values()))
        if kind not in ("text", "other"):
            return replace(made, kind=kind)
        among = tuple(getattr(self._shown.brief, _CHOICES.get(made.name, ""), ()) or ())
        if among := among or tuple(map(str, schema.get("enum", ()))):
            return replace(made, kind="choice", choices=among)
        if made.name == "document":
            return replace(made, suggested=tuple(d.name for d in self._shown.documents))
        return replace(made, kind="long" if made.required and int(schema.get("maxLength", 9_999)) > 200 else "text")

    def _posts(self) -> dict[str, str]:
        """Posts of others that were shown: number -> the same in words, and how it begins."""
        beginnings: dict[str, str] = {}
        for other in self._shown.others:
            if other.post >= 0 and other.channel == "public":
                body = msgspec.to_builtins(other.body)
                text = body.get("answer") or body.get("text") or "" if isinstance(body, dict) else body
                beginnings[str(other.post)] = f"post {other.post}: {line(str(text), _BRIEF)}"
        return beginnings


def fields_of(shown: Shown) -> tuple[FormField, ...]:
    """What is to be filled in."""
    own = msgspec.to_builtins(shown.own) if shown.own is not None else {}
    return _Form(shown).fields(shown.reply, own if isinstance(own, dict) else {})


def turn_request_text(shown: Shown) -> str:
    """What is wanted of the seat, in a sentence."""
    named = shown.kind.replace("_", " ").capitalize()
    return show_of(shown.protocol).form.asks.get(shown.kind, f"{named}.")


# -- a new session


@lru_cache(maxsize=1)
def offers() -> tuple[ProtocolOffer, ...]:
    """Every protocol that a client may start."""
    known = [PROTOCOLS[name] for name in sorted(PROTOCOLS)]
    return tuple(_offer(protocol) for protocol in known if not protocol.standing)


def stands(offer: ProtocolOffer, settings: Mapping[str, Any]) -> ProtocolOffer:
    """The offer with what the operator set, in place of the defaults."""
    given = {name: value for name, value in settings.items() if not isinstance(value, Mapping)}
    rows = tuple(replace(s, default=given[s.name]) if s.name in given else s for s in offer.settings)
    return replace(offer, settings=rows, panel_size=given.get(offer.panel, offer.panel_size))


@lru_cache(maxsize=1)
def options() -> tuple[FormField, ...]:
    """What a session of any protocol takes besides, as far as a form has a field for it."""
    kinds = {int: "integer", float: "number", str: "text"}
    return tuple(
        FormField(name=o.setting, kind=kinds[base_of(o)], least=o.least, most=o.most, help=o.help)  # type: ignore[arg-type]
        for o in taken("page")
        if base_of(o) in kinds and o.setting not in _PLACED
    )


def _offer(protocol: Protocol) -> ProtocolOffer:
    setup = setup_of(protocol.name)
    several = setup.several
    options = {o.setting: o for o in setup.options if o.gives == "setting" and not o.hidden}
    info = types.type_info(protocol.settings)
    fields = info.fields if isinstance(info, types.StructType) else ()
    made = (_setting(protocol, f, options.get(f.encode_name)) for f in fields if f.encode_name not in setup.hidden)
    readers = protocol.readers or tuple(role.name for role in protocol.roles[:1])
    return ProtocolOffer(
        name=protocol.name,
        about=setup.about,
        panel=several.setting if several else "",
        panel_size=several.size if several else 0,
        round_name=show_of(protocol.name).round_name,
        roles=tuple(role.name for role in protocol.roles if role.least),
        readers=readers,
        dealt=_dealt(readers, in_turn=not protocol.readers),
        settings=tuple(s for s in made if s is not None),
    )


def _dealt(readers: Sequence[str], *, in_turn: bool) -> str:
    """Who gets which document (parley.coordinator.admission.deal), in a sentence."""
    if not readers:
        return ""
    if in_turn:
        return (
            f"The {readers[0]}s get the files in turn, so that each knows something else. Where there are fewer files "
            f"than {readers[0]}s, each gets all of them."
        )
    return f"Each {' and each '.join(readers)} gets every file."


def _setting(protocol: Protocol, field: Any, option: Option | None) -> FormField | None:
    """A setting as a form has it; None: a form cannot give it."""
    kind, item, choices = _kind(field.type)
    setup = setup_of(protocol.name)
    replayable = field.encode_name not in (*setup.opening_only, *setup.counts)
    default: Any = _default(field)
    if kind == "other":
        if option is None or option.kind != str | None:
            return None
        kind, replayable = "text", False  # a name stands for the whole
    elif field.default_factory is not msgspec.NODEFAULT:
        default = msgspec.to_builtins(field.default_factory())
    least, most = _range(protocol, field.encode_name) if kind in ("integer", "number") else (None, None)
    return FormField(
        name=field.encode_name,
        kind=kind,  # type: ignore[arg-type]
        item=item,  # type: ignore[arg-type]
        default=default,
        least=least,
        most=most,
        choices=choices,
        help="" if option is None else _words(option.help, protocol.name),
        replayable=replayable,
        common=option is not None,
    )


def _words(text: str, protocol: str) -> str:
    """A line of help without the protocol's name in front: it stands above."""
    words = text.removeprefix(f"{protocol}: ")
    return words[:1].upper() + words[1:]


def _range(protocol: Protocol, name: str) -> tuple[float | None, float | None]:
    """What a value out of range is told."""
    try:
        build_settings(protocol, {name: -_FAR})
    except Inadmissible as error:
        if match := _RANGE.search(str(error)):
            return tuple(float(n.replace(",", "").rstrip(".")) for n in match.groups())  # type: ignore[return-value]
    except (TypeError, ValueError, ArithmeticError):
        pass
    return None, None
