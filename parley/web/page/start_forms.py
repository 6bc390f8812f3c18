"""What may be started, for a form: protocols, their settings with defaults and ranges, options with a line of help."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect as types

from parley.client.protocols import setup_of, show_of
from parley.client.setup.options import Option, base_of, taken
from parley.coordinator.admission import build_settings
from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.table import Protocol
from parley.web.page.messages import ProtocolOffer, Setting

_FAR = 10**13
"""Out of every range: what is said of it names the range."""
_RANGE = re.compile(r"allowed (?:is|are) (?:above )?(-?[\d.,]+(?:e[+-]?\d+)?) to (-?[\d.,]+(?:e[+-]?\d+)?)")
_KINDS: tuple[tuple[type[types.Type], str], ...] = (
    (types.BoolType, "switch"),
    (types.IntType, "integer"),
    (types.FloatType, "number"),
    (types.StrType, "text"),
)
_ITEMS: tuple[tuple[type[types.Type], str], ...] = (
    (types.IntType, "integer"),
    (types.FloatType, "number"),
    (types.StrType, "text"),
)


_PLACED = ("protocol", "continues", "panel", "wait_for_human")
"""What the form has a place of its own for."""


@lru_cache(maxsize=1)
def offers() -> tuple[ProtocolOffer, ...]:
    """Every protocol that a client may start."""
    known = [PROTOCOLS[name] for name in sorted(PROTOCOLS)]
    return tuple(_offer(protocol) for protocol in known if not protocol.standing)


def stands(offer: ProtocolOffer, settings: Mapping[str, Any]) -> ProtocolOffer:
    """The offer with what the operator set, in place of the defaults."""
    replace = msgspec.structs.replace
    given = {name: value for name, value in settings.items() if not isinstance(value, Mapping)}
    rows = tuple(replace(s, default=given[s.name]) if s.name in given else s for s in offer.settings)
    return replace(offer, settings=rows, panel_size=given.get(offer.panel, offer.panel_size))


@lru_cache(maxsize=1)
def options() -> tuple[Setting, ...]:
    """What a session of any protocol takes besides, as far as a form has a field for it."""
    kinds = {int: "integer", float: "number", str: "text"}
    return tuple(
        Setting(name=o.setting, kind=kinds[base_of(o)], least=o.least, most=o.most, help=o.help)  # type: ignore[arg-type]
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


def _setting(protocol: Protocol, field: Any, option: Option | None) -> Setting | None:
    """A setting as a form has it; None: a form cannot give it."""
    kind, item, choices = _kind(field.type)
    setup = setup_of(protocol.name)
    replayable = field.encode_name not in (*setup.opening_only, *setup.counts)
    named = kind == "other" and option is not None and option.kind == str | None  # a name stands for the whole
    if kind == "other" and not named:
        return None
    kind, replayable = ("text", False) if named else (kind, replayable)
    default: Any = None
    if field.default is not msgspec.NODEFAULT:
        default = msgspec.to_builtins(field.default)
    elif field.default_factory is not msgspec.NODEFAULT and not named:
        default = msgspec.to_builtins(field.default_factory())
    least, most = _range(protocol, field.encode_name) if kind in ("integer", "number") else (None, None)
    return Setting(
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


def _kind(of: types.Type) -> tuple[str, str, tuple[str, ...]]:
    """(kind, kind of its items, choices) of a type; `other`: a form has no field for it."""
    of = _bare(of)
    if isinstance(of, types.UnionType):
        inner_types = [t for t in of.types if not isinstance(t, types.NoneType)]
        return _kind(inner_types[0]) if len(inner_types) == 1 else ("other", "text", ())
    if isinstance(of, types.LiteralType):
        return "choice", "text", tuple(map(str, of.values))
    if isinstance(of, types.VarTupleType | types.ListType | types.DictType):
        inner = _bare(of.value_type if isinstance(of, types.DictType) else of.item_type)
        item = next((name for wanted, name in _ITEMS if isinstance(inner, wanted)), "")
        many = "pairs" if isinstance(of, types.DictType) else "list"
        return (many, item, ()) if item else ("other", "text", ())
    return next((name for wanted, name in _KINDS if isinstance(of, wanted)), "other"), "text", ()


def _bare(of: types.Type) -> types.Type:
    while isinstance(of, types.Metadata):
        of = of.type
    return of


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
