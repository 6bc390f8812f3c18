"""One's own debates: a JSON object a line.

    {"id": "q1", "options": ["yes", "no"], "gold": "yes", "members": ["a", "b"],
     "rounds": [[{"member": "a", "answer": "yes", "confidence": 0.8, "words": 40},
                 {"member": "b", "answer": "no", "belief": {"yes": 0.3, "no": 0.7}}],
                {"statements": [...], "verdict": {"yes": 0.6, "no": 0.4}}]}

`question` names what was asked (default: the id), `group` who debated, `kind` what kind of question it is. A statement
may have `tokens` and `evidence`, a list of names of what was quoted. `gold` is an option, or a list of options: any
of these is right, and an empty list says that none is. With `"samples": true` the statements are samples of one model.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from parley.client.strict_files import value_of
from parley_research.debates.record import NONE, RecordedDebate, Round, Statement
from parley_research.debates.registry import DataSet, Records
from parley_research.loaders import BadData, NoData, Origin

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
Name = Annotated[str, msgspec.Meta(min_length=1)]


class NoFile(NoData):
    """There is no such file of debates."""


class OwnStatement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A statement, as it stands in a line."""

    member: str
    answer: str | None = None
    confidence: Share | None = None
    belief: dict[str, Share] = {}
    words: Count = 0
    tokens: Count = 0
    evidence: tuple[str, ...] = ()


class OwnRound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A round with a judge's belief after it."""

    statements: tuple[OwnStatement, ...]
    verdict: dict[str, Share] = {}
    verdict_words: Count = 0


class OwnDebate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the file."""

    id: Name
    options: Annotated[tuple[Name, ...], msgspec.Meta(min_length=2)]
    gold: str | tuple[str, ...]
    members: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]
    rounds: Annotated[list[Any], msgspec.Meta(min_length=1)]
    """Each a list of statements, or an `OwnRound`."""
    question: str = ""
    group: str = ""
    kind: str = ""
    samples: bool = False


def read_own(file: Path) -> list[RecordedDebate]:
    """Every debate of the file.

    Raises
    ------
    NoFile
        There is no such file.
    BadData
        Names the line and what is wrong with it.
    """
    return [debate for debate, _ in _read(file)]


def own_set(file: Path) -> DataSet:
    """The file as a data set, with what its debates record. Raises NoFile, BadData."""
    pairs = list(_read(file))
    if not pairs:
        raise BadData(f"{file.name}: no debate in it")
    debates = [debate for debate, _ in pairs]
    statements = [s for d in debates for r in d.rounds for s in r.statements]
    has: dict[Records, bool] = {
        "rounds": any(len(d.rounds) > 1 for d in debates),
        "samples": any(samples for _, samples in pairs),
        "verdicts": any(r.verdict for d in debates for r in d.rounds),
        "words": any(s.words for s in statements),
        "tokens": any(s.tokens for s in statements),
        "beliefs": any(s.belief for s in statements),
        "confidence": any(s.confidence is not None for s in statements),
        "evidence": any(s.evidence for s in statements),
    }
    return DataSet(
        note=_unmatched(file),
        name=file.stem,
        title=file.name,
        files=(file.name,),
        load=lambda _: debates,
        records=frozenset(name for name, there in has.items() if there),
        origin=Origin("your own", file.name),
    )


def _unmatched(file: Path) -> str:
    """How many answers are none of their options, in words: most likely they are written otherwise. Empty: none."""
    first, count = "", 0
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            one = msgspec.json.decode(line, type=OwnDebate) if line.strip() else None
            for said in _statements(one) if one is not None else ():
                if one is not None and said.answer is not None and said.answer not in one.options:
                    first = first or f"line {number}: {said.answer[:40]!r} is none of {', '.join(one.options)[:80]}"
                    count += 1
    if not count:
        return ""
    answers = "1 answer names no option and counts" if count == 1 else f"{count:,} answers name no option and count"
    return f"{answers} as no answer. The first is in {first}. Write an answer exactly as its option."


def _statements(one: OwnDebate) -> Iterator[OwnStatement]:
    for place, spoken in enumerate(one.rounds):
        yield from _round(spoken, f"rounds[{place}]").statements


def _round(spoken: Any, path: str) -> OwnRound:
    """The round at this place of its debate. Raises InvalidValue."""
    if isinstance(spoken, Mapping):
        return value_of(spoken, OwnRound, path)
    return OwnRound(statements=value_of(spoken, tuple[OwnStatement, ...], path))


def _read(file: Path) -> Iterator[tuple[RecordedDebate, bool]]:
    if not file.is_file():
        raise NoFile(f"{file}: no such file")
    seen: set[str] = set()
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                one = msgspec.json.decode(line, type=OwnDebate)
                debate = _converted(one)
            except (msgspec.MsgspecError, ValueError) as error:
                raise BadData(f"{file.name}, line {number}: {error}") from None
            if debate.id in seen:
                raise BadData(f"{file.name}, line {number}: the id {debate.id!r} stands in a line before")
            seen.add(debate.id)
            yield debate, one.samples


def _converted(one: OwnDebate) -> RecordedDebate:
    """Raises ValueError with what does not fit."""
    places = {option: place for place, option in enumerate(one.options)}
    members = {member: place for place, member in enumerate(one.members)}
    if len(places) < len(one.options) or len(members) < len(one.members):
        raise ValueError("options and members must each be different")
    golds = (one.gold,) if isinstance(one.gold, str) else one.gold
    outside = next((gold for gold in golds if gold not in places), None)
    if outside is not None:
        raise ValueError(f"gold: got {outside!r}, which is none of the options {', '.join(one.options)}")
    right = [places[gold] for gold in golds]
    rounds = []
    for place, spoken in enumerate(one.rounds):
        played = _round(spoken, f"rounds[{place}]")
        rounds.append(
            Round(
                statements=tuple(_statement(s, places, members) for s in played.statements),
                verdict=_belief(played.verdict, one.options),
                verdict_words=played.verdict_words,
            )
        )
    if not rounds or not rounds[0].statements:
        raise ValueError("the blind round has no statement")
    spoke = [statement.member for statement in rounds[0].statements]
    twice = next((member for place, member in enumerate(spoke) if member in spoke[:place]), None)
    if twice is not None and not one.samples:
        more = 'many answers of one member are samples: say "samples": true'
        raise ValueError(f"round 1: {one.members[twice]!r} answers twice, and there each answers once; {more}")
    return RecordedDebate(
        id=one.id,
        question=one.question or one.id,
        group=one.group,
        kind=one.kind,
        options=one.options,
        gold=right[0] if right else NONE,
        also_right=tuple(right[1:]),
        members=one.members,
        rounds=tuple(rounds),
    )


def _statement(said: OwnStatement, places: Mapping[str, int], members: Mapping[str, int]) -> Statement:
    if said.member not in members:
        raise ValueError(f"{said.member!r} is none of the members {', '.join(members)}")
    return Statement(
        member=members[said.member],
        answer=None if said.answer is None else places.get(said.answer),
        confidence=said.confidence,
        belief=_belief(said.belief, tuple(places)),
        words=said.words,
        tokens=said.tokens,
        evidence=said.evidence,
    )


def _belief(given: Mapping[str, float], options: Sequence[str]) -> tuple[float, ...]:
    if not given:
        return ()
    unknown = sorted(set(given) - set(options))
    total = sum(given.values())
    if unknown or abs(total - 1) > 0.02:
        raise ValueError(f"a belief names {unknown or 'options'} and sums to {total:g}; allowed are options, sum 1")
    return tuple(given.get(option, 0.0) / total for option in options)
