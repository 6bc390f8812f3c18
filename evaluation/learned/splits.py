"""Which questions are fitted on, and which are only reported on.

The halves are those of the harness (`evaluation.debates.record.half`): by a hash of the question's name, so all debates
about one question lie in one half. One file a set lists the questions of both, in `halves/`, each as a digest: not all sets
allow a copy of their questions. The files were committed before anything was fitted. Where the data is there, a test
compares them with it.

`python -m evaluation.learned.splits DATA` writes the files again. The same data gives the same files.
"""

import sys
from collections.abc import Collection
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec

from evaluation.debates.record import SPLIT, half
from evaluation.debates.registry import DataSet, loaded
from evaluation.loaders import DATA, NoData

FOLDER = Path(__file__).parent / "halves"


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """The halves of one set."""

    set: str
    seed: str
    """What the halves are drawn with."""
    fit: tuple[str, ...]
    """Digests of questions, sorted."""
    test: tuple[str, ...]


@cache
def split(name: str) -> Split:
    """The committed halves of a set, by the harness's name of it."""
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=Split)


def names() -> tuple[str, ...]:
    """Sets whose halves are committed."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.json")))


def digest(question: str) -> str:
    """What stands for a question in the files: 40 bits of its SHA-256, in hex."""
    return sha256(question.encode()).hexdigest()[:10]


def halves(name: str, questions: Collection[str]) -> Split:
    """These questions, each once, in their halves."""
    fit: list[str] = []
    test: list[str] = []
    for question in set(questions):
        (fit if half(name, question) == "fit" else test).append(digest(question))
    return Split(set=name, seed=SPLIT, fit=tuple(sorted(fit)), test=tuple(sorted(test)))


def sets() -> dict[str, DataSet]:
    """Recorded sets with gold, one for each split."""
    return {found.name: found for found in loaded().sets() if not found.split}


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
