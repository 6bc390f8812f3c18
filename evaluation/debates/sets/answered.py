"""Debates of which the members' answers were recorded: FORD and the group discussions on GSM8K."""

from collections.abc import Iterator
from pathlib import Path

from evaluation import loaders
from evaluation.debates.record import NONE, RecordedDebate, Round, Statement
from evaluation.debates.registry import DataSet, add_set

SEEN = "docs/results.md compared stop rules on all of it, and an earlier trial looked at agreement patterns"


def _converted(old: loaders.Debate) -> RecordedDebate:
    """From the shape that docs/results.md is made of: what stands after a round is what was last said."""
    rounds = []
    before: tuple[int | None, ...] = (None,) * len(old.agents)
    for spoken in old.rounds:
        statements = tuple(
            Statement(member=place, answer=answer, words=words)
            for place, (answer, words) in enumerate(zip(spoken.answers, spoken.words, strict=True))
            if words or answer != before[place] or spoken is old.rounds[0]
        )
        rounds.append(Round(statements=statements))
        before = spoken.answers
    return RecordedDebate(
        id=old.id,
        question=old.question,
        group=old.group,
        kind=old.task,
        options=old.outcomes,
        gold=NONE if old.gold < 0 else old.gold,
        members=old.agents,
        rounds=tuple(rounds),
        open_answers=old.group == loaders.GSM8K,
    )


def ford(data: Path) -> Iterator[RecordedDebate]:
    """Pairs of models that went on to debate; a round is over when both have spoken."""
    yield from map(_converted, loaders.ford(data))


def gsm8k(data: Path) -> Iterator[RecordedDebate]:
    """Six seats of one model in two groups, open answers."""
    yield from map(_converted, loaders.gsm8k(data))


add_set(
    DataSet(
        name="ford",
        title="FORD: pairs of models on seven multiple-choice tasks",
        files=tuple(f"{loaders.FORD}/{group}.jsonl" for group in loaders.FORD_GROUPS),
        load=ford,
        records=frozenset({"rounds", "words"}),
        licence="none given: read, never copied",
        note="The source stops as soon as the last answers agree, so nothing is recorded after agreement.",
        seen_before=SEEN,
    )
)
add_set(
    DataSet(
        name="gsm8k",
        title="GSM8K: six seats of gpt-3.5-turbo",
        files=(f"{loaders.GSM8K}/debates.jsonl",),
        load=gsm8k,
        records=frozenset({"rounds", "words"}),
        licence="none given: read, never copied",
        note="Answers are open: the options are the answers that somebody gave.",
        seen_before="docs/results.md compared stop rules on all of it",
    )
)
