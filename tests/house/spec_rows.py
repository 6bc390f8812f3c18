"""The rows of the pages in docs/spec-map: clause -> symbol -> test.

A row whose test can only skip on some machines names, behind its test, the folders that it needs, from the root of the
checkout: `tests/x.py::test_y` (needs ../shared/data/clinc150). Where one of them is absent the row is not checked, and
said not to be; where all are there it counts as any other. A row without such a mark never skips.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.house.module_names import module_of
from tests.house.stub import NoSuchSymbol, resolve

ROOT = Path(__file__).parents[2]
MAP = ROOT / "docs" / "spec-map"


@dataclass(frozen=True)
class Row:
    """One line of the map."""

    number: int
    clause: str
    symbols: tuple[tuple[str, str], ...]
    """(module, symbol in it)"""
    tests: tuple[str, ...]
    """Ids without parameters."""
    needs: tuple[str, ...] = ()
    """Folders without which its tests can only skip, from the root of the checkout."""

    def absent(self, root: Path = ROOT) -> list[str]:
        """Those of them that this machine does not have."""
        return [folder for folder in self.needs if not (root / folder).exists()]


class BadRow(Exception):
    """A line that cannot be read. Ours."""


def read(path: Path = MAP) -> list[Row]:
    """The rows of every table whose last two columns are headed symbol and test: of one page, or of a folder of pages.

    Raises
    ------
    BadRow
        A row without a symbol or a test, with one written in another way than `path.py:symbol`, or with words behind
        its tests that are no mark.
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
    mark = re.sub(r"`[^`]*`", "", tests).strip(" ,")
    needs = re.fullmatch(r"\(needs ([^()`]+)\)", mark)
    if mark and needs is None:
        raise BadRow(f"row {number}: {mark} is not (needs FOLDER, FOLDER)")
    folders = tuple(folder.strip() for folder in needs[1].split(",")) if needs else ()
    return Row(number, " | ".join(clause), tuple(pairs), tuple(ids), folders)


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
