"""The set of diffs: read, and held to its hash."""

import random
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path

import msgspec

from parley_research.loaders import BadData

SET = Path(__file__).parent
FILE = SET / "cases.jsonl"
SHA256 = "1b19287c178b6868475e4827c48face531a05539c4c2c3298b0714c9aaa34f6f"
"""Of the file: the cases are what they were before the experts had instructions."""


class Planted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The defect of a case."""

    file: str
    line: int
    """Of the file as the diff leaves it."""
    what: str
    must_mention: str
    """What a finding has to name: for a reader, no program compares it."""


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One diff, with what was asked and what its author says."""

    id: str
    field: str
    expert: str
    """Shipped expert who reviews it."""
    task: str
    summary: str
    diff: str
    defect: Planted | None
    """None: it has none."""


def read(ids: Collection[str] = (), file: Path = FILE) -> tuple[Case, ...]:
    """The cases of these ids, or all, in the set's order.

    Raises
    ------
    BadData
        The set is not there, is not what its hash says, or has no such case.
    """
    try:
        lines = file.read_bytes()
    except OSError as error:
        raise BadData(f"{file}: {error.strerror}") from None
    if sha256(lines).hexdigest() != SHA256:
        raise BadData(f"{file}: it is not the set that it was, by its hash")
    cases = msgspec.json.Decoder(Case).decode_lines(lines)
    if unknown := sorted(set(ids) - {case.id for case in cases}):
        raise BadData(f"no case {', '.join(unknown)}: they are {cases[0].id} to {cases[-1].id}")
    return tuple(case for case in cases if not ids or case.id in ids)


def drawn(cases: tuple[Case, ...], each: int, seed: int) -> tuple[Case, ...]:
    """So many of each field, at random, in the set's order. Raises BadData where a field has fewer."""
    dice = random.Random(seed)
    chosen: set[str] = set()
    for field in dict.fromkeys(case.field for case in cases):
        ids = [case.id for case in cases if case.field == field]
        if len(ids) < each:
            raise BadData(f"the field {field} has {len(ids)} cases, fewer than {each}")
        chosen.update(dice.sample(ids, each))
    return tuple(case for case in cases if case.id in chosen)
