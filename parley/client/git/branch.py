"""A task's accepted change as a commit on a new branch of the folder's git repository.

Neither the work tree nor its index is touched: blobs, a tree and a commit are written by git's plumbing over an index
of its own. Nothing that the repository names is run: no hooks, no filters, no signing. The commit stands on HEAD, so
the files that it changes have to be in HEAD as they were sent; changes to other files that nobody has committed are not
in it, and are named. What stands in the folder meanwhile plays no part.
"""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from parley.client.errors import BadInput
from parley.client.task_folder import AppliedAlready, FolderDiff, NotApplied, SentFolder
from parley.client.text import clean, line
from parley.schemas.folders.archive import Files
from parley.schemas.folders.paths import REPOSITORY, is_bare

_NAMED = 5
_TIMEOUT_S = 60.0
_KEPT = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG", "GIT_CEILING_DIRECTORIES")
"""What of git's own environment holds: who commits. The rest would name another repository, or another index."""
_FILE, _RUNS = "100644", "100755"


class Committed(NamedTuple):
    """A commit on a new branch."""

    branch: str
    id: str
    uncommitted: tuple[str, ...]
    """Files that were sent and are not so in HEAD: the work was done beside them, and the branch is without them."""

    def words(self, paths: int) -> str:
        """On one line."""
        text = f"{paths} changed on the new branch {self.branch} ({self.id[:12]}); your files stay as they are"
        if not self.uncommitted:
            return text
        return f"{text}; not in it, since it is not committed: {_some(self.uncommitted)}"


def check(folder: Path, branch: str) -> None:
    """Look, before anything starts, whether a commit can be made. Raises BadInput."""
    repository = Repository(folder)
    try:
        repository.git("rev-parse", "--show-prefix")
    except GitFailed as error:
        raise BadInput("branch", f"{folder} is in no git repository that can be used: {error}") from None
    try:
        repository.git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except GitFailed:
        raise BadInput(
            "branch", f"the repository of {folder} has no commit yet, so it can have no new branch"
        ) from None
    try:
        repository.git("check-ref-format", f"refs/heads/{branch}")
    except GitFailed:
        raise BadInput("branch", f"{branch!r} is no name of a branch") from None
    if branch.startswith("-") or branch == "HEAD":
        raise BadInput("branch", f"{branch!r} is no name of a branch")
    taken = repository.branches()
    near = [b for b in taken if b == branch or b.startswith(f"{branch}/") or branch.startswith(f"{b}/")]
    if near:
        raise BadInput("branch", f"there is a branch {near[0]!r} already; name another")
    try:
        repository.git("var", "GIT_COMMITTER_IDENT")
        repository.git("var", "GIT_AUTHOR_IDENT")
    except GitFailed:
        raise BadInput("branch", "git does not know who you are: git config user.name and user.email") from None


def commit(sent: SentFolder, compared: FolderDiff, branch: str, message: str) -> Committed:
    """Put what was compared on a new branch. Raises NotApplied; AppliedAlready: HEAD has it."""
    repository = Repository(sent.folder)
    try:
        return _committed(repository, compared, branch, message)
    except GitFailed as error:
        raise NotApplied(f"the result is not on the branch {branch}: {error}") from None


def is_possible(sent: SentFolder, compared: FolderDiff) -> bool:
    """Whether HEAD has the files that the change touches as they were sent, so that a branch can have it."""
    repository = Repository(sent.folder)
    try:
        _ground(repository, compared)
    except (GitFailed, AppliedAlready):
        return False
    return True


class _Ground(NamedTuple):
    """The commit that a change is put on."""

    head: str
    prefix: str
    """The folder's place in the repository."""
    other: tuple[str, ...]
    """Files that were sent and are not so in it, and that the change does not touch."""


def _ground(repository: "Repository", compared: FolderDiff) -> _Ground:
    """Raises GitFailed where HEAD cannot have the change, AppliedAlready where it has it."""
    head = repository.git("rev-parse", "--verify", "HEAD^{commit}").strip()
    prefix = repository.git("rev-parse", "--show-prefix").rstrip("\n")
    there = repository.tree(head, prefix)
    other = _other(repository, compared.before, there)
    mine = {*compared.change.changed, *compared.change.removed}
    wanted = {p: (_RUNS if runs else _FILE, repository.blob(data)) for p, (data, runs) in compared.written.items()}
    if mine and all(there.get(path) == wanted.get(path) for path in mine):
        raise AppliedAlready(f"the result is applied already: HEAD has its {len(mine)} changed files")
    if moved := [
        path for path in (*other, *(p for p in mine if p not in compared.before and p in there)) if path in mine
    ]:
        raise GitFailed(f"not in HEAD as it was sent: {_some(tuple(sorted(moved)))}; commit it first, or use --apply")
    _check_places(compared, there)
    return _Ground(head, prefix, tuple(path for path in other if path not in mine))


def _check_places(compared: FolderDiff, there: Mapping[str, tuple[str, str]]) -> None:
    """Raise GitFailed where a file would take the place of what was not sent, or make a repository beside it."""
    left = there.keys() - set(compared.change.removed)
    above = {parent.as_posix() for path in left for parent in PurePosixPath(path).parents}
    beside: dict[str, tuple[set[str], set[str]]] = {}
    for path in (*left, *compared.change.changed):
        for at in (pure := PurePosixPath(path), *pure.parents[:-1]):
            files, names = beside.setdefault(at.parent.as_posix(), (set(), set()))
            names.add(at.name)
            if at == pure:
                files.add(at.name)
    for path in compared.change.changed:
        parents = [parent.as_posix() for parent in PurePosixPath(path).parents]
        if taken := [at for at in (*parents, *([path] if path in above else [])) if at in left or at == path]:
            raise GitFailed(f"{line(taken[0])!r} stands in HEAD and was not sent")
        if made := [at for at in parents if is_bare(*beside.get(at, ((), ())))]:
            raise GitFailed(f"{line(made[0])!r}: {REPOSITORY}")


def _committed(repository: "Repository", compared: FolderDiff, branch: str, message: str) -> Committed:
    head, prefix, other = _ground(repository, compared)
    rows = [f"0 {repository.null}\t{prefix}{path}" for path in compared.change.removed]
    for path, (data, runs) in sorted(compared.written.items()):
        blob = repository.git("hash-object", "-w", "--no-filters", "--stdin", given=data).strip()
        rows.append(f"{_RUNS if runs else _FILE} {blob}\t{prefix}{path}")
    with tempfile.TemporaryDirectory(prefix="parley-branch-") as at:
        own = {"GIT_INDEX_FILE": str(Path(at) / "index")}
        repository.git("read-tree", head, more=own)
        repository.git("update-index", "-z", "--index-info", given=_rows(rows), more=own)
        tree = repository.git("write-tree", more=own).strip()
    new = repository.git("commit-tree", "--no-gpg-sign", tree, "-p", head, given=clean(message).encode()).strip()
    repository.git("update-ref", "-m", "parley", f"refs/heads/{branch}", new, repository.null)
    return Committed(branch, new, other)


def _rows(rows: list[str]) -> bytes:
    return "".join(f"{row}\0" for row in rows).encode(errors="surrogateescape")


def _other(repository: "Repository", before: Files, there: Mapping[str, tuple[str, str]]) -> tuple[str, ...]:
    """Files that were sent and are not so in a commit. What the commit has and was not sent was left out."""
    other = [
        path
        for path, (data, runs) in before.items()
        if there.get(path) != (_RUNS if runs else _FILE, repository.blob(data))
    ]
    return tuple(sorted(other))


def _some(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(map(line, paths[:_NAMED])) + more


class GitFailed(Exception):
    """git could not do it, and why."""


class Repository:
    """The repository of a folder, by its program."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._hash = ""

    @property
    def null(self) -> str:
        """The id of nothing."""
        return "0" * (2 * hashlib.new(self._algorithm()).digest_size)

    def blob(self, data: bytes) -> str:
        """The id of a file's bytes, as they are."""
        return hashlib.new(self._algorithm(), b"blob %d\0" % len(data) + data).hexdigest()

    def _algorithm(self) -> str:
        self._hash = self._hash or self.git("rev-parse", "--show-object-format").strip()
        return self._hash

    def branches(self) -> list[str]:
        """Names."""
        return self.git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/").split("\n")[:-1]

    def tree(self, commit: str, prefix: str) -> dict[str, tuple[str, str]]:
        """Path in the folder -> (mode, blob), of a commit."""
        entries: dict[str, tuple[str, str]] = {}
        below = ("--", prefix) if prefix else ()
        for row in self.git("ls-tree", "-r", "-z", "--full-tree", commit, *below).split("\0")[:-1]:
            about, _, path = row.partition("\t")
            mode, _, blob = about.split(" ")
            entries[path.removeprefix(prefix)] = (mode, blob)
        return entries

    def git(self, *arguments: str, given: bytes = b"", more: Mapping[str, str] | None = None) -> str:
        """Runs git, and returns what it prints. Raises GitFailed."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k.startswith(_KEPT)}
        safe = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")
        try:
            done = subprocess.run(
                ("git", *safe, *arguments),
                cwd=self._folder,
                input=given,
                capture_output=True,
                timeout=_TIMEOUT_S,
                env={
                    **kept,
                    "GIT_TERMINAL_PROMPT": "0",
                    "GIT_OPTIONAL_LOCKS": "0",
                    "GIT_LITERAL_PATHSPECS": "1",
                    "LC_ALL": "C",
                    **(more or {}),
                },
                check=False,
            )
        except FileNotFoundError:
            raise GitFailed("the program git is not installed") from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitFailed(f"git {arguments[0]}: {error}") from None
        if done.returncode:
            raise GitFailed(line(done.stderr.decode(errors="replace").strip() or f"git {arguments[0]} failed", 300))
        return done.stdout.decode(errors="surrogateescape")
