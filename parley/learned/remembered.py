"""What experts remember, for the command line: listed, changed, forgotten."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from parley.client import task_folder
from parley.client.errors import BadInput
from parley.client.learned import memory
from parley.client.learned.memory import project_of
from parley.client.text import count, line
from parley.planned.access import on_last_stack
from parley.schemas.folders.archive import unpack_archive
from parley.schemas.folders.notes import Note
from parley.settings import Settings


def list_notes(settings: Settings, folder: Path | None, task: str | None) -> list[dict[str, Any]]:
    """The notes of a folder, or of every one (None), as JSON values; only those that experts would see with `task`, if
    it is given. `in_use`: whether any task would see it; None where no folder is at hand. Raises BadInput."""
    if folder is None and task is not None:
        raise BadInput("--for", "what a task is shown depends on its folder: leave --all out")
    named = (section.get("project") for section in settings.sections.values())
    project = "" if folder is None else next(filter(None, named), None) or project_of(folder)
    files = None if folder is None else unpack_archive(task_folder.read_folder(folder).data)

    notes: list[Note] = on_last_stack(settings, lambda parley: memory.all_notes(parley.client, project), [])
    used = None if files is None else memory.in_use(notes, files)
    if task is not None and used is not None:
        notes = used = list(memory.relevant(used, task))
    return [
        {"id": note.id, "in_use": None if used is None else note in used, **msgspec.to_builtins(note)} for note in notes
    ]


def list_words(rows: list[dict[str, Any]]) -> Iterator[str]:
    """In lines."""
    if not rows:
        yield "nothing is remembered here: notes come from approved tasks with --folder"
        return
    for row in rows:
        note = msgspec.convert(row, Note)
        day = time.strftime("%Y-%m-%d", time.gmtime(note.at_ns / 1e9))
        place = f", {line(note.place)}" if note.place else ""
        yield f"{row['id']}  {note.kind}{place}{'  (resting)' if row['in_use'] is False else ''}"
        yield f"  {line(note.text, 400)}"
        yield f"  by {line(note.by)}, {day}"
    yield f"{count(len(rows), 'note')}; edit NOTE TEXT changes one, forget NOTE drops it"


def change(settings: Settings, name: str, text: str | None) -> Note:
    """Give a note other words, or None: forget it; the note as it was. Raises BadInput, Refusal."""

    without = BadInput("note", f"got {name!r}, and no session is stored here")
    return on_last_stack(settings, lambda parley: memory.change(parley.client, name, text), without)
