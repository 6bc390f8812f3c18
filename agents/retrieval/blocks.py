"""A text (plain, Markdown or CSV) as blocks: headings, paragraphs, list items, table rows, lines of code."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

_MARKER = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+")
_KEY = re.compile(r"\s*[@\w.\"'-]+\s*(?:=|:\s)\s*\S")
"""A setting, a field, or who says the rest of the line."""
_SECTION = re.compile(r"\s*\[[\w.\" -]+\]\s*$")
_SKIPPED = re.compile(r"\s*[-=_*]{3,}\s*$")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*\|?\s*$")
_CELL_END = re.compile(r"(?<!\\)\|")
LEAST_ROWS = 3
"""Lines with the same number of cells from which a text is read as CSV."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block; its text is verbatim, white space aside."""

    text: str
    kind: str = "paragraph"
    """heading | paragraph | item | row | code"""
    level: int = 0
    """Of a heading."""
    cells: tuple[str, ...] = ()
    """Of a row."""
    header: tuple[str, ...] = ()
    """What stands above each cell."""
    table: int = -1
    """Which table of the text a row is of."""


def blocks(text: str) -> list[Block]:
    """The blocks of a text in their order; rules and fences are none."""
    return _of_csv(text) or list(_of_markdown(text.splitlines()))


def _of_markdown(lines: Sequence[str]) -> Iterator[Block]:
    open_lines: list[str] = []
    kind = "paragraph"
    code = False
    header: tuple[str, ...] = ()
    tables = -1
    for i, line in enumerate(lines):
        bare = line.strip()
        heading = bare.lstrip("#")
        row = not code and bare.startswith("|")
        if not row:
            header = ()
        alone = code or row or not bare or _SKIPPED.match(line) or _FENCE.match(line)
        alone = alone or (bare.startswith("#") and heading[:1] in (" ", "")) or _SECTION.match(line)
        if (alone or _MARKER.match(line) or _KEY.match(line)) and open_lines:
            yield Block(" ".join(open_lines), kind)
            open_lines, kind = [], "paragraph"
        if _FENCE.match(line):
            code = not code
        elif code:
            if bare:
                yield Block(bare, "code")
        elif not bare or _SKIPPED.match(line):
            kind = "paragraph"
        elif row:
            if i + 1 < len(lines) and _RULE.match(lines[i + 1]) and "|" in lines[i + 1] and not _RULE.match(line):
                tables, header = tables + 1, _cells(bare)
            elif not _RULE.match(line):
                yield Block(bare, "row", cells=_cells(bare), header=header, table=tables)
        elif alone:
            yield Block(bare.strip("# "), "heading", len(bare) - len(heading) or 6)
        else:
            if marker := _MARKER.match(line):
                bare, kind = line[marker.end() :].strip(), "item"
            elif not open_lines and _KEY.match(line):
                kind = "item"
            open_lines.append(bare)
    if open_lines:
        yield Block(" ".join(open_lines), kind)


def _cells(row: str) -> tuple[str, ...]:
    return tuple(c.strip() for c in _CELL_END.split(row.strip().removeprefix("|").removesuffix("|")))


def _of_csv(text: str) -> list[Block]:
    """Rows under the first line's headers; none where the text is no CSV."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < LEAST_ROWS:
        return []
    sign = max(",;\t", key=lines[0].count)
    if not lines[0].count(sign):
        return []
    try:
        rows = list(csv.reader(lines, delimiter=sign, strict=True))
    except csv.Error:
        return []
    width = len(rows[0])
    if len(rows) != len(lines) or any(len(r) != width for r in rows) or any(len(c) > 60 for c in rows[0]):
        return []
    header = tuple(c.strip() for c in rows[0])
    row_block = Block("", "row", header=header, table=0)
    return [
        replace(row_block, text=line.strip(), cells=tuple(c.strip() for c in row))
        for line, row in zip(lines[1:], rows[1:], strict=True)
    ]
