"""A text (plain or Markdown) as blocks with their places in it: headings, paragraphs, list items, rows of tables, lines
of code.

Readers of files write a table's row as an item that repeats its headers: `- Canal: Suez; Opened: 1869`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MARKER = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+")
_KEY = re.compile(r"\s*[@\w.\"'-]+\s*(?:(?:=|:\s)\s*\S|:\s*$)")
"""A setting, a field, or who says the rest of the line."""
_SECTION = re.compile(r"\s*\[[\w.\" -]+\]\s*$")
_SKIPPED = re.compile(r"\s*[-=_*]{3,}\s*$")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_RULE = re.compile(r"\|[\s:|-]*$")
_ROW = re.compile(r"([^:;]{1,80}): ([^;]+)(?:; |$)")


@dataclass(frozen=True, slots=True)
class Block:
    """A block; its text is verbatim, white space aside."""

    text: str
    kind: str = "paragraph"
    """heading | paragraph | item | row | code"""
    level: int = 0
    """Of a heading."""
    start: int = 0
    """Where it begins in the text: behind the sign of an item, but before those of a heading."""
    end: int = 0
    parted: bool = False
    """Whether a rule or a fence stands before it."""


def blocks(text: str) -> list[Block]:
    """The blocks of a text in their order; rules and fences are none."""
    return list(_blocks(text))


def _blocks(text: str) -> Iterator[Block]:
    kind = "paragraph"
    start = end = -1
    parted = code = False
    at = 0

    def closed() -> Iterator[Block]:
        nonlocal start, kind, parted
        if start >= 0:
            said = " ".join(text[start:end].split())
            yield Block(said, "row" if kind == "item" and is_row(said) else kind, 0, start, end, parted)
            parted = False
        start, kind = -1, "paragraph"

    for whole in text.splitlines(keepends=True):
        line = whole.rstrip("\r\n")
        bare = line.strip()
        first = at + len(line) - len(line.lstrip())
        last = first + len(bare)
        at += len(whole)
        heading = bare.lstrip("#")
        row = not code and bare.startswith("|")
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
            if not _RULE.match(bare):
                yield Block(bare, "row", 0, first, last, parted)
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


def is_row(text: str) -> bool:
    """Whether a text repeats the headers of a table: two or more, each with its value."""
    names: list[str] = []
    at = 0
    for match in _ROW.finditer(text) if ": " in text else ():
        if match.start() != at or match[1] in names:
            return False
        names.append(match[1])
        at = match.end()
    return len(names) > 1 and at == len(text)


def sections(found: Sequence[Block]) -> Iterator[tuple[tuple[Block, ...], Block]]:
    """(the headings above it, the highest first; the block) of each block, headings too."""
    above: tuple[Block, ...] = ()
    for block in found:
        if block.kind == "heading":
            above = tuple(h for h in above if h.level < block.level)
        yield above, block
        if block.kind == "heading":
            above = (*above, block)
