"""The history of a task's folder: its last commits, with the texts of the files that they changed.

Whoever sends a folder reads it out of the folder's repository (parley/client/git/history.py). It is plain data:
whoever is shown it needs neither the repository nor git. It travels as a folder's archive does, as one file.
"""

import re

import msgspec

from parley.schemas.folders.archive import BadArchive, unpacked
from parley.schemas.folders.paths import bad_name

NAME = "history.json"
"""The file in its archive."""
MOST_COMMITS = 50
MOST_TEXT = 400_000
"""Bytes of a file's text that is kept."""
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """One commit that changed the folder."""

    id: str
    parents: tuple[str, ...] = ()
    """The commits that changed the folder before it. One that is not in the history is older than what was sent."""
    author: str = ""
    """The name, without the address."""
    at: int = 0
    """Seconds since 1970, of the author's date."""
    message: str = ""
    files: dict[str, str | None] = {}
    """Path -> id of its content; None: removed. What is other than in the first parent; all that there is, where that
    is not in the history, or there is none."""


class History(msgspec.Struct, frozen=True, kw_only=True):
    """Some commits."""

    commits: tuple[Commit, ...] = ()
    """The oldest first: each stands behind its parents. The last is the newest."""
    texts: dict[str, str] = {}
    """By a content's id. What is no text, or too long, has none; so has what no commit changed."""


def read(data: bytes) -> History:
    """The history in an archive.

    Raises
    ------
    FolderError
        It is no archive, or what is in it is no history.
    """
    files = unpacked(data)
    if files.keys() != {NAME}:
        raise BadArchive(f"history: wanted is one file, {NAME}")
    try:
        history = msgspec.json.decode(files[NAME][0], type=History)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise BadArchive(f"history: {error}") from None
    if len(history.commits) > MOST_COMMITS:
        raise BadArchive(f"history: {len(history.commits):,} commits, allowed are at most {MOST_COMMITS}")
    ids = [c.id for c in history.commits]
    for n, commit in enumerate(history.commits):
        if not all(map(_ID.fullmatch, (commit.id, *commit.parents))):
            raise BadArchive(f"history: commit {n}: an id is none")
        if commit.id in ids[:n] or not set(ids[n:]).isdisjoint(commit.parents):
            raise BadArchive(f"history: commit {commit.id} stands twice, or before one of its parents")
        if wrong := next((f"{p[:200]!r}: {why}" for p in commit.files if (why := bad_name(p))), ""):
            raise BadArchive(f"history: commit {commit.id}: {wrong}")
    return history


def trees(history: History) -> dict[str, dict[str, str]]:
    """Commit -> all files that it has: path -> id of its content."""
    by_commit: dict[str, dict[str, str]] = {}
    for commit in history.commits:
        tree = dict(by_commit.get(commit.parents[0], {})) if commit.parents else {}
        for path, content in commit.files.items():
            if content is None:
                tree.pop(path, None)
            else:
                tree[path] = content
        by_commit[commit.id] = tree
    return by_commit
