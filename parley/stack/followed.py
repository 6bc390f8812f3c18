"""Marks sessions that a command on this machine follows, so that nobody else is asked about them. The mark is a
locked file for each session. The kernel releases the lock however the command ends.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

_FOLDER = "followed"


@contextlib.contextmanager
def following(state: Path, sid: str) -> Iterator[None]:
    """While this lasts, the session is followed. On a full disk nobody else knows of it."""
    path = state / _FOLDER / sid
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        yield
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield
    finally:
        os.close(lock)
        is_followed(state, sid)  # takes the file away if nobody else does


def is_followed(state: Path, sid: str) -> bool:
    """Whether somebody follows it."""
    path = state / _FOLDER / sid
    try:
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def left_behind(state: Path) -> tuple[str, ...]:
    """Sessions whose command did not live to take its mark away, each of them once."""
    try:
        marked = sorted(os.listdir(state / _FOLDER))
    except FileNotFoundError:
        return ()
    return tuple(sid for sid in marked if not is_followed(state, sid))
