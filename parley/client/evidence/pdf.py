"""A PDF as text: blocks in reading order from its words (nothing of them is lost), headings apart, rows with headers.

A page is cut into regions at its columns, a region into lines. Lines that belong together are a paragraph; lines of
aligned cells, or what stands between ruled lines, are rows of a table; a line in larger or bolder letters is a heading.
What stands again and again at the edges of the pages is left out.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from parley.client.evidence.document_writer import CannotRead, DocumentWriter
from parley.client.evidence.pdf_words import Pdf, Rules, Word

MOST_PAGES = 2_000
_BULLET = re.compile(r"[•▪‣◦●○■*–-]$|\d{1,2}[.)]$|\(?[a-z]\)$")
_BIGGER = 1.12
_NUMBER = re.compile(r"\d+")
_ENDS = re.compile(r"[.;:,!?]$")
_CUT_WORD = re.compile(r"[^\W\d_]-$")
_AND = re.compile(r"(?:und|oder|et|y|and|or)\b")
_GAP = 0.9
"""Of a letter's height: words farther apart stand in two cells."""

Line = list[Word]
Cell = tuple[float, float, str]


class Block(NamedTuple):
    """A heading, a paragraph, an item or a table."""

    kind: str
    text: str = ""
    rank: float = 0.0
    """Of a heading: the larger the letters, the higher."""
    grid: tuple[tuple[str, ...], ...] = ()


def read(data: bytes, out: DocumentWriter) -> None:
    """Write a PDF's text. Raises CannotRead."""
    pdf = Pdf(data)
    if len(pdf) > MOST_PAGES:
        raise CannotRead(f"has {len(pdf):,} pages, allowed are {MOST_PAGES:,}: split it")
    pages: list[list[Block]] = []
    usual = 0.0
    read_pages: list[tuple[list[Word], Rules]] = []
    broken = 0
    for number in range(len(pdf)):
        page = pdf.page(number)
        broken += page is None
        read_pages.append(page or ([], Rules((), ())))
        if len(read_pages) == 30 or number == len(pdf) - 1:
            usual = usual or _usual_size([word for words, _ in read_pages for word in words])
        if usual:
            pages.extend(list(_blocks(words, rules, usual)) for words, rules in read_pages)
            read_pages.clear()
    empty = [number for number, blocks in enumerate(pages, 1) if not blocks] if pages else []
    if broken == len(pdf):
        raise CannotRead("is broken: none of its pages can be opened")
    if not pages or len(empty) == len(pages):
        raise CannotRead("is a scan: its pages are pictures without text; run text recognition (OCR) on it first")
    if empty:
        named = ", ".join(map(str, empty[:10])) + (" and more" if len(empty) > 10 else "")
        out.remarks.append(f"page {named} {'has' if len(empty) == 1 else 'have'} no text (a picture of it needs OCR)")
    _write(pages, out)


def _write(pages: Sequence[Sequence[Block]], out: DocumentWriter) -> None:
    again = _running(pages)
    levels = _levels(pages)
    open_text = ""
    open_kind = ""

    def close() -> None:
        nonlocal open_text
        if open_text:
            (out.item if open_kind == "item" else out.paragraph)(open_text)
        open_text = ""

    for number, blocks in enumerate(pages, 1):
        begun = False
        for block in blocks:
            if block.kind != "table" and (_edge(block) in again or re.fullmatch(r"\d{1,4}", block.text)):
                continue
            goes_on = block.kind == "text" and block.text[:1].islower() and not begun
            if open_text and goes_on and not _ENDS.search(open_text):
                open_text = _joined([open_text, block.text])
                begun = True
                continue
            close()
            out.place(f"page {number}")
            begun = True
            if block.kind == "table":
                out.table(block.grid)
            elif block.kind == "heading":
                out.heading(block.text, levels.get(block.rank, 6))
            else:
                open_text, open_kind = block.text, block.kind
        if open_text and _ENDS.search(open_text):
            close()
    close()


def _running(pages: Sequence[Sequence[Block]]) -> frozenset[str]:
    """What stands at the edges of most pages, numbers aside."""
    edges = Counter(
        text for blocks in pages for text in {_edge(b) for b in (*blocks[:2], *blocks[-2:]) if b.kind != "table"}
    )
    return frozenset(t for t, n in edges.items() if len(pages) > 1 and n >= max(2, 0.6 * len(pages)))


def _edge(block: Block) -> str:
    """A block's text as what runs from page to page has it: other numbers count as the same, but not in a heading."""
    return block.text if block.kind == "heading" else _NUMBER.sub("#", block.text)


def _levels(pages: Sequence[Sequence[Block]]) -> dict[float, int]:
    ranks = sorted({b.rank for blocks in pages for b in blocks if b.kind == "heading"}, reverse=True)
    return {rank: min(6, n) for n, rank in enumerate(ranks, 1)}


def _usual_size(words: Sequence[Word]) -> float:
    sizes: Counter[float] = Counter()
    for word in words:
        sizes[word.size] += len(word.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


# -- a page


def _blocks(words: Sequence[Word], rules: Rules, usual: float) -> Iterator[Block]:
    tables = list(_ruled(words, rules))
    inside = {id(word) for _, _, within in tables for word in within}
    rest = [word for word in words if id(word) not in inside]
    waiting = sorted(tables, key=lambda table: -table[0])
    for region in _regions(rest):
        top = max(word.y1 for word in region)
        while waiting and waiting[0][0] > top:
            yield Block("table", grid=waiting.pop(0)[1])
        lines = _lines(region)
        while waiting and any(_middle(line) < waiting[0][0] for line in lines):
            above = [line for line in lines if _middle(line) > waiting[0][0]]
            yield from _of_lines(above, usual)
            yield Block("table", grid=waiting.pop(0)[1])
            lines = lines[len(above) :]
        yield from _of_lines(lines, usual)
    for _, grid, _ in waiting:
        yield Block("table", grid=grid)


def _middle(line: Line) -> float:
    return (line[0].y0 + line[0].y1) / 2


def _ruled(words: Sequence[Word], rules: Rules) -> Iterator[tuple[float, tuple[tuple[str, ...], ...], list[Word]]]:
    """(top, cells, words) of each table whose cells are parted by lines."""
    for x0, x1, bottom, top in _frames(rules):
        within = [
            w for w in words if x0 - 2 <= (w.x0 + w.x1) / 2 <= x1 + 2 and bottom - 2 <= (w.y0 + w.y1) / 2 <= top + 2
        ]
        columns = _apart(x for x, y0, y1 in rules.upright if x0 - 2 <= x <= x1 + 2 and y0 < top - 1 and y1 > bottom + 1)
        levels = _apart(y for y, a, b in rules.level if bottom - 2 <= y <= top + 2 and a < x1 - 1 and b > x0 + 1)
        if len(columns) < 3 or len(levels) < 3 or not within:
            continue
        grid: list[list[list[Word]]] = [[[] for _ in columns[1:]] for _ in levels[1:]]
        for word in within:
            column = sum((word.x0 + word.x1) / 2 > x for x in columns[1:-1])
            row = sum((word.y0 + word.y1) / 2 < y for y in reversed(levels[1:-1]))
            grid[row][column].append(word)
        cells = tuple(tuple(_joined([_said(line) for line in _lines(cell)]) for cell in row) for row in grid)
        if sum(any(row) for row in cells) > 1:
            yield top, cells, within


def _frames(rules: Rules) -> Iterator[tuple[float, float, float, float]]:
    """(left, right, bottom, top) of where lines that cross one another lie."""
    frames: list[list[float]] = []
    for x, y0, y1 in rules.upright:
        touched = [f for f in frames if f[2] - 3 <= y1 and y0 <= f[3] + 3]
        merged = [x, x, y0, y1]
        for f in touched:
            frames.remove(f)
            merged = [min(merged[0], f[0]), max(merged[1], f[1]), min(merged[2], f[2]), max(merged[3], f[3])]
        frames.append(merged)
    for x0, x1, bottom, top in frames:
        if x1 - x0 > 20 and top - bottom > 10:
            yield x0, x1, bottom, top


def _apart(values: Iterator[float]) -> list[float]:
    """The values in order, those that are nearly equal once."""
    kept: list[float] = []
    for value in sorted(values):
        if not kept or value - kept[-1] > 3:
            kept.append(value)
    return kept


def _lines(words: Sequence[Word]) -> list[Line]:
    found: list[tuple[float, Line]] = []
    for word in sorted(words, key=lambda w: -(w.y0 + w.y1) / 2):
        middle = (word.y0 + word.y1) / 2
        if found and abs(found[-1][0] - middle) < (word.y1 - word.y0) * 0.4:
            found[-1][1].append(word)
        else:
            found.append((middle, [word]))
    return [sorted(line) for _, line in found]


def _cells(line: Line) -> list[Cell]:
    found: list[Cell] = []
    for word in line:
        if found and word.x0 - found[-1][1] < _GAP * word.size:
            found[-1] = (found[-1][0], word.x1, f"{found[-1][2]} {word.text}")
        else:
            found.append((word.x0, word.x1, word.text))
    return found


def _is_table(lines: Sequence[Line]) -> bool:
    return sum(len(_cells(line)) >= 3 for line in lines) >= 2


def _regions(words: Sequence[Word], depth: int = 0) -> list[Sequence[Word]]:
    """The parts of a page in reading order: across a gutter left before right, else from the top."""
    if depth >= 6 or len(words) <= 12:
        return [words] if words else []
    lines = _lines(words)
    if depth and _is_table(lines):
        return [words]
    sides = _gutter(words, least=8, wide=8)
    if sides:
        return [*_regions(sides[0], depth + 1), *_regions(sides[1], depth + 1)]
    if depth < 3:
        for count in range(1, min(len(lines) - 5, 7)):
            for top in (True, False):
                apart, rest = (lines[:count], lines[count:]) if top else (lines[-count:], lines[:-count])
                inner = [word for line in rest for word in line]
                sides = None if _is_table(rest) else _gutter(inner, least=6, wide=12)
                if sides:
                    parts = [*_regions(sides[0], depth + 1), *_regions(sides[1], depth + 1)]
                    edge = [word for line in apart for word in line]
                    return [edge, *parts] if top else [*parts, edge]
    return [words]


def _gutter(words: Sequence[Word], least: int, wide: float) -> tuple[list[Word], list[Word]] | None:
    """What stands left and right of a blank that runs from top to bottom; None: there is none."""
    size = median(word.size for word in words)
    edges = sorted((word.x0, word.x1) for word in words)
    reach = edges[0][1]
    for x0, x1 in edges[1:]:
        if x0 - reach > size:
            left = [word for word in words if word.x1 <= reach + 0.1]
            right = [word for word in words if word.x0 >= x0 - 0.1]
            a, b = _lines(left), _lines(right)
            if len(a) >= 3 and len(b) >= 3 and len(left) > least and (_wide(a) > wide * size or _wide(b) > wide * size):
                if wide > 8 and _wide(a) <= wide * size:
                    return None
                if _wide(a) > 8 * size or len(a) > 6:
                    return left, right
        reach = max(reach, x1)
    return None


def _wide(lines: Sequence[Line]) -> float:
    return median(line[-1].x1 - line[0].x0 for line in lines)


# -- lines


def _of_lines(lines: Sequence[Line], usual: float) -> Iterator[Block]:
    paragraph: list[Line] = []
    at = 0
    while at < len(lines):
        run = _aligned(lines[at:])
        if len(run) >= 2:
            yield from _paragraph(paragraph, usual)
            paragraph = []
            yield Block("table", grid=_by_columns(run))
            at += len(run)
            continue
        line = lines[at]
        at += 1
        if paragraph and _begins(line, paragraph):
            yield from _paragraph(paragraph, usual)
            paragraph = []
        paragraph.append(line)
    yield from _paragraph(paragraph, usual)


def _aligned(lines: Sequence[Line]) -> list[list[Cell]]:
    """The cells of the lines from the first on that have three or more."""
    run: list[list[Cell]] = []
    for line in lines:
        cells = _cells(line)
        if len(cells) < 3 or (run and len(cells) > len(run[0]) + 1):
            break
        run.append(cells)
    return run


def _by_columns(run: Sequence[Sequence[Cell]]) -> tuple[tuple[str, ...], ...]:
    heads = run[0]
    grid = [[text for _, _, text in heads]]
    for cells in run[1:]:
        row = [""] * len(heads)
        for x0, x1, text in cells:
            nearest = min(
                range(len(heads)),
                key=lambda i: min(
                    abs(heads[i][0] - x0), abs(heads[i][1] - x1), abs(heads[i][0] + heads[i][1] - x0 - x1) / 2
                ),
            )
            row[nearest] = f"{row[nearest]} {text}".strip()
        grid.append(row)
    return tuple(map(tuple, grid))


def _begins(line: Line, paragraph: Sequence[Line]) -> bool:
    """Whether a line begins another block than the lines above it."""
    above = paragraph[-1]
    size = line[0].size
    gap = min(word.y0 for word in above) - max(word.y1 for word in line)
    bold = line[0].bold and line[-1].bold
    if gap > 0.55 * size or abs(above[0].size - size) > 0.08 * size or (above[0].bold and above[-1].bold) != bold:
        return True
    if _BULLET.match(line[0].text):
        return True
    indented = line[0].x0 - min(x[0].x0 for x in paragraph) > 1.2 * size and not _BULLET.match(paragraph[0][0].text)
    return indented and not re.search(r"[a-z,]$", above[-1].text)


def _paragraph(lines: Sequence[Line], usual: float) -> Iterator[Block]:
    if not lines:
        return
    text = _joined([_said(line) for line in lines])
    size = lines[0][0].size
    bold = all(word.bold for line in lines for word in line)
    if (size >= _BIGGER * usual or bold) and len(text) < 120 and not re.search(r"[.;:,]$", text):
        yield Block("heading", text, size + bold / 2)
    elif re.fullmatch(r"[•▪‣◦●○■*–-]", lines[0][0].text):
        yield Block("item", text[1:].strip())
    else:
        yield Block("text", text)


def _said(line: Line) -> str:
    return " ".join(word.text for word in line)


def _joined(lines: Sequence[str]) -> str:
    """Lines as one, words that were cut at a line's end whole again."""
    text = lines[0] if lines else ""
    for line in lines[1:]:
        if text.endswith("\u00ad") or (_CUT_WORD.search(text) and line[:1].islower() and not _AND.match(line)):
            text = text[:-1] + line
        else:
            text = f"{text} {line}"
    return text.replace("\u00ad", "")
