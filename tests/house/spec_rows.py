"""The rows of the pages in docs/spec-map: clause -> symbol -> test."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.house.stub import NoSuchSymbol, resolve

ROOT = Path(__file__).parents[2]
MAP = ROOT / "docs" / "spec-map"


def module_of(path: str, root: Path = ROOT) -> str:
    """What a file from the root is imported as: `coordinator/machine.py` -> `parley.coordinator.machine`."""
    place = path.removesuffix(".py").removesuffix("/__init__").removeprefix("research/")
    linked = (root / "parley" / place.partition("/")[0]).is_symlink()
    return ("parley." if linked else "") + place.replace("/", ".")


@dataclass(frozen=True)
class Row:
    """One line of the map."""

    number: int
    clause: str
    symbols: tuple[tuple[str, str], ...]
    """(module, symbol in it)"""
    tests: tuple[str, ...]
    """Ids without parameters."""


class BadRow(Exception):
    """A line that cannot be read. Ours."""


def read(path: Path = MAP) -> list[Row]:
    """The rows of every table whose last two columns are headed symbol and test: of one page, or of a folder of pages.

    Raises
    ------
    BadRow
        A row without a symbol or a test, or with one written in another way than `path.py:symbol`.
    """
    rows: list[Row] = []
    inside = False
    pages = sorted(path.glob("*.md")) if path.is_dir() else [path]
    for line in (line for page in pages for line in page.read_text(encoding="utf-8").splitlines()):
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if not line.startswith("|"):
            inside = False
        elif [c.lower() for c in cells[-2:]] == ["symbol", "test"]:
            inside = True
        elif inside and not set(line) <= set("|-: "):
            rows.append(_row(len(rows) + 1, cells))
    return rows


def _row(number: int, cells: list[str]) -> Row:
    *clause, symbols, tests = cells
    named = re.findall(r"`([^`]+)`", symbols)
    ids = re.findall(r"`([^`]+)`", tests)
    if not named or not ids:
        raise BadRow(f"row {number} ({cells[0]}) needs a symbol and a test, each in back quotes")
    pairs = []
    for text in named:
        match = re.fullmatch(r"([\w/]+)\.py:([\w.]+)", text)
        if match is None:
            raise BadRow(f"row {number}: {text} is not path.py:symbol")
        pairs.append((module_of(match[1]), match[2]))
    return Row(number, " | ".join(clause), tuple(pairs), tuple(ids))


def missing(rows: Sequence[Row], root: Path = ROOT) -> list[str]:
    """A sentence for each symbol and each test that the map names and the code does not have."""
    out = []
    for row in rows:
        for module, symbol in row.symbols:
            try:
                resolve(module, symbol)
            except NoSuchSymbol as error:
                out.append(f"row {row.number}: {error}")
        for test in row.tests:
            path, _, name = test.partition("::")
            file = root / path
            function = name.rpartition("::")[2]
            pattern = rf"^\s*(?:async )?(?:def|class) {re.escape(function)}\b"
            if not file.is_file() or not re.search(pattern, file.read_text(encoding="utf-8"), re.MULTILINE):
                out.append(f"row {row.number}: no test {test}")
    return out
