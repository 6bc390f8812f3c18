"""Many models, one answer each: MMLU-Pro, and judges of pairs of answers."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from parley_research.debates.record import NONE, RecordedDebate, Round, Statement
from parley_research.debates.registry import DataSet, add_set
from parley_research.debates.sets import rows
from parley_research.loaders import ORIGINS, BadData

LETTERS = "ABCDEFGHIJ"
PAIR = ("A>B", "B>A")
SWAPPED = {"A>B": "B>A", "B>A": "A>B"}


def mmlu_pro(data: Path) -> Iterator[RecordedDebate]:
    """12,032 questions with up to ten options; the models that answered all of them."""
    folder = data / "mmlu_pro_preds"
    told = msgspec.json.decode(rows.text(folder / "models.json"), type=dict[str, dict[str, Any]])
    table = csv.DictReader(rows.text(folder / "predictions.csv").splitlines())
    whole = max(one["n"] for one in told.values())
    models = tuple(name for name, one in told.items() if one["n"] == whole)
    words = [round(told[name]["mean_words"]) for name in models]
    for row in table:
        options = LETTERS[: int(row["n_options"])]
        if row["answer"] not in options:
            raise BadData(f"predictions.csv, question {row['question_id']}: answer {row['answer']!r} of {options}")
        given = [options.find(row[name]) if row[name] else -1 for name in models]
        yield RecordedDebate(
            id=row["question_id"],
            question=row["question_id"],
            group="26 models" if len(models) == 26 else f"{len(models)} models",
            kind=row["category"],
            options=tuple(options),
            gold=options.index(row["answer"]),
            members=models,
            rounds=(
                Round(
                    statements=tuple(
                        Statement(member=place, answer=None if answer < 0 else answer, words=words[place])
                        for place, answer in enumerate(given)
                    )
                ),
            ),
        )


def judgebench(data: Path) -> Iterator[RecordedDebate]:
    """Judges that say which of two answers is right. A judge's decisions in both orders are two samples of it."""
    for row in rows.lines(data / "judgebench_order" / "judgments.jsonl"):
        first, second = row["decisions"]
        decisions = (first, SWAPPED.get(second, second))
        yield RecordedDebate(
            id=f"{row['judge']}/{row['pair_id']}",
            question=row["pair_id"],
            group=row["judge"].partition("/")[2],
            kind=row["source"],
            options=PAIR,
            gold=PAIR.index(row["label"]) if row["label"] in PAIR else NONE,
            members=("as shown", "swapped"),
            rounds=(
                Round(
                    statements=tuple(
                        Statement(member=place, answer=PAIR.index(said) if said in PAIR else None)
                        for place, said in enumerate(decisions)
                    )
                ),
            ),
        )


add_set(
    DataSet(
        name="mmlu_pro",
        title="MMLU-Pro: 26 models, one answer each",
        files=("mmlu_pro_preds/predictions.csv", "mmlu_pro_preds/models.json"),
        load=mmlu_pro,
        records=frozenset({"words"}),
        origin=ORIGINS["mmlu_pro_preds"],
        note="Nobody debated. Words are each model's mean, not those of the answer.",
    )
)
add_set(
    DataSet(
        name="judgebench",
        title="JudgeBench: judges of pairs, each pair in both orders",
        files=("judgebench_order/judgments.jsonl",),
        load=judgebench,
        origin=ORIGINS["judgebench_order"],
        note="The two members are the two orders in which one judge saw a pair. A verdict of a tie is no answer.",
    )
)
