"""Debates before a judge whose belief was recorded after every round: QuALITY, GPT-4 debating, people judging.

The two debaters are assigned an answer and never change it. What moves is the judge, who has not read the story.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parley_research.debates.record import RecordedDebate, Round, Statement
from parley_research.debates.registry import DataSet, add_set
from parley_research.debates.sets import rows
from parley_research.loaders import ORIGINS

FILES = {"debate": "ai_debate.jsonl", "consultancy": "ai_consultancy.jsonl"}


def quality(data: Path) -> Iterator[RecordedDebate]:
    """Debates and consultancies; a round ends with the judge's belief."""
    for group, name in FILES.items():
        for row in rows.lines(data / "nyu_quality_debates" / name):
            rounds, before = _rounds(row)
            if rounds:
                yield RecordedDebate(
                    id=row["id"],
                    question=f"{row['article_id']}/{row['question'].strip()}",
                    group=group,
                    kind=group,
                    options=("first", "second"),
                    gold=int(row["correct"]),
                    members=("debater of the first", "debater of the second"),
                    rounds=tuple(rounds),
                    before=before,
                )


def _rounds(row: dict[str, Any]) -> tuple[list[Round], tuple[float, ...]]:
    """Rounds that a judge's belief closed, and what the judge believed before the first."""
    rounds: list[Round] = []
    spoken: list[Statement] = []
    before: tuple[float, ...] = ()
    for event in row["events"]:
        if event["type"] in ("simultaneous", "sequential"):
            side = event["answer_index"]
            quoted = tuple(str(token) for start, end in event["quotes"] for token in range(start, end))
            spoken.append(Statement(member=side, answer=side, words=event["words"], evidence=quoted))
        elif event["type"] == "judge" and event.get("dist"):
            if spoken:
                verdict = tuple(event["dist"])
                rounds.append(Round(statements=tuple(spoken), verdict=verdict, verdict_words=_count(event)))
                spoken = []
            else:
                before = tuple(event["dist"])
    return rounds, before


def _count(event: dict[str, Any]) -> int:
    return len(str(event.get("text") or "").split())


add_set(
    DataSet(
        name="quality",
        title="QuALITY: two GPT-4 debaters or one consultant, a person judges",
        files=tuple(f"nyu_quality_debates/{name}" for name in FILES.values()),
        load=quality,
        records=frozenset({"rounds", "verdicts", "words", "evidence", "assigned"}),
        origin=ORIGINS["nyu_quality_debates"],
        note="Judges could stop when they liked, so the last belief is one that a judge chose to stop at.",
        seen_before="an earlier trial compared equation 10 with the judge's last belief",
    )
)
