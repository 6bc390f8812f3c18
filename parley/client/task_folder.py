"""Sends a task's folder as its first artifact, and writes the accepted one back if the folder is still the one that was
sent.

Only plain files go, as parley.agents.tools.folder packs them: no links, nothing of version control, nothing that
parley.agents.tools.unwanted leaves out. Of a folder that is too much as a whole, large files stay, too, and are named.
What comes back is checked here, whoever checked it before, and the diff that is shown before it is written is computed
here, of the files that stand there and the files that will.
"""

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from parley.agents.tools import own_files
from parley.agents.tools.unwanted import MAY_BE_SECRET, TOO_MUCH, LeftOut, Unwanted, biggest, in_bytes
from parley.bus.errors import BusError
from parley.client.errors import BadInput, ParleyError, Refusal, Unreachable
from parley.client.protocols import setup_of
from parley.client.text import line
from parley.schemas.folders.archive import Files, unpack_archive
from parley.schemas.folders.paths import REPOSITORY, is_bare, is_repository, runs_by_itself
from parley.schemas.result import Result
from parley.schemas.tools import CUT
from parley.schemas.wire import InvalidValue

if TYPE_CHECKING:
    from parley.client.client import Client

_NAMED = 5
_SECRETS_NAMED = 20
SIZES = (None, 500_000, 200_000, 100_000, 50_000)
"""Bytes of a file beyond which it is not sent: none at first, and less where the folder is too much as a whole."""


class NotApplied(ParleyError):
    """The result was not written back, and why."""


class FolderChanged(NotApplied):
    """The folder is not what was sent any more."""


class AppliedAlready(ParleyError):
    """Every file that the result changes is as the result has it."""


class SentFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A folder as it was sent."""

    folder: Path
    data: bytes
    left_out: tuple[LeftOut, ...]
    """What was not sent, and why."""
    largest: int | None = None
    """Bytes of a file beyond which it was not sent; None: of any size."""

    @property
    def id(self) -> str:
        """The artifact's: SHA-256 of its bytes, hex."""
        return sha256(self.data).hexdigest()

    @property
    def settings(self) -> dict[str, str]:
        """What a session that begins with it is told."""
        return {"folder": self.id}

    def words(self, *, everything: bool = False) -> Iterator[str]:
        """What was left out, a line each reason; with `everything` all of it is named."""
        by_reason: dict[str, list[str]] = {}
        for path, why in sorted(self.left_out, key=lambda x: TOO_MUCH in x.why):
            by_reason.setdefault(why, []).append(repr(path))
        for why, paths in by_reason.items():
            held = why in (MAY_BE_SECRET, own_files.STATE, own_files.KEYS)
            most = len(paths) if everything else _SECRETS_NAMED if held else _NAMED
            more = f" and {len(paths) - most} more (--verbose names them)" if len(paths) > most else ""
            how = f"; a line such as `!{line(paths[0][1:-1])}` in .gitignore has it sent"
            how = how if why == MAY_BE_SECRET else ""
            names = ", ".join(map(line, paths[:most]))
            yield f"{'held back' if held else 'not sent'} of {self.folder}: {names}{more}: {line(why)}{how}"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive changes of the folder that was sent, as whoever writes it found by comparing the two."""

    changed: tuple[str, ...]
    """Files that are new or other."""
    removed: tuple[str, ...]
    diff: str
    """Unified, cut to 60,000 characters."""

    def is_told(self, diff: str) -> bool:
        """Whether a worker's diff is this one, or as much of it as went into its message."""
        if diff.endswith(CUT):
            return bool(diff.removesuffix(CUT)) and self.diff.startswith(diff.removesuffix(CUT))
        return self.diff == diff

    def words(self, diff: str) -> Iterator[str]:
        """In lines, for whoever approves it, those of the diff set in; `diff` is the worker's diff."""
        said = "as the worker's diff says"
        if not self.is_told(diff):
            said = "not what the worker's diff says; the changes are:"
        elif diff.endswith(CUT):
            said = "and the worker's diff is cut; the changes are:"
        yield f"compared with the folder: {len(self.changed)} to write, {len(self.removed)} to remove, {said}"
        if said.endswith(":"):
            yield from (f"  {row}" for row in self.diff.rstrip("\n").split("\n"))
        by_itself = [path for path in self.changed if runs_by_itself(path)]
        if by_itself:
            yield f"these run by themselves on a developer's machine: {', '.join(map(line, by_itself))}"


@contextlib.contextmanager
def as_documents(folder: Path) -> Iterator[Path]:
    """What would be sent of a folder, as a folder to read documents from. Raises BadInput."""
    sent = read_folder(folder)
    with tempfile.TemporaryDirectory(prefix="parley-folder-") as copy:
        for name, (content, _) in unpack_archive(sent.data).items():
            path = Path(copy) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        try:
            yield Path(copy)
        except BadInput as error:
            raise BadInput(error.field, error.why.replace(f"{copy}/", "").replace(copy, str(folder))) from None


def read_folder(folder: Path) -> SentFolder:
    """A folder as it is now. Raises BadInput: it is none, cannot be read, or is larger than an artifact may be."""
    from parley.agents.tools import folder as folders

    if not folder.is_dir():
        raise BadInput("folder", f"{folder} is not a folder")
    if repository := _repository_of(folder.resolve()):
        raise BadInput("folder", f"{folder} is of a repository's own files ({repository}), which may run programs")
    resolved = folder.resolve()
    for at in (resolved, *resolved.parents):
        if own_files.is_state(at):
            raise BadInput(
                "folder", f"{folder} is of Parley's own state folder ({at}), which is never sent; name another"
            )
    too_large = ""
    try:
        for largest in SIZES:
            try:
                data, left_out = folders.pack(folder, Unwanted(folder, largest))
                return SentFolder(folder=folder, data=data, left_out=tuple(left_out), largest=largest)
            except folders.TooLarge as error:
                too_large = str(error)
        what = f"{folder}: {too_large}, also without its files of more than {in_bytes(SIZES[-1])}"
        raise BadInput(
            "folder", f"{what}; the biggest are {_biggest(folder)}; name files in a .gitignore to leave them out"
        )
    except folders.FolderError as error:
        raise BadInput("folder", f"{folder}: {error}") from error
    except OSError as error:
        raise BadInput("folder", f"cannot read {folder}: {error.strerror}") from error


def _biggest(folder: Path) -> str:
    unwanted = Unwanted(folder, SIZES[-1])
    sizes: list[tuple[str, int]] = []
    for at, inner, names in os.walk(folder, followlinks=False):
        here = Path(at).relative_to(folder)
        inner[:] = [name for name in inner if unwanted((here / name).as_posix(), True) is None]
        for path in (here / name for name in names):
            with contextlib.suppress(OSError):
                if unwanted(path.as_posix(), False) is None:
                    sizes.append((path.as_posix(), (folder / path).lstat().st_size))
    return biggest(sizes)


def sent_as(folder: Path, data: bytes) -> SentFolder:
    """A folder as an earlier session has it, to be compared with what stands there now. Raises BadInput."""
    return msgspec.structs.replace(read_folder(folder), data=data, left_out=())


async def send(client: "Client", sid: str, sent: SentFolder) -> None:
    """Store it for a session that is still to open; moderators that are busy are asked again for as long as the client
    is patient. Raises BadInput, Refusal, Unreachable."""
    from parley.bus.errors import ArtifactRefused

    try:
        await client.put(sid, sent.data)
    except InvalidValue as error:
        raise BadInput("folder", str(error)) from error
    except ArtifactRefused as error:
        raise Refusal("folder", str(error)) from error
    except BusError as error:
        raise Unreachable(f"the folder could not be sent: {error.plain}; nothing was opened, ask again") from error


async def accepted(client: "Client", result: Result, *, unapproved: bool = False) -> bytes | None:
    """The archive of a task's accepted folder; None: it changed nothing.

    Parameters
    ----------
    unapproved
        Also of work that nobody approved.

    Raises
    ------
    NotApplied
        The task ended otherwise, or the artifact is not there.
    """
    setup = setup_of(result.protocol)
    if result.stop.reason not in setup.applied and not unapproved:
        raise NotApplied(f"the result is not applied: the session ended with {result.stop.reason}")
    kept = setup.result_folder(result.outcome)
    if not kept:
        return None
    try:
        return await client.get(result.session, kept)
    except BusError as error:
        raise NotApplied(f"the result is not applied: {error.plain}") from error


def told_diff(result: Result) -> str:
    """The diff that reviewers were shown; empty: none."""
    return str((result.outcome.get("work") or result.outcome.get("kept") or {}).get("diff") or "")


def write(
    sent: SentFolder, data: bytes, show: Callable[[Change], None] | None = None, told: str | None = None
) -> list[str]:
    """Make the folder that was sent this archive's; what was written or removed, by path. All is checked, and every
    file written beside its place, before the first is put there.

    Parameters
    ----------
    show
        Called with what will be written; what it raises ends it.
    told
        The worker's diff, if there is one.

    Raises
    ------
    NotApplied
        The archive is none, or not what the worker's diff says.
    FolderChanged
        The folder is not what was sent any more.
    AppliedAlready
        It is not, but has the whole change already.
    """
    from parley.agents.tools.folder_diff import diff

    before, after = _checked(sent, data)
    change = Change(
        changed=tuple(sorted(p for p in after if before.get(p) != after[p])),
        removed=tuple(sorted(before.keys() - after.keys())),
        diff=diff(before, after),
    )
    if show is not None:
        show(change)
    if told is not None and not change.is_told(told):
        raise NotApplied("the result is not applied: its folder differs from the diff that was reviewed")
    if show is not None or told is not None:
        _checked(sent, data)  # it may have taken a while
    try:
        _put(sent.folder.resolve(), {path: after[path] for path in change.changed}, change.removed)
    except OSError as error:
        raise NotApplied(f"the result is not applied as a whole: {error}") from error
    return [*change.changed, *change.removed]


def _checked(sent: SentFolder, data: bytes) -> tuple[Files, Files]:
    """(files that were sent and still stand there, files that may be written in their place). Raises NotApplied,
    AppliedAlready."""
    from parley.agents.tools import folder as folders

    try:
        before, after = folders.unpack_archive(sent.data), folders.unpack_archive(data)
        now, _ = folders.read_files(sent.folder, _unless_sent(before, Unwanted(sent.folder, sent.largest)))
    except (folders.FolderError, OSError) as error:
        raise NotApplied(f"the result is not applied: {error}") from error
    if now != before:
        touched = [p for p in before.keys() | after.keys() if before.get(p) != after.get(p)]
        if touched and all(now.get(p) == after.get(p) for p in touched):
            raise AppliedAlready(f"the result is applied already: {sent.folder} has its {len(touched)} changed files")
        moved = sorted(p for p in now.keys() | before.keys() if now.get(p) != before.get(p))
        more = f" and {len(moved) - _NAMED} more" if len(moved) > _NAMED else ""
        shown = ", ".join(map(line, moved[:_NAMED]))
        raise FolderChanged(f"the result is not applied: {sent.folder} is not what was sent any more ({shown}{more})")
    root = sent.folder.resolve()
    removed = before.keys() - after.keys()
    changed = [p for p in after if before.get(p) != after[p]]
    for path in (*changed, *removed):
        _check(root, path, before, removed)
    _check_folders(root, changed)
    return before, after


def _unless_sent(before: Files, unwanted: Unwanted) -> Callable[[str, bool], str | None]:
    """What is unwanted and was not sent either: what names it may be other than it was."""
    above = {parent.as_posix() for path in before for parent in PurePosixPath(path).parents}

    def unwanted_and_new(path: str, folder: bool) -> str | None:
        return None if path in (above if folder else before) else unwanted(path, folder)

    return unwanted_and_new


def _check_folders(root: Path, changed: Iterable[str]) -> None:
    """Raise NotApplied where a folder that is written to is a repository, or would be one with what stands there and
    was not sent."""
    new: dict[str, dict[str, bool]] = {}
    for path in changed:
        parts = path.split("/")
        for i, part in enumerate(parts, 1):
            new.setdefault("/".join(parts[: i - 1]), {})[part] = i < len(parts)
    for folder, is_folder in new.items():
        try:
            with os.scandir(root / folder) as there:
                stand = {entry.name: entry.is_dir(follow_symlinks=False) for entry in there}
        except (FileNotFoundError, NotADirectoryError):
            stand = {}
        except OSError as error:
            raise NotApplied(f"the result is not applied: {line(folder)!r}: {error.strerror}") from error
        files = {n for held in (stand, is_folder) for n, is_one in held.items() if not is_one}
        if is_bare(files, stand.keys() | is_folder.keys()):
            raise NotApplied(f"the result is not applied: {line(folder or '.')!r}: {REPOSITORY}")


def _repository_of(folder: Path) -> Path | None:
    """The repository among whose own files a folder lies."""
    for at in (folder, *folder.parents):
        if is_repository(at.name):
            return at
        there = {name for name in ("HEAD", "objects", "refs", "commondir") if os.path.lexists(at / name)}
        if at != folder and (there >= {"HEAD", "objects", "refs"} or there >= {"HEAD", "commondir"}):
            return at
    return None


def _check(root: Path, path: str, before: Files, removed: Set[str]) -> None:
    """Raise NotApplied where a path leads through a link, or onto what was not sent."""
    at = root
    parts = path.split("/")
    for i, part in enumerate(parts):
        at = at / part
        try:
            mode = at.lstat().st_mode
        except FileNotFoundError:
            return
        here = "/".join(parts[: i + 1])
        last = i == len(parts) - 1
        if stat.S_ISDIR(mode) and not last:
            continue
        if stat.S_ISREG(mode) and (here in removed if not last else path in before):
            if not last:
                return
            continue
        raise NotApplied(f"the result is not applied: {line(here)!r} stands there and was not sent")


def _put(root: Path, files: Files, removed: Sequence[str]) -> None:
    """Write new files beside their places, then put all there. New folders for names that were files come last."""
    beside: list[tuple[Path, Path]] = []
    blocked: dict[str, tuple[bytes, bool]] = {}
    try:
        for path, content in files.items():
            if any(path.startswith(f"{gone}/") for gone in removed):
                blocked[path] = content
            else:
                beside.append((_written(root / path, *content), root / path))
        for path in removed:
            (root / path).unlink()
        beside += [(_written(root / path, *content), root / path) for path, content in blocked.items()]
        while beside:
            new, target = beside[0]
            os.replace(new, target)
            beside.pop(0)
    finally:
        for new, _ in beside:
            with contextlib.suppress(OSError):
                new.unlink()


def _written(target: Path, data: bytes, runs: bool) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f".parley-{secrets.token_hex(8)}")
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o755 if runs else 0o644)
    with open(fd, "wb") as file:
        file.write(data)
    return new
