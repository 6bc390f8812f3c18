"""The task's folder: a fresh copy of an archive, held while tools work in it, then compared and packed again.

What an archive may hold is decided by parley.schemas.folders.archive, and nothing else is read from a folder. Packed
again, the same files give the same bytes. Empty folders are not kept."""

import contextlib
import fcntl
import io
import os
import shutil
import stat
import tarfile
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath

from parley.agents.retrieval.corpus import stems
from parley.agents.tools.folder_diff import diff, text_of
from parley.agents.tools.paths import Outside, bad_name, inside, is_repository
from parley.agents.tools.unwanted import LeftOut
from parley.agents.tools.unwanted import Unwanted as LeftBehind
from parley.schemas.folders.archive import (
    MOST_BYTES,
    MOST_FILES,
    MOST_FOLDERS,
    MOST_UNPACKED,
    BadArchive,
    Files,
    FolderError,
    TooLarge,
    compress_tar,
    unpack_archive,
)
from parley.schemas.folders.paths import HEAD, REPOSITORY, PathChecker, beside_head, fold_case, is_bare
from parley.schemas.session import Document

_PREFIX = "parley-task-"
_STALE_S = 60.0
MOST_LAID = 60_000
"""Characters of files that are shown to a model that can ask for more."""
MOST_SHOWN = 400_000
"""Characters of files that are shown to a model that cannot ask for more."""


Unwanted = Callable[[str, bool], str | None]
"""(path, whether it is a folder) -> why it is left out. None: it is not left out. Empty: it is, without a note."""


def pack(root: Path, unwanted: Unwanted | None = None) -> tuple[bytes, list[LeftOut]]:
    """A folder as an archive, and what of it was left out, with the reason. Raises TooLarge: it has more files or bytes
    than an archive may."""
    files, left_out = read_files(root, unwanted)
    return archive(files), left_out


def archive(files: Files) -> bytes:
    """Files (path -> bytes and whether it may be run) as a tar: the same files, the same bytes. One that is too long to
    travel is compressed. Raises TooLarge."""
    if len(files) > MOST_FILES:
        raise TooLarge(f"the folder has {len(files):,} files, the limit is {MOST_FILES:,}")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(files):
            data, runs = files[path]
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.mtime = len(data), 0o755 if runs else 0o644, 0
            tar.addfile(entry, io.BytesIO(data))
    data = buffer.getvalue()
    if len(data) > MOST_UNPACKED:
        raise TooLarge(f"the folder has {len(data):,} bytes as an archive, the limit is {MOST_UNPACKED:,}")
    data = compress_tar(data)
    if len(data) > MOST_BYTES:
        raise TooLarge(f"the folder has {len(data):,} bytes, compressed, the limit is {MOST_BYTES:,}")
    return data


def read_files(root: Path, unwanted: Unwanted | None = None) -> tuple[Files, list[LeftOut]]:
    """The plain files below a folder that an archive may hold, and what was left out, with the reason. Nothing is
    followed. What is `unwanted` is not looked at.

    Raises
    ------
    FolderError
        The folder is a repository's own, of which everything would be left out.
    TooLarge
        More files, folders or bytes than an archive may have.
    """
    files: Files = {}
    left_out: list[LeftOut] = []
    total = 0
    tree = PathChecker()
    for at, folders, names in os.walk(root, followlinks=False):
        here = Path(at)
        if _bare(here, folders, names):
            if here == root:
                raise FolderError("it is a repository's own folder, whose hooks and settings run programs")
            left_out.append(LeftOut(here.relative_to(root).as_posix(), "it is a repository, or nearly one"))
            folders.clear()
            continue
        paths = set(folders)
        for name in sorted([*folders, *names]):
            path = (here / name).relative_to(root).as_posix()
            if unwanted is not None and (reason := unwanted(path, name in paths)) is not None:
                if reason:
                    left_out.append(LeftOut(path, reason))
                if name in paths:
                    folders.remove(name)
                continue
            why = bad_name(path) or _kind(here / name) or tree.add(path, folder=name in paths)
            if why:
                left_out.append(LeftOut(path, why))
                if name in paths:
                    folders.remove(name)
            elif name not in paths:
                data = _plain(here / name)
                if data is None:
                    left_out.append(LeftOut(path, "it cannot be read"))
                    continue
                files[path] = data
                total += len(data[0])
            if len(files) > MOST_FILES or total > MOST_UNPACKED or tree.folders > MOST_FOLDERS:
                raise TooLarge(
                    f"the folder has more than {MOST_FILES:,} files, {MOST_FOLDERS:,} folders or {MOST_UNPACKED:,}"
                    " bytes, which is the limit"
                )
    return files, left_out


def _bare(here: Path, folders: list[str], names: list[str]) -> bool:
    """Whether git takes a folder as a repository. A link named HEAD need not lead to anything."""
    links = [f for f in folders if fold_case(f) == HEAD and (here / f).is_symlink()]
    return is_bare([*names, *links], [*folders, *names])


def _kind(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "it is a symbolic link"
    return "" if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else "it is neither a file nor a folder"


def _plain(path: Path) -> tuple[bytes, bool] | None:
    """Bytes of a plain file, and whether it may be run. None: it is gone, or cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return None
        return file.read(MOST_UNPACKED + 1), bool(status.st_mode & 0o100)


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
        self.began = unpack_archive(data) if data else {}
        self.base = self.began if base is None else unpack_archive(base) if base else {}
        self._files = self.began
        self._began_paths = {*self.began, *(str(above) for path in self.began for above in PurePosixPath(path).parents)}
        sweep()
        self._outer = Path(os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX)))
        self._lock = os.open(self._outer, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.root, self.home = self._outer / "task", self._outer / "home"
        self.root.mkdir(mode=0o700)
        self.home.mkdir(mode=0o700)
        self._inode = self.root.lstat().st_ino
        try:
            self._write(self.began)
        except OSError as error:
            self.__exit__()
            raise FolderError(f"the task's folder cannot be written: {error.strerror}") from None

    def __enter__(self) -> "TaskFolder":
        return self

    def __exit__(self, *_: object) -> None:
        _remove(self._outer)
        with contextlib.suppress(OSError):
            os.close(self._lock)

    def _write(self, files: Files) -> None:
        for path, (data, runs) in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o755 if runs else 0o644)
            with open(fd, "wb") as file:
                file.write(data)

    def resolve(self, path: str) -> Path:
        """Where a path leads, after links. Raises Outside."""
        return inside(self.root, path)

    def clean(self) -> list[str]:
        """Remove what may not stand here after a call, and say what: links, second names of files that stand elsewhere,
        special files, what makes a repository (a folder begins without one), names with control characters. Raises
        FolderError: the folder itself is gone, or another one stands in its place."""
        try:
            status = self.root.lstat()
        except OSError:
            raise FolderError("the task's folder is gone") from None
        if not stat.S_ISDIR(status.st_mode) or status.st_ino != self._inode:
            raise FolderError("the task's folder was replaced")
        lines: list[str] = []
        names: dict[tuple[int, int], list[Path]] = {}
        links: dict[tuple[int, int], int] = {}
        tree = PathChecker()
        for at, folders, files in os.walk(self.root, followlinks=False):
            here = Path(at)
            bare = is_bare(files, [*folders, *files])
            began = any(fold_case(f) == HEAD and self._name(here / f) in self._began_paths for f in files)
            # Files of the beginning come first: of names that some file systems take as one, the new one is removed.
            for name in sorted([*folders, *files], key=lambda n: (self._name(here / n) not in self._began_paths, n)):
                path = here / name
                status = path.lstat()
                why = self._unwanted(path, status)
                if bare and (beside_head(name) if began else fold_case(name) == HEAD and name in files):
                    why = REPOSITORY
                why = why or tree.add(self._name(path), folder=stat.S_ISDIR(status.st_mode))
                if why:
                    lines.append(f"{self._name(path)!r} is removed: {why}")
                    _remove(path)
                    if name in folders:
                        folders.remove(name)
                elif stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                    key = (status.st_dev, status.st_ino)
                    names.setdefault(key, []).append(path)
                    links[key] = status.st_nlink
        for key, paths in names.items():
            if len(paths) < links[key]:
                for path in paths:
                    lines.append(f"{self._name(path)!r} is removed: a second name of a file outside the folder")
                    _remove(path)
        return lines

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _unwanted(self, path: Path, status: os.stat_result) -> str:
        mode = status.st_mode
        if stat.S_ISLNK(mode):
            return "a symbolic link"
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return "neither a file nor a folder"
        if is_repository(path.name):
            return REPOSITORY
        return bad_name(self._name(path))

    def look(self) -> Files:
        """The files as they are now, without caches and what the project ignores, unless these were there in the
        beginning. Raises TooLarge."""
        rules = LeftBehind(self.root)

        def unwanted(path: str, folder: bool) -> str | None:
            return "" if path not in self._began_paths and rules.is_left(path, folder) else None

        self._files, _ = read_files(self.root, unwanted)
        return self._files

    def put_back(self, files: Files) -> None:
        """Make the folder these files again."""
        for path in list(self.root.iterdir()):
            _remove(path)
        self._write(files)

    @property
    def paths(self) -> tuple[str, ...]:
        """Its files, by name."""
        return tuple(sorted(self._files))

    @property
    def changed(self) -> bool:
        """Whether the last look found other files than in the beginning."""
        return self._files != self.began

    def pack(self) -> bytes:
        """The files of the last look as an archive. Raises TooLarge."""
        return archive(self._files)

    def diff(self, around: int = 3) -> str:
        """Unified diff of the last look's files against `base`, with so many lines around each change, cut to 60,000
        characters at a line."""
        return diff(self.base, self._files, around=around)

    def changed_files(self) -> tuple[str, ...]:
        """Names of the last look's files that differ from `base`, or are new."""
        return tuple(sorted(path for path, data in self._files.items() if self.base.get(path) != data))

    def files(self, names: Collection[str]) -> tuple[Document, ...]:
        """Text files by name, whole, as documents, in the order given; those that are not there or no text are left
        out, and so is what goes beyond MOST_LAID characters together."""
        documents: dict[str, Document] = {}
        size = 0
        for path in names:
            data = self._files.get(path)
            text = text_of(data[0]) if data is not None else None
            if data is None or not text or path in documents or size + len(text) > MOST_LAID:
                continue
            size += len(text)
            documents[path] = Document(id=sha256(data[0]).hexdigest(), name=path, text=text)
        return tuple(documents.values())

    def documents(self, task: str = "", named: Collection[str] = ()) -> tuple[Document, ...]:
        """Its text files as documents, for a model that has no tools to read them. If they are more than MOST_SHOWN,
        those that the task names come first, then those that hold most of its words."""
        texts = {path: text for path, (data, _) in sorted(self._files.items()) if (text := text_of(data))}
        if sum(map(len, texts.values())) > MOST_SHOWN:
            texts = _bearing(texts, set(stems(task)), named)
        return tuple(
            Document(id=sha256(self._files[path][0]).hexdigest(), name=path, text=text) for path, text in texts.items()
        )


def _bearing(texts: Mapping[str, str], words: set[str], named: Collection[str]) -> dict[str, str]:
    """The texts that bear on a task, as many as may be shown, in the order of their names."""

    def rank(path: str) -> tuple[bool, int, int]:
        content = f"{path}\n{texts[path]}".lower()
        is_named = any(path == name or path.endswith(f"/{name}") for name in named)
        return not is_named, -sum(word in content for word in words), len(content)

    room, chosen = MOST_SHOWN, set()
    for path in sorted(texts, key=rank):
        if len(texts[path]) <= room:
            room -= len(texts[path])
            chosen.add(path)
    return {path: text for path, text in texts.items() if path in chosen}


def _remove(path: Path) -> None:
    """Remove a path and all below it, whatever its modes are. Links are removed, not followed."""
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
            status = path.lstat()
            ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
            if not ours or time.time() - status.st_mtime < _STALE_S:
                continue
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
            finally:
                os.close(fd)


__all__ = [
    "BadArchive",
    "FolderError",
    "Outside",
    "TaskFolder",
    "TooLarge",
    "archive",
    "diff",
    "pack",
    "unpack_archive",
]
