"""Which questions are fitted on, and which are only reported on.

The halves are those of the harness (`parley_research.debates.record.half`): by a hash of the question's name, so all
debates about one question lie in one half. Not every set allows a copy of its questions, so one file a set in
`halves/` has the number of questions in each half and a digest of them. The files were committed before anything was
fitted. Where the data is there, a test compares them with it.

`python -m parley_research.learned.splits DATA` writes the files again. The same data gives the same files.
"""

import sys
from collections.abc import Collection
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec

from parley_research.debates.record import SPLIT, half
from parley_research.debates.registry import DataSet, loaded
from parley_research.loaders import DATA, NoData

FOLDER = Path(__file__).parent / "halves"


class Half(msgspec.Struct, frozen=True, kw_only=True):
    """One half of a set."""

    questions: int
    """How many."""
    sha256: str
    """Of their names, sorted, one a line."""


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """The halves of one set."""

    set: str
    seed: str
    """What the halves are drawn with."""
    fit: Half
    test: Half


@cache
def split(name: str) -> Split:
    """The committed halves of a set, by the harness's name of it."""
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=Split)


def names() -> tuple[str, ...]:
    """Sets whose halves are committed."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.json")))


def halves(name: str, questions: Collection[str]) -> Split:
    """The halves of these questions, each counted once."""
    parts: dict[str, list[str]] = {"fit": [], "test": []}
    for question in sorted(set(questions)):
        parts[half(name, question)].append(question)
    return Split(set=name, seed=SPLIT, fit=half_of(parts["fit"]), test=half_of(parts["test"]))


def half_of(questions: Collection[str]) -> Half:
    """What stands for these questions in a file."""
    return Half(questions=len(questions), sha256=sha256("\n".join(questions).encode()).hexdigest())


def sets() -> dict[str, DataSet]:
    """Recorded sets with gold, one for each split."""
    return {data_set.name: data_set for data_set in loaded().sets() if not data_set.split}


def made(data_set: DataSet, data: Path = DATA) -> Split:
    """The halves of a set, from its data. Raises NoData."""
    return halves(data_set.name, {debate.question for debate in data_set.load(data)})


def main(arguments: list[str] | None = None) -> int:
    """Write all files; 2 where a set is not there."""
    data = Path((arguments or sys.argv[1:] or [str(DATA)])[0])
    try:
        for name, data_set in sets().items():
            text = msgspec.json.format(msgspec.json.encode(made(data_set, data)), indent=0)
            (FOLDER / f"{name}.json").write_bytes(text + b"\n")
    except NoData as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
