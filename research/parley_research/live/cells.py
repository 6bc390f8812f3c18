"""Live runs: sessions of the engine for questions whose answers are known, with a budget, one after the other.

A session that is over is a line of `sessions.jsonl`, on the disk before the next begins. So a run that was killed goes
on where it was: the same command holds the sessions that are missing, then those that failed, and no other.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from parley.client import estimate
from parley.client.api import Parley
from parley.client.client import new_sid
from parley.client.errors import BadInput, ParleyError
from parley.client.opened_session import Session
from parley.client.opening import opening_of, read_evidence
from parley.client.text import count
from parley.client.untrusted import object_of
from parley.coordinator.estimate import Estimate
from parley.planned.access import front, run
from parley.planned.plan import Plan, plan_of
from parley.schemas.session import OpenSession
from parley.settings import Settings
from parley_research.debates.one_set import DISCORDANT
from parley_research.debates.statistics import detectable
from parley_research.debates.tone_words import LEVELS, said, tone
from parley_research.live.rows import Kept, Question, Row, row_of, sides

CELLS = {
    "panel": "a panel that stops after its blind round: single model, self-consistency",
    "consensus": "a panel that argues until it agrees",
    "critic": "one answer before a critic and a judge",
    "maci": "a measured debate over the options",
    "competition": "two teams argue for one of two options each, and a judge decides",
    "madp": "a task for the expert whom it suits: its work is the answer",
    "dial": "the same twice, told to confront and told to work together: a check of validity, and no method",
}
"""What may be asked of each question."""
WORDINGS = (
    "{question}\nAnswer with one of: {options}.",
    "Choose one of these: {options}. Here is what is asked: {question}",
)
"""How a question is put: the first, and the second to see whether the wording matters."""
MOTION = "The right answer to this question is: {pro}. The other side holds that it is: {con}. The question: {question}"
"""What the teams of a competition argue about."""
Told = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a run is to hold."""

    cells: tuple[str, ...]
    most: dict[str, int]
    """At most so many questions of a cell, the first that it can be asked; absent: all of them."""
    panel: int = 3
    rounds: int | None = None
    """At most so many rounds of a debate; None: as the protocol has it."""
    wordings: int = 1
    tokens: int | None = None
    """Of all sessions together, those of runs before included."""
    usd: float | None = None
    seconds: float | None = None
    session_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One session that is to be held."""

    question: Question
    cell: str
    wording: int

    @property
    def key(self) -> tuple[str, str, int]:
        """As Row.key."""
        return self.question.id, self.cell, self.wording


def cells_of(asked: Sequence[Question], wanted: Wanted) -> list[Cell]:
    """Every session of the run, those of one cell together."""
    return [
        Cell(question=question, cell=cell, wording=wording)
        for cell in wanted.cells
        for wording in range(wanted.wordings if cell == "panel" else len(LEVELS) if cell == "dial" else 1)
        for question in asked
    ]


def protocol_of(cell: str) -> str:
    """Whose sessions a cell holds."""
    return {"panel": "consensus", "dial": "maci"}.get(cell, cell)


def plans_of(settings: Settings, wanted: Wanted) -> dict[str, Plan]:
    """By protocol, who sits where with which model. Raises BadInput."""
    made = {}
    for protocol in dict.fromkeys(map(protocol_of, wanted.cells)):
        named = settings.model_copy(update={"protocol": protocol})
        made[protocol] = plan_of(named.over(protocol, {"panel": wanted.panel}) if protocol == "consensus" else named)
    return made


def models_of(plans: Mapping[str, Plan]) -> list[str]:
    """Which models answer. Raises BadInput where one cannot be made."""
    return sorted({worker.model for plan in plans.values() for worker in plan.announced})


def own_settings(cell: Cell, wanted: Wanted) -> dict[str, Any]:
    """The protocol's settings for this session."""
    limit = {} if wanted.rounds is None else {"round_limit": wanted.rounds}
    if cell.cell == "panel":
        return {"panel": wanted.panel, "round_limit": 1}
    if cell.cell == "consensus":
        return {"panel": wanted.panel, **limit}
    if cell.cell == "maci":
        return {"outcomes": cell.question.options, **limit}
    if cell.cell == "dial":
        return {"outcomes": cell.question.options, "schedule": "fixed", "cl": LEVELS[cell.wording], **limit}
    if cell.cell == "competition":
        return {"stances": {team: f"The right answer is: {option}." for team, option in sides_of(cell).items()}}
    return {} if cell.cell == "madp" else limit


def sides_of(cell: Cell) -> dict[str, str]:
    """Which team of a competition holds which option. Raises BadInput where there are not two options."""
    options = cell.question.options
    if len(options) != 2:
        raise BadInput("--cell", f"a competition is between two options; {cell.question.id} has {len(options)}")
    pro, con = (options[place] for place in sides(cell.question))
    return {"pro": pro, "con": con}


def text_of(cell: Cell) -> str:
    """The question as it is put. Raises BadInput."""
    if cell.cell == "competition":
        return MOTION.format(question=cell.question.question, **sides_of(cell))
    wording = WORDINGS[cell.wording if cell.cell == "panel" else 0]
    return wording.format(question=cell.question.question, options=", ".join(cell.question.options))


def opening(cell: Cell, plan: Plan, wanted: Wanted, folder: Path) -> OpenSession:
    """The session as it is opened. Raises BadInput."""
    text = text_of(cell)
    with tempfile.TemporaryDirectory(prefix="parley-live-") as own:
        for name, words in cell.question.texts.items():
            (Path(own) / name).write_text(words, encoding="utf-8")
        documents = [
            str((Path(own) if name in cell.question.texts else folder) / name) for name in cell.question.documents
        ]
        read = read_evidence(plan.protocol, documents or None)
        given = {"settings": own_settings(cell, wanted)}
        opened = opening_of(text, given, read, msgspec.structs.replace(plan.offer(), here=True), door="ask")
    if wanted.session_s is not None:
        opened = msgspec.structs.replace(
            opened, budget=msgspec.structs.replace(opened.budget, seconds=wanted.session_s)
        )
    return opened


def fitting(
    cells: Sequence[Cell], plans: dict[str, Plan], wanted: Wanted, folder: Path
) -> tuple[list[Cell], dict[str, list[str]]]:
    """The sessions that can be opened, as many of a cell as are wanted; of the others by cell the reason, once a
    session.

    A MACI session without documents, for one, cannot.
    """
    fit: list[Cell] = []
    unfit: dict[str, list[str]] = {}
    count: Counter[tuple[str, int]] = Counter()
    for cell in cells:
        if count[cell.cell, cell.wording] == wanted.most.get(cell.cell, len(cells)):
            continue
        try:
            _estimate(cell, plans, wanted, folder)
        except BadInput as error:
            unfit.setdefault(cell.cell, []).append(str(error))
        else:
            fit.append(cell)
            count[cell.cell, cell.wording] += 1
    return fit, unfit


def powers(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """What as many questions can show, for each number of them: the cells, and the gain that shows four times in five
    where two methods differ on 20 % of the questions. None: no gain shows reliably."""
    asked: dict[str, set[str]] = {}
    for cell in cells:
        if cell.cell != "dial":  # a check, and no method
            asked.setdefault(cell.cell, set()).add(cell.question.id)
    sizes = sorted({len(questions) for questions in asked.values()}, reverse=True)
    return [
        {
            "questions": size,
            "cells": [name for name, questions in asked.items() if len(questions) == size],
            "detectable_gain": detectable(size, DISCORDANT),
        }
        for size in sizes
    ]


def expected(cells: Sequence[Cell], plans: dict[str, Plan], wanted: Wanted, folder: Path) -> dict[str, Any]:
    """What the sessions may come to, from the caps of each; nothing is started. Raises BadInput.

    `open_ended` sessions are tasks that choose their experts. Of these the figures hold the match alone: what the work
    comes to is not known before, and only a budget limits it.
    """
    found = [_estimate(cell, plans, wanted, folder) for cell in cells]
    return {
        "sessions": len(cells),
        "open_ended": sum(one.work is not None for one in found),
        "likely_tokens": sum(one.likely_most.tokens for one in found),
        "most_tokens": sum(one.most.tokens for one in found),
        "likely_usd": sum(one.likely_most.cost_usd for one in found),
        "most_usd": sum(one.most.cost_usd for one in found),
        "budget_tokens": wanted.tokens,
        "budget_usd": wanted.usd,
    }


def _estimate(cell: Cell, plans: dict[str, Plan], wanted: Wanted, folder: Path) -> Estimate:
    plan = plans[protocol_of(cell.cell)]
    return estimate.of(opening(cell, plan, wanted, folder), plan.announced)


def hold(cells: Sequence[Cell], plans: dict[str, Plan], wanted: Wanted, folder: Path, kept: Kept, told: Told) -> str:
    """Hold the sessions that are missing; why it ended before all were held, or nothing.

    Raises
    ------
    BadInput, StackFailed
        As parley.planned.access.front.
    """
    return run(_hold(cells, plans, wanted, folder, kept, told))


async def _hold(
    cells: Sequence[Cell], plans: dict[str, Plan], wanted: Wanted, folder: Path, kept: Kept, told: Told
) -> str:
    missing = sorted((cell for cell in cells if cell.key not in kept.keys), key=lambda cell: kept.attempts(cell.key))
    again = sum(kept.attempts(cell.key) > 0 for cell in missing)
    more = f", {again} of them again, because they failed" if again else ""
    told(f"{len(cells) - len(missing)} of {count(len(cells), 'session')} held before, {len(missing)} to be held{more}")
    for protocol in dict.fromkeys(protocol_of(cell.cell) for cell in missing):
        mine = [cell for cell in missing if protocol_of(cell.cell) == protocol]
        async with front(plans[protocol], ephemeral=True, tell=told) as parley:
            await parley.gathered(protocol)
            for cell in mine:
                likely = _estimate(cell, plans, wanted, folder).likely
                short = shortfall(kept.lines, likely.tokens, likely.cost_usd, wanted)
                if short:
                    told(short)
                    return short
                row = await _held(cell, parley, plans[protocol], wanted, folder)
                kept.add(msgspec.structs.replace(row, attempt=kept.attempts(cell.key) + 1))
                done = {one.key for one in kept.rows} & {one.key for one in cells}
                told(f"{len(done)} of {len(cells)}: {_words(row, cell.question)}")
    return ""


def shortfall(rows: Sequence[Row], tokens: int, usd: float, wanted: Wanted) -> str:
    """Why the next session, by what it likely costs at least, does not fit the budget; empty: it fits.

    Parameters
    ----------
    rows
        Every attempt so far: what failed was paid, too.
    """
    spent, paid = sum(row.tokens for row in rows), sum(row.cost_usd for row in rows)
    if wanted.tokens is not None and spent + tokens > wanted.tokens:
        return f"the budget of {wanted.tokens:,} tokens does not hold the next session: {spent:,} were used"
    if wanted.usd is not None and paid + usd > wanted.usd:
        return f"the budget of {wanted.usd:g} USD does not hold the next session: {paid:.4f} were used"
    took = sum(row.seconds for row in rows)
    if wanted.seconds is not None and took >= wanted.seconds:
        return f"the {wanted.seconds:,.0f} seconds for all sessions are over: they took {took:,.0f}"
    return ""


async def _held(cell: Cell, parley: Parley, plan: Plan, wanted: Wanted, folder: Path) -> Row:
    """One session, from its opening to its result."""
    try:
        sid = await parley.opened(opening(cell, plan, wanted, folder), new_sid())
        session = Session(parley.client, sid)
        result = await session.result()
        measured = await _tone(session) if cell.cell == "dial" else None
    except ParleyError as error:
        return Row(question=cell.question.id, cell=cell.cell, wording=cell.wording, error=str(error)[:300])
    row = row_of(cell.question, cell.cell, cell.wording, result, (turn.why for turn in result.unanswered))
    return msgspec.structs.replace(row, tone=measured)


async def _tone(session: Session) -> float | None:
    """Of what debaters argued after the blind round; None: nothing."""
    return tone(said([object_of(p.body) async for p in session.posts() if p.seat.startswith("debater_") and p.round]))


def _words(row: Row, question: Question) -> str:
    if row.failure:
        return f"{row.cell}, {row.question}: failed: {row.failure}"
    said = "no option" if row.answer is None else question.options[row.answer]
    return f"{row.cell}, {row.question}: {said} ({row.reason}, {row.tokens:,} tokens, {row.seconds:.0f} s)"
