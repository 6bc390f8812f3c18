"""A cluster of nats-servers as children of this process, on this machine: for trying it, and for tests.

One disk and one machine hold them all, so it outlives a server and not the machine. With
`Stack(bus="parley_research.embedded_cluster:supervised")` a stack has three of them, in `cluster/` of its state folder.
"""

import json
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from parley.bus.accounts import User, write_private
from parley.bus.cluster import certificates
from parley.bus.cluster.servers import ClusterServer, clustered
from parley.bus.embedded import START_S, EmbeddedServer
from parley.bus.errors import ServerFailed
from parley.stack.server import WatchedServer

HOST = "127.0.0.1"
FOLDER = "cluster"
"""Of a stack's state directory."""
REACHED_AT = "PARLEY_REACHED_AT"
"""The variable with the ports at which a stack's servers reach each other, with commas between."""
PORTS = "ports.json"
"""A file of a cluster's folder: the ports for clients, then those for routes."""


class EmbeddedCluster:
    """Some servers of one table of users, each with a folder in `folder`: `server-1`, `server-2`, ...

    Parameters
    ----------
    users, keys
        The table and the users' public keys (`parley.bus.accounts`).
    size
        How many servers.
    reached_at
        The ports at which the others reach each server; None: its own.
    extra, options
        Of each server, as EmbeddedServer takes them.
    each
        Further settings of each server alone.
    """

    def __init__(
        self,
        folder: Path,
        users: Iterable[User],
        keys: Mapping[str, str],
        *,
        size: int = 3,
        reached_at: Sequence[int] | None = None,
        extra: Mapping[str, Any] | None = None,
        each: Sequence[Mapping[str, Any]] = (),
        **options: Any,
    ) -> None:
        self.folder = Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.size = size
        ports = self._ports()
        self.route_ports = ports[size:]
        self.members = [
            ClusterServer(name=f"parley-{i + 1}", host=HOST, port=ports[i], route_port=ports[size + i])
            for i in range(size)
        ]
        table = tuple(users)
        reached = list(reached_at or self.route_ports)
        folders = [self.folder / f"server-{i + 1}" for i in range(size)]
        lacking = [inside for inside in folders if not (inside / certificates.CERTIFICATE).is_file()]
        new = bool(lacking) and certificates.authority(self.folder, "the next start")[1]
        self.servers: list[EmbeddedServer] = []
        for i, member in enumerate(self.members):
            inside = folders[i]
            inside.mkdir(exist_ok=True, mode=0o700)
            if new or inside in lacking:
                certificates.issue(self.folder, inside, member.name, (HOST, "localhost"))
            routes = [f"nats-route://{HOST}:{port}" for j, port in enumerate(reached) if j != i]
            config = clustered(
                {}, member, routes, tls_folder=str(inside), listen=HOST, advertise=f"{HOST}:{reached[i]}"
            )
            config |= {**(extra or {}), **(each[i] if each else {})}
            self.servers.append(EmbeddedServer(inside, table, keys, port=member.port, extra=config, **options))

    def _ports(self) -> list[int]:
        """The ports for clients, then those for routes: those of the run before, else free ones."""
        path = self.folder / PORTS
        try:
            ports = [int(port) for port in json.loads(path.read_bytes())]
        except (OSError, ValueError):
            ports = []
        if len(ports) != 2 * self.size:
            ports = free_ports(2 * self.size)
            write_private(path, json.dumps(ports).encode())
        return ports

    @property
    def url(self) -> str:
        """The addresses of the servers, separated by commas."""
        return ",".join(server.url for server in self.servers)

    @property
    def running(self) -> bool:
        """Whether every child is alive."""
        return all([server.running for server in self.servers])

    def start(self, timeout_s: float = START_S) -> "EmbeddedCluster":
        """Spawn them all, and wait until each accepts connections. Raises as EmbeddedServer.start."""
        for server in self.servers:
            server.begin()
        for server in self.servers:
            if not server.ready(timeout_s):
                raise ServerFailed("was not ready in time")
        return self

    def stop(self) -> None:
        """End them in reverse order, each even if another one fails; stopping twice is fine."""
        with ExitStack() as exits:
            for server in self.servers:
                exits.callback(server.stop)

    def __enter__(self) -> "EmbeddedCluster":
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def __iter__(self) -> Iterator[EmbeddedServer]:
        return iter(self.servers)


class SupervisedCluster:
    """Three servers as a supervisor has them (parley.stack.server.WatchedServer)."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster = cluster
        self._watched = [WatchedServer(server, f"nats-{i}") for i, server in enumerate(cluster.servers, 1)]

    @property
    def url(self) -> str:
        """As the cluster's."""
        return self._cluster.url

    @property
    def due(self) -> list[float]:
        """When those that did not start are tried again."""
        return [due for server in self._watched for due in server.due]

    @property
    def running(self) -> bool:
        """Whether all do."""
        return self._cluster.running

    def see_to(self, say: Callable[[object], None]) -> bool:
        """Start again what died; whether anything was."""
        return any([server.see_to(say) for server in self._watched])

    def pids(self) -> dict[str, tuple[int, int]]:
        """Of each server."""
        return {name: row for server in self._watched for name, row in server.pids().items()}

    def reload(self, users: Iterable[User], keys: Mapping[str, str]) -> None:
        """Serve another table of users."""
        table = tuple(users)
        for server in self._watched:
            server.reload(table, keys)

    def stop(self) -> None:
        """End them all."""
        self._cluster.stop()


def supervised(
    state: Path,
    users: Iterable[User],
    keys: Mapping[str, str],
    environ: Mapping[str, str],
    meanwhile: Callable[[], None],
) -> SupervisedCluster:
    """The servers of a state directory. Takes and raises as parley.stack.server.started."""
    ports = [int(port) for port in os.environ.get(REACHED_AT, "").split(",") if port]
    cluster = EmbeddedCluster(state / FOLDER, users, keys, reached_at=ports or None, environ=environ)
    for server in cluster.servers:
        server.begin()
    meanwhile()
    return SupervisedCluster(cluster.start())


def free_ports(count: int) -> list[int]:
    """So many ports on which nobody listens just now, all different."""
    with ExitStack() as exits:
        sockets = [exits.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind((HOST, 0))
        return [int(sock.getsockname()[1]) for sock in sockets]
