"""Registries of invented experts over many fields, each with prompts: a JSON object a line.

    {"registry": "farm", "experts": [{"agent": {"id": "water-engineer", ...}}],
     "prompts": [{"prompt": "The field stands under water", "lead": ["water-engineer"], "kind": "paraphrase"}]}

An expert is what its file would hold (docs/madp.md). `lead` names everybody who may lead; an empty one: nobody should.
`files`, `kind` and `support` may be left out.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from parley.agents.expert_matching.ask_model import NOBODY, Named
from parley.agents.experts import ExpertError, read_text
from parley_research.loaders import BadData, NoData
from parley_research.routing import Case
from parley_research.routing_data import RoutingSet

FOLDER = Path(__file__).parent / "registries"
DEV, TEST, TEST_2 = (FOLDER / f"{name}.jsonl" for name in ("dev", "test", "test_2"))
"""What the matcher's figures were chosen on; and two sets that were not looked at while it was made."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One prompt of a registry."""

    prompt: str
    lead: tuple[str, ...] = ()
    kind: str = "plain"
    files: tuple[str, ...] = ()
    support: tuple[str, ...] = ()


class Registry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a file of registries."""

    registry: str
    about: str = ""
    experts: tuple[dict[str, Any], ...]
    prompts: tuple[Prompt, ...]


def _set(row: Registry, where: str) -> RoutingSet:
    try:
        specs = tuple(read_text(msgspec.json.encode(expert).decode(), where) for expert in row.experts)
    except ExpertError as error:
        raise BadData(str(error)) from error
    unknown = sorted({x for p in row.prompts for x in (*p.lead, *p.support)} - {s.id for s in specs})
    if unknown:
        raise BadData(f"{where}: unknown experts {', '.join(unknown)}")
    # Whoever takes what nobody else does leads where it is right to abstain.
    general = {s.id for s in specs if s.general}
    cases = tuple(
        Case(prompt=p.prompt, leads=tuple(x for x in p.lead if x not in general), files=p.files, kind=p.kind,
             support=p.support, lead=next((x for x in p.lead if x not in general), None))
        for p in row.prompts
    )  # fmt: skip
    return RoutingSet(name=row.registry, specs=specs, cases=cases)


def registries(file: Path) -> tuple[RoutingSet, ...]:
    """Those of a file, in its order.

    Raises
    ------
    NoData, BadData
        It cannot be read, or has none; names the line, and the expert that is not there.
    """
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as error:
        raise NoData(f"{file}: {error.strerror or error}") from error
    sets: dict[str, RoutingSet] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{file.name}, line {number}"
        try:
            row = msgspec.json.decode(line, type=Registry)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise BadData(f"{where}: {error}") from None
        except RecursionError:
            raise BadData(f"{where}: lists and objects are nested too deep") from None
        if row.registry in sets:
            raise BadData(f"{where}: registry {row.registry!r} stands twice")
        sets[row.registry] = _set(row, where)
    if not sets:
        raise NoData(f"{file}: there is no registry in it")
    return tuple(sets.values())


class Reply(Named, frozen=True, kw_only=True):
    """A line of a file of replies: what a language model replied to one prompt."""

    registry: str
    n: int
    """The prompt's place in its registry, from 0."""


def replies(file: Path, sets: Sequence[RoutingSet]) -> dict[str, dict[int, Named]]:
    """What a language model replied to prompts of these registries, by registry and place.

    Raises
    ------
    NoData, BadData
        No such file; a registry, a place or an expert that is not there, or a prompt that stands twice.
    """
    try:
        read = msgspec.json.Decoder(Reply).decode_lines(file.read_bytes())
    except OSError as error:
        raise NoData(f"{file}: {error.strerror or error}") from error
    except msgspec.MsgspecError as error:
        raise BadData(f"{file.name}: {error}") from None
    known = {of.name: of for of in sets}
    by_registry: dict[str, dict[int, Named]] = {name: {} for name in known}
    for line, reply in enumerate(read, 1):
        of = known.get(reply.registry)
        if of is None or not 0 <= reply.n < len(of.cases) or reply.n in by_registry[reply.registry]:
            raise BadData(f"{file.name}, line {line}: no prompt {reply.n} of {reply.registry!r}, or it stands twice")
        unknown = {reply.lead, *reply.support} - {NOBODY} - {s.id for s in of.specs}
        if unknown:
            raise BadData(f"{file.name}, line {line}: unknown experts {', '.join(sorted(unknown))}")
        by_registry[reply.registry][reply.n] = reply
    return by_registry
