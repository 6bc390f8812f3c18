"""Which questions are fitted on, and which are only reported on.

One file a set lies in `halves/`: its seed, its unit, and the units of both halves. The files were committed before
anything was fitted. They are what `evaluation.debates.record.half` draws, so the harness has the same halves. All rows
of one unit are in one half, so no question is on both sides. A unit is a question; of judged debates it is the story
that a question is about, because several questions share one.

`python -m evaluation.learned.splits` writes the files again. The same data gives the same files.
"""

import sys
from collections.abc import Callable, Collection, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from evaluation.debates.record import SPLIT, half
from evaluation.loaders import DATA, FORD, FORD_GROUPS, GSM8K, BadData, NoData

FOLDER = Path(__file__).parent / "halves"
HARNESS = {FORD: "ford", GSM8K: "gsm8k"}
"""What the harness calls a set, where that is not its folder."""
JUDGED, CONFIDENCE, GAME24 = "nyu_quality_debates", "verbal_conf", "tot_game24_samples"
MMLU_PRO, JUDGEBENCH, AGORA = "mmlu_pro_preds", "judgebench_order", "llm_agora"


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """The halves of one set."""

    set: str
    seed: str
    unit: str
    """What an id stands for."""
    fit: tuple[str, ...]
    test: tuple[str, ...]

    def half(self, unit: str) -> str:
        """`fit` or `test`. Raises BadData for a unit that is in neither: then the data is not what was split."""
        for name, ids in (("fit", self._fit), ("test", self._test)):
            if unit in ids:
                return name
        raise BadData(f"{self.set}: {self.unit} {unit!r} is in no half of evaluation/learned/halves/{self.set}.json")

    @property
    def _fit(self) -> frozenset[str]:
        return _set(self.fit)

    @property
    def _test(self) -> frozenset[str]:
        return _set(self.test)


@cache
def _set(ids: tuple[str, ...]) -> frozenset[str]:
    return frozenset(ids)


@cache
def split(name: str) -> Split:
    """The committed halves of a set."""
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=Split)


def halves(name: str, ids: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(fit, test) of these units, each once and in order.

    Parameters
    ----------
    name
        What the harness calls the set; sets are drawn apart.
    """
    fit: list[str] = []
    test: list[str] = []
    for unit in sorted(set(ids)):
        (fit if half(name, unit) == "fit" else test).append(unit)
    return tuple(fit), tuple(test)


def by_text(question: str) -> str:
    """The unit of a question that has no id of its own: a hash of its words."""
    return sha256(" ".join(question.casefold().split()).encode()).hexdigest()[:12]


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    if not file.is_file():
        raise NoData(f"{file.parent.name} is not in {file.parent.parent}: no file {file.name}")
    with file.open("rb") as lines:
        yield from (msgspec.json.decode(line) for line in lines)


def ford_question(id: str) -> str:
    """Of `llama_vicuna/csqa/17#2`: `csqa/17`. Pairs of models were asked the same questions."""
    _, task, number = id.split("/")
    return f"{task}/{number.partition('#')[0]}"


def _ford(data: Path) -> Iterator[str]:
    for group in FORD_GROUPS:
        yield from (ford_question(row["id"]) for row in _lines(data / FORD / f"{group}.jsonl"))


def _gsm8k(data: Path) -> Iterator[str]:
    return (row["id"] for row in _lines(data / GSM8K / "debates.jsonl"))


def _judged(data: Path) -> Iterator[str]:
    for file in ("ai_debate", "ai_consultancy"):
        yield from (str(row["article_id"]) for row in _lines(data / JUDGED / f"{file}.jsonl"))


def _confidence(data: Path) -> Iterator[str]:
    for file in ("6temps", "30samples"):
        yield from (by_text(row["question"]) for row in _lines(data / CONFIDENCE / f"triviaqa_llama3b_{file}.jsonl"))


def _mmlu_pro(data: Path) -> Iterator[str]:
    file = data / MMLU_PRO / "predictions.csv"
    if not file.is_file():
        raise NoData(f"{MMLU_PRO} is not in {data}: no file {file.name}")
    with file.open(encoding="utf-8") as lines:
        next(lines)
        yield from (line.partition(",")[0] for line in lines)


def _game24(data: Path) -> Iterator[str]:
    file = data / GAME24 / "gpt4_cot.json"
    if not file.is_file():
        raise NoData(f"{GAME24} is not in {data}: no file {file.name}")
    yield from (row["id"] for row in msgspec.json.decode(file.read_bytes()))


def _judgebench(data: Path) -> Iterator[str]:
    return (row["pair_id"] for row in _lines(data / JUDGEBENCH / "judgments.jsonl"))


def _agora(data: Path) -> Iterator[str]:
    for file in ("gsm8k", "mmlu"):
        yield from (row["id"] for row in _lines(data / AGORA / f"{file}.jsonl"))


SETS: dict[str, tuple[str, Callable[[Path], Iterator[str]]]] = {
    FORD: ("question", _ford),
    GSM8K: ("question", _gsm8k),
    JUDGED: ("story", _judged),
    CONFIDENCE: ("question, by a hash of its words", _confidence),
    MMLU_PRO: ("question", _mmlu_pro),
    GAME24: ("puzzle", _game24),
    JUDGEBENCH: ("pair of answers", _judgebench),
    AGORA: ("question", _agora),
}
"""Sets with gold and recorded answers: what a unit is, and the unit of every row."""


def made(name: str, data: Path = DATA) -> Split:
    """The halves of a set, from its data. Raises NoData."""
    unit, units = SETS[name]
    fit, test = halves(HARNESS.get(name, name), set(units(data)))
    return Split(set=name, seed=SPLIT, unit=unit, fit=fit, test=test)


def main(arguments: list[str] | None = None) -> int:
    """Write all files; 2 where a set is not there."""
    data = Path((arguments or sys.argv[1:] or [str(DATA)])[0])
    try:
        for name in SETS:
            text = msgspec.json.format(msgspec.json.encode(made(name, data)), indent=0)
            (FOLDER / f"{name}.json").write_bytes(text + b"\n")
    except NoData as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
