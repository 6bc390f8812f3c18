"""Sets of prompts with the experts that they are for: the golden set, and data that was made for other ends.

Public sets are read where they lie and never written anywhere; a registry is made of each set's training part.
"""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from parley.agents.expert_matching.ask_model import NOBODY, Named
from parley.client.untrusted import cleaned
from parley.schemas.expert import Deliberation, Domain, ExpertSpec, Triggers
from parley_research.loaders import BadData, NoData
from parley_research.routing import Case

GOLDEN = Path(__file__).parent / "golden"
TEST_HALF = "golden, test half"
CLINC, NLBSE, MARGE = "clinc150", "nlbse24_issues", "marge_experts"
MOST = 50
"""Training texts that become examples of one expert."""
_CUT = 200
"""Characters of one, as a specification allows."""
_EVERY = 6
"""One issue of so many is a training text, the others are prompts: 50 of each repository's 300."""


class RoutingSet(msgspec.Struct, frozen=True, kw_only=True):
    """Prompts, and the experts among which they are routed."""

    name: str
    specs: tuple[ExpertSpec, ...]
    cases: tuple[Case, ...]
    cleaned: tuple[str, ...] = ()
    """What was taken out of prompts of one's own, with the line."""


def golden(half: str, specs: Sequence[ExpertSpec], folder: Path = GOLDEN) -> RoutingSet:
    """One half of the golden set: the files of the folder whose name begins with it (`dev`, `test`).

    Raises
    ------
    NoData, BadData
        No such file; a line that is no case, is of the other half or names an expert that is not there.
    """
    files = sorted(folder.glob(f"{half}*.jsonl"))
    if not files:
        raise NoData(f"no file {half}*.jsonl in {folder}")
    cases = tuple(case for file in files for _, case in _numbered(file, specs, half))
    return RoutingSet(name=f"golden, {half} half", specs=tuple(specs), cases=cases)


def golden_file(file: Path, specs: Sequence[ExpertSpec]) -> RoutingSet:
    """A golden set of one's own, in one file.

    Raises
    ------
    NoData, BadData
        It cannot be read, or has no prompt; as of `golden`.
    """
    cases, notes = [], []
    for number, case in _numbered(file, specs, ""):
        cleaning = cleaned(case.prompt)
        cases.append(msgspec.structs.replace(case, prompt=cleaning.text))
        notes += [f"{file.name}, line {number}: prompt: {note}" for note in cleaning.notes]
    if not cases:
        raise BadData(f"{file}: there is no prompt in it")
    return RoutingSet(name=file.name, specs=tuple(specs), cases=tuple(cases), cleaned=tuple(notes))


class Answer(Named, frozen=True, kw_only=True):
    """A line of asked.jsonl: what a language model replied to one prompt."""

    n: int
    """Number of the line of test.jsonl, from 0."""


def answers(of: RoutingSet, folder: Path = GOLDEN) -> dict[int, Named]:
    """What a language model replied to the prompts of the half to test on, by their numbers (golden/README.md). Prompts
    of which nothing is left once what would steer is taken out are not asked.

    Raises
    ------
    NoData, BadData
        No such file; a number that is not there or stands twice, an expert that is not there.
    """
    file = folder / "asked.jsonl"
    try:
        read = msgspec.json.Decoder(Answer).decode_lines(file.read_bytes())
    except OSError as error:
        raise NoData(f"{file}: {error.strerror or error}") from error
    except msgspec.MsgspecError as error:
        raise BadData(f"{file.name}: {error}") from None
    unknown = ({a.lead for a in read} - {NOBODY} | {x for a in read for x in a.support}) - {s.id for s in of.specs}
    if unknown:
        raise BadData(f"{file.name}: unknown experts {', '.join(sorted(unknown))}")
    by_case = {a.n: a for a in read if 0 <= a.n < len(of.cases)}
    if len(by_case) < len(read):
        raise BadData(f"{file.name}: wanted is one line each of some numbers from 0 to {len(of.cases) - 1}")
    return dict(by_case)


def _numbered(file: Path, specs: Sequence[ExpertSpec], half: str) -> Iterator[tuple[int, Case]]:
    """Cases with the numbers of their lines."""
    known = {s.id for s in specs}
    general = {s.id for s in specs if s.general}
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as error:
        raise NoData(f"{file}: {error.strerror or error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, _case(line, f"{file.name}, line {number}", half, known, general)


def _case(line: bytes, where: str, half: str, known: set[str], general: set[str]) -> Case:
    try:
        case = msgspec.json.decode(line, type=Case)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadData(f"{where}: {error}") from None
    except RecursionError:
        raise BadData(f"{where}: lists and objects are nested too deep") from None
    named = (case.right | set(case.support)) - known
    if named or (half and case.half not in ("", half)):
        raise BadData(f"{where}: half {case.half!r}, unknown experts {sorted(named)}")
    if case.right & general:  # whoever takes what nobody else does leads where it is right to abstain
        rest = tuple(lead for lead in case.leads if lead not in general)
        lead = case.lead if case.lead not in general else (rest[0] if rest else None)
        case = msgspec.structs.replace(case, lead=lead, leads=rest)
    return case


def made(name: str, examples: Sequence[str], triggers: Sequence[str] = (), **fields: Any) -> ExpertSpec:
    """An expert made of a class of a set: its name is its trigger, and texts of the class are its examples."""
    words = name.replace("_", " ").replace("/", " ").replace("-", " ")
    texts = tuple(" ".join(t.split())[:_CUT] for t in examples)
    return ExpertSpec(
        id=name.lower().replace("_", "-").replace("/", "-").replace(".", "-")[:40].strip("-"),
        name=words[:80],
        triggers=Triggers(primary=tuple(triggers) or (words,), examples=texts),
        domain=Domain(owns=(words,)),
        deliberation=Deliberation(claim=f"I own {words}."),
        **fields,
    )


def clinc150(data: Path) -> RoutingSet:
    """150 intents as experts, each made of 50 training utterances; 4,500 test prompts and 1,000 that are nobody's.

    Raises
    ------
    NoData
    """
    train = _tsv(data / CLINC / "train.tsv")
    texts: dict[str, list[str]] = {}
    for row in train:
        texts.setdefault(row["intent"], []).append(row["text"])
    specs = {name: made(name, examples[:MOST]) for name, examples in texts.items()}
    cases = [
        Case(prompt=row["text"], lead=specs[row["intent"]].id, leads=(specs[row["intent"]].id,), kind="in scope")
        for row in _tsv(data / CLINC / "test.tsv")
    ]
    cases += [Case(prompt=row["text"], kind="out of scope") for row in _tsv(data / CLINC / "oos_test.tsv")]
    return RoutingSet(name=CLINC, specs=tuple(specs.values()), cases=tuple(cases))


def nlbse24_issues(data: Path) -> RoutingSet:
    """Five repositories as experts, each made of the titles of 50 issues; the other issues, title and text, as prompts.

    Raises
    ------
    NoData
    """
    rows = _read(data / NLBSE / "issues_train.csv", ",")
    specs: dict[str, ExpertSpec] = {}
    for repo in dict.fromkeys(row["repo"] for row in rows):
        titles = [row["title"] for i, row in enumerate(rows) if i % _EVERY == 0 and row["repo"] == repo]
        specs[repo] = made(repo, [t for t in titles if t.strip()][:MOST], (repo.rpartition("/")[2],))
    cases = [
        Case(
            prompt=f"{row['title']}\n{row['body']}".strip(), lead=specs[row["repo"]].id, kind=row["label"],
            leads=(specs[row["repo"]].id,),
        )
        for i, row in enumerate(rows)
        if i % _EVERY
    ]  # fmt: skip
    return RoutingSet(name=NLBSE, specs=tuple(specs.values()), cases=tuple(cases))


def marge_experts(data: Path) -> RoutingSet:
    """The source's own 11 experts, of which only trigger words are known; 7 prompts and 8 kinds of task.

    Raises
    ------
    NoData
    """
    file = data / MARGE / "marge.json"
    if not file.is_file():
        raise NoData.of(file)
    document = msgspec.json.decode(file.read_bytes())
    specs = tuple(
        made(e["id"], (), e["triggers"], category=e["category"], priority=int(e["priority"]))
        for e in document["experts"]
    )
    rows = [(p["prompt"], p["experts"], "prompt") for p in document["dry_run_prompts"]]
    rows += [(c["task"], c["experts"], "kind of task") for c in document["combos"]]
    cases = tuple(
        Case(prompt=prompt, lead=who[0], leads=tuple(who), support=tuple(who), kind=kind) for prompt, who, kind in rows
    )
    return RoutingSet(name=MARGE, specs=specs, cases=cases)


PUBLIC = {CLINC: clinc150, NLBSE: nlbse24_issues, MARGE: marge_experts}


def _tsv(file: Path) -> list[dict[str, str]]:
    return _read(file, "\t")


def _read(file: Path, delimiter: str) -> list[dict[str, str]]:
    if not file.is_file():
        raise NoData.of(file)
    with file.open(encoding="utf-8", newline="") as lines:
        if delimiter == ",":
            return list(csv.DictReader(lines))
        return list(csv.DictReader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE))
