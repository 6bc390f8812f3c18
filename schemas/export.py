"""JSON Schemas (2020-12) of every message, one document a module, made from the code."""

import importlib
import pkgutil
from types import ModuleType
from typing import Any

import msgspec

from parley import schemas
from parley.schemas.wire import Limited

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def modules() -> list[ModuleType]:
    """The modules of this package that define messages, by name."""
    names = (m.name for m in pkgutil.walk_packages(schemas.__path__, f"{schemas.__name__}.") if m.name != __name__)
    loaded = sorted((importlib.import_module(n) for n in names if n != "parley.schemas.export"), key=name_of)
    return [m for m in loaded if messages(m)]


def name_of(module: ModuleType) -> str:
    """What a module's schema is called: `consensus`, `maci`, `maci_control`; the protocol in front, once."""
    path = module.__name__.removeprefix("parley.schemas.").removeprefix("protocols.").removesuffix(".messages")
    return path.replace(".", "_")


def messages(module: ModuleType) -> list[type[msgspec.Struct]]:
    """The structs that the module itself defines, in the order of its text."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, msgspec.Struct)
        and value.__module__ == module.__name__
        and value is not Limited
    ]


def schema_of(module: ModuleType) -> dict[str, Any]:
    """One schema document; each message is found under `$defs` by its class's name."""
    _, components = msgspec.json.schema_components(messages(module), ref_template="#/$defs/{name}")
    return {
        "$schema": DIALECT,
        "title": module.__name__,
        "description": (module.__doc__ or "").strip().split("\n\n")[0],
        "$defs": dict(sorted(components.items())),
    }


def documents() -> dict[str, dict[str, Any]]:
    """A module's name, as `name_of` has it -> its schema."""
    return {name_of(module): schema_of(module) for module in modules()}
