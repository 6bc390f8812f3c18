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
from parley.client.errors import BadInput
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
            raise ServerFailed(f"cannot be {size}: {_other(state, had)}")
        size = had or size
        if size > 1 and (state / ONE / "jetstream").is_dir():
            raise ServerFailed(
                f"cannot be {size}: {state / ONE} holds the sessions of one server; name another folder with --state, "
                "or move them first (docs/operations/cluster.md)"
            )
        if size > 1 and (why := too_few_stores(state, size)):
            raise ServerFailed(f"cannot start: {why}")
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


def check_replicas(state: Path, size: int, replicas: int) -> None:
    """See that streams can lie on so many servers of this directory's bus, or of a new one of `size`. Raises
    BadInput."""
    have = cluster_of(state) or size
    if replicas > have:
        servers = "1 server" if have == 1 else f"{have} servers"
        raise BadInput("bus.replicas", f"{replicas}, the bus has {servers}; at most {have}")


def check_size(state: Path, size: int) -> None:
    """See that this directory's bus has, or can have, as many servers as were asked for. Raises BadInput."""
    have = cluster_of(state)
    if have and size != have:
        raise BadInput("cluster", f"got {size}; {_other(state, have)}")


def _other(state: Path, have: int) -> str:
    return (
        f"{state / SEVERAL} holds a cluster of {have} servers, and its sessions; say --cluster {have}, "
        "or name another folder with --state"
    )


def cluster_of(state: Path) -> int:
    """How many servers the cluster of a state directory has; 0: it has none."""
    return embedded.size_of(state / SEVERAL)


def empty_words(state: Path) -> str:
    """That servers of a cluster begin with an empty disk; empty: each has its store, or none has one yet."""
    size, stores = cluster_of(state), embedded.with_store(state / SEVERAL)
    empty = [number for number in range(1, size + 1) if number not in stores]
    if not stores or not empty:
        return ""
    names = " and ".join(str(state / SEVERAL / f"server-{number}") for number in empty)
    return (
        f"{names} hold{'s' * (len(empty) == 1)} no sessions. The server{'s' * (len(empty) > 1)} will start with an "
        "empty disk, and copy everything from the others"
    )


def check_stores(state: Path, size: int) -> None:
    """See that enough servers of this directory's cluster have their stores. Raises BadInput."""
    if why := too_few_stores(state, cluster_of(state) or size):
        raise BadInput("state", why)


def too_few_stores(state: Path, size: int) -> str:
    """Why a cluster must not start: servers with an empty disk would outvote the one that has the sessions. Empty: it
    may."""
    stores, needed = embedded.with_store(state / SEVERAL), size // 2 + 1
    if not stores or len(stores) >= needed:
        return ""
    there = " and ".join(f"server-{number}" for number in stores)
    return (
        f"only {there} of the {size} servers in {state / SEVERAL} hold{'s' * (len(stores) == 1)} sessions, and "
        f"{needed} must. Servers with an empty disk would outvote it, and the sessions would be lost. Bring the other "
        "folders back, or name another folder with --state"
    )
