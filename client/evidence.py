"""The evidence folder: every text in it becomes a document of the session.

A file below a folder named like a seat (`panelist_2`: a role and a number) is held by that seat alone, one below a
folder named like a role (`pro`) by all its seats; every other file is dealt by the moderator. Names that begin with a
dot are passed over. Everything else must be readable text: what cannot be used is refused by name, not left out.
"""

import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from client.errors import BadInput
from schemas.session import MAX_DOCUMENT, MAX_EVIDENCE, Document

MAX_FILES = 2_000
_FIELD = "evidence"


def read(folder: Path, roles: Collection[str] = ()) -> tuple[Document, ...]:
    """Documents of a folder, in the order of their names.

    Parameters
    ----------
    roles
        Roles of the protocol: a first-level folder called `<role>_<number>` gives its files to that seat, one called
        `<role>` to all seats of the role.

    Raises
    ------
    BadInput
        The folder is missing or holds no text, or one of its files is binary, too large, or lies outside the folder.
    """
    if not folder.exists():
        raise BadInput(_FIELD, f"folder {folder} does not exist")
    if not folder.is_dir():
        raise BadInput(_FIELD, f"{folder} is not a folder")
    root = folder.resolve()
    seat = re.compile(rf"(?:{'|'.join(map(re.escape, roles))})(?:_\d+)?") if roles else re.compile(r"(?!)")
    documents: list[Document] = []
    total = 0
    for path in _files(folder):
        name = path.relative_to(folder).as_posix()
        if not name.isascii() and any("\udc80" <= c <= "\udcff" for c in name):
            raise BadInput(_FIELD, f"the file name {name!r} is not UTF-8".replace("'", ""))
        if len(documents) >= MAX_FILES:
            raise BadInput(_FIELD, f"folder {folder} holds more than {MAX_FILES:,} files")
        text = _text(path, name, root)
        if not text.strip():
            continue
        total += len(text)
        if total > MAX_EVIDENCE:
            raise BadInput(
                _FIELD, f"with {name} the documents come to {total:,} characters, allowed are {MAX_EVIDENCE:,}"
            )
        first = name.split("/", 1)[0]
        holders = (first,) if "/" in name and seat.fullmatch(first) else ()
        digest = hashlib.sha256(text.encode()).hexdigest()
        documents.append(Document(id=digest, name=name, text=text, holders=holders))
    if not documents:
        raise BadInput(_FIELD, f"folder {folder} holds no readable document")
    return tuple(documents)


def _files(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder, onerror=_unreadable):
        folders[:] = sorted(d for d in folders if not d.startswith("."))
        for d in folders:
            if (Path(here) / d).is_symlink():
                raise BadInput(_FIELD, f"{Path(here) / d} is a link to a folder; only plain folders are followed")
        yield from (Path(here) / f for f in sorted(files) if not f.startswith("."))


def _unreadable(error: OSError) -> None:
    raise BadInput(_FIELD, f"cannot read {error.filename}: {error.strerror}")


def _text(path: Path, name: str, root: Path) -> str:
    """One file's text: size and kind are looked at before a byte is read."""
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(root):
            raise BadInput(_FIELD, f"{name} is a link out of the folder, to {real}")
        with open(real, "rb", opener=_open_plain) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise BadInput(_FIELD, f"{name} is not a plain file")
            most = 4 * MAX_DOCUMENT  # bytes that so many characters may take in UTF-8
            if status.st_size > most:
                size = f"{status.st_size / 1e6:,.1f} MB"
                raise BadInput(_FIELD, f"{name} is {size}, allowed are {MAX_DOCUMENT:,} characters")
            data = file.read(most + 1)
    except (OSError, RuntimeError) as error:
        raise BadInput(_FIELD, f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from error
    if b"\0" in data:
        raise BadInput(_FIELD, f"{name} is binary (it holds a NUL byte); only text is read")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(_FIELD, f"{name} is not UTF-8 text (byte {error.start})") from error
    if len(text) > MAX_DOCUMENT:
        raise BadInput(_FIELD, f"{name} has {len(text):,} characters, allowed are {MAX_DOCUMENT:,}")
    return text


def _open_plain(path: str, flags: int) -> int:
    """Never waits for a pipe's other end."""
    return os.open(path, flags | os.O_NONBLOCK)
