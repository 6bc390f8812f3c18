"""Files read one after the other in a process apart, within bounds on time, memory and what it may touch: what comes
are texts, and why a file has none.

A file goes to that process as a frame (four bytes of length, then name and bytes as MessagePack); what was read comes
back as another. A reader that hangs, that eats memory or that aborts ends the process and nothing else.
"""

import contextlib
import os
import struct
import subprocess
import sys
import threading
from pathlib import PurePath
from typing import IO, Any

import msgspec

from parley.client.evidence import formats

WALL_S = 90.0
"""Seconds that a file may take: a PDF of 2,000 pages takes some 30."""
_ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
_HARMLESS = frozenset((".txt", ".md", ".markdown", ".rst", ".log", ".py", ".yaml", ".yml", ".toml", ".ini"))
"""Suffixes of what is decoded and no more: this needs no process of its own."""

MEMORY = 1 << 30
CPU_S = 60
_FORBIDDEN = (
    "socket.",
    "subprocess.",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "shutil.",
    "os.r",
)


class Asked(msgspec.Struct, array_like=True):
    """A file."""

    name: str
    data: bytes


class Document(msgspec.Struct, array_like=True):
    """A text of a file, or why there is none."""

    name: str
    text: str
    places: list[tuple[int, str]]
    remarks: list[str]
    left_out: str = ""


def send(stream: IO[bytes], message: Any) -> None:
    """Write a frame."""
    data = msgspec.msgpack.encode(message)
    stream.write(struct.pack(">I", len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Read a frame; empty: there is none any more."""
    head = stream.read(4)
    return stream.read(struct.unpack(">I", head)[0]) if len(head) == 4 else b""


class Reader:
    """Reads files; the process is started for the first that needs one, and again after one that ended it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *exc: object) -> None:
        self._end()

    def read(self, name: str, data: bytes) -> list[Document]:
        """The documents in a file, those that are left out too. Never raises for what is in it."""
        if _harmless(name, data):
            return [_document(part) for part in formats.parts(name, data)]
        if data.startswith(b"PK\x03\x04") and (why := formats.unpacks_to_much(data)):
            return [Document(name, "", [], [], why)]
        answer = self._asked(name, data)
        return answer if answer is not None else [Document(name, "", [], [], self._ended)]

    def _asked(self, name: str, data: bytes) -> list[Document] | None:
        """None: the process ended over it."""
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = _start()
        assert process.stdin is not None and process.stdout is not None
        late = threading.Event()
        clock = threading.Timer(WALL_S, _stop, (process, late))
        clock.start()
        try:
            send(process.stdin, Asked(name, data))
            if answer := receive(process.stdout):
                return msgspec.msgpack.decode(answer, type=list[Document])
        except (BrokenPipeError, msgspec.DecodeError):
            pass
        finally:
            clock.cancel()
        self._end()
        what = f"more than {WALL_S:.0f} seconds" if late.is_set() else "more memory or time than a file may"
        self._ended = f"takes {what}: split it, or save it as text"
        return None

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()  # type: ignore[union-attr]
            process.wait()


def _start() -> "subprocess.Popen[bytes]":
    program = f"import sys; sys.path[:] = {sys.path!r}; from parley.client.evidence.reading import main; main()"
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "LD_LIBRARY_PATH")}
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**keep, **_ALONE},
        start_new_session=True,
    )


def _stop(process: "subprocess.Popen[bytes]", late: threading.Event) -> None:
    late.set()
    process.kill()


def _document(part: formats.FileDocument) -> Document:
    return Document(part.name, part.written.text, part.written.places, part.written.remarks, part.left_out)


def _harmless(name: str, data: bytes) -> bool:
    if PurePath(name).suffix.lower() not in _HARMLESS or data[:1024].find(b"%PDF-") >= 0 or data.startswith(b"PK"):
        return False
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False


# -- the process apart


def main() -> None:
    """The process apart: read files until there are no more."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no frame
    _bound()
    while frame := receive(sys.stdin.buffer):
        asked = msgspec.msgpack.decode(frame, type=Asked)
        _more_time()
        try:
            found = list(map(_document, formats.parts(asked.name, asked.data)))
        except MemoryError:
            os._exit(1)
        except Exception as error:  # whatever a broken file makes of a reader
            found = [Document(asked.name, "", [], [], f"cannot be read: {type(error).__name__}: {str(error)[:200]}")]
        send(out, found)


def _bound() -> None:
    """Memory, files and network; on systems without such limits the parent's clock alone holds."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    sys.addaudithook(_refuse)


def _more_time() -> None:
    """So many seconds of the processor for the next file."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + CPU_S, resource.RLIM_INFINITY))


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_FORBIDDEN):
        raise PermissionError(f"a reader of documents may not do this: {event}")
