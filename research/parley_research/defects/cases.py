"""The set of diffs: read, and held to its hashes."""

import random
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path

import msgspec

from parley.agents import strict_yaml
from parley_research.loaders import BadData

SET = Path(__file__).parent
SUMS = "SHA256SUMS"


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
    """A file of the set; once it is read, its text."""
    defect: Planted | None
    """None: it has none."""


def changed(folder: Path = SET) -> list[str]:
    """Files that are not, or are no more, what the set's hashes say."""
    lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    there = {f"diffs/{path.name}" for path in (folder / "diffs").iterdir()}
    wrong = {
        name
        for name, digest in listed.items()
        if not (folder / name).is_file() or sha256((folder / name).read_bytes()).hexdigest() != digest
    }
    return sorted(wrong | (there - set(listed)))


def read(ids: Collection[str] = (), folder: Path = SET) -> tuple[Case, ...]:
    """The cases of these ids, or all, in the set's order, with their diffs as texts.

    Raises
    ------
    BadData
        The set is not what its hashes say, or has no such case.
    """
    if wrong := changed(folder):
        raise BadData(f"{folder / SUMS}: not as listed: {', '.join(wrong)}")
    data = strict_yaml.load((folder / "cases.yaml").read_text(encoding="utf-8"))
    cases = msgspec.convert(data, tuple[Case, ...])
    if unknown := sorted(set(ids) - {case.id for case in cases}):
        raise BadData(f"no case {', '.join(unknown)}: they are {cases[0].id} to {cases[-1].id}")
    return tuple(
        msgspec.structs.replace(case, diff=(folder / case.diff).read_text(encoding="utf-8"))
        for case in cases
        if not ids or case.id in ids
    )


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
