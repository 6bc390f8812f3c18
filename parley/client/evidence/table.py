"""A table as text. Each row becomes a list item that repeats the header of each column, so every passage is
complete.
"""

import csv
from collections.abc import Iterable, Sequence

from parley.client.errors import BadInput

MOST_COLUMNS = 200


def records(name: str, text: str, delimiter: str | None = None) -> str:
    """A table of values between delimiters, the first row its headers. One without rows below it stays as it is.

    Parameters
    ----------
    delimiter
        None: the one of comma, semicolon and tab that the first line has most of.

    Raises
    ------
    BadInput
        It is no such table.
    """
    if delimiter is None:
        first = text.lstrip("\n").split("\n", 1)[0]
        delimiter = max(",;\t", key=first.count)
    try:
        rows = [row for row in csv.reader(text.splitlines(keepends=True), delimiter=delimiter) if any(row)]
    except csv.Error as error:
        raise BadInput("evidence", f"{name} is no table of values between delimiters: {error}") from error
    if any(len(row) > MOST_COLUMNS for row in rows):
        most = max(map(len, rows))
        raise BadInput("evidence", f"{name} has a row of {most:,} columns, allowed are {MOST_COLUMNS}")
    return "\n".join(items(rows[0], rows[1:])) + "\n" if len(rows) > 1 else text


def items(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """Rows as list items: `- Canal: Suez; Opened: 1869`. Empty cells are left out."""
    named = [" ".join(h.split()) for h in headers]
    for row in rows:
        cells = []
        for i, cell in enumerate(row):
            value = " ".join(cell.split())
            if value:
                header = named[i] if i < len(named) and named[i] else f"column {i + 1}"
                cells.append(f"{header}: {value}")
        if cells:
            yield "- " + "; ".join(cells)
