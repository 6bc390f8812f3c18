"""Recorded debates: what there is to evaluate, and one run of it."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from parley.client.errors import BadInput
from parley.client.text import count
from parley_research.debates import manifest as manifests
from parley_research.debates import page
from parley_research.debates.every_set import Idle, Report, Unknown, whole
from parley_research.debates.manifest import Manifest, Settings
from parley_research.debates.record import of_half
from parley_research.debates.registry import loaded
from parley_research.debates.sets.own import NoFile
from parley_research.debates.statistics import detectable
from parley_research.loaders import DATA, BadData, NoData

OUT = Path("debates-report")
EXAMPLE = (
    '{"id": "q1", "options": ["yes", "no"], "gold": "yes", "members": ["a", "b"], "rounds": '
    '[[{"member": "a", "answer": "yes"}, {"member": "b", "answer": "no"}], [{"member": "b", "answer": "yes"}]]}'
)
"""A line of a file of one's own."""


def evaluate(settings: Settings, data: Path | None, out: Path, repeat: Path | None) -> tuple[Report, list[Path]]:
    """Run, write the pages, and say which files.

    Parameters
    ----------
    data
        The folder of the data sets; None: beside the project.
    out
        A folder for the report; data sets that are finished are kept there too.
    repeat
        A manifest whose settings are taken in place of these.

    Raises
    ------
    BadInput
        An option that names what is not there, a file that is not as it should be, or a folder that cannot be written.
    """
    before = None if repeat is None else _manifest(repeat)
    used = settings if before is None else before.settings
    _check_writable(out)
    try:
        report = whole(loaded(), used, data or DATA, out, _told)
    except Unknown as error:
        raise BadInput(error.option, str(error)) from None
    except Idle as error:
        raise BadInput("--method", f"--method: {error}") from None
    except NoFile as error:
        raise BadInput("FILE", f"FILE: {error}") from None
    except NoData as error:
        raise BadInput("--data", f"--data: {error}") from None
    except (BadData, ValueError) as error:
        option = "FILE" if used.files else "--data"
        raise BadInput(option, f"{option}: {error}") from None
    if before is not None:
        notes = [
            f"Not as in the run that this repeats: {one}." for one in manifests.differences(before, report.manifest)
        ]
        same = ("Code, data, seeds and libraries are those of the run that this repeats.",)
        report = msgspec.structs.replace(report, notes=tuple(notes) or same)
        for line in report.notes:
            _told(line)
    return report, page.written(report, out)


def is_there(data: Path | None) -> bool:
    """Whether any of the public sets is in the folder; None: beside the project."""
    folder = data or DATA
    return any(one.files and all((folder / file).is_file() for file in one.files) for one in loaded().sets())


def how_to() -> Iterator[str]:
    """What can be measured, in words: for whoever has given no file, and has no public set."""
    yield "Your own debates: parley eval debates FILE"
    yield ""
    yield "Each line of FILE is a JSON object: id, options, gold (the right option), members, and rounds: lists of"
    yield "statements with member and answer, first those given alone. docs/evaluation.md has the other fields."
    yield ""
    yield f"  {EXAMPLE}"
    yield ""
    yield "Public sets: parley eval debates --data DIR, where DIR has them as folders. They are not part of Parley:"
    yield ""
    for one in loaded().sets():
        yield f"  {one.name:<12} {one.origin or 'its package has it'}"


def _told(line: str) -> None:
    print(f"... {line}", file=sys.stderr, flush=True)


def _check_writable(out: Path) -> None:
    there = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        raise BadInput("--out", f"--out: got {str(out)!r}, expected a folder that can be written; {there} is none")


def _manifest(file: Path) -> Manifest:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Manifest)
    except OSError as error:
        raise BadInput("--repeat", f"--repeat: cannot read {file}: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise BadInput("--repeat", f"--repeat: {file} is no manifest: {error}") from None


def summary(report: Report, files: Sequence[Path]) -> Iterator[str]:
    """Lines for the screen."""
    for one in report.sets:
        yield f"{one.title} ({count(one.test, 'debate')} of the test half)"
        usable = [row for row in one.rows if not row.hindsight and not row.same_as]
        verdicts = {c.method: c.word for c in one.comparisons if c.against == one.baseline}
        for row in sorted(usable, key=lambda row: -row.accuracy.value)[:8]:
            a = row.accuracy
            cost = f"{row.calls:.1f} calls" if row.words is None else f"{row.words:,.0f} words"
            word = verdicts.get(row.method, "compared with" if row.method == one.baseline else "")
            figure = f"{100 * a.value:5.1f} % [{100 * a.low:.1f}, {100 * a.high:.1f}]"
            yield f"  {row.method:<22} {figure:<24} {cost:>12}  {word}"
        if len(usable) > 8:
            yield f"  and {count(len(usable) - 8, 'more method')}"
        reasons: dict[str, list[str]] = {}
        for missing in one.not_run:
            reasons.setdefault(missing.why, []).append(missing.method)
        for why, names in reasons.items():
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            yield f"  not run: {names[0]}{more} ({why})"
    if report.speed is not None:
        yield f"The controller played {report.speed.controller:,.0f} recorded debates a second."
    for gone in report.absent:
        yield f"Not there: {gone.name} ({gone.why})"
    yield f"The report: {files[0]} (also {', '.join(file.name for file in files[1:])})"


def listed(data: Path | None) -> dict[str, Any]:
    """The data sets and methods that there are; of each set whether it is there, and what its size can show."""
    registry, folder = loaded(), data or DATA
    sets = []
    for one in registry.sets():
        try:
            test = of_half(one.split or one.name, one.load(folder), "test")
        except NoData:
            told: dict[str, Any] = {"there": False}
        else:
            questions = len({debate.question for debate in test})
            gain = detectable(questions, 0.2)
            told = {"there": True, "test_debates": len(test), "test_questions": questions, "detectable_gain": gain}
        sets.append({"name": one.name, "title": one.title, "origin": one.origin, **told})
    methods = [
        {"name": m.name, "title": m.title, "family": m.family, "learns": m.fits, "knows_the_answer": m.hindsight}
        for m in registry.methods()
    ]
    return {"sets": sets, "methods": methods, "cannot_be_run": dict(registry.missing)}


def list_lines(found: dict[str, Any]) -> Iterator[str]:
    """The same in words."""
    yield "Data sets (--set):"
    for one in found["sets"]:
        if not one["there"]:
            yield f"  {one['name']:<22} {one['title']}: not there; {one['origin']}"
            continue
        gain = one["detectable_gain"]
        shows = "no gain shows reliably" if gain is None else f"a gain of {100 * gain:.1f} points shows"
        yield f"  {one['name']:<22} {one['title']}: {count(one['test_debates'], 'test debate')}; {shows}"
    yield "A gain shows four times in five, where two methods differ on 20 % of the questions."
    yield "Methods (--method):"
    for one in found["methods"]:
        more = " (learns)" if one["learns"] else " (bound)" if one["knows_the_answer"] else ""
        yield f"  {one['name']:<22} {one['title']}{more}"
    for name, why in found["cannot_be_run"].items():
        yield f"  {name:<22} cannot be run here: {why}"
