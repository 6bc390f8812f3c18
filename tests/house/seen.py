"""Remembers which rows of the spec map were seen to count, and as what.

A row's digest is of all that it was seen with: the row itself, the modules of its symbols and of its tests, every
module of the checkout that those import, however far down, the settings of the checkout, and whatever is no module
beside its packages' modules (prompts, formats, specifications). What a test only starts, and does not import, is not in
it: that is what the full run is for.
"""

import ast
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from tests.house.spec_rows import Row

LARGE = 1_000_000
"""Bytes. Of larger files the size alone tells."""
SETTINGS = ("pyproject.toml", "requirements.lock", "pytest.ini")
HARNESS = ("tests/house/specmap.py", "tests/house/spec_rows.py", "tests/house/stub.py")


class Seen:
    """What is in .cache/specmap.json of a checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = root / ".cache" / "specmap.json"
        self._imports: dict[Path, frozenset[Path]] = {}
        self._digests: dict[Path, str] = {}
        self._closures: dict[frozenset[Path], str] = {}

    def lacking(self, rows: Sequence[Row]) -> list[Row]:
        """Those that were not seen to count as they are now: first what was seen otherwise, then what never was.

        The latter come in an order of their digests, so that any few of them are from all over the map."""
        known = self._read()
        digests = {row.number: self.digest(row) for row in rows}
        left = [row for row in rows if known.get(_name(row)) != digests[row.number]]
        return sorted(left, key=lambda row: (_name(row) not in known, digests[row.number]))

    def add(self, rows: Sequence[Row]) -> None:
        """These count as they are now."""
        if not rows:
            return
        known = {**self._read(), **{_name(row): self.digest(row) for row in rows}}
        self.path.parent.mkdir(exist_ok=True)
        beside = self.path.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps(known, indent=0), encoding="utf-8")
        beside.replace(self.path)

    def digest(self, row: Row) -> str:
        """Of all that the row was seen with."""
        files = [self.root / test.partition("::")[0] for test in row.tests]
        files += [found for module, _ in row.symbols for found in self._files(module)]
        files += [c for file in list(files) for p in file.parents if (c := p / "conftest.py").is_file()]
        what = frozenset(files)
        if what not in self._closures:
            known = sorted(self._closure(what) | {self.root / name for name in HARNESS})
            self._closures[what] = _digest_of(f"{file}:{self._digest(file)}" for file in known)
        return _digest_of((_name(row), self._rest, self._closures[what]))

    def _read(self) -> dict[str, str]:
        try:
            found: dict[str, str] = json.loads(self.path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return found

    def _closure(self, files: Iterable[Path]) -> set[Path]:
        """These and every module of the checkout that they import, however far down."""
        known: set[Path] = set()
        todo = list(files)
        while todo:
            file = todo.pop()
            if file not in known and file.is_file():
                known.add(file)
                todo += self._imported(file)
        return known

    def _imported(self, file: Path) -> frozenset[Path]:
        if file not in self._imports:
            tree = ast.parse(file.read_text(encoding="utf-8"))
            self._imports[file] = frozenset(f for name in _names(tree) for f in self._files(name))
        return self._imports[file]

    def _files(self, module: str) -> Iterator[Path]:
        """The module's file, where it is of the checkout, and those of the packages that it lies in."""
        place = self.root / "research" if module.startswith("parley_research") else self.root
        for part in module.split("."):
            place = place / part
            for file in (place.with_suffix(".py"), place / "__init__.py"):
                if file.is_file():
                    yield file

    def _digest(self, file: Path) -> str:
        if file not in self._digests:
            size = file.stat().st_size if file.is_file() else -1
            content = file.read_bytes() if 0 <= size <= LARGE else str(size).encode()
            self._digests[file] = hashlib.sha256(content).hexdigest()
        return self._digests[file]

    @cached_property
    def _rest(self) -> str:
        """A digest of what is no module: settings, and what lies in the packages beside their modules."""
        files = [self.root / name for name in SETTINGS]
        for package in sorted(p.parent for p in self.root.glob("*/__init__.py")):
            files += (f for f in sorted(package.rglob("*")) if f.is_file() and f.suffix not in (".py", ".pyc"))
        return _digest_of(f"{file}:{self._digest(file)}" for file in files)


def _digest_of(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _name(row: Row) -> str:
    """What a row is, wherever it stands in the map."""
    return " ".join([*(f"{module}:{symbol}" for module, symbol in row.symbols), *row.tests])


def _names(tree: ast.Module) -> Iterator[str]:
    """Every name that may be a module's: imported, or written out as a text (`python -m
    parley.coordinator.moderator`)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_dotted(node.value):
            yield node.value


def _is_dotted(text: str) -> bool:
    parts = text.split(".")
    return len(parts) > 1 and all(part.isidentifier() for part in parts)
