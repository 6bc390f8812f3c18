"""Stubs the symbol that PARLEY_STUB names (`module:symbol`) in child processes, right after its module is imported."""

import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

MODULE, _, SYMBOL = os.environ.get("PARLEY_STUB", "").partition(":")


class Stubbing(Loader):
    """Loads the module as it is, then stubs."""

    def __init__(self, real: Loader) -> None:
        self.real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.real.exec_module(module)
        from tests.house.stub import stub

        stub(MODULE, SYMBOL)


class Finder(MetaPathFinder):
    """Finds the one module."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != MODULE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = Stubbing(spec.loader)
        return spec


if MODULE:
    sys.meta_path.insert(0, Finder())
