"""Registries of invented experts over many fields, each with prompts: `<registry>/experts/*.yaml` and `prompts.yaml`.

    registry: farm
    prompts:
      - {prompt: "The field stands under water", lead: [water-engineer], kind: paraphrase}

`lead` names everybody who may lead; an empty one: nobody should. `files`, `kind` and `support` may be left out. The
encoder is trained on those of LEARNT, and the ranking is fitted on those of FIT, which the encoder has not seen.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from parley.agents import strict_yaml
from parley.agents.experts import ExpertError, read_all
from parley.agents.matching.ask_model import NOBODY, Named
from parley_research.loaders import BadData, NoData
from parley_research.routing import Case
from parley_research.routing_data import RoutingSet

TRAIN = Path(__file__).parent / "registries" / "train"
LEARNT = (TRAIN, TRAIN.with_name("train_more"), TRAIN.with_name("train_hard"))
"""What the encoder is trained on."""
FIT = TRAIN.with_name("fit")
"""What the ranking, its confidence and abstention are fitted on."""
LEFT_OUT = TRAIN.with_name("left_out.txt")
"""What `python -m parley_research.fit_ranking --figures` wrote with the shipped weights."""
LARGE = TRAIN.with_name("large.txt")
"""The same, of large registries."""
FROZEN = TRAIN.with_name("frozen.md")
"""What the registries to test on came to, which were measured once."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of prompts.yaml."""

    prompt: str
    lead: tuple[str, ...] = ()
    kind: str = "plain"
    files: tuple[str, ...] = ()
    support: tuple[str, ...] = ()


class Prompts(msgspec.Struct, frozen=True, kw_only=True):
    """prompts.yaml; other keys are not read."""

    prompts: tuple[Prompt, ...]


def registry(folder: Path) -> RoutingSet:
    """One registry.

    Raises
    ------
    NoData, BadData
        It cannot be read; names the file, and the expert that is not there.
    """
    file = folder / "prompts.yaml"
    try:
        specs = read_all(folder / "experts")
        prompts = msgspec.convert(strict_yaml.load(file.read_text(encoding="utf-8")), Prompts)
    except OSError as error:
        raise NoData(f"{file}: {error.strerror or error}") from error
    except strict_yaml.BadYaml as error:
        raise BadData(f"{file}: {error.why}") from error
    except (ExpertError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise BadData(f"{file}: {error}") from error
    unknown = sorted({x for p in prompts.prompts for x in (*p.lead, *p.support)} - {s.id for s in specs})
    if unknown:
        raise BadData(f"{file}: unknown experts {', '.join(unknown)}")
    # Whoever takes what nobody else does leads where it is right to abstain.
    general = {s.id for s in specs if s.general}
    cases = tuple(
        Case(prompt=p.prompt, leads=tuple(x for x in p.lead if x not in general), files=p.files, kind=p.kind,
             support=p.support, lead=next((x for x in p.lead if x not in general), None))
        for p in prompts.prompts
    )  # fmt: skip
    return RoutingSet(name=folder.name, specs=specs, cases=cases)


def registries(folder: Path) -> tuple[RoutingSet, ...]:
    """Those of a folder, by name.

    Raises
    ------
    NoData, BadData
        There is none; as of `registry`.
    """
    folders = sorted(f.parent for f in folder.glob("*/prompts.yaml"))
    if not folders:
        raise NoData(f"no registry (NAME/prompts.yaml) in {folder}")
    return tuple(map(registry, folders))


class Reply(Named, frozen=True, kw_only=True):
    """A line of a file of replies: what a language model replied to one prompt."""

    registry: str
    n: int
    """The prompt's place in prompts.yaml, from 0."""


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
