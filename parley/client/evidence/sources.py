"""Where documents come from: folders, files, patterns of file names, standard input (`-`), and what a program has in
memory: documents, and names with texts or bytes.

Of a folder a file below a subfolder named like a seat (`panelist_2`: a role and a number) is held by that seat alone,
one below a subfolder named like a role (`pro`) by all its seats; everything else is dealt by the moderator. Names that
begin with a dot are passed over. What cannot be read is left out, and named with what would help; only where nothing is
left the whole is refused.
"""

import contextlib
import glob
import hashlib
import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from parley.client.errors import BadInput
from parley.client.evidence.document_writer import CannotRead
from parley.client.evidence.reading import Document as ReadDocument
from parley.client.evidence.reading import Reader
from parley.schemas.session import MAX_DOCUMENT, MAX_EVIDENCE, MAX_LINE, Document, Place


class SentFile(NamedTuple):
    """A file that came as bytes."""

    name: str
    data: bytes


Source = Path | str | SentFile | Document | Mapping[str, str | bytes]
"""A folder, a file, a pattern (`notes/**/*.md`), `-`, a document, or names with texts or bytes, each read by the end
of its name: `{"notes.md": "...", "report.pdf": data}`."""
Sources = Source | Sequence[Source]
FIELD = "evidence"
STDIN = "standard input"
MOST_FILES = 2_000
MOST_NAMED = 50
"""Lines of what was left out."""
MOST_BYTES = 40_000_000
"""Of a file: it is read into memory as a whole."""
_MOST = f"{MOST_BYTES / 1e6:.0f} MB, the most that is read into memory at once"
_MOST_PATH = 4_000
_NAME_IT = 'name it, such as {"notes.md": text}'
_WHY_LIMITED = "a session's documents travel in one message"
_TELL: ContextVar[Callable[[str], None] | None] = ContextVar("told of progress", default=None)


class ReadEvidence(NamedTuple):
    """What was read."""

    documents: tuple[Document, ...] = ()
    left_out: tuple[str, ...] = ()
    """Each file, or part of one, that could not be read: its name, why, and what would help."""

    def plus(self, *documents: Document) -> "ReadEvidence":
        """With more documents."""
        return self._replace(documents=(*self.documents, *documents))


class _File(NamedTuple):
    name: str
    """Of its document."""
    path: Path | None = None
    root: Path | None = None
    """The folder that it must lie in, resolved; None: it was named itself."""
    data: bytes = b""
    """Where there is no path."""
    why: str = ""
    """Why it is not even opened."""
    document: Document | None = None
    """As it is, and not read."""


@contextlib.contextmanager
def telling(tell: Callable[[str], None]) -> Iterator[None]:
    """Within, `tell` is told how far a long reading is, a few words at a time."""
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


def read(sources: Sources, roles: Collection[str] = (), *, most: int = MAX_EVIDENCE) -> ReadEvidence:
    """Documents in the order of the sources, and of a folder in the order of their names. What is named twice is there
    once.

    Parameters
    ----------
    roles
        Roles of the protocol: a first-level folder called `<role>_<number>` gives its files to that seat, one called
        `<role>` to all seats of the role.
    most
        Characters of all documents together.

    Raises
    ------
    BadInput
        A source does not exist, or nothing in the sources can be read.
    """
    several = list_of(sources)
    if several.count("-") > 1:
        raise BadInput(FIELD, "standard input is named twice (-), but it can be read only once")
    seat = re.compile(rf"(?:{'|'.join(map(re.escape, roles))})(?:_\d+)?") if roles else re.compile(r"(?!)")
    files = [file for number, source in enumerate(several, 1) for file in _files(source, f"item {number}")]
    collected = _Collected(most)
    tell = _TELL.get()
    with Reader() as reader:
        for number, file in enumerate(files, 1):
            first = file.name.split("/", 1)[0]
            holders = (first,) if "/" in file.name and file.root is not None and seat.fullmatch(first) else ()
            if number > MOST_FILES:
                collected.leave_out(
                    f"{len(files) - MOST_FILES:,} files", f"after the first {MOST_FILES:,} are over the limit"
                )
                break
            if tell is not None:
                tell(f"file {number:,} of {len(files):,}")
            collected.file(file, holders, reader)
    if not collected.documents:
        on_disk = all(isinstance(source, str | Path) for source in several)
        what = ", ".join(map(str, several)) if on_disk else "what was sent"
        why = "; ".join(collected.left_out[:5]) or "there is no file"
        raise BadInput(FIELD, f"nothing in {what} can be read: {why}")
    more = len(collected.left_out) - MOST_NAMED
    named = (*collected.left_out[:MOST_NAMED], *([f"and {more:,} more files"] if more > 0 else ()))
    return ReadEvidence(tuple(collected.documents), named)


def list_of(sources: Any) -> list[Source]:
    """The sources one by one. Raises BadInput where it is neither one nor several of them."""
    if sources is None:
        return []
    if isinstance(sources, str | Path | SentFile | Document | Mapping):
        return [sources]
    if isinstance(sources, bytes) or not isinstance(sources, Iterable):
        raise BadInput(FIELD, f"got {_no_source(sources)}")
    return list(sources)


def _files(source: Source, item: str) -> Iterator[_File]:
    """`item`: what it is called in an error."""
    if isinstance(source, SentFile):
        yield _File(source.name, data=source.data)
    elif isinstance(source, Document):
        yield _in_memory(source.name, "", item)._replace(document=source)
    elif isinstance(source, Mapping):
        yield from (_in_memory(name, held, item) for name, held in source.items())
    elif not isinstance(source, str | Path):
        raise BadInput(FIELD, f"{item} is {_no_source(source)}")
    elif len(str(source)) > _MOST_PATH or "\n" in str(source):
        raise BadInput(FIELD, f"{item} is a text of {len(str(source)):,} characters, and no path; {_NAME_IT}")
    elif source == "-":
        yield _File(STDIN, data=sys.stdin.buffer.read(MOST_BYTES + 1))
    elif Path(source).is_dir():
        yield from _in_folder(Path(source))
    else:
        yield from _named(str(source))


def _in_memory(name: Any, held: Any, item: str) -> _File:
    """A text or bytes that a program has. Raises BadInput."""
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_LINE or not _printable(name).isprintable():
        raise BadInput(FIELD, f"{item}: a name is {name!r:.60}, allowed are 1 to {MAX_LINE} printable characters")
    if isinstance(held, str):
        return _File(name, data=held.encode("utf-8", "surrogatepass"))
    if not isinstance(held, bytes):
        raise BadInput(FIELD, f"{item}: {name} holds {type(held).__name__}, allowed are a text and bytes")
    return _File(name, data=held)


def _no_source(value: Any) -> str:
    """What it is, and what to give instead."""
    what = f"{len(value):,} bytes without a name" if isinstance(value, bytes) else f"{value!r:.60}"
    return f"{what}; allowed are paths, documents, and names with texts or bytes: {_NAME_IT}"


def _named(source: str) -> Iterator[_File]:
    """A file, or those of a pattern."""
    path = Path(source)
    if os.path.lexists(path):
        yield _File(path.name, path)
        return
    if not glob.has_magic(source):
        raise BadInput(FIELD, f"{FIELD}: {source} does not exist")
    matched = sorted(p for p in map(Path, glob.iglob(source, recursive=True)) if not p.is_dir())
    if not matched:
        raise BadInput(FIELD, f"no file is named like {source}")
    yield from (_File(p.name, p) for p in matched)


def _in_folder(folder: Path) -> Iterator[_File]:
    root = folder.resolve()
    closed: list[OSError] = []
    for here, folders, files in os.walk(folder, onerror=closed.append):
        folders[:] = sorted(d for d in folders if not d.startswith("."))
        for link in [d for d in folders if (Path(here) / d).is_symlink()]:
            name = (Path(here) / link).relative_to(folder).as_posix()
            yield _File(name, why="is a link to a folder: only plain folders are followed")
        for path in (Path(here) / f for f in sorted(files) if not f.startswith(".")):
            yield _File(path.relative_to(folder).as_posix(), path, root)
    for error in closed:
        yield _File(str(error.filename), why=f"cannot be read: {error.strerror}")


class _Collected:
    """The documents so far, within their limits."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.documents: list[Document] = []
        self.left_out: list[str] = []
        self._size = 0
        self._paths: set[Path] = set()
        self._names: set[str] = set()

    def leave_out(self, name: str, why: str) -> None:
        """A file, or a part of one, could not be read."""
        self.left_out.append(f"{_printable(name)} {why}"[:MAX_LINE])

    def file(self, file: _File, holders: tuple[str, ...], reader: Reader) -> None:
        """Read one file."""
        try:
            if file.why:
                raise CannotRead(file.why)
            if file.document is not None:
                if not _is_text(file.document.text):
                    raise CannotRead("has half of a character, which is no text")
                self._take(ReadDocument(file.name, file.document.text, [], [], ""), file, file.document.holders)
                return
            real = None if file.path is None else _resolved(file.path)
            if real is not None and file.root is None and real in self._paths:
                return
            data = file.data if real is None else _bytes(file, real)
            if len(data) > MOST_BYTES:
                raise CannotRead(f"has more than {_MOST}: split it")
            if _printable(file.name) != file.name:
                raise CannotRead("has a name that is no UTF-8: rename it")
        except CannotRead as error:
            self.leave_out(file.name, str(error))
            return
        if real is not None:
            self._paths.add(real)
        for document in reader.read(file.name, data):
            self._take(document, file, holders)

    def _take(self, read: ReadDocument, file: _File, holders: tuple[str, ...]) -> None:
        why = read.left_out
        if not why and len(read.text) > MAX_DOCUMENT:
            why = f"has {len(read.text):,} characters, allowed are {MAX_DOCUMENT:,}: split it ({_WHY_LIMITED})"
        elif not why and self._size + len(read.text) > self._most:
            why = f"does not fit: with it the documents have more than {self._most:,} characters ({_WHY_LIMITED})"
        if why:
            self.leave_out(read.name, why)
            return
        for remark in read.remarks:
            self.leave_out(read.name, remark)
        self._size += len(read.text)
        name = self._free(read.name, file)
        self._names.add(name)
        digest = hashlib.sha256(read.text.encode()).hexdigest()
        places = tuple(Place(at=at, name=where) for at, where in read.places)
        document = file.document or Document(name=name, text=read.text, places=places or UNSET)
        self.documents.append(replace(document, id=digest, name=name, holders=holders))

    def _free(self, name: str, file: _File) -> str:
        """The document's name: with the folders above it, or a number, where another has it already."""
        above = [] if file.path is None else [p for p in file.path.absolute().parts[:-1] if p not in ("/", "..")]
        if file.root is not None and file.path is not None:
            above = above[: len(above) - file.name.count("/")]
        free = name
        while free in self._names and above:
            free = f"{above.pop()}/{free}"
        number = 2
        while free in self._names:
            free, number = f"{name} ({number})", number + 1
        return free


def _resolved(path: Path) -> Path:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError) as error:  # a link to itself among them
        raise CannotRead(f"cannot be opened: {getattr(error, 'strerror', None) or 'it is a link to itself'}") from None


def _bytes(file: _File, real: Path) -> bytes:
    """One file's: size and kind are looked at before a byte is read."""
    if file.root is not None and not real.is_relative_to(file.root):
        raise CannotRead(f"is a link out of the folder, to {real}")
    try:
        # Never waits for a pipe's other end.
        with open(real, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0))) as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise CannotRead("is no plain file")
            if status.st_size > MOST_BYTES:
                raise CannotRead(f"is {status.st_size / 1e6:,.1f} MB, more than {_MOST}: split it")
            return opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise CannotRead(f"cannot be opened: {error.strerror or error}") from None


def _is_text(text: str) -> bool:
    return text.isascii() or text.encode("utf-8", "ignore").decode() == text


def _printable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()
