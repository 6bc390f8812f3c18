"""What past tasks taught of routing and depth: shown, forgotten, exported."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from parley.client.api import Parley
from parley.client.errors import BadInput
from parley.client.learned import taught
from parley.client.learned.memory import project_of
from parley.client.setup.lesson import Lesson
from parley.client.text import count, line
from parley.learned.learning import kept_in
from parley.planned.access import on_last_stack
from parley.settings import Settings

_TASK = 60


def load_lessons(settings: Settings, folder: Path | None = None, *, everything: bool = False) -> tuple[Lesson, ...]:
    """What tasks teach, the newest first, after a look at the sessions of the bus.

    Parameters
    ----------
    folder
        Of this folder alone; None: of all.
    everything
        Also tasks that say no more than how sure routing was.

    Raises
    ------
    BadInput
        No file is named for a bus that runs elsewhere, or it cannot be read; the credentials are no owner's.
    """
    file = kept_in(settings)
    if folder is not None and not folder.is_dir():
        raise BadInput("folder", f"{folder} is not a folder")

    async def main(parley: Parley) -> tuple[Lesson, ...]:
        if not parley.client.owner:
            raise BadInput("creds", "an owner's credentials are needed to read what sessions teach")
        return (await taught.look(parley.client, file, taught.MOST_SESSIONS)).lessons

    found: tuple[Lesson, ...] = on_last_stack(settings, main, ())
    here = None if folder is None else project_of(folder)
    return tuple(
        one
        for one in found
        if one.task and (everything or one.teaches) and (here is None or taught.same(one.folder, here))
    )


def forget(settings: Settings, sessions: Sequence[str], folder: Path | None, *, everything: bool) -> tuple[str, ...]:
    """Forget what these sessions taught, or all of a folder, or everything; which they were. Raises BadInput as
    `known`, and where a session teaches nothing."""
    if sum((bool(sessions), folder is not None, everything)) > 1:
        raise BadInput("session", "name sessions, or a folder (--folder DIR), or --all: one of them")
    if "" in sessions:
        raise BadInput("session", "got '', expected a session's id")
    lessons = {one.session: one for one in load_lessons(settings, folder, everything=True)}
    if unknown := [sid for sid in sessions if sid not in lessons]:
        why = "teaches nothing, or was forgotten; parley preferences list shows what teaches"
        raise BadInput("session", f"{', '.join(unknown)} {why}")
    if not (sessions or folder or everything):
        raise BadInput("session", "name a session, a folder (--folder DIR), or --all")
    wanted = frozenset(sessions or lessons)
    return taught.forget(kept_in(settings), lambda one: one.session in wanted)


def row(one: Lesson) -> dict[str, Any]:
    """A lesson as a document."""
    left_out = ("seq", "vector", "encoder", "forgotten")
    return {k: v for k, v in msgspec.to_builtins(one).items() if k not in left_out} | {"says": says(one)}


def says(one: Lesson) -> str:
    """What a task teaches, in words."""
    found = []
    if one.chosen:
        instead = f" instead of {one.proposed}" if one.proposed not in ("", one.chosen) else ""
        found.append(f"you chose {one.chosen}{instead}")
    elif one.handed_to:
        found.append(f"{one.proposed} handed over to {one.handed_to}")
    elif one.lead:
        found.append(f"{one.lead} led")
    if one.depth_asked:
        found.append(f"you set depth {one.depth}{'' if one.depth == one.rule else f' instead of {one.rule}'}")
    if one.became:
        found.append(f"the result was {one.became}")
    return "; ".join(found)


def preference_lines(lessons: Sequence[Lesson], on: bool) -> Iterator[str]:
    """All of them in lines. `on`: whether sessions use them."""
    if not lessons:
        yield "no task here has taught anything: choose an expert (--expert, parley inbox answer), or a depth (--depth)"
        return
    for one in lessons:
        day = datetime.fromtimestamp(one.at_ns / 1e9, UTC).strftime("%Y-%m-%d")
        where = f"in {line(one.folder.rpartition('@')[0])}" if one.folder else "without a folder"
        yield f"{one.session}  {day}  {where}: {line(one.task, _TASK)}"
        yield f"  {says(one)}"
    yield f"{count(len(lessons), 'task')}; what one says counts half after 180 days"
    if not on:
        yield "tasks do not use it: learned.used is off"
