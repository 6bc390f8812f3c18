"""Where general code finds what belongs to a protocol: one object a protocol in each layer, by the protocol's name.

A protocol of Parley's own has a package in each layer (`coordinator/protocols/<name>`, `agents/protocols/<name>`,
`client/protocols/<name>`): the package is found because it is there. An installed package brings a protocol of its own
by entry points, one a layer (schemas.installed); they are looked at only where Parley itself has none of that name,
since that takes time. One that cannot be loaded is as if it were not there; asked for by name, it says why.
"""

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from schemas import installed

T = TypeVar("T")


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
        self._made: dict[str, T] = {}
        self._own: frozenset[str] | None = None

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            self._made[name] = self._loader(name)()
        return self._made[name]

    def _loader(self, name: str) -> Callable[[], T]:
        """What imports the object. Raises KeyError where there is none of this name."""
        if name in self._names():
            return lambda: getattr(import_module(f"{self._package}.{name}.{self._module}"), self._attribute)
        thing = installed.load(self.group, name)
        return lambda: thing

    def _names(self) -> frozenset[str]:
        if self._own is None:
            found = pkgutil.iter_modules(import_module(self._package).__path__)
            self._own = frozenset(m.name for m in found if m.ispkg)
        return self._own

    def _installed(self) -> dict[str, Callable[[], Any]]:
        """What installed packages bring and can be loaded."""
        return installed.usable(self.group)

    def __contains__(self, name: object) -> bool:
        return name in self._made or name in self._names() or name in self._installed()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._names(), *self._made, *self._installed()}))

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
        self._made[name] = thing
