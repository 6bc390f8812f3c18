"""What a tool server writes to its standard error: read as it comes, for the operator's log. Only the end is kept, so
that no server fills a disk with it."""

import asyncio
import contextlib
import os
from typing import TextIO

MOST = 8_192
"""Bytes that are kept."""
_PIECE = 65_536


class Errors:
    """A pipe whose writing end is a server's standard error. A context manager, on a running event loop; as long as it
    is open, what comes is read."""

    def __init__(self) -> None:
        self._tail = b""
        self._end = -1

    def __enter__(self) -> TextIO:
        self._end, write = os.pipe()
        os.set_blocking(self._end, False)
        self._writing = os.fdopen(write, "w")
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._end, self._read)
        return self._writing

    def __exit__(self, *_: object) -> None:
        self._writing.close()
        self._loop.remove_reader(self._end)
        self._read()
        os.close(self._end)

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            piece = os.read(self._end, _PIECE)
            self._tail = (self._tail + piece)[-MOST:]
            if not piece:  # everybody has closed it
                self._loop.remove_reader(self._end)

    def last_line(self) -> str:
        """The last line of what came that says anything: where a program ends with an error, often which."""
        lines = [" ".join(line.split()) for line in self._tail.decode("utf-8", "replace").splitlines()]
        return next((line for line in reversed(lines) if line), "")

    def text(self) -> str:
        """The end of what came, on one line."""
        return " ".join(self._tail.decode("utf-8", "replace").split())
