"""A text (plain or Markdown) as blocks with their places in it: headings, paragraphs, list items, rows of tables, lines
of code.

Readers of files write a table's row as an item that repeats its headers (`- Canal: Suez; Opened: 1869`); two or more of
these with the same first header are a table. A Markdown table is one too.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

_MARKER = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+")
_KEY = re.compile(r"\s*[@\w.\"'-]+\s*(?:(?:=|:\s)\s*\S|:\s*$)")
"""A setting, a field, or who says the rest of the line."""
_SECTION = re.compile(r"\s*\[[\w.\" -]+\]\s*$")
_SKIPPED = re.compile(r"\s*[-=_*]{3,}\s*$")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*\|?\s*$")
_CELL_END = re.compile(r"(?<!\\)\|")
_ROW = re.compile(r"([^:;]{1,80}): ([^;]+)(?:; |$)")


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
    start: int = 0
    """Where it begins in the text: behind the sign of an item, but before those of a heading."""
    end: int = 0
    parted: bool = False
    """Whether a rule or a fence stands before it."""


def blocks(text: str) -> list[Block]:
    """The blocks of a text in their order; rules and fences are none."""
    return _with_tables(list(_of_markdown(text)))


def _of_markdown(text: str) -> Iterator[Block]:
    lines = text.splitlines(keepends=True)
    kind = "paragraph"
    start = end = -1
    parted = code = False
    header: tuple[str, ...] = ()
    tables = -1
    at = 0

    def closed() -> Iterator[Block]:
        nonlocal start, kind, parted
        if start >= 0:
            yield Block(" ".join(text[start:end].split()), kind, start=start, end=end, parted=parted)
            parted = False
        start, kind = -1, "paragraph"

    for i, whole in enumerate(lines):
        line = whole.rstrip("\r\n")
        bare = line.strip()
        first = at + len(line) - len(line.lstrip())
        last = first + len(bare)
        at += len(whole)
        heading = bare.lstrip("#")
        row = not code and bare.startswith("|")
        if not row:
            header = ()
        rule = bool(bare and _SKIPPED.match(line))
        alone = code or row or not bare or rule or _FENCE.match(line)
        alone = alone or (bare.startswith("#") and heading[:1] in (" ", "")) or _SECTION.match(line)
        if alone or _MARKER.match(line) or _KEY.match(line):
            yield from closed()
        if _FENCE.match(line):
            code, parted = not code, True
        elif code:
            if bare:
                yield Block(bare, "code", start=first, end=last, parted=parted)
                parted = False
        elif rule:
            parted = True
        elif row:
            if i + 1 < len(lines) and _RULE.match(lines[i + 1]) and "|" in lines[i + 1] and not _RULE.match(line):
                tables, header = tables + 1, _cells(bare)
            elif not _RULE.match(line):
                yield Block(bare, "row", 0, _cells(bare), header, tables, first, last, parted)
                parted = False
        elif bare and alone:
            level = len(bare) - len(heading) or 6
            yield Block(bare.strip("# "), "heading", level, start=first, end=last, parted=parted)
            parted = False
        elif bare:
            if marker := _MARKER.match(line):
                kind, first = "item", first + len(line[: marker.end()].lstrip())
            elif start < 0 and _KEY.match(line):
                kind = "item"
            start = first if start < 0 else start
            end = last
    yield from closed()


def _cells(row: str) -> tuple[str, ...]:
    return tuple(c.strip() for c in _CELL_END.split(row.strip().removeprefix("|").removesuffix("|")))


def _with_tables(found: list[Block]) -> list[Block]:
    """Items that repeat the headers of a table, as its rows."""
    tables = max((block.table for block in found), default=-1)
    at = 0
    while at < len(found):
        end = at
        headers: list[dict[str, str]] = []
        while (
            end < len(found)
            and (pairs := pairs_of(found[end].text, found[end].kind))
            and (not headers or next(iter(pairs)) in headers[0])
        ):
            headers.append(pairs)
            end += 1
        if end - at >= 2 and max(map(len, headers)) > 1:
            tables += 1
            header = max(headers, key=len)
            for i, pairs in enumerate(headers, at):
                own = tuple(header) if pairs.keys() <= header.keys() else tuple(pairs)
                cells = tuple(pairs.get(name, "") for name in own)
                found[i] = replace(found[i], kind="row", cells=cells, header=own, table=tables)
        at = max(end, at + 1)
    return found


def pairs_of(text: str, kind: str = "item") -> dict[str, str]:
    """Header -> value of an item that is a row; empty: it is none."""
    if kind != "item" or ": " not in text:
        return {}
    pairs: dict[str, str] = {}
    at = 0
    for match in _ROW.finditer(text):
        if match.start() != at or match[1] in pairs:
            return {}
        pairs[match[1]] = match[2]
        at = match.end()
    return pairs if at == len(text) else {}


def sections(found: Sequence[Block]) -> Iterator[tuple[tuple[Block, ...], Block]]:
    """(the headings above it, the highest first; the block) of each block, headings too."""
    above: tuple[Block, ...] = ()
    for block in found:
        if block.kind == "heading":
            above = tuple(h for h in above if h.level < block.level)
        yield above, block
        if block.kind == "heading":
            above = (*above, block)
