"""What installed packages bring to Parley by entry points: protocols, models, encoders, commands.

Looking entry points up takes longer than a command takes to print its help. So the metadata is read only where some
installed package names the group at all. What cannot be loaded is remembered with the reason, and left out: a broken
package takes nothing else with it.
"""

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS = (
    "parley.protocols", "parley.kits", "parley.faces", "parley.models", "parley.encoders", "parley.commands",
)  # fmt: skip
"""Groups of entry points that Parley looks at."""


KINDS = {
    "parley.protocols": "coordinator.table:Protocol", "parley.kits": "agents.protocols.kit:Kit",
    "parley.faces": "client.protocols.face:Face",
}  # fmt: skip
"""Group -> the class of its objects, imported only where a package brings one. Other groups bring functions."""


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an installed package brings."""

    group: str
    name: str
    package: str
    """The package and its version."""
    value: str
    """Where it stands: `their_package.module:PROTOCOL`."""
    fault: str = ""
    """Why it cannot be loaded; empty: it can, or nobody has tried."""


class NotUsable(KeyError):
    """What a package brings under this name cannot be loaded. Says which package it is, and why."""

    def __init__(self, brought: Brought) -> None:
        self.brought = brought
        super().__init__(f"{brought.name} of {brought.package} cannot be loaded ({brought.value}): {brought.fault}")

    def __str__(self) -> str:
        return str(self.args[0])


_FAULTS: dict[tuple[str, str], str] = {}


@lru_cache(maxsize=16)
def entries(group: str) -> dict[str, "EntryPoint"]:
    """Entry points of a group by name, looked up once in a process."""
    if f"[{group}]" not in _named():
        return {}
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=group)}


def load(group: str, name: str) -> Any:
    """The object that an installed package brings, of the class that its group wants (KINDS).

    Raises
    ------
    NotUsable
        It cannot be loaded, whatever its import raised, or is an object of another class.
    KeyError
        No package brings one of this name.
    """
    entry = entries(group)[name]
    if (group, name) not in _FAULTS:
        try:
            return _checked(entry.load(), group)
        except Exception as error:  # what a foreign package raises is its own affair
            _FAULTS[group, name] = f"{type(error).__name__}: {error}"[:500]
    raise NotUsable(_brought(group, entry))


def _checked(thing: Any, group: str) -> Any:
    """The thing. Raises TypeError where the group wants another class."""
    if (wanted := KINDS.get(group)) is not None:
        module, _, attribute = wanted.partition(":")
        if not isinstance(thing, getattr(import_module(module), attribute)):
            raise TypeError(f"it is of class {type(thing).__name__}, wanted is {attribute} ({module})")
    return thing


def usable(group: str) -> dict[str, Callable[[], Any]]:
    """Names of a group that can be loaded now, each with what loads it."""
    found: dict[str, Callable[[], Any]] = {}
    for name in entries(group):
        try:
            load(group, name)
        except NotUsable:
            continue
        found[name] = entries(group)[name].load
    return found


def everything() -> tuple[Brought, ...]:
    """All that installed packages bring; each is loaded, so that what is broken says why."""
    found = []
    for group in GROUPS:
        usable(group)
        found += [_brought(group, entry) for entry in entries(group).values()]
    return tuple(found)


def _brought(group: str, entry: "EntryPoint") -> Brought:
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "a package without a name"
    fault = _FAULTS.get((group, entry.name), "")
    return Brought(group=group, name=entry.name, package=package, value=entry.value, fault=fault)


@lru_cache(maxsize=1)
def _named() -> str:
    """What the metadata of installed packages says of entry points of Parley's, in one text."""
    found = []
    for folder in map(Path, sys.path):
        if not folder.is_dir():
            continue
        for inside in folder.iterdir():
            if inside.suffix in (".dist-info", ".egg-info"):
                try:
                    text = (inside / "entry_points.txt").read_text(encoding="utf-8", errors="replace")
                except OSError:
                    continue
                if "[parley." in text:
                    found.append(text)
    return "".join(found)
