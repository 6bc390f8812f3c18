"""Reads lines while a person types them, on the event loop, so that a clock can end them."""

import asyncio
import contextlib
import os
import sys
import termios
from typing import Self

from parley.client.text import hung, line

_PIECE = 65_536


class Terminal:
    """Standard input and output of a person in a seat. A context manager, inside a running event loop.

    Attributes
    ----------
    gone
        Set once there is no more input: the terminal was closed, or a pipe has ended.
    """

    def __init__(self, fd: int | None = None) -> None:
        self._fd = sys.stdin.fileno() if fd is None else fd
        self._rest = b""
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._ended = False
        self.gone = asyncio.Event()

    def __enter__(self) -> Self:
        try:
            asyncio.get_running_loop().add_reader(self._fd, self._read)
        except PermissionError:  # a file, or /dev/null: all of it is there
            while not self._ended:
                self._read()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)

    def say(self, *lines: str) -> None:
        """Show lines, with whatever a terminal would obey written out, and what stands behind a line break indented."""
        self._print("".join(f"{hung(text)}\n" for text in lines))

    def begin(self) -> None:
        """Drop what was typed on a terminal before the turn; a pipe's lines wait for their turn."""
        if os.isatty(self._fd) and not self._ended:
            while not self._lines.empty():
                self._lines.get_nowait()

    async def line(self, prompt: str) -> str | None:
        """The next line; None where Ctrl-D was typed, and from the end of all input on."""
        self._print(line(prompt) + " ")
        if self._ended and self._lines.empty():
            return None
        return await self._lines.get()

    def leave(self) -> None:
        """Nobody is going to type anything."""
        self.gone.set()

    def _print(self, text: str) -> None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError:  # nobody reads it
            self.gone.set()

    def _read(self) -> None:
        data = b""
        with contextlib.suppress(OSError):  # the terminal is closed
            data = os.read(self._fd, _PIECE)
        if not data:
            if self._rest:
                self._put(self._rest)
                self._rest = b""
            if not (os.isatty(self._fd) and self._alive()):
                self._ended = True
                with contextlib.suppress(OSError, ValueError):
                    asyncio.get_running_loop().remove_reader(self._fd)
            self._lines.put_nowait(None)
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for text in lines:
            self._put(text)

    def _alive(self) -> bool:
        """Whether the terminal is still there: Ctrl-D ends a text, not the input."""
        try:
            termios.tcgetattr(self._fd)
        except termios.error:
            return False
        return True

    def _put(self, text: bytes) -> None:
        self._lines.put_nowait(text.decode(errors="replace").rstrip("\r"))
