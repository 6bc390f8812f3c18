"""Recorded debates from ../shared/data, in one shape.

An answer counts when it is one of the task's options; what else was said (no answer that could be read, or one that the
task does not have) leaves the speaker's last answer standing, as an invalid reply does in a session. An agent that has
given no valid answer yet has none: it holds every outcome equally likely.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

DATA = Path(__file__).parents[3] / "shared" / "data"
FORD, GSM8K = "ford_debates", "hkust_gd_gsm8k"
FORD_GROUPS = ("chatgpt_davinci", "chatgpt_gpt4", "llama_vicuna")
FORD_OPTIONS: dict[str, tuple[str, ...]] = {
    "anli": ("A", "B"),
    "copa": ("A", "B"),
    "csqa": ("A", "B", "C", "D", "E"),
    "ecare": ("A", "B"),
    "piqa": ("A", "B"),
    "socialiqa": ("A", "B", "C"),
    "strategyqa": ("yes", "no"),
}
NONE_OF_THESE = "none of these"


class Origin(NamedTuple):
    """What anybody needs who wants a public set."""

    licence: str
    where: str

    def __str__(self) -> str:
        return f"licence: {self.licence}; from {self.where}"


NONE_GIVEN = "none given: read, never copied"
ORIGINS = {
    "clinc150": Origin("CC BY 3.0", "https://github.com/clinc/oos-eval"),
    FORD: Origin(NONE_GIVEN, "https://github.com/Waste-Wood/FORD"),
    GSM8K: Origin(NONE_GIVEN, "https://github.com/HKUST-KnowComp/LLM-discussion"),
    "judgebench_order": Origin(NONE_GIVEN, "https://github.com/ScalerLab/JudgeBench"),
    "llm_agora": Origin(NONE_GIVEN, "https://github.com/gauss5930/LLM-Agora"),
    "marge_experts": Origin("MIT", "https://github.com/soupernerd/marge-simpson"),
    "mmlu_pro_preds": Origin("Apache-2.0", "https://github.com/TIGER-AI-Lab/MMLU-Pro"),
    "nlbse24_issues": Origin(NONE_GIVEN, "https://github.com/nlbse2024/issue-report-classification"),
    "nyu_quality_debates": Origin("MIT", "https://github.com/julianmichael/debate"),
    "tot_game24_samples": Origin("MIT", "https://github.com/princeton-nlp/tree-of-thought-llm"),
    "verbal_conf": Origin(NONE_GIVEN, "https://github.com/christian-hobelsberger/LLMUncertainty"),
}
"""By the folder that a public set lies in."""


class NoData(Exception):
    """A data set is not where it is looked for. The environment's: names the folder."""

    @classmethod
    def of(cls, file: Path) -> "NoData":
        """For a file of a public set: which set, and where to get it."""
        known = ORIGINS.get(file.parent.name)
        return cls(
            f"{file.parent.name} is not in {file.parent.parent}: no file {file.name}{f'; {known}' if known else ''}"
        )


class BadData(Exception):
    """A data set does not say what its PROVENANCE.md says. The environment's: names file, row and value."""


class Round(msgspec.Struct, frozen=True):
    """What stands after it, and what it cost."""

    answers: tuple[int | None, ...]
    """The last valid answer of each agent, as a place in the outcomes; None: it has given none yet."""
    words: tuple[int, ...]
    """Spoken in this round, by each agent."""


class Debate(msgspec.Struct, frozen=True, kw_only=True):
    """One question, argued over. Round 0 is what each agent answered alone."""

    id: str
    question: str
    """Debates with this in common are about the same question, and are resampled together."""
    group: str
    task: str
    gold: int
    """A place in the outcomes; -1: none of them is right."""
    outcomes: tuple[str, ...]
    agents: tuple[str, ...]
    rounds: tuple[Round, ...]
    unread: int = 0
    """Answers that were none of the outcomes."""
    blank: int = 0
    """Of these, how many in round 0."""


def ford(data: Path, *, by: str = "round") -> list[Debate]:
    """The rows of ford_debates in which the two agents spoke again after answering alone.

    Parameters
    ----------
    data
        The folder of the data sets.
    by
        `round`: a round is over when both have spoken; the debate's last one is shorter where the first speaker ended
        it. `speech`: every speech is a round of its own.

    Raises
    ------
    NoData, BadData
    """
    debates = []
    for group in FORD_GROUPS:
        for row in _rows(data / FORD / f"{group}.jsonl"):
            if any(turn[0] for turn in row["turns"]):
                debates.append(_ford(row, 1 if by == "speech" else 2))
    return debates


def _ford(row: dict[str, Any], speeches: int) -> Debate:
    """One row, a round being so many speeches."""
    group, task, number = row["id"].split("/")
    options, turns = FORD_OPTIONS.get(task, ()), row["turns"]
    agents = tuple(turn[1] for turn in turns if turn[0] == 0)
    if row["gold"] not in options or len(agents) != 2 or [t[0] for t in turns] != [0, *range(len(turns) - 1)]:
        raise BadData(f"{row['id']}: gold {row['gold']!r} and turns of {agents} are not as PROVENANCE.md says")
    said = [(agents.index(who), options.index(a) if a in options else None, words) for _, who, a, words, *_ in turns]
    cuts = [0, *range(2, len(said), speeches), len(said)]
    return Debate(
        id=row["id"],
        question=f"{task}/{number.partition('#')[0]}",
        group=group,
        task=task,
        gold=options.index(row["gold"]),
        outcomes=options,
        agents=agents,
        rounds=tuple(_rounds(len(agents), [said[a:b] for a, b in pairwise(cuts)])),
        unread=sum(answer is None for _, answer, _ in said),
        blank=sum(answer is None for _, answer, _ in said[:2]),
    )


def gsm8k(data: Path) -> list[Debate]:
    """hkust_gd_gsm8k: six agents, all of them speaking in every round.

    The answers are open: the outcomes are those that anyone gave at any time, in the order in which they came up, and
    `none of these` where that was a single one.

    Raises
    ------
    NoData, BadData
    """
    return [_gsm8k(row) for row in _rows(data / GSM8K / "debates.jsonl")]


def _gsm8k(row: dict[str, Any]) -> Debate:
    agents = tuple(sorted(row["agents"]))
    last = max(said["round"] for speeches in row["agents"].values() for said in speeches)
    said: list[list[tuple[int, str | None, int]]] = [[] for _ in range(last + 1)]
    for place, agent in enumerate(agents):
        for speech in row["agents"][agent]:
            said[speech["round"]].append((place, speech["answer"], speech["words"]))
    answers = [answer for speeches in said for _, answer, _ in speeches]
    outcomes = list(dict.fromkeys(a for a in answers if a is not None))
    gold = outcomes.index(row["gold"]) if row["gold"] in outcomes else -1
    outcomes += [NONE_OF_THESE] if len(outcomes) == 1 else []
    if len(outcomes) < 2 or not all(said):
        raise BadData(f"{row['id']}: answers {answers} are not as PROVENANCE.md says")
    places = [[(who, None if a is None else outcomes.index(a), words) for who, a, words in s] for s in said]
    return Debate(
        id=row["id"],
        question=row["id"],
        group=GSM8K,
        task="gsm8k",
        gold=gold,
        outcomes=tuple(outcomes),
        agents=agents,
        rounds=tuple(_rounds(len(agents), places)),
        unread=sum(answer is None for answer in answers),
        blank=sum(answer is None for _, answer, _ in said[0]),
    )


def _rounds(agents: int, said: Sequence[Sequence[tuple[int, int | None, int]]]) -> Iterator[Round]:
    """Rounds from (agent, valid answer or None, words) of each."""
    standing: list[int | None] = [None] * agents
    for speeches in said:
        spoken = [0] * agents
        for who, answer, words in speeches:
            standing[who] = standing[who] if answer is None else answer
            spoken[who] += words
        yield Round(tuple(standing), tuple(spoken))


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    if not file.is_file():
        raise NoData.of(file)
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.MsgspecError as error:
                raise BadData(f"{file.name}, row {number}: {error}") from None
