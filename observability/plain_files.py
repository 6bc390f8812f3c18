"""Reads files that somebody names: never waits for long, and never reads without an end."""

import errno
import os
import select
import stat
import time
from pathlib import Path

MOST = 500_000_000
_WAIT_S = 5.0
"""So long a pipe's other end may say nothing."""
_PIECE = 1 << 20


def is_named(path: Path) -> bool:
    """Whether something stands there that is no folder: a file, or what should be one and cannot be read."""
    return os.path.lexists(path) and not path.is_dir()


def read_plain(path: Path | str, most: int = MOST) -> bytes:
    """The bytes of a file, at most `most` and one more. A pipe is read if somebody writes to it.

    Raises
    ------
    OSError
        It cannot be read; nobody writes to the pipe.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        data, deadline = bytearray(), time.monotonic() + _WAIT_S
        while len(data) <= most:
            try:
                piece = os.read(fd, min(_PIECE, most + 1 - len(data)))
            except BlockingIOError:
                if select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                    continue
                raise OSError(errno.ETIMEDOUT, f"nothing came within {_WAIT_S:g} s", str(path)) from None
            if not piece:
                break
            data += piece
        if not data and stat.S_ISFIFO(os.fstat(fd).st_mode):
            raise OSError(errno.EPIPE, "it is a pipe, and nobody writes to it", str(path))
        return bytes(data)
    finally:
        os.close(fd)
