"""What may be started, for a form: protocols, and their settings with defaults, ranges and a line of help each."""

import ast
import inspect
import re
import textwrap
from functools import lru_cache
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import inspect as types

from client.protocols import face_of, setup_of
from client.text import line
from coordinator.admission import build_settings
from coordinator.machine import Inadmissible
from coordinator.protocols import PROTOCOLS
from coordinator.table import Protocol
from gateway.web.asked import ProtocolOffer, Setting

_FAR = 10**13
"""Out of every range: what is said of it names the range."""
_RANGE = re.compile(r"allowed (?:is|are) (?:above )?(-?[\d.,]+(?:e[+-]?\d+)?) to (-?[\d.,]+(?:e[+-]?\d+)?)")
_KINDS: tuple[tuple[type[types.Type], str], ...] = (
    (types.BoolType, "switch"), (types.IntType, "integer"), (types.FloatType, "number"), (types.StrType, "text"),
)  # fmt: skip


@lru_cache(maxsize=1)
def offers() -> tuple[ProtocolOffer, ...]:
    """Every protocol that a client may start."""
    found = [PROTOCOLS[name] for name in sorted(PROTOCOLS)]
    return tuple(_offer(protocol) for protocol in found if not protocol.standing)


def _offer(protocol: Protocol) -> ProtocolOffer:
    setup = setup_of(protocol.name)
    several = setup.several
    helps = _helps(protocol.settings)
    for option in setup.options:
        if option.gives == "setting" and not option.hidden:
            helps.setdefault(option.setting, option.help)
    info = types.type_info(protocol.settings)
    fields = info.fields if isinstance(info, types.StructType) else ()
    settings = tuple(_setting(protocol, f, helps.get(f.encode_name, ""), setup.opening_only) for f in fields)
    return ProtocolOffer(
        name=protocol.name, about=_about(protocol), panel=several.setting if several else "",
        panel_size=several.size if several else 0, round_name=face_of(protocol.name).presenter.round_name,
        settings=settings,
    )  # fmt: skip


def _about(protocol: Protocol) -> str:
    module = inspect.getmodule(protocol.start) or inspect.getmodule(protocol.settings)
    return line((inspect.getdoc(module) or "").split("\n\n")[0], 200)


def _setting(protocol: Protocol, field: Any, help_: str, opening_only: tuple[str, ...]) -> Setting:
    kind, choices = _kind(field.type)
    default: Any = None
    if field.default is not msgspec.NODEFAULT:
        default = msgspec.to_builtins(field.default)
    elif field.default_factory is not msgspec.NODEFAULT and kind != "other":
        default = msgspec.to_builtins(field.default_factory())
    least, most = _range(protocol, field.encode_name) if kind in ("integer", "number") else (None, None)
    return Setting(
        name=field.encode_name, kind=kind, default=default, least=least, most=most, choices=choices, help=help_,  # type: ignore[arg-type]
        replayable=field.encode_name not in opening_only,
    )  # fmt: skip


def _kind(of: types.Type) -> tuple[str, tuple[str, ...]]:
    while isinstance(of, types.Metadata):
        of = of.type
    if isinstance(of, types.UnionType):
        rest = [t for t in of.types if not isinstance(t, types.NoneType)]
        return _kind(rest[0]) if len(rest) == 1 else ("other", ())
    if isinstance(of, types.LiteralType):
        return "choice", tuple(map(str, of.values))
    return next((name for wanted, name in _KINDS if isinstance(of, wanted)), "other"), ()


def _range(protocol: Protocol, name: str) -> tuple[float | None, float | None]:
    """What a value out of range is told."""
    try:
        build_settings(protocol, {name: -_FAR})
    except Inadmissible as error:
        if found := _RANGE.search(str(error)):
            return tuple(float(n.replace(",", "").rstrip(".")) for n in found.groups())  # type: ignore[return-value]
    except (TypeError, ValueError, ArithmeticError):
        pass
    return None, None


def _helps(settings: type) -> dict[str, str]:
    """Field -> the first sentence of the text below it; nothing where there is no source."""
    found: dict[str, str] = {}
    for of in reversed(settings.__mro__):
        try:
            (node,) = ast.parse(textwrap.dedent(inspect.getsource(of))).body
        except (OSError, TypeError, ValueError, SyntaxError):
            continue
        body = node.body if isinstance(node, ast.ClassDef) else []
        for before, after in pairwise(body):
            if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and _is_text(after):
                text = after.value.value  # type: ignore[attr-defined]
                found[before.target.id] = line(re.split(r"(?<=\.)\s", text)[0], 200)
    return found


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
