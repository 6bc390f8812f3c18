"""Reads the last commits of a task's folder out of its git repository, in the form that experts may read.

The repository is only read, object by object: no work tree and no index is looked at, no text is converted, no other
program is shown a difference, nothing is fetched. So nothing that the repository's settings name is run. What of the
folder is not sent is not sent of its past either, and no version of a file that held keys of a message bus is.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple

import msgspec

from parley.agents.tools.own_files import has_keys
from parley.agents.tools.unwanted import Unwanted
from parley.client.git.branch import GitFailed, Repository
from parley.client.task_folder import SentFolder
from parley.schemas.folders.archive import TooLarge
from parley.schemas.folders.history import MOST_COMMITS, MOST_TEXT, NAME, Commit, History
from parley.schemas.folders.paths import bad_name

_MOST_TEXTS = 12_000_000
"""Bytes of all texts together."""
_MOST_MESSAGE = 4_000
_FILES = ("100644", "100755")
_ALONE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_REPLACE_OBJECTS": "1"}
"""An object that is not there is not fetched: a remote may name a program."""
_WHO = re.compile(rb"author (.*?) ?<[^>\n]*> (\d{1,12})")
Tree = Mapping[str, str]
"""Path in the folder -> blob."""


class _Found(NamedTuple):
    """A commit, before it is known how many go."""

    id: str
    parents: tuple[str, ...]
    raw: bytes
    tree: Tree


def with_history(sent: SentFolder, most_commits: int = MOST_COMMITS, most_texts: int = _MOST_TEXTS) -> SentFolder:
    """What was read of a folder with its history, where it has one; and what is to be said of it.

    `most_texts`: bytes of all files that the commits changed; where they have more, fewer commits are sent."""
    if not any((at / ".git").exists() for at in (sent.folder.resolve(), *sent.folder.resolve().parents)):
        return sent
    try:
        repository = Repository(sent.folder, _ALONE)
        packed = _commits(repository, Unwanted(sent.folder), most_commits)
        if not packed:
            return sent
        data, commits = _packed(repository, packed, most_texts)
    except GitFailed as error:
        return msgspec.structs.replace(sent, history_told=f"the history of {sent.folder} is not sent: {error}")
    what = "the last commit" if commits == 1 else f"the last {commits} commits"
    note = f"{what} of {sent.folder.resolve().name} went with it, as history that experts may read"
    return msgspec.structs.replace(sent, history=data, history_told=note)


def _commits(repository: Repository, unwanted: Unwanted, most: int) -> list[_Found]:
    """The last ones that changed the folder, the newest first."""
    prefix = repository.git("rev-parse", "--show-prefix").rstrip("\n")
    shallow = repository.git("rev-parse", "--is-shallow-repository").strip() == "true"
    rows = repository.git("rev-list", "--parents", f"--max-count={most}", "HEAD", "--", ".").split("\n")[:-1]
    known: dict[str, bool] = {}

    def goes(path: str, mode: str) -> bool:
        if path not in known:
            known[path] = not bad_name(path) and unwanted(path, False) is None
        return mode in _FILES and known[path]

    raws = _objects(repository, (row.split(" ")[0] for row in rows))
    commits: list[_Found] = []
    for row in rows:
        id_, *parents = row.split(" ")
        if shallow and not parents:  # what a shallow repository has no more
            parents = re.findall(r"^parent (\w+)$", raws[id_].split(b"\n\n")[0].decode(errors="replace"), re.M)
        tree = {p: blob for p, (mode, blob) in repository.tree(id_, prefix).items() if goes(p, mode)}
        commits.append(_Found(id_, tuple(parents), raws[id_], tree))
    return commits


def _packed(repository: Repository, commits: Sequence[_Found], most: int) -> tuple[bytes, int]:
    """(the archive of as many commits as fit, how many). Raises GitFailed where not one does."""
    from parley.agents.tools.folder import archive

    sizes = _sizes(repository, _needed(commits))
    for n in (len(commits) >> halved for halved in range(len(commits).bit_length())):
        kept = commits[:n]
        blobs = [b for b in _needed(kept) if sizes.get(b, MOST_TEXT) < MOST_TEXT]
        if sum(sizes[b] for b in blobs) > most:
            continue
        texts = {b: text for b, data in _objects(repository, blobs).items() if (text := _text(data)) is not None}
        history = History(commits=tuple(map(_commit, _in_order(kept), _grounds(kept))), texts=texts)
        try:
            return archive({NAME: (msgspec.json.encode(history), False)}), n
        except TooLarge:
            continue
    raise GitFailed("its last commit alone is too large")


def _in_order(kept: Sequence[_Found]) -> list[_Found]:
    """The oldest first, each behind its parents, whatever the clocks said."""
    by_id = {c.id: c for c in reversed(kept)}
    seen: set[str] = set()
    for c in by_id.values():
        if any(p in by_id and p not in seen for p in c.parents):
            graph = {c.id: [p for p in c.parents if p in by_id] for c in by_id.values()}
            return [by_id[x] for x in TopologicalSorter(graph).static_order()]
        seen.add(c.id)
    return list(by_id.values())


def _grounds(kept: Sequence[_Found]) -> list[Tree]:
    """What each commit, in order, is told against: its first parent's files, or none."""
    by_id = {c.id: c.tree for c in kept}
    return [by_id.get(c.parents[0], {}) if c.parents else {} for c in _in_order(kept)]


def _commit(commit: _Found, ground: Tree) -> Commit:
    head, _, message = commit.raw.partition(b"\n\n")
    who = _WHO.search(head)
    files: dict[str, str | None] = {p: b for p, b in commit.tree.items() if ground.get(p) != b}
    return Commit(
        id=commit.id,
        parents=commit.parents,
        message=message.decode(errors="replace").strip()[:_MOST_MESSAGE],
        author=who[1].decode(errors="replace")[:200] if who else "",
        at=int(who[2]) if who else 0,
        files=files | dict.fromkeys(ground.keys() - commit.tree.keys()),
    )


def _needed(kept: Sequence[_Found]) -> list[str]:
    """Blobs of the files that these commits changed: every version of them. A commit whose parent is not among them
    is ground for the others, and changed nothing that can be told."""
    by_id = {c.id: c.tree for c in kept}
    changed: set[str] = set()
    for c in kept:
        if c.parents and c.parents[0] not in by_id:
            continue
        ground = by_id[c.parents[0]] if c.parents else {}
        changed |= {p for p in ground.keys() | c.tree.keys() if ground.get(p) != c.tree.get(p)}
    return sorted({c.tree[p] for c in kept for p in changed & c.tree.keys()})


def _sizes(repository: Repository, blobs: Iterable[str]) -> dict[str, int]:
    said = repository.git("cat-file", "--batch-check", given=_asked(blobs)).split("\n")[:-1]
    return {row.split(" ")[0]: int(row.split(" ")[2]) for row in said if row.count(" ") == 2}


def _objects(repository: Repository, ids: Iterable[str]) -> dict[str, bytes]:
    """Each object's bytes. Raises GitFailed where one is not there."""
    asked = _asked(ids)
    said = repository.git("cat-file", "--batch", given=asked).encode(errors="surrogateescape")
    objects: dict[str, bytes] = {}
    at = 0
    for id_ in asked.decode().split():
        end = said.index(b"\n", at)
        row = said[at:end].split(b" ")
        if len(row) != 3:
            raise GitFailed(f"the object {id_} is not there")
        size = int(row[2])
        objects[id_] = said[end + 1 : end + 1 + size]
        at = end + 2 + size
    return objects


def _asked(ids: Iterable[str]) -> bytes:
    return "".join(f"{x}\n" for x in ids).encode()


def _text(data: bytes) -> str | None:
    """A blob as text; None: it is none, or holds keys, and then only its name goes."""
    try:
        return None if b"\x00" in data or has_keys(data) else data.decode()
    except UnicodeDecodeError:
        return None
