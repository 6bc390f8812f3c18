"""Debates of which the members' answers were recorded: FORD and the group discussions on GSM8K."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from parley_research import loaders
from parley_research.debates.record import NONE, RecordedDebate, Round, Statement
from parley_research.debates.registry import DataSet, add_set
from parley_research.debates.sets import rows

SEEN = "docs/reports/stop-rules.md compared stop rules on all of it, and an earlier trial looked at agreement patterns"


def _converted(old: loaders.Debate) -> RecordedDebate:
    """From the shape that docs/reports/stop-rules.md is made of: what stands after a round is what was last said."""
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


def ford_read(data: Path) -> Iterator[RecordedDebate]:
    """Of `ford`, the debates of which both first answers could be read."""
    return (debate for debate in ford(data) if None not in next(debate.standing()))


def gsm8k(data: Path) -> Iterator[RecordedDebate]:
    """Six seats of one model in two groups, open answers."""
    yield from map(_converted, loaders.gsm8k(data))


def agora(data: Path, task: str) -> Iterator[RecordedDebate]:
    """Three small models over three rounds. The outputs are poor: many hold no answer that can be read."""
    for row in rows.lines(data / "llm_agora" / f"{task}.jsonl"):
        members = tuple(row["agents"])
        spoken = [(place, said) for place, name in enumerate(members) for said in row["agents"][name]]
        given = dict.fromkeys(said["answer"] for _, said in spoken if said["answer"] is not None)
        options = ["A", "B", "C", "D"] if task == "mmlu" else list(given)
        gold = options.index(row["gold"]) if row["gold"] in options else NONE
        options += [f"{loaders.NONE_OF_THESE} {n}" for n in range(2 - len(options))]
        last = max(said["round"] for _, said in spoken)
        yield RecordedDebate(
            id=row["id"],
            question=row["id"],
            group=f"llm_agora {task}",
            kind=task,
            options=tuple(options),
            gold=gold,
            members=members,
            rounds=tuple(
                Round(
                    statements=tuple(
                        Statement(
                            member=place,
                            answer=options.index(said["answer"]) if said["answer"] in options else None,
                            words=said["words"],
                        )
                        for place, said in spoken
                        if said["round"] == number
                    )
                )
                for number in range(last + 1)
            ),
            open_answers=task != "mmlu",
        )


add_set(
    DataSet(
        name="ford",
        title="FORD: pairs of models on seven multiple-choice tasks",
        files=tuple(f"{loaders.FORD}/{group}.jsonl" for group in loaders.FORD_GROUPS),
        load=ford,
        records=frozenset({"rounds", "words"}),
        origin=loaders.ORIGINS[loaders.FORD],
        note=(
            "The source stops as soon as the last answers agree, so nothing is recorded after agreement. In 1,268 of "
            "5,705 debates a first answer could not be read; there the monotone gate can look good for a wrong reason "
            "(docs/reports/stop-rules.md)."
        ),
        seen_before=SEEN,
    )
)
add_set(
    DataSet(
        name="ford_read",
        title="FORD, where both first answers could be read",
        files=tuple(f"{loaders.FORD}/{group}.jsonl" for group in loaders.FORD_GROUPS),
        load=ford_read,
        records=frozenset({"rounds", "words"}),
        origin=loaders.ORIGINS[loaders.FORD],
        note=(
            "Part of the set above, with the same halves. A session begins so: it asks again, and leaves out a seat "
            "that has no blind belief."
        ),
        split="ford",
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
        origin=loaders.ORIGINS[loaders.GSM8K],
        note="Answers are open: the options are the answers that somebody gave.",
        seen_before="docs/reports/stop-rules.md compared stop rules on all of it",
    )
)
for _task in ("mmlu", "gsm8k"):
    add_set(
        DataSet(
            name=f"agora_{_task}",
            title=f"LLM-Agora: three 13B models on {_task.upper()}",
            files=(f"llm_agora/{_task}.jsonl",),
            load=partial(agora, task=_task),
            records=frozenset({"rounds", "words"}),
            origin=loaders.ORIGINS["llm_agora"],
            note="Poor outputs: most statements hold no answer that can be read. It tests parsers more than debates.",
        )
    )
