"""Which methods and data sets there are.

A package adds its methods with `add_method` when it is imported. Packages of this project stand in `PACKAGES`; others
name a module in the entry point group `parley.debate_methods`. Data sets are added in the same way.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal

import msgspec

from parley_research.debates.method import Method
from parley_research.debates.record import RecordedDebate
from parley_research.loaders import Origin

PACKAGES = ["parley_research.debates.methods", "parley_research.debates.sets", "parley_research.learned.methods"]
"""Modules that add methods or data sets when they are imported."""
ENTRY_POINTS = "parley.debate_methods"

Records = Literal["rounds", "samples", "verdicts", "words", "tokens", "beliefs", "confidence", "evidence", "assigned"]
"""What a data set holds. samples: many answers of one model. assigned: members argue for an answer that was given to
them, so their answers say nothing."""


class DataSet(msgspec.Struct, frozen=True, kw_only=True):
    """Where debates come from, and what may be said of them."""

    name: str
    title: str
    files: tuple[str, ...]
    """Below the folder of the data sets."""
    load: Callable[[Path], Iterable[RecordedDebate]]
    """Every debate, from the folder of the data sets. Raises `loaders.NoData` and `loaders.BadData`."""
    records: frozenset[Records] = frozenset()
    origin: Origin | None = None
    """None: whoever added it has it."""
    note: str = ""
    """What a reader must know of the source."""
    split: str = ""
    """The name that its halves are drawn with; empty: its own. A part of another set has that one's."""
    seen_before: str = ""
    """Where this project looked at the set before. Empty: nowhere that is known."""


class Registry:
    """Methods and data sets by name, in the order in which they were added."""

    def __init__(self) -> None:
        self._methods: dict[str, Callable[[], Method]] = {}
        self._sets: dict[str, DataSet] = {}
        self.missing: dict[str, str] = {}
        """Methods that cannot be run here, such as for want of a library -> why, and what to do."""

    def add_method(self, name: str, make: Callable[[], Method]) -> None:
        """Raises ValueError where another method has this name."""
        if name in self._methods:
            raise ValueError(f"two methods are called {name!r}")
        self._methods[name] = make

    def add_missing(self, name: str, why: str) -> None:
        """A method that cannot be run here. `why`: also what to do, without a full stop."""
        self.missing[name] = why

    def add_set(self, data_set: DataSet) -> None:
        """Raises ValueError where another data set has this name."""
        if data_set.name in self._sets:
            raise ValueError(f"two data sets are called {data_set.name!r}")
        self._sets[data_set.name] = data_set

    def methods(self) -> Iterator[Method]:
        """A new object of each."""
        for make in self._methods.values():
            yield make()

    def sets(self) -> tuple[DataSet, ...]:
        return tuple(self._sets.values())


REGISTRY = Registry()
add_method = REGISTRY.add_method
add_missing = REGISTRY.add_missing
add_set = REGISTRY.add_set


def loaded() -> Registry:
    """The registry with everything in it: modules of `PACKAGES` and of the entry points are imported."""
    for module in [*PACKAGES, *sorted(point.value for point in entry_points(group=ENTRY_POINTS))]:
        import_module(module)
    return REGISTRY
