"""Reading files of the data sets, with errors that name the file and the row."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from parley_research.loaders import BadData, NoData


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """One JSON object a line. Raises NoData, BadData."""
    with _opened(file).open("rb") as rows:
        for number, row in enumerate(rows, 1):
            try:
                yield msgspec.json.decode(row, type=dict[str, Any])
            except msgspec.MsgspecError as error:
                raise BadData(f"{file.name}, row {number}: {error}") from None


def array(file: Path) -> list[dict[str, Any]]:
    """A JSON array of objects. Raises NoData, BadData."""
    try:
        return msgspec.json.decode(_opened(file).read_bytes(), type=list[dict[str, Any]])
    except msgspec.MsgspecError as error:
        raise BadData(f"{file.name}: {error}") from None


def text(file: Path) -> str:
    """Raises NoData."""
    return _opened(file).read_text(encoding="utf-8")


def shuffled(name: str, count: int) -> list[int]:
    """Places 0 to count - 1 in an order that depends on the name alone: the same in every run and on every machine."""
    return sorted(range(count), key=lambda place: sha256(f"{name}/{place}".encode()).digest())


def _opened(file: Path) -> Path:
    if not file.is_file():
        raise NoData.of(file)
    return file
