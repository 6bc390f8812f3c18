"""A bus and a leaf node on the files that `parley bus config` and `parley bus leaf` write, and a proxy between them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

from parley.bus.accounts import MAX_PAYLOAD, write_private
from parley.bus.cluster.embedded import HOST, free_ports
from parley.bus.cluster.leaf import PORTS
from parley.bus.connection import Connection, connect
from parley.bus.embedded import EmbeddedServer
from parley.bus_admin.config import bus_config
from parley.bus_admin.leaf import leaf_node
from parley.schemas.presence import AskWorkers, Workers
from parley.stack import keys
from tests.support.engine import Engine, until
from tests.support.links import Links

ROOT = Path(__file__).parents[2]
Change = Callable[[dict[str, Any]], None]


class FromFile(EmbeddedServer):
    """A server that runs on the file that a command wrote, changed for a test in its place: no table of its own."""

    def __init__(self, folder: Path, conf: Path, *changes: Change) -> None:
        super().__init__(folder, (), {})
        self.config_path = conf
        self._changes = changes

    def _write_config(self) -> None:
        config = json.loads(self.config_path.read_bytes())
        config |= {"log_file": str(self.log_path), "ports_file_dir": str(self.folder)}
        for change in self._changes:
            change(config)
        write_private(self.config_path, json.dumps(config).encode())


def unguarded(config: dict[str, Any]) -> None:
    """A leaf node whose operator lets its users say and hear anything at any length: only the bus stands in the way."""
    config["max_payload"] = 4 * MAX_PAYLOAD
    for account in config["accounts"].values():
        for user in account["users"]:
            del user["permissions"]


def configured(folder: Path, size: int = 1) -> list[int]:
    """Write the configuration and keys of a bus of one server, or of three, into a folder; its servers' ports."""
    ports = [p for p in free_ports(20) if p + PORTS < 65_536][:size]
    seats = {"panel": 3, "debaters": 2, "team": 1, "audience": 0}
    more: dict[str, Any] = {"port": ports[0]}
    if size > 1:
        hosts = tuple(f"{HOST}:{port}" for port in ports)
        more = {"cluster": size, "servers": hosts, "server_folder": f"{folder}/servers/{{name}}"}
    bus_config(
        folder, seats=seats, moderators=1, clients=("client",), host=HOST, monitor="",
        store=f"{folder.parent}/store/{{name}}" if size > 1 else str(folder.parent / "store"), **more,
    )  # fmt: skip
    return ports


class Several:
    """Servers that are one bus, started and stopped together."""

    def __init__(self, members: list[FromFile]) -> None:
        self.members = members

    @property
    def url(self) -> str:
        """Of all of them."""
        return ",".join(member.url for member in self.members)

    def start(self) -> None:
        for member in self.members:
            member.begin()
        assert all([member.ready(30.0) for member in self.members])

    def stop(self) -> None:
        for member in self.members:
            member.stop()


class Edge(Engine):
    """An engine whose queues `at_edge` are behind a leaf node. `links`: the way between the two, where the bus is one
    server. `size`: 3, and the bus is three servers."""

    def __init__(self, folder: Path, at_edge: Iterable[str] = ("panelist_1",), *changes: Change, size: int = 1) -> None:
        super().__init__(folder / "unused")
        self.at_edge = tuple(at_edge)
        self.keys = folder / "keys"
        self.links = Links(1)
        ports = configured(self.keys, size)
        written = leaf_node(
            self.keys, "site", self.at_edge, server=f"{HOST}:{ports[0]}" if size == 1 else None,
            server_folder=str(self.keys / "{name}"), port=free_ports(1)[0],
        )  # fmt: skip
        there = self.keys / "parley-leaf-site"
        there.symlink_to(Path(written["leaf site"]).parent)
        self.credentials = keys.everybody(self.keys)
        self.credentials["moderator"] = self.credentials["moderator-1"]
        way = f"{HOST}:{self.links.ports[0]}"

        def reached(config: dict[str, Any]) -> None:
            config["leafnodes"]["advertise"] = way

        def over(config: dict[str, Any]) -> None:
            for remote in config["leafnodes"]["remotes"]:
                remote["urls"] = [f"tls://{way}"]

        self.links.lead_to(lambda: [ports[0] + PORTS], lambda: [0])
        self.server: Any = FromFile(folder / "hub", self.keys / "nats-server.conf", reached)
        if size > 1:
            names = [f"parley-{i + 1}" for i in range(size)]
            files = [self.keys / "servers" / name / "nats-server.conf" for name in names]
            self.server = Several([FromFile(folder / name, f) for name, f in zip(names, files, strict=True)])
        else:
            changes = (over, *changes)
        self.leaf = FromFile(folder / "leaf", there / "nats-server.conf", *changes)

    async def __aenter__(self) -> Self:
        self._stack.enter_context(self.links)
        self._stack.callback(self.leaf.stop)
        await super().__aenter__()
        self.leaf.start()
        return self

    async def connect(self, user: str) -> Connection:
        server = self.leaf if user in self.at_edge else self.server
        connection = await connect(server.url, self.credentials[user], name=user)
        self._stack.push_async_callback(connection.close)
        return connection

    def agent(self, queue: str, **options: Any) -> "subprocess.Popen[bytes]":
        """`parley agent` at the edge, a process of its own, ended at the end."""
        spec = self.keys.parent / f"{queue}.yaml"
        given = {"queue": queue, "roles": ["panelist"], "model": "tests.support.model:make", "options": options}
        spec.write_text(json.dumps(given))  # which is YAML
        command = [sys.executable, "-m", "parley", "agent", str(spec), "--nats", self.leaf.url]
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY")}
        process = subprocess.Popen(
            [*command, "--creds", str(keys.file(self.keys, queue))], cwd=self.keys.parent,
            env={**kept, "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self._stack.callback(process.wait, 20)
        self._stack.callback(process.terminate)
        return process

    async def heard_of(self, *queues: str) -> None:
        """Wait until a moderator has heard of these workers."""

        async def there() -> bool:
            workers = await self.ask("parley.own.workers.owner.=", AskWorkers(), Workers)
            return {w.queue for w in workers.workers} >= set(queues)

        await until(there, 30.0)
