"""The process in which files are read: one file after the other, within bounds on time, memory and what it may touch.

A file comes as a frame (four bytes of length, then name and bytes as MessagePack); back come frames of progress and, as
the last, what was read. A reader that hangs, that eats memory or that aborts ends this process and nothing else.
"""

import contextlib
import os
import struct
import sys
from typing import IO, Any

import msgspec

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


class FileAnswer(msgspec.Struct, array_like=True):
    """What is told of a file. `documents` is null while it is read."""

    documents: list[Document] | None = None
    progress: str = ""


def send(stream: IO[bytes], message: Any) -> None:
    """Write a frame."""
    data = msgspec.msgpack.encode(message)
    stream.write(struct.pack(">I", len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Read a frame; empty: there is none any more."""
    head = stream.read(4)
    return stream.read(struct.unpack(">I", head)[0]) if len(head) == 4 else b""


def main() -> None:
    """Read files until there are no more."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no frame
    from parley.client.evidence import formats

    _bound()
    while frame := receive(sys.stdin.buffer):
        asked = msgspec.msgpack.decode(frame, type=Asked)
        _more_time()
        try:
            found = [
                Document(part.name, part.written.text, part.written.places, part.written.remarks, part.left_out)
                for part in formats.parts(asked.name, asked.data, lambda said: send(out, FileAnswer(progress=said)))
            ]
        except MemoryError:
            os._exit(1)
        except Exception as error:  # whatever a broken file makes of a reader
            found = [Document(asked.name, "", [], [], f"cannot be read: {type(error).__name__}: {str(error)[:200]}")]
        send(out, FileAnswer(documents=found))


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
