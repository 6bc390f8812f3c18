"""One run over one kind of input. Each input is made of the run's seed, its kind and its number alone, so that one that
failed can be made again."""

import random
import traceback
from pathlib import Path

from tests.fuzz import readers


class Failed(Exception):
    """A reader raised what it does not say that it raises. `data`: the input; `kind`, `number`: which one it is."""

    def __init__(self, kind: str, number: int, data: bytes, why: str) -> None:
        self.kind = kind
        self.number = number
        self.data = data
        self.why = why
        super().__init__(f"{kind}, input {number:,}: {why}")

    def save(self, folder: Path) -> Path:
        """Write the input, and what was raised beside it."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self.kind}-{self.number}.bin"
        file.write_bytes(self.data)
        file.with_suffix(".txt").write_text("".join(traceback.format_exception(self.__cause__)), errors="replace")
        return file


def made(kind: str, seed: int, number: int) -> bytes:
    """One input."""
    return readers.READERS[kind].make(random.Random(f"{seed}-{kind}-{number}"))


def fuzz(kind: str, inputs: int, seed: int) -> int:
    """So many inputs of a kind; how many of them were taken. Raises Failed at the first that raises what it should
    not."""
    taken = 0
    for number in range(inputs):
        data = made(kind, seed, number)
        try:
            taken += readers.READERS[kind].read(data)
        except Exception as error:
            raise Failed(kind, number, data, f"{type(error).__name__}: {error!s:.300}") from error
    return taken
