"""One run of a program: a text on its standard input, and what it prints. It never outlives its turn.

The program gets no shell, no argument that comes from a prompt, an empty folder that is deleted after it, only the
variables that are listed, and a process group of its own, which is killed when the program ends, prints too much, takes
too long or is cancelled. Its exit status says only that it ended.
"""

import asyncio
import contextlib
import os
import re
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import msgspec

_KEPT_OF_ERRORS = 4_000
_AFTER_EXIT_S = 0.5
"""So long what it left in its pipe is read, where a child of it holds that open."""
_AFTER_SILENCE_S = 2.0
"""So long it may still live after it closed its output."""
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|\Z)|\x1b[ -/]*[0-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", re.S
)


class Failed(Exception):
    """It could not be started, took too long or printed too much. `printed`: what came until then."""

    def __init__(self, why: str, printed: str = "", *, started: bool = True) -> None:
        self.why = why
        self.printed = printed
        self.started = started
        super().__init__(why)


class Printed(msgspec.Struct, frozen=True, kw_only=True):
    """What a program left behind."""

    text: str
    """Its standard output, without what moves a cursor or sets a colour."""
    errors: str
    """The end of its standard error."""
    status: int | None
    """None: it was killed after it closed its output."""


class _Program(asyncio.SubprocessProtocol):
    def __init__(self, most: int) -> None:
        self._most = most
        self.output = bytearray()
        self.errors = bytearray()
        self.too_much = asyncio.Event()
        self.exited = asyncio.Event()
        self.silent = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.errors = (self.errors + data)[-_KEPT_OF_ERRORS:]
            return
        self.output += data[: self._most + 1 - len(self.output)]
        if len(self.output) > self._most:
            self.too_much.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self.silent.set()

    def process_exited(self) -> None:
        self.exited.set()


async def run(
    argv: Sequence[str], prompt: str, *, environment: Mapping[str, str], seconds: float, most_bytes: int
) -> Printed:
    """Run a program to its end. Cancelling kills it. Raises Failed."""
    with tempfile.TemporaryDirectory(prefix="parley-command-", ignore_cleanup_errors=True) as folder:
        loop = asyncio.get_running_loop()
        try:
            transport, program = await loop.subprocess_exec(
                lambda: _Program(most_bytes), *argv, cwd=folder, env=dict(environment), start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise Failed(f"it could not be started: {error}", started=False) from None
        group = transport.get_pid()
        try:
            pipe = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
            pipe.write(prompt.encode("utf-8", "replace"))
            pipe.write_eof()
            async with asyncio.timeout(seconds):
                await _until_the_end(program)
        except TimeoutError:
            raise Failed(f"it took longer than {seconds:.0f} s", _plain(program.output)) from None
        finally:
            with _kill(group):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_AFTER_SILENCE_S):
                        await program.exited.wait()
                transport.close()
        if program.too_much.is_set():
            raise Failed(f"it printed more than {most_bytes:,} bytes", _plain(program.output))
        return Printed(text=_plain(program.output), errors=_plain(program.errors), status=transport.get_returncode())


async def _until_the_end(program: _Program) -> None:
    """Until it ended with all that it printed, printed too much, or closed its output and stayed."""
    await _first(program.exited, program.silent, program.too_much)
    if not program.too_much.is_set():
        pause = _AFTER_EXIT_S if program.exited.is_set() else _AFTER_SILENCE_S
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await (program.silent if program.exited.is_set() else program.exited).wait()


async def _first(*events: asyncio.Event) -> None:
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()


@contextlib.contextmanager
def _kill(group: int) -> Iterator[None]:
    """Kill what is left of a process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    yield


def _plain(printed: bytearray) -> str:
    return _ESCAPES.sub("", printed.decode("utf-8", "replace").replace("\r\n", "\n"))


def extract_text(text: str, path: str) -> str:
    """The words in what was printed: all of it, or the text at a path (`item.text`) in the last line of JSON that has
    one there, else in the whole as JSON."""
    if not path:
        return text
    for line in (*reversed(text.splitlines()), text):
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            continue
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text
