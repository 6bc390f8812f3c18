"""Tables of figures: .xlsx, .ods and values between delimiters, a row of each with its headers."""

import csv
import datetime
import re
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from parley.client.evidence.document_writer import CannotRead, DocumentWriter
from parley.client.evidence.office import Package, open_grid

_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_LETTERS = re.compile(r"[A-Z]+")
_DATES = frozenset((14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 34, 35, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58))
_TIMES = frozenset((18, 19, 20, 21, 32, 33, 45, 46, 47))
_IN_QUOTES = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
MOST_ROWS = 200_000
_LOOKED_AT = 20_000
"""Characters by which a text without a suffix is known as values between delimiters."""


def xlsx(package: Package, out: DocumentWriter) -> None:
    """Write the sheets that are shown. A formula whose value was not kept is told as such."""
    book = package.xml("xl/workbook.xml")
    if book is None:
        raise CannotRead("is broken: it has no sheets part")
    parts = package.related("xl/workbook.xml")
    strings = package.xml("xl/sharedStrings.xml")
    shared = [_string(si) for si in (strings if strings is not None else ())]
    formats = _formats(package.xml("xl/styles.xml"))
    properties = book.find(f"{_S}workbookPr")
    since = 1904 if properties is not None and properties.get("date1904") in ("1", "true") else 1900
    lost = 0
    for sheet in book.iter(f"{_S}sheet"):
        if sheet.get("state", "visible") != "visible":
            continue
        content = package.xml(parts.get(sheet.get(f"{_R}id", ""), ""))
        if content is None:
            continue
        grid, without = _grid(content, shared, formats, since)
        lost += without
        out.place(f"sheet {sheet.get('name', '')}")
        _write_sheet(sheet.get("name", ""), grid, out)
    if lost:
        out.remarks.append(f"has {lost:,} formulas without a stored value: open and save it in a spreadsheet program")


def _write_sheet(name: str, grid: Sequence[Sequence[str]], out: DocumentWriter) -> None:
    """A sheet's tables: an empty row ends one."""
    if not any(map(any, grid)):
        return
    out.heading(name, 2)
    table: list[Sequence[str]] = []
    for row in (*grid, ()):
        if any(row):
            table.append(row)
        elif len(table) == 1 and sum(map(bool, table[0])) == 1:
            out.paragraph(next(filter(None, table.pop())))
        else:
            out.table(table)
            table = []


def _string(node: Xml.Element) -> str:
    """A shared string without its phonetic guide."""
    return "".join(t.text or "" for part in node if part.tag != f"{_S}rPh" for t in part.iter(f"{_S}t"))


def _formats(styles: Xml.Element | None) -> list[str]:
    """What each style of cells makes of a number: date, time, percent or nothing."""
    if styles is None:
        return []
    codes = {int(f.get("numFmtId", "0")): f.get("formatCode", "") for f in styles.iter(f"{_S}numFmt")}
    kinds = []
    for style in styles.iterfind(f"{_S}cellXfs/{_S}xf"):
        id_ = int(style.get("numFmtId", "0"))
        code = _IN_QUOTES.sub("", codes.get(id_, "")).lower()
        if id_ in _DATES or ("y" in code or ("d" in code and "m" in code)):
            kinds.append("date")
        elif id_ in _TIMES or ("h" in code and "m" in code):
            kinds.append("time")
        else:
            kinds.append("percent" if id_ in (9, 10) or "%" in code else "")
    return kinds


def _grid(
    content: Xml.Element, shared: Sequence[str], formats: Sequence[str], since: int
) -> tuple[list[list[str]], int]:
    """(cells, how many formulas have no value)."""
    grid: list[list[str]] = []
    without = 0
    at = 0
    for row in content.iter(f"{_S}row"):
        number = int(row.get("r", at + 1))
        if number > at + 1 and grid:
            grid.append([])
        at = number
        if len(grid) >= MOST_ROWS:
            raise CannotRead(f"has a sheet of more than {MOST_ROWS:,} rows, which is the limit")
        cells: list[str] = []
        for cell in row.iterfind(f"{_S}c"):
            letters = _LETTERS.match(cell.get("r", ""))
            column = _column(letters[0]) if letters else len(cells)
            if column < 16_384:
                cells += [""] * (column - len(cells))
                value = _value(cell, shared, formats, since)
                without += value == "" and cell.find(f"{_S}f") is not None
                cells.append(value)
        grid.append(cells)
    return grid, without


def _column(letters: str) -> int:
    number = 0
    for letter in letters[:4]:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _value(cell: Xml.Element, shared: Sequence[str], formats: Sequence[str], since: int) -> str:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return "".join(t.text or "" for t in cell.iter(f"{_S}t"))
    value = cell.find(f"{_S}v")
    text = (value.text or "") if value is not None else ""
    if kind == "s":
        return shared[int(text)] if text.isdecimal() and int(text) < len(shared) else ""
    if kind == "b":
        return "yes" if text == "1" else "no"
    if kind != "n" or not text:
        return text
    style = cell.get("s", "")
    return _number(text, formats[int(style)] if style.isdecimal() and int(style) < len(formats) else "", since)


def _number(text: str, kind: str, since: int) -> str:
    try:
        number = float(text)
        if kind in ("date", "time"):
            start = datetime.datetime(1904, 1, 1) if since == 1904 else datetime.datetime(1899, 12, 30)
            moment = (start + datetime.timedelta(days=number)).replace(microsecond=0)
            if kind == "time" and number < 1:
                return moment.strftime("%H:%M")
            return moment.strftime("%Y-%m-%d" if number == int(number) else "%Y-%m-%d %H:%M")
        if kind == "percent":
            return f"{number * 100:.10g}%"
        return text if len(text) < 12 else f"{number:.12g}"
    except (ValueError, OverflowError):
        return text


def ods(package: Package, out: DocumentWriter) -> None:
    """Write an OpenDocument spreadsheet."""
    content = package.xml("content.xml")
    for sheet in content.iter(f"{_TABLE}table") if content is not None else ():
        out.place(f"sheet {sheet.get(f'{_TABLE}name', '')}")
        _write_sheet(sheet.get(f"{_TABLE}name", ""), open_grid(sheet), out)


def delimited(text: str, out: DocumentWriter, delimiter: str = "") -> None:
    """Write a table of values between delimiters: the one of comma, semicolon and tab that its first line has most of.
    Raises CannotRead."""
    first = text.lstrip("\r\n").split("\n", 1)[0]
    csv.field_size_limit(1_000_000)
    try:
        grid = list(csv.reader(text.splitlines(keepends=True), delimiter=delimiter or max(",;\t", key=first.count)))
    except csv.Error as error:
        raise CannotRead(f"is no table of values between delimiters: {error}") from None
    if sum(map(any, grid)) < 2:
        out.whole(text)
    else:
        out.table(grid)


def is_delimited(text: str) -> bool:
    """Whether each of three lines or more has as many cells as the first, whose cells are short."""
    lines = [line for line in text[:_LOOKED_AT].splitlines() if line.strip()]
    if len(text) > _LOOKED_AT:
        lines = lines[:-1]
    sign = max(",;\t", key=lines[0].count) if len(lines) >= 3 else ""
    if not sign or not lines[0].count(sign):
        return False
    try:
        rows = list(csv.reader(lines, delimiter=sign, strict=True))
    except csv.Error:
        return False
    return all(len(row) == len(rows[0]) for row in rows) and all(len(cell) <= 60 for cell in rows[0])
