"""The task's folder: a fresh copy of an archive, held while tools work in it, then compared and packed again.

An archive is a tar of plain files (no links, no devices, no folders of version control, no path that leads out).
Packed again, the same files give the same bytes. Empty folders are not kept.
"""

import contextlib
import difflib
import fcntl
import io
import os
import shutil
import stat
import tarfile
import tempfile
import time
from hashlib import sha256
from pathlib import Path

from agents.tools.paths import Outside, bad_name, inside, is_repository
from schemas.artifact import MAX_ARTIFACT
from schemas.session import Document
from schemas.tools import CUT

MOST_FILES = 4_000
MOST_BYTES = MAX_ARTIFACT
"""Of an archive: what the store takes for one piece."""
MOST_DIFF = 60_000
"""Characters."""
_DIFFED = 400_000
"""Bytes of a file beyond which only the fact of its change is told."""
_PREFIX = "parley-task-"
_STALE_S = 60.0
_REPOSITORY = "it makes a repository, whose hooks and settings run programs"


class FolderError(ValueError):
    """A folder or an archive that cannot be used. Names the path, the value and the limit."""


class BadArchive(FolderError):
    """What was to become a folder is no archive of plain files."""


class TooLarge(FolderError):
    """More files or bytes than a folder may have."""


def pack(root: Path) -> tuple[bytes, list[str]]:
    """A folder as an archive, and what of it was left out, with the reason.

    Raises
    ------
    TooLarge
        It has more files or bytes than an archive may.
    """
    files, left_out = read(root)
    return archive(files), left_out


def archive(files: dict[str, tuple[bytes, bool]]) -> bytes:
    """Files (path -> bytes and whether it may be run) as a tar: the same files, the same bytes. Raises TooLarge."""
    if len(files) > MOST_FILES:
        raise TooLarge(f"the folder has {len(files):,} files, allowed are at most {MOST_FILES:,}")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(files):
            data, runs = files[path]
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.mtime = len(data), 0o755 if runs else 0o644, 0
            tar.addfile(entry, io.BytesIO(data))
    data = buffer.getvalue()
    if len(data) > MOST_BYTES:
        raise TooLarge(f"the folder has {len(data):,} bytes as an archive, allowed are at most {MOST_BYTES:,}")
    return data


def unpacked(data: bytes) -> dict[str, tuple[bytes, bool]]:
    """The files of an archive: path -> bytes and whether it may be run.

    Raises
    ------
    BadArchive
        It is no tar; or an entry is a link or a device, stands twice, or has a path that is not allowed.
    TooLarge
        More files or bytes than allowed.
    """
    if len(data) > MOST_BYTES:
        raise TooLarge(f"the archive has {len(data):,} bytes, allowed are at most {MOST_BYTES:,}")
    files: dict[str, tuple[bytes, bool]] = {}
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for entry in tar:
                wrong = bad_name(entry.name)
                if not wrong and entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE):
                    wrong = "it is neither a file nor a folder"
                if not wrong and entry.name in files:
                    wrong = "it stands there twice"
                if wrong:
                    raise BadArchive(f"archive entry {entry.name[:200]!r}: {wrong}")
                total += entry.size
                if len(files) >= MOST_FILES or total > MOST_BYTES:
                    raise TooLarge(f"archive: allowed are at most {MOST_FILES:,} files of {MOST_BYTES:,} bytes")
                if entry.type != tarfile.DIRTYPE:
                    file = tar.extractfile(entry)
                    assert file is not None, "it is a plain file"
                    files[entry.name] = (file.read(), bool(entry.mode & 0o100))
    except (tarfile.TarError, EOFError, UnicodeError, OverflowError) as error:
        raise BadArchive(f"archive: it is no tar of plain files ({type(error).__name__})") from None
    for path in files:
        for above in list(Path(path).parents)[:-1]:
            if above.as_posix() in files:
                raise BadArchive(f"archive entry {path[:200]!r}: {above.as_posix()!r} is a file")
    return files


def read(root: Path) -> tuple[dict[str, tuple[bytes, bool]], list[str]]:
    """The plain files below a folder, and what was left out, with the reason. Nothing is followed. Raises TooLarge."""
    files: dict[str, tuple[bytes, bool]] = {}
    left_out: list[str] = []
    total = 0
    for at, folders, names in os.walk(root, followlinks=False):
        here = Path(at)
        for name in [*folders, *names]:
            path = (here / name).relative_to(root).as_posix()
            why = bad_name(path) or _kind(here / name)
            if why:
                left_out.append(f"{path!r}: {why}")
                if name in folders:
                    folders.remove(name)
            elif name in names:
                data = _plain(here / name)
                if data is None:
                    left_out.append(f"{path!r}: it cannot be read")
                    continue
                files[path] = data
                total += len(data[0])
                if len(files) > MOST_FILES or total > MOST_BYTES:
                    raise TooLarge(
                        f"the folder has more than {MOST_FILES:,} files or {MOST_BYTES:,} bytes, which is the limit"
                    )
    return files, left_out


def _kind(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "it is a symbolic link"
    return "" if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else "it is neither a file nor a folder"


def _plain(path: Path) -> tuple[bytes, bool] | None:
    """Bytes of a plain file, and whether it may be run; None: it is none any more, or cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(fd, "rb") as file:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            return None
        return file.read(MOST_BYTES + 1), bool(about.st_mode & 0o100)


class TaskFolder:
    """A fresh copy of an archive in a temporary folder of its own. A context manager; at its end it is gone.

    Attributes
    ----------
    base
        The files that its diff is against: those of another archive, else the ones that it began with.
    root
        The folder, resolved.
    home
        A folder beside it, for a server's own files.
    """

    def __init__(self, data: bytes = b"", base: bytes | None = None) -> None:
        self.began = unpacked(data) if data else {}
        self.base = self.began if base is None else unpacked(base) if base else {}
        self._files = self.began
        sweep()
        self._outer = Path(os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX)))
        self._lock = os.open(self._outer, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.root, self.home = self._outer / "task", self._outer / "home"
        self.root.mkdir(mode=0o700)
        self.home.mkdir(mode=0o700)
        self._inode = self.root.lstat().st_ino
        self._write(self.began)

    def __enter__(self) -> "TaskFolder":
        return self

    def __exit__(self, *_: object) -> None:
        _remove(self._outer)
        with contextlib.suppress(OSError):
            os.close(self._lock)

    def _write(self, files: dict[str, tuple[bytes, bool]]) -> None:
        for path, (data, runs) in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o755 if runs else 0o644)
            with open(fd, "wb") as file:
                file.write(data)

    def resolve(self, given: str) -> Path:
        """Where a path leads, links followed. Raises Outside."""
        return inside(self.root, given)

    def clean(self) -> list[str]:
        """Remove what may not stand here after a call, and say what: links, second names of files that stand
        elsewhere, special files, what makes a repository (a folder begins without one), names with control characters.

        Raises
        ------
        FolderError
            The folder itself is gone, or another one stands in its place.
        """
        try:
            about = self.root.lstat()
        except OSError:
            raise FolderError("the task's folder is gone") from None
        if not stat.S_ISDIR(about.st_mode) or about.st_ino != self._inode:
            raise FolderError("the task's folder was replaced")
        said: list[str] = []
        names: dict[tuple[int, int], list[Path]] = {}
        links: dict[tuple[int, int], int] = {}
        for at, folders, files in os.walk(self.root, followlinks=False):
            here = Path(at)
            bare = "HEAD" in files and ("commondir" in files or {"objects", "refs"} <= {*folders, *files})
            for name in [*folders, *files]:
                path = here / name
                about = path.lstat()
                why = self._unwanted(path, about)
                if bare and name == "HEAD" and path.relative_to(self.root).as_posix() not in self.began:
                    why = _REPOSITORY
                if why:
                    said.append(f"{path.relative_to(self.root).as_posix()!r} is removed: {why}")
                    _remove(path)
                    if name in folders:
                        folders.remove(name)
                elif stat.S_ISREG(about.st_mode) and about.st_nlink > 1:
                    key = (about.st_dev, about.st_ino)
                    names.setdefault(key, []).append(path)
                    links[key] = about.st_nlink
        for key, paths in names.items():
            if len(paths) < links[key]:
                for path in paths:
                    shown = path.relative_to(self.root).as_posix()
                    said.append(f"{shown!r} is removed: a second name of a file outside the folder")
                    _remove(path)
        return said

    def _unwanted(self, path: Path, about: os.stat_result) -> str:
        mode = about.st_mode
        if stat.S_ISLNK(mode):
            return "a symbolic link"
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return "neither a file nor a folder"
        if is_repository(path.name):
            return _REPOSITORY
        return bad_name(path.relative_to(self.root).as_posix())

    def look(self) -> dict[str, tuple[bytes, bool]]:
        """The files as they are now. Raises TooLarge."""
        self._files, _ = read(self.root)
        return self._files

    def put_back(self, files: dict[str, tuple[bytes, bool]]) -> None:
        """Make the folder these files again."""
        for path in list(self.root.iterdir()):
            _remove(path)
        self._write(files)

    @property
    def changed(self) -> bool:
        """Whether it was another folder in the beginning, at the last look."""
        return self._files != self.began

    def pack(self) -> bytes:
        """The files of the last look as an archive. Raises TooLarge."""
        return archive(self._files)

    def diff(self) -> str:
        """Unified diff of the last look's files against `base`, cut to 60,000 characters at a line."""
        return diff(self.base, self._files)

    def documents(self) -> tuple[Document, ...]:
        """Its text files as documents, for a model that has no tools to read them with."""
        found = []
        for path, (data, _) in sorted(self._files.items()):
            text = _text(data)
            if text:
                found.append(Document(id=sha256(data).hexdigest(), name=path, text=text))
        return tuple(found)


def diff(before: dict[str, tuple[bytes, bool]], after: dict[str, tuple[bytes, bool]], most: int = MOST_DIFF) -> str:
    """Unified diff, as git and patch read it, of two folders' files; cut to so many characters at a line's end."""
    out: list[str] = []
    size = 0
    for path in sorted(before.keys() | after.keys()):
        for line in _one(path, before.get(path), after.get(path)):
            size += len(line)
            if size > most - len(CUT):
                return "".join([*out, CUT])
            out.append(line)
    return "".join(out)


def _one(path: str, old: tuple[bytes, bool] | None, new: tuple[bytes, bool] | None) -> list[str]:
    if old == new:
        return []
    lines = [f"diff --git a/{path} b/{path}\n"]
    if old is None or new is None:
        mode = "100755" if (old or new or (b"", False))[1] else "100644"
        lines.append(f"new file mode {mode}\n" if old is None else f"deleted file mode {mode}\n")
    elif old[1] != new[1]:
        lines += [f"{w} mode {'100755' if runs else '100644'}\n" for w, runs in (("old", old[1]), ("new", new[1]))]
    was, is_ = (b"" if x is None else x[0] for x in (old, new))
    if was == is_:
        return lines
    before, after = _text(was), _text(is_)
    a, b = (f"a/{path}" if old is not None else "/dev/null"), (f"b/{path}" if new is not None else "/dev/null")
    if before is None or after is None or len(was) + len(is_) > _DIFFED:
        return [*lines, f"Binary files {a} and {b} differ\n"]
    for line in difflib.unified_diff(_lines(before), _lines(after), a, b, lineterm="\n"):
        # A name with a space ends at a tab, as git has it.
        if line.startswith(("--- ", "+++ ")) and " " in path and line.endswith(f"{path}\n"):
            line = line[:-1] + "\t\n"
        lines += [line] if line.endswith("\n") else [line + "\n", "\\ No newline at end of file\n"]
    return lines


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends one."""
    parts = text.split("\n")
    return [p + "\n" for p in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _text(data: bytes) -> str | None:
    """The text of a file; None: it is none."""
    try:
        return None if b"\x00" in data else data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _remove(path: Path) -> None:
    """Remove a path and all below it, links themselves, whatever its modes are."""
    if path.is_symlink() or not path.is_dir():
        with contextlib.suppress(OSError):
            path.unlink()
        return
    with contextlib.suppress(OSError):
        path.chmod(0o700)
    for at, folders, _ in os.walk(path, followlinks=False):
        for name in folders:
            with contextlib.suppress(OSError):
                if not (Path(at) / name).is_symlink():
                    (Path(at) / name).chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


def sweep() -> None:
    """Remove the folders of processes that were killed: their locks are free."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            about = path.lstat()
            ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid()
            if not ours or time.time() - about.st_mtime < _STALE_S:
                continue
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
            finally:
                os.close(fd)


__all__ = ["BadArchive", "FolderError", "Outside", "TaskFolder", "TooLarge", "archive", "diff", "pack", "unpacked"]
