"""Where documents come from: folders, files, patterns of file names, and standard input (`-`).

Of a folder a file below a subfolder named like a seat (`panelist_2`: a role and a number) is held by that seat alone,
one below a subfolder named like a role (`pro`) by all its seats; everything else is dealt by the moderator. Names that
begin with a dot are passed over. Everything else must be readable (parley.client.evidence.formats): what cannot be
used is refused by name, not left out.
"""

import glob
import hashlib
import os
import re
import stat
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from parley.client.errors import BadInput
from parley.client.evidence.formats import FIELD, in_text, most_bytes
from parley.schemas.session import MAX_DOCUMENT, MAX_EVIDENCE, Document

Sources = Path | str | Sequence[Path | str]
"""A folder, a file, a pattern (`notes/**/*.md`) or `-`, or several."""
MAX_FILES = 2_000
STDIN = "standard input"


class _File(NamedTuple):
    path: Path
    name: str
    """Of its document."""
    root: Path | None
    """The folder that it must lie in, resolved; None: it was named itself."""


def read_documents(sources: Sources, roles: Collection[str] = ()) -> tuple[Document, ...]:
    """Documents in the order of the sources, and of a folder in the order of their names. What is named twice is there
    once.

    Parameters
    ----------
    roles
        Roles of the protocol: a first-level folder called `<role>_<number>` gives its files to that seat, one called
        `<role>` to all seats of the role.

    Raises
    ------
    BadInput
        A source is missing or holds no text, or a file is binary, too large, not to be read, or outside its folder.
    """
    several = [sources] if isinstance(sources, str | Path) else list(sources)
    if several.count("-") > 1:
        raise BadInput(FIELD, "standard input is named twice (-), but it can be read only once")
    seat = re.compile(rf"(?:{'|'.join(map(re.escape, roles))})(?:_\d+)?") if roles else re.compile(r"(?!)")
    collected = _Found()
    for source in several:
        before = collected.files
        if source == "-":
            collected.add(STDIN, _stdin(), ())
        elif Path(source).is_dir():
            for file in _in_folder(Path(source)):
                first = file.name.split("/", 1)[0]
                collected.file(file, (first,) if "/" in file.name and seat.fullmatch(first) else ())
        else:
            for file in _named(str(source)):
                collected.file(file, ())
        if collected.files == before:
            what = f"folder {source}" if Path(source).is_dir() else STDIN if source == "-" else str(source)
            raise BadInput(FIELD, f"{what} holds no readable document")
    return tuple(collected.documents)


class _Found:
    """The documents so far, within their limits."""

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self.files = 0
        """With text in them, those that were there already too."""
        self._total = 0
        self._paths: set[Path] = set()
        self._names: set[str] = set()

    def file(self, file: _File, holders: tuple[str, ...]) -> None:
        if not file.name.isascii() and any("\udc80" <= c <= "\udcff" for c in file.name):
            raise BadInput(FIELD, f"the file name {file.name!r} is not UTF-8".replace("'", ""))
        if len(self._paths) >= MAX_FILES:
            raise BadInput(FIELD, f"with {file.path} it is more than {MAX_FILES:,} files, which is the limit")
        real = file.path.resolve()
        if file.root is None and real in self._paths:
            self.files += 1
            return
        text = in_text(file.name, _bytes(file))
        self._paths.add(real)
        self.add(self._free(file), text, holders)

    def add(self, name: str, text: str, holders: tuple[str, ...]) -> None:
        if not text.strip():
            return
        self.files += 1
        self._total += len(text)
        if self._total > MAX_EVIDENCE:
            what = f"with {name} the documents come to {self._total:,} characters"
            raise BadInput(FIELD, f"{what}, allowed are {MAX_EVIDENCE:,}")
        self._names.add(name)
        digest = hashlib.sha256(text.encode()).hexdigest()
        self.documents.append(Document(id=digest, name=name, text=text, holders=holders))

    def _free(self, file: _File) -> str:
        """The document's name: with the folders above it where another has it already."""
        name = file.name
        above = [p for p in file.path.absolute().parts[: -1 - name.count("/")] if p not in ("/", "..")]
        while name in self._names and above:
            name = f"{above.pop()}/{name}"
        return name


def _stdin() -> str:
    data = sys.stdin.buffer.read(most_bytes(".pdf") + 1)
    limit = most_bytes(".pdf") if data.startswith(b"%PDF-") else most_bytes("")
    if len(data) > limit:
        raise BadInput(FIELD, f"{STDIN} has more than {limit:,} bytes, which is the limit")
    return in_text(STDIN, data)


def _named(source: str) -> Iterator[_File]:
    """A file, or those of a pattern."""
    path = Path(source)
    if os.path.lexists(path):
        yield _File(path, path.name, None)
        return
    if not glob.has_magic(source):
        raise BadInput(FIELD, f"{source} does not exist")
    matched = sorted(p for p in map(Path, glob.iglob(source, recursive=True)) if not p.is_dir())
    if not matched:
        raise BadInput(FIELD, f"no file is named like {source}")
    yield from (_File(p, p.name, None) for p in matched)


def _in_folder(folder: Path) -> Iterator[_File]:
    root = folder.resolve()
    for here, folders, files in os.walk(folder, onerror=_unreadable):
        folders[:] = sorted(d for d in folders if not d.startswith("."))
        for d in folders:
            if (Path(here) / d).is_symlink():
                raise BadInput(FIELD, f"{Path(here) / d} is a link to a folder; only plain folders are followed")
        for path in (Path(here) / f for f in sorted(files) if not f.startswith(".")):
            yield _File(path, path.relative_to(folder).as_posix(), root)


def _unreadable(error: OSError) -> None:
    raise BadInput(FIELD, f"cannot read {error.filename}: {error.strerror}")


def _bytes(file: _File) -> bytes:
    """One file's: size and kind are looked at before a byte is read."""
    name = file.name if file.root is not None else str(file.path)
    most = most_bytes(name)
    try:
        real = file.path.resolve(strict=True)
        if file.root is not None and not real.is_relative_to(file.root):
            raise BadInput(FIELD, f"{name} is a link out of the folder, to {real}")
        with open(real, "rb", opener=_open_plain) as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise BadInput(FIELD, f"{name} is not a plain file")
            if status.st_size > most:
                allowed = f"{MAX_DOCUMENT:,} characters" if most == most_bytes("") else f"{most / 1e6:,.0f} MB"
                raise BadInput(FIELD, f"{name} is {status.st_size / 1e6:,.1f} MB, allowed are {allowed}")
            return opened.read(most + 1)
    except (OSError, RuntimeError) as error:
        raise BadInput(FIELD, f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from error


def _open_plain(path: str, flags: int) -> int:
    """Never waits for a pipe's other end."""
    return os.open(path, flags | os.O_NONBLOCK)
