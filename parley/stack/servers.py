"""The nats-servers of a stack, as its supervisor has them: one, or several that are one bus; started, watched, ended.

One server lies in `bus/`, the servers of a cluster in `cluster/server-1/` and so on. What a state directory began with
it stays: the sessions of one server are not those of a cluster until they were moved.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from parley.bus.accounts import User
from parley.bus.cluster import embedded
from parley.bus.cluster.embedded import EmbeddedCluster
from parley.bus.embedded import EmbeddedServer
from parley.bus.errors import BusError, ServerFailed
from parley.stack import kept_port
from parley.stack.disk_watch import DiskWatch

NATS = "nats"
ONE, SEVERAL = "bus", "cluster"
_BUS_S = 0.05  # an empty nats-server is there by then; where it is not, what the services need is loaded meanwhile
_PAUSE_S = 2.0


class Servers:
    """The bus of one state directory.

    Parameters
    ----------
    size
        How many servers; 1: of a directory that has a cluster, as many as it has.

    Raises
    ------
    ServerFailed
        The directory holds a bus of one server and more are wanted, or a cluster of another size.
    """

    def __init__(
        self,
        state: Path,
        users: Iterable[User],
        keys: Mapping[str, str],
        environ: Mapping[str, str],
        size: int = 1,
        reached_at: Sequence[int] = (),
    ) -> None:
        self._users = tuple(users)
        self._keys = dict(keys)
        self._environ = environ
        self._state = state
        had = cluster_of(state)
        if size > 1 and had and size != had:
            raise ServerFailed(f"cannot be {size}: {state / SEVERAL} holds the sessions of {had} servers")
        size = had or size
        if size > 1 and (state / ONE / "jetstream").is_dir():
            raise ServerFailed(f"cannot be {size}: {state / ONE} holds the sessions of one server")
        self._cluster: EmbeddedCluster | None = None
        self._folder = state / ONE
        if size > 1:
            self._cluster = EmbeddedCluster(
                state / SEVERAL, self._users, keys, size=size, reached_at=reached_at, environ=environ
            )
        else:
            self._folder.mkdir(exist_ok=True, mode=0o700)
        self.servers: list[EmbeddedServer] = self._cluster.servers if self._cluster else []
        self._disks: list[DiskWatch] = []
        self._due: list[float] = []
        self.starts: list[int] = []

    @property
    def url(self) -> str:
        """Where they listen, separated by commas."""
        return ",".join(server.url for server in self.servers)

    def start(self, meanwhile: Callable[[], None]) -> None:
        """Start them, and call `meanwhile` where that takes long. Raises ServerFailed, ServerNotFound, ServerTooOld."""
        if self._cluster is None:
            self._start_one(meanwhile)
        else:
            for server in self.servers:
                server.begin()
            meanwhile()
            self._cluster.start()
        self._disks = [DiskWatch(server.folder, server.log_path) for server in self.servers]
        self._due = [0.0] * len(self.servers)
        self.starts = [1] * len(self.servers)

    def _start_one(self, meanwhile: Callable[[], None]) -> None:
        """At the port of the stack before, if it can be had."""
        folder = self._folder
        port = kept_port.load(folder)
        kept_port.await_free(port)
        server = EmbeddedServer(folder, self._users, self._keys, port=port, environ=self._environ)
        try:
            if not server.begin(_BUS_S):
                meanwhile()  # it reads its store
            server.start()
        except ServerFailed:
            if not port:
                raise
            if not kept_port.is_free(port):  # someone else has it by now
                server = EmbeddedServer(folder, self._users, self._keys, environ=self._environ)
            server.start()
        kept_port.keep(folder, server.port)
        self.servers = [server]

    @property
    def due(self) -> list[float]:
        """When one that did not start is tried again (monotonic)."""
        return [due for due in self._due if due]

    def see_to(self, say: Callable[[object], None]) -> bool:
        """Start again what died or has room again; whether anything was."""
        changed = False
        for i, server in enumerate(self.servers):
            ended = not (server.running or self._due[i])
            if server.running and self._disks[i].restart_due():
                say("the bus's store failed, and its disk takes files: nats-server starts anew, to store again")
                server.stop()
            if server.running or time.monotonic() < self._due[i]:
                continue
            if ended:
                say("nats-server ended; it is started again")
            try:
                server.start()
                self._disks[i].started()
            except (BusError, OSError) as error:
                say(error)
                self._due[i] = time.monotonic() + _PAUSE_S
                continue
            self._due[i] = 0.0
            self.starts[i] += 1
            changed = True
        return changed

    def pids(self) -> dict[str, tuple[int, int]]:
        """Name -> process id, 0 if it does not run, and how often it was started."""
        names = [NATS] if len(self.servers) == 1 else [f"{NATS}-{i + 1}" for i in range(len(self.servers))]
        alive = [server.pid if server.running else 0 for server in self.servers]
        return dict(zip(names, zip(alive, self.starts, strict=True), strict=True))

    @property
    def running(self) -> bool:
        """Whether all do."""
        return all([server.running for server in self.servers])

    def reload(self, users: Iterable[User], keys: Mapping[str, str]) -> None:
        """Serve another table of users. Raises ServerFailed where a server that runs refuses it."""
        embedded.reload(self.servers, users, keys)

    def stop(self) -> None:
        """End them all."""
        embedded.stop(self.servers)


def cluster_of(state: Path) -> int:
    """How many servers the cluster of a state directory has; 0: it has none."""
    return embedded.size_of(state / SEVERAL)
