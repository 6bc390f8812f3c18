"""What a reader writes: the text of one document as Markdown, and where its pages, slides and sheets begin."""

import re
from collections.abc import Iterable, Sequence

MOST_COLUMNS = 200
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ud800-\udfff\ufffe\uffff]")


_VALUE = re.compile(r"(?!(?:19|20)\d\d$)(?=.*\d)")
"""Has a digit and is no year: what stands so in the second column of a first row is no header."""


class CannotRead(Exception):
    """Why a file is left out, in words that follow its name: "is locked by a password"."""


class DocumentWriter:
    """A document while it is written. Headings, paragraphs, items and rows are blocks; an empty line parts them."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        self._last = ""
        """The kind of the last block."""
        self._headers: list[str] = []
        """Of the last row."""
        self._place = ""
        self.places: list[tuple[int, str]] = []
        """(where in the text it begins, its name) of each page, slide or sheet that has text."""
        self.remarks: list[str] = []
        """What of the file could not be read, in words that follow its name."""

    @property
    def text(self) -> str:
        """All that was written."""
        if self._last == "whole":
            return self._parts[0]
        return "".join(self._parts) + ("\n" if self._parts and not self._parts[-1].endswith("\n") else "")

    @property
    def empty(self) -> bool:
        """Whether nothing was."""
        return not any(part.strip() for part in self._parts)

    def place(self, name: str) -> None:
        """What follows stands on this page, slide or sheet."""
        self._place = name

    def heading(self, text: str, level: int) -> None:
        """A heading, of level 1 to 6."""
        self._block("heading", f"{'#' * max(1, min(6, level))} {_line(text)}" if _line(text) else "")

    def paragraph(self, text: str) -> None:
        """A paragraph in one line."""
        self._block("paragraph", _line(text))

    def item(self, text: str) -> None:
        """An item of a list."""
        self._block("item", f"- {_line(text)}" if _line(text) else "")

    def rows(self, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Rows of a table, each with its headers: `- Canal: Suez; Opened: 1869`. Empty cells are left out."""
        named = [_line(h).rstrip(":") for h in headers]
        if named != self._headers:
            self._headers, self._last = named, ""
        for row in rows:
            cells = [
                f"{named[i]}: {value}"
                if i < len(named) and named[i]
                else f"column {i + 1}: {value}"
                if i >= len(named)
                else value
                for i, value in enumerate(map(_line, row))
                if value
            ]
            self._block("row", f"- {'; '.join(cells)}" if cells else "")

    def table(self, grid: Sequence[Sequence[str]]) -> None:
        """A table whose first row that fills its columns holds the headers; lines above it are its titles."""
        grid = [[_line(cell) for cell in row] for row in grid]
        grid = [row for row in grid if any(row)]
        while len(grid) > 1 and sum(map(bool, grid[0])) == 1 and sum(map(bool, grid[1])) > 1:
            self.paragraph(next(filter(None, grid.pop(0))))
        columns = max(map(len, grid), default=0)
        if columns > MOST_COLUMNS:
            raise CannotRead(f"has a table of {columns:,} columns, allowed are {MOST_COLUMNS}")
        if columns == 2 and all(len(row) == 2 for row in grid) and _VALUE.match(grid[0][1]):
            for name, value in grid:
                self.rows([name], [[value]])
        elif len(grid) > 1 and columns > 1:
            self.rows(grid[0], grid[1:])
        else:
            for row in grid:
                self.paragraph(" ".join(filter(None, row)))

    def verbatim(self, text: str) -> None:
        """Lines as they are: code, or Markdown."""
        self._block("verbatim", _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n"))

    def whole(self, text: str) -> None:
        """The whole document, as it is."""
        self._parts, self._last = [text], "whole"

    def _block(self, kind: str, text: str) -> None:
        if not text:
            return
        if self._parts:
            self._add("\n" if kind == self._last and kind in ("item", "row") else "\n\n")
        if self._place and (not self.places or self.places[-1][1] != self._place):
            self.places.append((self._size, self._place))
        self._add(text)
        self._last = kind

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._size += len(text)


def _line(text: str) -> str:
    return " ".join(_CONTROL.sub("", str(text)).split())
