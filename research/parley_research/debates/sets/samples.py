"""Many answers of one model to one question: what self-consistency draws from.

The samples are in an order that depends on the question's name alone, since the sources sort them by temperature.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from parley_research.debates.record import NONE, RecordedDebate, Round, Statement
from parley_research.debates.registry import DataSet, add_set
from parley_research.debates.sets import rows
from parley_research.loaders import ORIGINS

OTHER = "another answer"


def _sampled(
    name: str, group: str, answers: Sequence[str], correct: Sequence[bool], stated: Sequence[float | None]
) -> RecordedDebate:
    """A question from its samples. An answer of no text is none."""
    options = list(dict.fromkeys(answer for answer in answers if answer))
    right = [options.index(a) for a in dict.fromkeys(a for a, ok in zip(answers, correct, strict=True) if ok and a)]
    options += [OTHER] * max(0, 2 - len(options))
    places = {option: place for place, option in enumerate(options)}
    statements = tuple(
        Statement(member=0, answer=places[answers[i]] if answers[i] else None, confidence=stated[i])
        for i in rows.shuffled(name, len(answers))
    )
    return RecordedDebate(
        id=name,
        question=name,
        group=group,
        kind=group,
        options=tuple(options),
        gold=right[0] if right else NONE,
        also_right=tuple(right[1:]),
        members=("model",),
        rounds=(Round(statements=statements),),
        open_answers=True,
    )


def game24(data: Path) -> Iterator[RecordedDebate]:
    """100 samples of GPT-4 to each of 100 puzzles, with two prompts."""
    for prompt in ("standard", "cot"):
        for row in rows.array(data / "tot_game24_samples" / f"gpt4_{prompt}.json"):
            answers = ["" if a in (None, "None") else "".join(str(a).split()) for a in row["answers"]]
            name = f"{row['id']}"
            sampled = _sampled(name, f"gpt4_{prompt}", answers, [bool(c) for c in row["correct"]], [None] * row["n"])
            yield sampled


def triviaqa(data: Path) -> Iterator[RecordedDebate]:
    """Stated confidences: 30 samples to each of 125 questions, and 6 to each of 1,000."""
    for row in rows.lines(data / "verbal_conf" / "triviaqa_llama3b_30samples.jsonl"):
        yield _trivia(row["question"], "30 samples", row["samples"])
    for row in rows.lines(data / "verbal_conf" / "triviaqa_llama3b_6temps.jsonl"):
        yield _trivia(row["question"], "6 samples", list(row["samples"].values()))


def _trivia(question: str, group: str, taken: Sequence[dict[str, Any]]) -> RecordedDebate:
    stated = [None if s["confidence"] is None else min(1.0, max(0.0, s["confidence"] / 100)) for s in taken]
    return _sampled(question, group, [s["answer"] or "" for s in taken], [bool(s["correct"]) for s in taken], stated)


add_set(
    DataSet(
        name="game24",
        title="Game of 24: 100 samples of GPT-4 a puzzle, two prompts",
        files=("tot_game24_samples/gpt4_standard.json", "tot_game24_samples/gpt4_cot.json"),
        load=game24,
        records=frozenset({"samples"}),
        origin=ORIGINS["tot_game24_samples"],
        note="Answers are compared as text: two expressions that both come to 24 are two answers.",
    )
)
add_set(
    DataSet(
        name="triviaqa",
        title="TriviaQA: samples of Llama-3.2-3B with stated confidence",
        files=("verbal_conf/triviaqa_llama3b_30samples.jsonl", "verbal_conf/triviaqa_llama3b_6temps.jsonl"),
        load=triviaqa,
        records=frozenset({"samples", "confidence"}),
        origin=ORIGINS["verbal_conf"],
        note="Samples of six temperatures are drawn as if they were one model's.",
    )
)
