"""Experts' memory of a folder: the notes of accepted tasks, found among the rows of sessions, and those of them that a
new task is opened with.

Nothing is kept beside the sessions: who may not read a session sees no note of it, and an erased one has none left. A
note is used while its file stands in the folder, with the line that it rests on; of two about one subject the newer.
"""

import math
import os
import platform
import re
import subprocess
from collections.abc import Container, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from parley.agents.text.tokens import estimate
from parley.client.errors import BadInput
from parley.client.text import count
from parley.schemas.folders.archive import Files, unpack_archive
from parley.schemas.folders.notes import MOST_RECALLED, MOST_TEXT, Note, line_mark, may_be_secret, note_words
from parley.schemas.past_sessions.feedback import RIGHT, WRONG
from parley.schemas.past_sessions.learned import Learned
from parley.schemas.post import SessionRow
from parley.schemas.session import OpenSession
from parley.schemas.stops import STOPS

if TYPE_CHECKING:
    from parley.client.client import Client
    from parley.client.task_folder import SentFolder

MOST_TOKENS = 280
"""Of all notes that one session is opened with: with the words around them 300."""
LOOKED_AT = 1_000
"""Sessions that changed last, among which notes are looked for."""
_NAMED = 4.0
"""What it adds to a note's relevance that the task names its file: more than any word does."""
_ANYWHERE = 0.1
"""Relevance of a note about a command, which every task in the folder may run."""
_SAME = 0.5
"""Share of the words of the shorter of two notes from which on they are about one subject."""
_PARTED = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """add build chang check cod creat error fail fil fix folder function improv implement lin mak mov nam new
        project refactor remov renam run task test updat work writ""",
    )
)
"""Roots that say what is done, and not to what."""


async def all_notes(client: "Client", project: str = "") -> list[Note]:
    """The notes of accepted sessions that the client may read, the newest session first; those of one project, or of
    all."""
    return [
        msgspec.structs.replace(note, session=row.session, at_ns=row.closed_ns or 0)
        for row in await client.sessions(LOOKED_AT)
        if _accepted(row) and row.memory and project in ("", row.memory.project)
        for note in row.memory.notes
    ]


def _accepted(row: SessionRow) -> bool:
    """Its work was approved, or a person says that it is right; and nobody says that it is wrong."""
    stop = STOPS.get(row.reason)
    return row.feedback == RIGHT or (row.feedback != WRONG and stop is not None and stop.converged)


def in_use(notes: Sequence[Note], files: Files) -> list[Note]:
    """Those that still hold: their file is there, with its line, and no newer one is about their subject."""
    marks: dict[str, set[str]] = {}
    held: list[Note] = []
    for note in sorted(notes, key=lambda note: -note.at_ns):
        if note.file and note.file not in files:
            continue
        if note.line and note.file not in marks:
            text = files[note.file][0].decode(errors="replace")
            marks[note.file] = {line_mark(line) for line in text.split("\n")}
        if (not note.line or note.line in marks[note.file]) and not any(_one_subject(note, other) for other in held):
            held.append(note)
    return held


def _one_subject(note: Note, other: Note) -> bool:
    if (note.kind, note.place) != (other.kind, other.place):
        return False
    mine, its = _roots(note.text), _roots(other.text)
    decides = note.kind == "decision" and bool(note.file)
    return decides or len(mine & its) > _SAME * min(len(mine), len(its))


def relevant(notes: Sequence[Note], task: str, named: Iterable[str] = ()) -> tuple[Note, ...]:
    """Those that the task is about, the most relevant first, as many as there is room for. `named`: files that it is
    about."""
    words = [_roots(f"{note.text} {note.place}") for note in notes]
    wanted, there = _roots(task), " ".join((task, *named))
    scored: list[tuple[float, Note]] = []
    for note, own in zip(notes, words, strict=True):
        score = sum(math.log(1 + len(notes) / sum(word in other for other in words)) for word in wanted & own)
        score += _NAMED if note.file and (note.file in there or note.file.rpartition("/")[2] in there) else 0.0
        score += _ANYWHERE if note.command and not note.file else 0.0
        scored += [(score, note)] if score else []
    chosen: list[Note] = []
    room = MOST_TOKENS
    for _, note in sorted(scored, key=lambda x: (-x[0], -x[1].at_ns)):
        cost = estimate(f'"{note_words(note)}",')
        if cost <= room and len(chosen) < MOST_RECALLED:
            chosen.append(note)
            room -= cost
    return tuple(chosen)


def _roots(text: str) -> frozenset[str]:
    from parley.agents.expert_matching.word_roots import roots_of

    return frozenset(roots_of(_PARTED.sub(" ", text))) - _COMMON


async def recalled(client: "Client", opening: OpenSession, sent: "SentFolder") -> OpenSession:
    """The session with what is remembered of its folder, as far as its task is about that."""
    project = opening.settings.get("project")
    notes = await all_notes(client, project) if isinstance(project, str) and project else []
    if not notes:
        return opening
    files = opening.settings.get("files_mentioned") or ()
    chosen = relevant(in_use(notes, unpack_archive(sent.data)), opening.question, map(str, files))
    learned = opening.learned or Learned()
    return msgspec.structs.replace(opening, learned=msgspec.structs.replace(learned, notes=chosen or msgspec.UNSET))


def recalled_words(opening: OpenSession) -> str:
    """How much is remembered, on a line; empty: nothing."""
    notes = (opening.learned.notes or ()) if opening.learned else ()
    sessions = len({note.session for note in notes})
    what = f"{count(len(notes), 'note')} of {count(sessions, 'earlier task')} in this folder"
    return f"experts see {what}: parley explain ID memory shows them" if notes else ""


async def change(client: "Client", name: str, text: str | None) -> Note:
    """Give a note other words, or None: forget it. Returns the note as it was. Raises BadInput: there is no such note;
    the words are too long, or name what may be a secret."""
    sid, _, number = name.rpartition(".")
    row = await client.row(sid) if sid else None
    memory = row.memory if row is not None else msgspec.UNSET
    notes = memory.notes if memory else ()
    note = next((note for note in notes if str(note.n) == number), None)
    if note is None:
        raise BadInput("note", f"got {name!r}; parley experts memory list shows the notes that there are")
    if text is not None:
        text = " ".join(text.split())
        if not 0 < len(text) <= MOST_TEXT:
            raise BadInput("text", f"got {len(text):,} characters, allowed are 1 to {MOST_TEXT}")
        if may_be_secret(text):
            raise BadInput("text", "it names what may be a secret, which is not remembered")
    mine = [] if text is None else [msgspec.structs.replace(note, text=text, line="", by=client.user)]
    left = sorted((*(other for other in notes if other.n != note.n), *mine), key=lambda x: x.n)
    await client.keep_notes(sid, tuple(left))
    return msgspec.structs.replace(note, session=sid)


_TIMEOUT_S = 60.0


def project_of(folder: Path) -> str:
    """`git:` and the first commit of the folder's repository, with the folder's place in it. A shallow clone has no
    first commit: its remote stands for it. Without a repository, or before its first commit, `path:` and the folder's
    place on this machine. Of all but the kind only a hash is told."""
    place = _git(folder, "rev-parse", "--show-prefix")
    if _git(folder, "rev-parse", "--is-shallow-repository") == "true":
        begins = _git(folder, "config", "--get", "remote.origin.url")
    else:
        begins = _git(folder, "rev-list", "--first-parent", "--max-parents=0", "HEAD")
    if begins is None:
        return _named("path", platform.node(), str(folder.resolve()))
    return _named("git", begins, place or "")


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None: it could not do it. Of its own environment nothing holds: it might name another
    repository."""
    try:
        done = subprocess.run(
            ("git", "-c", "core.fsmonitor=false", *arguments),
            cwd=folder.resolve(),
            capture_output=True,
            timeout=_TIMEOUT_S,
            env={k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode(errors="surrogateescape").strip()


def _named(kind: str, *parts: str) -> str:
    return f"{kind}:{sha256(chr(0).join(parts).encode(errors='surrogateescape')).hexdigest()[:20]}"


def with_project(given: Mapping[str, Any], kept: Container[str], project: str) -> dict[str, Any]:
    """Settings with the folder's name, where neither they nor those that stand already (`kept`) have one."""
    return dict(given) if "project" in kept else {"project": project, **given}
