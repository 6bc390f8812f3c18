"""Reads files that somebody names. A pipe that nobody writes to is not waited for; no file is read without an end."""

import errno
import os
import stat
from pathlib import Path

MOST = 500_000_000
_PIECE = 1 << 20


class NotText(Exception):
    """A file that is no text. `why` follows its name."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


def is_named(path: Path) -> bool:
    """Whether something stands there that is no folder: a file, or what should be one and cannot be read."""
    return os.path.lexists(path) and not path.is_dir()


def read_plain(path: Path | str, most: int = MOST) -> bytes:
    """The bytes of a file, at most `most` and one more. A pipe is read if somebody writes to it. Raises OSError: it
    cannot be read; nobody writes to the pipe."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        data = bytearray()
        while len(data) <= most:
            try:
                piece = os.read(fd, min(_PIECE, most + 1 - len(data)))
            except BlockingIOError:  # somebody has the other end, and has said nothing yet
                os.set_blocking(fd, True)
                continue
            if not piece:
                break
            data += piece
        if not data and stat.S_ISFIFO(os.fstat(fd).st_mode):
            raise OSError(errno.EPIPE, "it is a pipe, and nobody writes to it", str(path))
        return bytes(data)
    finally:
        os.close(fd)


def plain_text(path: Path | str, most: int = MOST) -> str:
    """The text of a file of at most `most` bytes, without the mark that some editors put before it. Raises NotText."""
    try:
        data = read_plain(path, most)
        if len(data) > most:
            raise NotText(f"is too large, the limit is {most:,} bytes")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise NotText(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise NotText(f"is not UTF-8 text (byte {error.start})") from error
