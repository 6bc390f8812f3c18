"""Stores what was learned: one JSON file of verdicts, of fits of confidence, and of what tasks taught."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from parley.bus.files.plain import read_plain
from parley.client.errors import BadInput, bad_input
from parley.client.learned.verdicts import KnownOutcome
from parley.client.setup.lesson import Lesson
from parley.schemas.past_sessions.learned import Calibration, Thresholds
from parley.schemas.wire import InvalidValue

FORMAT = 1
NAME = "learned.json"
MAX_FILE = 200_000_000
"""Bytes of such a file."""


class _Head(msgspec.Struct):
    """What every such file says of itself: another JSON object is none, though it has no field that is wrong."""

    format: int


class Store(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    format: int = FORMAT
    learned_ns: int = 0
    """When sessions were last looked at."""
    verdicts: tuple[KnownOutcome, ...] = ()
    calibrations: tuple[Calibration, ...] = ()
    """At most one a protocol."""
    lessons: tuple[Lesson, ...] = ()
    """One a closed task of the bus, the newest first."""
    thresholds: tuple[Thresholds, ...] = ()
    """Those that were applied, at most one a kind."""


def existing_file(path: Path | str) -> Path:
    """A file that somebody named, to be read. Raises BadInput where it is not there: only one that nobody named may be
    missing."""
    path = Path(path)
    if not path.exists():
        raise BadInput("learned.file", f"there is no file {path}; parley reliability learn --file writes one")
    return path


def read(path: Path) -> Store:
    """The file; a file that is not there holds nothing. Raises BadInput: it cannot be read, is too large, or is none of
    this format."""
    try:
        size = path.stat().st_size
        if size > MAX_FILE:
            raise BadInput("learned.file", f"{path} has {size:,} bytes, allowed are at most {MAX_FILE:,}")
        data = read_plain(path)
        format_ = msgspec.json.decode(data, type=_Head).format
        if format_ != FORMAT:
            raise BadInput("learned.file", f"{path} is of format {format_}, read is format {FORMAT}")
        return msgspec.json.decode(data, type=Store)
    except FileNotFoundError:
        return Store()
    except OSError as error:
        raise BadInput("learned.file", f"cannot read {path}: {error.strerror}") from error
    except (msgspec.DecodeError, InvalidValue, UnicodeDecodeError, RecursionError) as error:
        what = f"{path} is no file of what was learned: {error}"
        mend = "name another, or move it away, so that parley reliability learn writes a new one"
        raise BadInput("learned.file", f"{what}; {mend}") from error


def write(path: Path, store: Store) -> None:
    """Replace the file whole: a reader sees the old one or the new one. Raises BadInput."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with bad_input("learned.file", OSError, what=f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(msgspec.json.format(msgspec.json.encode(store), indent=1) + b"\n")
        beside.replace(path)


def update(path: Path, change: Callable[[Store], Store]) -> Store:
    """Change the file as it is now, one process after another; what it is then. It is not written where nothing
    changes. Raises BadInput."""
    with bad_input("learned.file", OSError, what=f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_name(f".{path.name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = read(path)
            after = change(before)
            if after != before:
                write(path, after)
            return after
