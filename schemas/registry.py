"""Where general code finds what belongs to a protocol: one object a protocol in each layer, by the protocol's name.

A protocol of Parley's own has a package in each layer (`coordinator/protocols/<name>`, `agents/protocols/<name>`,
`parley/client/protocols/<name>`): the package is found because it is there. An installed package brings whatever it
brings by entry points, all in one way: protocols with their kits and shows, models, encoders, retrievers, commands,
strategies, stop rules, and rows of Parley's own tables (parley.schemas.packages).

What a package brings runs with the rights of the process that loads it: in a moderator, with a moderator's. So nothing
is loaded but from the packages that the operator allows by name (ALLOWED). The metadata of others is read by
`everything` alone, which says that they are there.

What cannot be loaded is remembered with the reason, and left out: a broken package takes nothing else with it. Asked
for by name, it says why. A name that Parley has itself, or that two packages bring, is nobody's.
"""

import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

ALLOWED = "PARLEY_PACKAGES"
"""The environment variable with the names of the packages that Parley loads parts from, with commas between them."""
OURS = ("parley-research",)
"""Packages of this project, which need no permission."""
OF_PROTOCOLS = "parley.protocols"
"""The group of the machines of protocols."""
ROWS = "parley.rows"
"""The group of rows of Parley's own tables."""
_PACKAGES = "parley.packages"
"""No group of entry points: under this an allowed package is reported that is not there."""


@dataclass(frozen=True)
class EntryPointGroup:
    """What is known of a group of entry points. Each place is `module:attribute`, imported only where it is needed."""

    shipped: str = ""
    """Where its names of Parley's own stand: an attribute, what a function returns, or a package that holds a package a
    name."""
    kind: str = ""
    """The class of its objects; empty: they are functions."""
    check: str = ""
    """What looks at an object of it, once: a function of the object, its entry's name and its package's, which raises
    ValueError with what is wrong."""
    classes: bool = False
    """Whether it brings a class of this kind: one object a session is made of it."""


GROUPS = {
    OF_PROTOCOLS: EntryPointGroup(
        "parley.coordinator.protocols",
        "parley.coordinator.table:Protocol",
        "parley.coordinator.packages.checked:check_protocol",
    ),
    "parley.kits": EntryPointGroup("parley.agents.protocols", "parley.agents.turn_kinds.kit:Kit"),
    "parley.shows": EntryPointGroup("parley.client.protocols", "parley.client.show.show:Show", classes=True),
    "parley.models": EntryPointGroup("parley.agents.models:NAMES"),
    "parley.encoders": EntryPointGroup("parley.agents.encoders:NAMES"),
    "parley.retrievers": EntryPointGroup("parley.agents.retrieval.retrievers:NAMES"),
    "parley.commands": EntryPointGroup(),
    "parley.strategies": EntryPointGroup("parley.schemas.strategies:shipped", "parley.schemas.strategies:Strategy"),
    "parley.doors": EntryPointGroup("parley.web.doors:SHIPPED"),
    "parley.stop_rules": EntryPointGroup(
        "", "parley.coordinator.table:StopRule", "parley.coordinator.packages.checked:check_rule"
    ),
    ROWS: EntryPointGroup("", "parley.schemas.packages:PackageRows", "parley.schemas.packages:check"),
}
"""The groups of entry points that Parley looks at."""


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
    """Why it is not loaded; empty: it is, or nobody has tried."""


class NotUsable(KeyError):
    """What a package brings under this name is not loaded. Says which package it is, and why."""

    def __init__(self, brought: Brought) -> None:
        self.brought = brought
        super().__init__(f"{brought.name} of {brought.package} cannot be loaded ({brought.value}): {brought.fault}")

    def __str__(self) -> str:
        return str(self.args[0])


class _Part:
    """An entry point of a package, and what came of it."""

    def __init__(self, entry: "EntryPoint", group: str, package: str, version: str, fault: str = "") -> None:
        self.entry = entry
        self.package = package
        self.brought = Brought(
            group=group, name=entry.name, package=f"{package} {version}", value=entry.value, fault=fault
        )
        self._thing: Any = None

    def load(self) -> Any:
        """The object, checked when it is first asked for. Raises NotUsable."""
        if self._thing is None and not self.brought.fault:
            try:
                thing = _of_its_kind(self.entry.load(), self.brought.group)
                if place := GROUPS[self.brought.group].check:
                    attribute(place)(thing, self.entry.name, self.package)
                self._thing = thing
            except Exception as error:  # what a foreign package raises is its own affair
                kind = "" if type(error) in (TypeError, ValueError) else f"{type(error).__name__}: "
                self.brought = replace(self.brought, fault=f"{kind}{error}"[:500] or type(error).__name__)
        if self.brought.fault:
            raise NotUsable(self.brought)
        return self._thing


def normal(package: str) -> str:
    """A package's name as package indexes compare names."""
    return re.sub(r"[-_.]+", "-", package.strip()).lower()


def allowed() -> tuple[str, ...]:
    """This project's own, and the packages that the operator allows, in the order of the variable."""
    named = (normal(name) for name in os.environ.get(ALLOWED, "").split(",") if name.strip())
    return tuple(dict.fromkeys((*OURS, *named)))


def attribute(place: str) -> Any:
    """What `module:attribute` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def entries(group: str) -> Mapping[str, _Part]:
    """What allowed packages bring in a group, by name: all that may be asked for, loaded or not."""
    return _parts(allowed(), tuple(sys.path)).get(group, {})


def load(group: str, name: str) -> Any:
    """The object that an allowed package brings, of the class that its group wants, and checked.

    Raises
    ------
    NotUsable
        It cannot be loaded, whatever its import raised, is an object of another class, or has a fault; or the package
        that brings it is not allowed.
    KeyError
        No package brings one of this name.
    """
    part = entries(group).get(name)
    for one in _forbidden(allowed(), tuple(sys.path)) if part is None else ():
        if (one.brought.group, one.brought.name) == (group, name):
            part = one
    if part is None:
        raise KeyError(name)
    return part.load()


def usable(group: str) -> dict[str, Callable[[], Any]]:
    """Names of a group that can be loaded now, each with what loads it."""
    loaders: dict[str, Callable[[], Any]] = {}
    for name, part in entries(group).items():
        try:
            part.load()
        except NotUsable:
            continue
        loaders[name] = part.load
    return loaders


def everything() -> tuple[Brought, ...]:
    """All that installed packages bring, those that are not allowed included. What is allowed is loaded, so that what
    is broken says why."""
    from importlib.metadata import distributions

    packages, brought = allowed(), list[Brought]()
    installed = {normal(dist.name) for dist in distributions() if dist.name}
    for name in packages:
        if name not in (*installed, *OURS):
            brought.append(
                Brought(group=_PACKAGES, name=name, package=name, value=ALLOWED, fault="no such package is installed")
            )
    for group in GROUPS:
        usable(group)
        brought += [part.brought for part in entries(group).values()]
    brought += [part.brought for part in _forbidden(packages, tuple(sys.path))]
    return tuple(brought)


@lru_cache(maxsize=8)
def _parts(packages: tuple[str, ...], _path: tuple[str, ...]) -> Mapping[str, Mapping[str, _Part]]:
    """Group -> name -> what these packages bring; looked up once in a process, unless its path changes."""
    from importlib.metadata import PackageNotFoundError, distribution

    found: dict[str, dict[str, _Part]] = {group: {} for group in GROUPS}
    for package in packages:
        try:
            dist = distribution(package)
        except PackageNotFoundError:
            continue
        for entry in dist.entry_points:
            if entry.group not in found:
                continue
            name = package if entry.group == ROWS else entry.name  # one object a package, whatever its entry is called
            there = found[entry.group].get(name)
            fault = f"Parley has a {entry.name} of its own" if entry.name in shipped(entry.group) else ""
            if there is not None:
                fault = f"{there.package} and {dist.name} both bring it, so neither is loaded"
                there.brought = replace(there.brought, fault=fault)
                continue
            found[entry.group][name] = _Part(entry, entry.group, dist.name, dist.version, fault)
    return found


@lru_cache(maxsize=8)
def _forbidden(packages: tuple[str, ...], _path: tuple[str, ...]) -> tuple[_Part, ...]:
    """What other packages bring: only their metadata is read."""
    from importlib.metadata import distributions

    found = []
    for package, dist in {normal(d.name): d for d in reversed(list(distributions())) if d.name}.items():
        fault = f"the package is not allowed; to allow it, add {package} to {ALLOWED}"
        if package not in packages:
            found += [_Part(e, e.group, dist.name, dist.version, fault) for e in dist.entry_points if e.group in GROUPS]
    return tuple(sorted(found, key=lambda part: (part.brought.package, part.brought.group, part.brought.name)))


def shipped(group: str) -> frozenset[str]:
    """Names of a group that are Parley's own."""
    place = GROUPS[group].shipped
    if ":" in place:
        names = attribute(place)
        return frozenset(names() if callable(names) else names)
    return _folders(place) if place else frozenset()


@lru_cache(maxsize=8)
def _folders(package: str) -> frozenset[str]:
    modules = pkgutil.iter_modules(import_module(package).__path__)
    return frozenset(m.name for m in modules if m.ispkg)


def _of_its_kind(thing: Any, group: str) -> Any:
    """The thing. Raises TypeError where the group wants another class."""
    wanted, classes = GROUPS[group].kind, GROUPS[group].classes
    if not wanted:
        if not callable(thing):
            raise TypeError(f"it is of class {type(thing).__name__}, wanted is a function")
        return thing
    module, _, name = wanted.partition(":")
    kind = attribute(wanted)
    if classes and not (isinstance(thing, type) and issubclass(thing, kind)):
        raise TypeError(f"it is no class, or none of {name} ({module})")
    if not classes and not isinstance(thing, kind):
        raise TypeError(f"it is of class {type(thing).__name__}, wanted is {name} ({module})")
    return thing


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

    def __getitem__(self, name: str) -> T:
        if name in self._loaded:
            return self._loaded[name]
        if name not in _folders(self._package):
            return self._of_package(name)
        thing: T = getattr(import_module(f"{self._package}.{name}.{self._module}"), self._attribute)
        self._loaded[name] = thing
        return thing

    def _of_package(self, name: str) -> T:
        """What a package brings. Raises KeyError."""
        thing: T = load(self.group, name)
        return thing

    def __contains__(self, name: object) -> bool:
        return name in self._loaded or name in _folders(self._package) or name in usable(self.group)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*_folders(self._package), *self._loaded, *usable(self.group)}))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def add(self, name: str, thing: T) -> None:
        """Make one known in this process."""
        self._loaded[name] = thing


class Extended(Mapping[str, T], Generic[T]):
    """A table of Parley's own rows, and behind them those that allowed packages bring: these are looked for only where
    a name is none of Parley's, or all rows are wanted."""

    def __init__(self, own: Mapping[str, T], brought: Callable[[], Mapping[str, T]]) -> None:
        self._own = dict(own)
        self._brought = brought

    def __getitem__(self, name: str) -> T:
        return self._own[name] if name in self._own else self._brought()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._brought()

    def __iter__(self) -> Iterator[str]:
        return iter((*self._own, *self._brought()))

    def __len__(self) -> int:
        return len(self._own) + len(self._brought())
