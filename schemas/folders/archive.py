"""The archive of a task's folder: one validator, for whoever stores, unpacks or writes one.

An archive is a tar of plain files. It is read here, to the letter, and by nothing else: what two readers of tar would
read in two ways is refused, as is whatever no folder of a task may hold. One that is longer than MAX_ARTIFACT travels
as one gzip member, of which no more than MOST_UNPACKED bytes are ever unpacked; a shorter one is not compressed, so
that one folder has one form.
"""

import gzip
import zlib
from collections.abc import Iterator

from parley.schemas.artifact import MAX_ARTIFACT
from parley.schemas.folders.paths import MOST_PATH_BYTES, PathChecker

Files = dict[str, tuple[bytes, bool]]
"""Path -> bytes, and whether it may be run."""
MOST_FILES = 4_000
MOST_FOLDERS = 4_000
MOST_BYTES = MAX_ARTIFACT
"""Of an archive as it travels: what the store takes for one piece."""
MOST_UNPACKED = 5 * MOST_BYTES
"""Of its tar, and so of all its files."""
_GZIP = b"\x1f\x8b"
"""No tar begins so: it would be a name with a control character."""
_BLOCK = 512
_MOST_HEADER = 2 * MOST_PATH_BYTES
"""Bytes of what is told about an entry before it."""
_USTAR, _GNU = b"ustar\x0000", b"ustar  \x00"
_FILE, _FOLDER, _PAX, _PAX_ALL, _LONG_NAME = b"0", b"5", b"x", b"g", b"L"
_OTHER_NUMBERS = ((108, 116), (116, 124), (136, 148), (329, 337), (337, 345))
"""Owners, the date and devices: they mean nothing here, but a reader that cannot read them stops there."""
_PAX_KEYS = frozenset({"path", "mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment"})
"""`path` is heeded, the others mean nothing here. `size`, `linkpath` and what makes a file sparse are not taken."""


class FolderError(ValueError):
    """A folder or an archive that cannot be used. Names the path, the value and the limit."""


class BadArchive(FolderError):
    """What was to become a folder is no archive of plain files."""


class TooLarge(FolderError):
    """More files or bytes than a folder may have."""


def unpack_archive(data: bytes) -> Files:
    """The files of an archive: path -> bytes and whether it may be run.

    Raises
    ------
    BadArchive
        It is no tar; or an entry is a link or a device, stands twice, has a path that is not allowed or is the same as
        another to some file system; or the files make a repository.
    TooLarge
        More files, folders or bytes than allowed.
    """
    if len(data) > MOST_BYTES:
        raise TooLarge(f"the archive has {len(data):,} bytes, allowed are at most {MOST_BYTES:,}")
    if data.startswith(_GZIP):
        data = _inflated(data)
    files: Files = {}
    folders: set[str] = set()
    tree = PathChecker()
    for name, is_folder, content, runs in _entries(data):
        if is_folder and name in folders:
            continue
        wrong = tree.add(name, folder=is_folder)
        if wrong:
            raise BadArchive(_named(name, wrong))
        if is_folder:
            folders.add(name)
        else:
            files[name] = (content, runs)
        if len(files) > MOST_FILES or tree.folders > MOST_FOLDERS:
            raise TooLarge(f"archive: allowed are at most {MOST_FILES:,} files in {MOST_FOLDERS:,} folders")
    return files


def check(data: bytes) -> None:
    """Refuse what `unpacked` refuses."""
    unpack_archive(data)


def compress_tar(tar: bytes) -> bytes:
    """A tar as it travels."""
    return tar if len(tar) <= MOST_BYTES else gzip.compress(tar, compresslevel=9, mtime=0)


def _inflated(data: bytes) -> bytes:
    """The tar of a compressed archive. Raises BadArchive, TooLarge."""
    reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        tar = reader.decompress(data, MOST_UNPACKED + 1)
    except zlib.error:
        raise _no_tar("it is compressed, and cannot be unpacked") from None
    if len(tar) > MOST_UNPACKED:
        raise TooLarge(f"the archive has more than {MOST_UNPACKED:,} bytes when it is unpacked, which is the limit")
    if not reader.eof or reader.unused_data:
        raise _no_tar("what is compressed has no end, or something stands after it")
    if len(tar) <= MOST_BYTES:
        raise _no_tar("it is compressed, and short enough without")
    return tar


def _named(name: str, wrong: str) -> str:
    return f"archive entry {name[:200]!r}: {wrong}"


def _no_tar(why: str) -> BadArchive:
    return BadArchive(f"archive: it is no tar of plain files ({why})")


def _entries(data: bytes) -> Iterator[tuple[str, bool, bytes, bool]]:
    """(path, whether it is a folder, bytes, whether it may be run) of each entry. Raises BadArchive."""
    at = 0
    long_path = ""  # the next entry's path, where it does not fit into its header
    while True:
        head = data[at : at + _BLOCK]
        if len(head) < _BLOCK:
            raise _no_tar("its end is missing")
        if not head.strip(b"\x00"):
            break
        kind, name, size, runs = _header(head)
        at += _BLOCK
        content = data[at : at + size]
        if len(content) < size:
            raise _no_tar("an entry is cut")
        at += -(-size // _BLOCK) * _BLOCK
        if kind in (_PAX, _PAX_ALL, _LONG_NAME):
            if long_path:
                raise _no_tar("an entry has two names")
            if size > _MOST_HEADER:
                raise TooLarge(f"archive: what is told about an entry has {size:,} bytes, at most {_MOST_HEADER:,}")
            long_path = _long_name(content) if kind == _LONG_NAME else _pax_path(content)
            if long_path and kind == _PAX_ALL:
                raise _no_tar("all entries have one path")
            continue
        name, long_path = long_path or name, ""
        is_folder = kind == _FOLDER
        if is_folder:
            name = name.removesuffix("/")
        if kind not in (_FILE, _FOLDER):
            raise BadArchive(_named(name, "it is neither a file nor a folder"))
        if is_folder and size:
            raise _no_tar("a folder has bytes")
        yield name, is_folder, content, runs
    if long_path or data[at:].strip(b"\x00"):
        raise _no_tar("something stands at its end")


def _header(head: bytes) -> tuple[bytes, str, int, bool]:
    """(type, path, bytes, whether it may be run). Raises BadArchive."""
    magic = head[257:265]
    if magic not in (_USTAR, _GNU) or _octal(head[148:156]) != sum(head) - sum(head[148:156]) + 8 * 32:
        raise _no_tar("a header is none")
    for start, end in _OTHER_NUMBERS:
        _octal(head[start:end])
    kind = _FILE if head[156:157] == b"\x00" else head[156:157]
    if magic == _GNU and any(head[345:500]):
        raise _no_tar("a header has more than a name")
    prefix = _text(head[345:500])
    name = _text(head[:100])
    return kind, f"{prefix}/{name}" if prefix else name, _octal(head[124:136]), bool(_octal(head[100:108]) & 0o100)


def _octal(field: bytes) -> int:
    digits = field.strip(b" \x00")
    if digits and not (digits.isdigit() and digits.isascii() and not set(digits) & set(b"89")):
        raise _no_tar("a number is none")
    return int(digits or b"0", 8)


def _text(field: bytes) -> str:
    """What stands before the first zero byte; after it there is nothing else."""
    text, _, rest = field.partition(b"\x00")
    if any(rest):
        raise _no_tar("a name goes on after its end")
    return _decoded(text)


def _decoded(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        raise _no_tar("a name is not UTF-8") from None


def _long_name(content: bytes) -> str:
    if not content.endswith(b"\x00"):
        raise _no_tar("a name has no end")
    return _text(content) or _empty()


def _empty() -> str:
    raise _no_tar("a name is empty")


def _pax_path(content: bytes) -> str:
    """The path among the records `LENGTH KEY=VALUE`; empty: there is none. Raises BadArchive."""
    path = ""
    while content:
        length, space, _ = content[:8].partition(b" ")
        if not space or not length.isdigit() or not len(length) < int(length) <= len(content):
            raise _no_tar("a record is none")
        record, content = content[len(length) + 1 : int(length)], content[int(length) :]
        key, equals, value = record.partition(b"=")
        if not equals or not value.endswith(b"\n") or b"\x00" in record:
            raise _no_tar("a record is none")
        name = _decoded(key)
        if name not in _PAX_KEYS:
            raise _no_tar(f"a record {name[:40]!r} is not taken")
        if name == "path":
            if path:
                raise _no_tar("an entry has two names")
            path = _decoded(value[:-1]) or _empty()
    return path
