"""Where what was learned is kept: one JSON file of verdicts, and of fits of confidence."""

import os
from pathlib import Path

import msgspec

from client.errors import BadInput
from client.reliability.verdicts import Verdict
from schemas.afterwards.learned import Calibration
from schemas.wire import InvalidValue

FORMAT = 1
NAME = "learned.json"
MAX_FILE = 200_000_000
"""Bytes of such a file."""


class Store(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    format: int = FORMAT
    learned_ns: int = 0
    """When sessions were last looked at."""
    verdicts: tuple[Verdict, ...] = ()
    calibrations: tuple[Calibration, ...] = ()
    """At most one a protocol."""


def read(path: Path) -> Store:
    """The file; a file that is not there holds nothing.

    Raises
    ------
    BadInput
        It cannot be read, is too large, or is none of this format.
    """
    try:
        size = path.stat().st_size
        if size > MAX_FILE:
            raise BadInput("learned.file", f"{path} has {size:,} bytes, allowed are at most {MAX_FILE:,}")
        found = msgspec.json.decode(path.read_bytes(), type=Store)
    except FileNotFoundError:
        return Store()
    except OSError as error:
        raise BadInput("learned.file", f"cannot read {path}: {error.strerror}") from error
    except (msgspec.DecodeError, InvalidValue) as error:
        raise BadInput("learned.file", f"{path} is no file of what was learned: {error}") from error
    if found.format != FORMAT:
        raise BadInput("learned.file", f"{path} is of format {found.format}, read is format {FORMAT}")
    return found


def write(path: Path, store: Store) -> None:
    """Replace the file whole: a reader sees the old one or the new one. Raises BadInput."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(msgspec.json.format(msgspec.json.encode(store), indent=1) + b"\n")
        beside.replace(path)
    except OSError as error:
        raise BadInput("learned.file", f"cannot write {path}: {error.strerror}") from error
