"""What the users of a stack and its supervisor tell each other over the stack's socket.

A user connects, says what it needs, and stays connected for as long as it uses the stack: the kernel ends its use
however it dies. Two answers come: `Taken` once the bus lets everybody in who is needed, `Ready` once they serve.

The socket lies in the state directory and is its owner's alone (mode 600). What a worker is made of, keys included,
travels beside the words as open files without a name (parley.stack.child_environment.anonymous), one a unit, which the
supervisor does not read.
"""

import contextlib
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from parley.stack.rows import Counting

SOCKET = "stack.sock"
LAST = b"last"
"""What a user is told who has left as the last: the stack ends, and the connection with it."""
_LONGEST = 100
"""Characters of a socket's path; the system takes 104 to 108."""
MOST_FILES = 250
"""Of one message; the system takes 253."""
_HEAD = struct.Struct("!I")
_READ_S = 5.0
T = TypeVar("T")


class QueueMember(msgspec.Struct, frozen=True, kw_only=True):
    """One queue that is to be served."""

    queue: str
    """As a session names it."""
    variant: str
    """The queue in its place, where other workers have that name."""
    identity: str = ""
    """A digest of what its worker is; empty: the agent that the name stands for, without a model of its own."""
    role: str = ""
    """Empty: that of the agent that the name stands for."""
    pin: str = ""
    had: str = ""
    """The queue that it was before the supervisor died."""


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One process, in so many copies. A descriptor of its making (parley.stack.queues.making.Making) goes with it."""

    name: str
    members: tuple[QueueMember, ...]
    copies: int = 1
    """0: none runs here. Somebody else serves the queues with their credentials."""
    loads: str = ""
    """The kind of model that it loads."""


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asks for."""

    units: tuple[Unit, ...] = ()
    people: dict[str, str] = {}
    """Queue -> role of people who may take seats."""
    counting: Counting | None = None
    """A service counts sessions."""
    own: bool = False
    """The units have the plain names of their queues, where nobody else does."""
    kept: bool = False
    """They have them in any case, and whoever names no model uses these."""
    build: str = ""
    """Of the user's Parley; empty: any will do."""


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """The first answer."""

    url: str = ""
    queues: dict[str, str] = {}
    """Queue as a session names it -> queue that serves it."""
    kept: tuple[str, ...] = ()
    """Queues that have the models of `parley up`, since none is named."""
    error: str = ""
    """Why not; empty: it is taken."""
    other: str = ""
    """The build that runs here, where it is not the user's."""


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """The second answer."""

    error: str = ""


class User:
    """Whoever is connected to the socket."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.kept = False
        self.queues: dict[str, str] = {}
        """That it holds, by what sessions name them."""
        self.answer: Taken | None = None
        """That it still waits for."""
        self.waits = False
        """For its queues to serve."""


@contextlib.contextmanager
def _address(state: Path) -> Iterator[str]:
    """The socket's address, also where its path is too long for the system."""
    path = str(state / SOCKET)
    if len(os.fsencode(path)) <= _LONGEST:
        yield path
        return
    folder = os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{SOCKET}"
    finally:
        os.close(folder)


def listen(state: Path) -> socket.socket:
    """The supervisor's end, readable and writable by its owner alone. Raises OSError."""
    (state / SOCKET).unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    umask = os.umask(0o177)
    try:
        with _address(state) as address:
            listening.bind(address)
    finally:
        os.umask(umask)
    listening.listen(512)
    listening.setblocking(False)
    return listening


def connect(state: Path) -> socket.socket | None:
    """A connection to the supervisor; None if none listens. Raises OSError where it is another user's."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _address(state) as address:
            connection.connect(address)
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    except BaseException:
        connection.close()
        raise
    return connection


def is_owners(connection: socket.socket) -> bool:
    """Whether whoever connected is the user whose process this is, as far as the system says."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(uid in (os.geteuid(), 0))


def send(connection: socket.socket, message: msgspec.Struct, files: Sequence[int] = ()) -> None:
    """Say something, with open files. Raises OSError."""
    connection.settimeout(_READ_S)
    said = msgspec.json.encode(message)
    socket.send_fds(connection, [_HEAD.pack(len(said))], list(files))
    connection.sendall(said)


def receive(connection: socket.socket, kind: type[T], wait_s: float = _READ_S) -> tuple[T, list[int]]:
    """What the other says, with its open files. Raises EOFError where it has gone, OSError."""
    connection.settimeout(wait_s)
    head, files, _, _ = socket.recv_fds(connection, _HEAD.size, MOST_FILES)
    try:
        head += _exactly(connection, _HEAD.size - len(head)) if head else b""
        if not head:
            raise EOFError
        (size,) = _HEAD.unpack(head)
        for fd in files:
            os.set_inheritable(fd, False)
        return msgspec.json.decode(_exactly(connection, size), type=kind), files
    except BaseException:
        for fd in files:
            os.close(fd)
        raise


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = connection.recv(min(size, 1 << 16))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def is_gone(connection: socket.socket) -> bool:
    """Whether the other end has closed, without waiting; what it said is thrown away."""
    connection.setblocking(False)
    try:
        while connection.recv(4096):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
