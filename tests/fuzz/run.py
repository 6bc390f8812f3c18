"""One run over one kind of input. Each input is made of the run's seed, its kind and its number alone, so that one that
failed can be made again."""

import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz import readers

_TELL_S = 10.0


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


@dataclass(frozen=True)
class Report:
    """What a run came to."""

    kind: str
    inputs: int
    taken: int
    """Of them, those that were read as what they should be; all others were refused."""
    seconds: float
    slowest_s: float
    slowest: int
    """Number of the input that took longest."""

    def words(self) -> str:
        """In one line."""
        speed = f"{self.inputs / max(self.seconds, 1e-9):,.0f} a second"
        slowest = f"the slowest {self.slowest_s * 1e3:,.0f} ms of CPU time (input {self.slowest:,})"
        return (
            f"{self.kind}: {self.inputs:,} inputs, {self.taken:,} taken, in {self.seconds:,.1f} s, {speed}, {slowest}"
        )


def made(kind: str, seed: int, number: int) -> bytes:
    """One input."""
    return readers.READERS[kind].make(random.Random(f"{seed}-{kind}-{number}"))


def fuzz(kind: str, inputs: int, seed: int, tell: Callable[[str], None] = lambda _: None) -> Report:
    """So many inputs of a kind. Raises Failed at the first that raises what it should not."""
    started = told = time.perf_counter()
    slowest, which, taken = 0.0, 0, 0
    for number in range(inputs):
        data = made(kind, seed, number)
        began = time.process_time()
        try:
            taken += readers.READERS[kind].read(data)
        except Exception as error:
            raise Failed(kind, number, data, f"{type(error).__name__}: {error!s:.300}") from error
        took = time.process_time() - began
        if took > slowest:
            slowest, which = took, number
        now = time.perf_counter()
        if now - told > _TELL_S:
            told = now
            tell(f"{kind}: {number + 1:,} of {inputs:,}, {(number + 1) / (now - started):,.0f} a second")
    return Report(kind, inputs, taken, time.perf_counter() - started, slowest, which)
