"""The nats-server of a stack, as its supervisor has it: started, watched, ended.

A stack that follows another in its state directory has the same port, so that whoever is still connected finds it. It
is changed only where somebody else has it, since nobody would be told.
"""

import contextlib
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from parley.bus.accounts import User, write_private
from parley.bus.embedded import EmbeddedServer
from parley.bus.errors import BusError, ServerFailed
from parley.stack.disk_watch import DiskWatch

_FOLDER = "bus"
_BUS_S = 0.05  # an empty nats-server is there by then; where it is not, what the services need is loaded meanwhile
_PAUSE_S = 2.0
_FREE_S = 15.0
"""So long the server of a supervisor that was killed may take to die: two must not have one store."""


class WatchedServer:
    """A nats-server that runs, and is started again where it dies or where its store failed."""

    def __init__(self, server: EmbeddedServer, name: str = "nats") -> None:
        self._server, self._name = server, name
        self._disk = DiskWatch(server.folder, server.log_path)
        self._due, self._starts = 0.0, 1

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._server.url

    @property
    def due(self) -> list[float]:
        """When it is tried again, where it did not start (monotonic)."""
        return [self._due] if self._due else []

    def see_to(self, say: Callable[[object], None]) -> bool:
        """Start it again where it died or has room again; whether it was."""
        server = self._server
        ended = not (server.running or self._due)
        if server.running and self._disk.restart_due():
            say("the bus's store failed, and its disk takes files: nats-server starts anew, to store again")
            server.stop()
        if server.running or time.monotonic() < self._due:
            return False
        if ended:
            say("nats-server ended; it is started again")
        try:
            server.start()
            self._disk.started()
        except (BusError, OSError) as error:
            say(error)
            self._due = time.monotonic() + _PAUSE_S
            return False
        self._due = 0.0
        self._starts += 1
        return True

    def pids(self) -> dict[str, tuple[int, int]]:
        """Name -> process id, 0 if it does not run, and how often it was started."""
        return {self._name: (self._server.pid if self._server.running else 0, self._starts)}

    @property
    def running(self) -> bool:
        """Whether it does."""
        return self._server.running

    def reload(self, users: Iterable[User], keys: Mapping[str, str]) -> None:
        """Serve another table of users; a server that is down does from its next start on. Raises ServerFailed where
        it runs and refuses it."""
        try:
            self._server.reload(tuple(users), keys)
        except ServerFailed:
            if self.running:
                raise

    def stop(self) -> None:
        """End it."""
        self._server.stop()


def started(
    state: Path,
    users: Iterable[User],
    keys: Mapping[str, str],
    environ: Mapping[str, str],
    meanwhile: Callable[[], None],
) -> WatchedServer:
    """The server of a state directory, at the port of the one before if that can be had. `meanwhile` is called where
    its start takes long. Raises ServerFailed, ServerNotFound, ServerTooOld."""
    folder, table = state / _FOLDER, tuple(users)
    folder.mkdir(exist_ok=True, mode=0o700)
    port = load_port(folder)
    deadline = time.monotonic() + _FREE_S
    while port and time.monotonic() < deadline and not _is_free(port):
        time.sleep(0.01)
    server = EmbeddedServer(folder, table, keys, port=port, environ=environ)
    try:
        if not server.begin(_BUS_S):
            meanwhile()  # it reads its store
        server.start()
    except ServerFailed:
        if not port:
            raise
        if not _is_free(port):  # someone else has it by now
            server = EmbeddedServer(folder, table, keys, environ=environ)
        server.start()
    keep_port(folder, server.port)
    return WatchedServer(server)


def load_port(folder: Path) -> int:
    """The port of the stack before; 0 if there was none."""
    with contextlib.suppress(OSError, ValueError):
        return int((folder / "port").read_text())
    return 0


def keep_port(folder: Path, port: int) -> None:
    """Write it down; where it is there already nothing is written, so that a full disk loses none."""
    if port != load_port(folder):
        write_private(folder / "port", str(port).encode())


def _is_free(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
    except OSError:
        return True
    return False
