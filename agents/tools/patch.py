"""A unified diff put on the files of a folder, all of it or nothing.

Each hunk's old lines are looked for where its head says, and else nearest to it: models miscount lines, and the lines
themselves say where they belong. They must stand there exactly, but for blanks at the end of a line. The libraries that
read such diffs take the head's counts at their word.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from parley.agents.tools.folder import TaskFolder
from parley.agents.tools.paths import Outside, inside

MOST_PATCH = 400_000
"""Characters."""
APPLIED = "applied"
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
_NULL = "/dev/null"
_SHOWN = 160


class PatchError(ValueError):
    """A patch that does not fit: names file and hunk."""


class Hunk(NamedTuple):
    """One place."""

    number: int
    """In its file, from 1."""
    line: int
    """Where it says that it begins, from 1; 0: in an empty file."""
    old: tuple[str, ...]
    new: tuple[str, ...]


class FilePatch(NamedTuple):
    """The changes of one file."""

    old: str
    """Its path; empty: it is new."""
    new: str
    """Empty: it is deleted."""
    hunks: tuple[Hunk, ...]


def parse(diff: str) -> tuple[FilePatch, ...]:
    """The changes that a unified diff holds. Raises PatchError where there are none, or one has no place."""
    if len(diff) > MOST_PATCH:
        raise PatchError(f"the patch has {len(diff):,} characters, the limit is {MOST_PATCH:,}")
    rows = diff.split("\n")
    file_patches: list[FilePatch] = []
    at = 0
    while at < len(rows):
        if rows[at].startswith("--- ") and at + 1 < len(rows) and rows[at + 1].startswith("+++ "):
            old, new = _path(rows[at][4:], "a/"), _path(rows[at + 1][4:], "b/")
            at, hunks = _hunks(rows, at + 2, new or old)
            if not hunks:
                raise PatchError(f"{new or old}: no hunk follows, expected a line like @@ -1,3 +1,4 @@")
            file_patches.append(FilePatch(old, new, hunks))
        else:
            at += 1
    if not file_patches:
        raise PatchError("the patch holds no change: expected lines --- a/PATH, +++ b/PATH and hunks")
    return tuple(file_patches)


def _path(text: str, prefix: str) -> str:
    path = text.split("\t")[0].strip().strip('"')
    return "" if path == _NULL else path.removeprefix(prefix)


def _hunks(rows: Sequence[str], at: int, path: str) -> tuple[int, tuple[Hunk, ...]]:
    hunks: list[Hunk] = []
    while at < len(rows) and (head := _HUNK.match(rows[at])):
        at += 1
        old: list[str] = []
        new: list[str] = []
        while at < len(rows) and not _ends(rows, at):
            row = rows[at]
            if row[:1] in (" ", "-", ""):
                old.append(row[1:])
            if row[:1] in (" ", "+", ""):
                new.append(row[1:])
            at += 1
        while at == len(rows) and old and new and not old[-1] and not new[-1]:
            old.pop()  # what ends the text is no line of it
            new.pop()
        if not old and not new:
            raise PatchError(f"{path}: hunk {len(hunks) + 1} is empty")
        hunks.append(Hunk(len(hunks) + 1, int(head[1]), tuple(old), tuple(new)))
    return at, tuple(hunks)


def _ends(rows: Sequence[str], at: int) -> bool:
    row = rows[at]
    if row.startswith("\\"):
        return False
    if row.startswith("--- ") and at + 1 < len(rows) and rows[at + 1].startswith("+++ "):
        return True
    return row[:1] not in (" ", "+", "-", "") or bool(_HUNK.match(row))


def changed(text: str, patch: FilePatch) -> str:
    """The text with the hunks put on it. Raises PatchError."""
    end = "\r\n" if "\r\n" in text else "\n"
    rows = text.split(end)
    closed = rows[-1] == ""
    rows = rows[:-1] if closed else rows
    moved = 0
    for hunk in patch.hunks:
        at = _place(rows, hunk, moved)
        if at is None:
            first = next((row for row in hunk.old if row.strip()), "")[:_SHOWN]
            where = f"its lines, of which the first is {first!r}, do not stand in the file"
            raise PatchError(f"{patch.old}: hunk {hunk.number} does not fit: {where}")
        rows[at : at + len(hunk.old)] = hunk.new
        moved += len(hunk.new) - len(hunk.old)
    return end.join(rows) + (end if closed or not text else "")


def _place(rows: Sequence[str], hunk: Hunk, moved: int) -> int | None:
    """Where its old lines stand, nearest to where it says."""
    wanted = max(0, hunk.line - 1 + moved) if hunk.line else 0
    if not hunk.old:
        return min(wanted + (1 if hunk.line else 0), len(rows))
    last = len(rows) - len(hunk.old)
    for same in (_equal, _alike):
        for at in sorted(range(last + 1), key=lambda n: abs(n - wanted)):
            if same(rows[at : at + len(hunk.old)], hunk.old):
                return at
    return None


def _equal(rows: Sequence[str], wanted: Sequence[str]) -> bool:
    return list(rows) == list(wanted)


def _alike(rows: Sequence[str], wanted: Sequence[str]) -> bool:
    return all(a.rstrip() == b.rstrip() for a, b in zip(rows, wanted, strict=True))


def apply(root: Path, diff: str) -> list[str]:
    """Put a diff on a folder's files; what was done, a line a file. Raises PatchError, and then nothing was changed."""
    root = Path(os.path.realpath(root))
    writes: dict[Path, str | None] = {}
    lines: list[str] = []
    try:
        for patch in parse(diff):
            lines.append(_plan(root, patch, writes))
    except Outside as error:
        raise PatchError(str(error)) from None
    for path, text in writes.items():
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
            with open(fd, "w", encoding="utf-8", newline="") as file:
                file.write(text)
    return lines


def _plan(root: Path, patch: FilePatch, writes: dict[Path, str | None]) -> str:
    old = inside(root, patch.old) if patch.old else None
    new = inside(root, patch.new) if patch.new else None
    if old is None:
        assert new is not None, "a change names a file"
        if new.exists() or writes.get(new) is not None:
            raise PatchError(f"{patch.new}: the patch creates it, and it is there")
        writes[new] = "".join(f"{row}\n" for hunk in patch.hunks for row in hunk.new)
        return f"{patch.new}: created"
    text = _text(old, patch.old, writes)
    if new is None:
        writes[old] = None
        return f"{patch.old}: deleted"
    if new != old:
        writes[old] = None
    writes[new] = changed(text, patch)
    return f"{patch.new}: {len(patch.hunks)} hunk{'s' if len(patch.hunks) > 1 else ''} changed"


def _text(path: Path, name: str, writes: dict[Path, str | None]) -> str:
    pending = writes.get(path)
    if pending is not None:
        return pending
    if path in writes or not path.is_file():
        raise PatchError(f"{name}: there is no such file")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except UnicodeDecodeError:
        raise PatchError(f"{name}: it is not UTF-8 text") from None
    except OSError as error:
        raise PatchError(f"{name}: {error.strerror}") from None


def try_apply(folder: TaskFolder, diff: str) -> str:
    """Put a diff on a task's folder: APPLIED, or why it does not fit."""
    try:
        apply(folder.root, diff)
    except (PatchError, OSError) as error:
        return str(error)
    return APPLIED
