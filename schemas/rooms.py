"""Where general code finds what belongs to a protocol: one object a protocol in each layer, by the protocol's name.

A protocol of Parley's own has a package in each layer (`coordinator/protocols/<name>`, `agents/protocols/<name>`,
`parley/client/protocols/<name>`): the package is found because it is there. An installed package brings a protocol of
its own by entry points, one a layer; it brings models, encoders and commands in the same way.

Looking entry points up takes longer than a command takes to print its help. So the metadata is read only where some
installed package names the group at all. What cannot be loaded is remembered with the reason, and left out: a broken
package takes nothing else with it. Asked for by name, it says why.
"""

import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

GROUPS = (
    "parley.protocols",
    "parley.kits",
    "parley.shows",
    "parley.models",
    "parley.encoders",
    "parley.commands",
    "parley.strategies",
    "parley.doors",
)
"""Groups of entry points that Parley looks at."""


KINDS = {
    "parley.protocols": "parley.coordinator.table:Protocol",
    "parley.kits": "parley.agents.turn_kinds.kit:Kit",
    "parley.shows": "parley.client.show.show:Show",
    "parley.strategies": "parley.schemas.strategies:Strategy",
}
"""Group -> the class of its objects, imported only where a package brings one. Other groups bring functions."""
CLASSES = frozenset({"parley.shows"})
"""Groups that bring a class of this kind: one object a session is made of it."""


@dataclass(frozen=True, kw_only=True)
class Brought:
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
        kind = getattr(import_module(module), attribute)
        if group in CLASSES and not (isinstance(thing, type) and issubclass(thing, kind)):
            raise TypeError(f"it is no class, or none of {attribute} ({module})")
        if group not in CLASSES and not isinstance(thing, kind):
            raise TypeError(f"it is of class {type(thing).__name__}, wanted is {attribute} ({module})")
    return thing


def usable(group: str) -> dict[str, Callable[[], Any]]:
    """Names of a group that can be loaded now, each with what loads it."""
    loaders: dict[str, Callable[[], Any]] = {}
    for name in entries(group):
        try:
            load(group, name)
        except NotUsable:
            continue
        loaders[name] = entries(group)[name].load
    return loaders


def everything() -> tuple[Brought, ...]:
    """All that installed packages bring; each is loaded, so that what is broken says why."""
    brought = []
    for group in GROUPS:
        usable(group)
        brought += [_brought(group, entry) for entry in entries(group).values()]
    return tuple(brought)


def _brought(group: str, entry: "EntryPoint") -> Brought:
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "a package without a name"
    fault = _FAULTS.get((group, entry.name), "")
    return Brought(group=group, name=entry.name, package=package, value=entry.value, fault=fault)


@lru_cache(maxsize=1)
def _named() -> str:
    """What the metadata of installed packages says of entry points of Parley's, in one text."""
    texts = []
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
                    texts.append(text)
    return "".join(texts)


class Rooms(Mapping[str, T], Generic[T]):
    """Objects of one layer by protocol, each imported when it is first asked for.

    Parameters
    ----------
    package
        The package that holds a package a protocol.
    place
        `module:attribute` within a protocol's package.
    group
        The group of entry points by which installed packages bring theirs; an entry is named after its protocol.
    """

    def __init__(self, package: str, place: str, group: str) -> None:
        self._package = package
        self._module, _, self._attribute = place.partition(":")
        self.group = group
        self._loaded: dict[str, T] = {}
        self._own: frozenset[str] | None = None

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            self._loaded[name] = self._loader(name)()
        return self._loaded[name]

    def _loader(self, name: str) -> Callable[[], T]:
        """What imports the object. Raises KeyError where there is none of this name."""
        if name in self._names():
            return lambda: getattr(import_module(f"{self._package}.{name}.{self._module}"), self._attribute)
        thing = load(self.group, name)
        return lambda: thing

    def _names(self) -> frozenset[str]:
        if self._own is None:
            modules = pkgutil.iter_modules(import_module(self._package).__path__)
            self._own = frozenset(m.name for m in modules if m.ispkg)
        return self._own

    def _installed(self) -> dict[str, Callable[[], Any]]:
        """What installed packages bring and can be loaded."""
        return usable(self.group)

    def __contains__(self, name: object) -> bool:
        return name in self._loaded or name in self._names() or name in self._installed()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._names(), *self._loaded, *self._installed()}))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def add(self, name: str, thing: T) -> None:
        """Make one known in this process.

        Raises
        ------
        ValueError
            Another has this name.
        """
        if name in self and self[name] is not thing:
            raise ValueError(f"two protocols are named {name}")
        self._loaded[name] = thing
