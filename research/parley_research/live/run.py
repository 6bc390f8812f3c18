"""The work of `parley eval live`, after its arguments are read."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from parley.client.errors import BadInput
from parley.client.text import count
from parley.planned.plan import Plan
from parley.settings import Settings
from parley_research import made as made_by
from parley_research.debates import manifest
from parley_research.debates.one_set import said
from parley_research.live import cells as live
from parley_research.live import page as live_page
from parley_research.live.cells import CELLS, Cell, Wanted
from parley_research.live.page import LiveManifest, LiveReport
from parley_research.live.rows import Kept, Question, questions
from parley_research.loaders import BadData, NoData

DEFAULT = ("panel",)
"""Cells where none is named."""


def wanted_of(cells: Sequence[str], **given: Any) -> Wanted:
    """Of `panel`, `maci=5`: which cells, and of how many questions at most. Raises BadInput."""
    names: list[str] = []
    most: dict[str, int] = {}
    for one in cells or DEFAULT:
        name, _, count = one.partition("=")
        if name not in CELLS:
            raise BadInput("--cell", f"--cell: got {name!r}, known: {', '.join(CELLS)}")
        if count:
            if not count.isdecimal() or not int(count):
                raise BadInput("--cell", f"--cell: got {one!r}, wanted is {name} or {name}=5")
            most[name] = int(count)
        names.append(name)
    return Wanted(cells=tuple(dict.fromkeys(names)), most=most, **given)


def asked_of(file: Path) -> list[Question]:
    """Raises BadInput."""
    try:
        return questions(file)
    except (BadData, NoData) as error:
        raise BadInput("FILE", str(error)) from None


def estimated(file: Path, settings: Settings, wanted: Wanted) -> dict[str, Any]:
    """What the run may come to; nothing is started. Raises BadInput."""
    asked = asked_of(file)
    plans = live.plans_of(settings, wanted)
    cells, _ = _fitting(asked, plans, wanted, file.parent)
    return {**live.expected(cells, plans, wanted, file.parent), "power": live.powers(cells)}


def _fitting(
    asked: Sequence[Question], plans: dict[str, Plan], wanted: Wanted, folder: Path
) -> tuple[list[Cell], list[str]]:
    """The sessions that can be opened, and why others cannot. Raises BadInput where none can."""
    cells, unfit = live.fitting(live.cells_of(asked, wanted), plans, wanted, folder)
    why = [
        f"{name}: questions passed over, because they cannot be asked: {len(reasons)}. The first: {reasons[0]}"
        for name, reasons in unfit.items()
    ]
    if not cells:
        raise BadInput("--cell", f"--cell: no session can be opened. {'; '.join(why)}")
    for line in why:
        _told(line)
    return cells, why


def held(file: Path, settings: Settings, wanted: Wanted, out: Path) -> tuple[LiveReport, list[Path]]:
    """Hold the sessions that are missing, write the report, and say which files.

    Raises
    ------
    BadInput
        The questions cannot be read, or the folder holds a run of something else.
    """
    asked = asked_of(file)
    plans = live.plans_of(settings, wanted)
    cells, unfit = _fitting(asked, plans, wanted, file.parent)
    made = LiveManifest(
        questions=manifest.hashed(file), models=tuple(live.models_of(plans)), panel=wanted.panel, rounds=wanted.rounds,
        commit=made_by.commit(), changed=made_by.is_changed(), command=_command(sys.argv[1:]),
    )  # fmt: skip
    made = _same(made, out / "manifest.json")
    try:
        kept = Kept(out)
    except BadData as error:
        raise BadInput("--out", f"--out: {error}") from None
    if kept.cut:
        _told("the last line was cut short by a kill; its session is held again")
    likely = live.expected([cell for cell in cells if cell.key not in kept.keys], plans, wanted, file.parent)
    for line in estimate_lines({**likely, "power": live.powers(cells)}):
        _told(line)
    ended = live.hold(cells, plans, wanted, file.parent, kept, _told)
    report = live_page.report(made, asked, [cell.key for cell in cells], kept.rows, ended, unfit)
    return report, live_page.written(report, out)


def _command(words: Sequence[str]) -> str:
    """What was typed, without the folder that it wrote to."""
    kept = [w for n, w in enumerate(words) if w != "--out" and words[max(0, n - 1)] != "--out"]
    return shlex.join(["parley", *kept])


def _same(made: LiveManifest, file: Path) -> LiveManifest:
    """The manifest that the run began with, or this one, which is written. Raises BadInput where they differ."""
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
        part.replace(file)
        return made
    try:
        before = msgspec.json.decode(file.read_bytes(), type=LiveManifest)
    except msgspec.MsgspecError as error:
        raise BadInput("--out", f"--out: {file} is no manifest of a live run: {error}") from None
    differs = before.differs(made)
    if differs:
        why = f"{file.parent} holds a run that differs in its {', '.join(differs)}; choose another --out"
        raise BadInput("--out", f"--out: {why}")
    return before


def _told(line: str) -> None:
    print(f"... {line}", file=sys.stderr, flush=True)


def estimate_lines(found: dict[str, Any]) -> Iterator[str]:
    """The estimate in words."""
    yield (
        f"{count(found['sessions'], 'session')}: likely {found['likely_tokens']:,} tokens, "
        f"at most {found['most_tokens']:,}; likely {found['likely_usd']:.2f} USD, "
        f"at most {found['most_usd']:.2f}, as far as prices are known"
    )
    if found["open_ended"]:
        yield (
            f"  Tasks among them: {found['open_ended']:,}. The figures hold the match of each, and not its work, which "
            "is not known before; --set budget.tokens=N limits each session"
        )
    for one in found["power"]:
        which = f"{count(one['questions'], 'question')} ({', '.join(one['cells'])})"
        yield f"  Power with {which}: {said(one['detectable_gain'])}"


def exit_status(report: LiveReport) -> int:
    """1 where every session that was held failed, else 0."""
    return int(0 < report.held == report.failed)


def summary(report: LiveReport, files: Sequence[Path]) -> Iterator[str]:
    """Lines for the screen."""
    yield f"{report.held} of {count(report.wanted, 'session')} held" + (
        f", {report.failed} of them failed" if report.failed else ""
    )
    for row in report.rows:
        m = row.measures
        a = m.accuracy
        figure = f"{100 * a.value:.0f} % [{100 * a.low:.0f}, {100 * a.high:.0f}]"
        yield f"  {m.method:<12} {figure:<18} of {count(m.debates, 'question')}, {row.tokens:,.0f} tokens each"
    for line in report.failures:
        yield f"  {line}"
    if report.failed:
        yield "No figure contains a failed session. Type the same command again to hold those that failed."
    for line in report.not_run:
        yield f"  {line}"
    if report.ended:
        yield f"It ended early: {report.ended}."
    yield f"The report: {files[0]} (also {', '.join(file.name for file in files[1:])})"
