"""The port of a state directory's bus: a stack that follows another there has the same, so that whoever is still
connected finds it. It is changed only where somebody else has it, since nobody would be told."""

import contextlib
import socket
import time
from pathlib import Path

from parley.bus.accounts import write_private

_FREE_S = 15.0
"""So long the server of a supervisor that was killed may take to die."""


def load(folder: Path) -> int:
    """The port of the stack before; 0 if there was none."""
    with contextlib.suppress(OSError, ValueError):
        return int((folder / "port").read_text())
    return 0


def keep(folder: Path, port: int) -> None:
    """Write it down; where it is there already nothing is written, so that a full disk loses none."""
    if port != load(folder):
        write_private(folder / "port", str(port).encode())


def is_free(port: int) -> bool:
    """Whether nobody listens there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
    except OSError:
        return True
    return False


def await_free(port: int) -> None:
    """The server of a supervisor that was killed dies a moment after it: two must not have one store."""
    deadline = time.monotonic() + _FREE_S
    while port and time.monotonic() < deadline and not is_free(port):
        time.sleep(0.01)
