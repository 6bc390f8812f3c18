"""`parley bus config --cluster` and what looks after a cluster, with three real servers on the files that it writes."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from parley.bus import accounts, streams
from parley.bus.cluster.servers import ROUTES
from parley.bus.connection import connect
from parley.bus.embedded import find_server
from parley.bus.errors import BadTable, WrongCredentials
from parley.bus_admin import cluster as of_cluster
from parley.bus_admin.config import bus_config
from parley.bus_admin.streams import replicas
from parley.bus_admin.users import revoke
from parley.client.errors import BadInput
from parley.stack import keys
from parley_research.embedded_cluster import free_ports
from tests.conftest import Eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


class Bus(NamedTuple):
    keys: Path
    url: str
    servers: list[subprocess.Popen[bytes]]


def _config(folder: Path, **more: Any) -> dict[str, str]:
    return bus_config(
        folder,
        seats={"panel": 2, "debaters": 2, "team": 1, "audience": 0},
        moderators=1,
        clients=("alice", "bob"),
        **more,
    )


@contextmanager
def _running(folder: Path) -> Iterator[Bus]:
    ports = [port for port in free_ports(12) if port + ROUTES < 65_536][:3]
    hosts = tuple(f"127.0.0.1:{port}" for port in ports)
    written = _config(
        folder / "keys", host="127.0.0.1", monitor="", cluster=3, servers=hosts,
        server_folder=f"{folder}/keys/servers/{{name}}",
    )  # fmt: skip
    servers = []
    with ExitStack() as exits:
        for name in ("parley-1", "parley-2", "parley-3"):
            conf = Path(written[name])
            own = json.loads(conf.read_text()) | {"jetstream": {"store_dir": str(folder / name)}}  # one machine for all
            conf.write_text(json.dumps(own))
            server = subprocess.Popen([find_server(), "-c", str(conf), "-l", str(folder / f"{name}.log")])
            servers.append(server)
            exits.callback(server.wait, 20)
            exits.callback(server.terminate)
        running = Bus(folder / "keys", ",".join(f"nats://{host}" for host in hosts), servers)
        asyncio.run(_set_up(running))
        yield running


async def _set_up(bus: Bus) -> None:
    moderator = accounts.load_credentials(keys.file(bus.keys, "moderator-1"))
    async with await connect(bus.url, moderator, name="set-up", retry_first=True) as conn:
        await streams.ensure_streams(conn)  # waits until the servers have met


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bus]:
    with _running(tmp_path_factory.mktemp("bus")) as running:
        yield running


async def test_the_servers_find_each_other_and_replicas_are_changed_while_they_run(bus: Bus) -> None:
    await _set_up(bus)
    fewer = [sys.executable, "-m", "parley", "bus", "replicas", "1", "--dir", str(bus.keys), "--nats", bus.url]
    asked = await asyncio.to_thread(subprocess.run, fewer, capture_output=True, text=True)
    assert asked.returncode == 2 and "Keep each stream on 1 servers, not 3?" in asked.stderr
    for wanted in (1, 3):
        rows = await asyncio.to_thread(replicas, bus.url, bus.keys, wanted)
        assert {row["stream"] for row in rows} == set(streams.STREAMS)
        assert {(row["replicas"], row["current"]) for row in rows} == {(wanted, wanted)}
        assert all(row["leader"].startswith("parley-") for row in rows)


async def test_who_is_revoked_is_out_at_each_server_and_who_is_added_is_in(bus: Bus, eventually: Eventually) -> None:
    bob = accounts.load_credentials(keys.file(bus.keys, "bob"))

    async def taken() -> bool:
        try:
            async with await connect(bus.url, bob, name="bob"):
                return True
        except WrongCredentials:
            return False

    await eventually(taken)
    done = await asyncio.to_thread(revoke, bus.keys, bus.url, "bob")
    assert done["bus"] == "read again"
    for one in bus.url.split(","):
        with pytest.raises(WrongCredentials):
            await connect(one, bob, name="bob")
    _config(bus.keys)
    again = accounts.load_credentials(keys.file(bus.keys, "bob"))
    texts = [(path / "nats-server.conf").read_text() for path in of_cluster.folders(bus.keys)]
    assert all(str(bus.keys.parent / "parley-") in text for text in texts), "what an operator wrote stays"
    assert len(texts) == 3 and all(again.public in text and bob.public not in text for text in texts)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"cluster": 2}, "expected 3 or 5"),
        ({"cluster": 3, "servers": ("a", "b")}, "got 2 of them for a cluster of 3"),
        ({"cluster": 3, "servers": ("a", "a", "b")}, "two servers have one address"),
        ({"cluster": 3, "servers": ("a:70000", "b", "c")}, "expected HOST or HOST:PORT"),
        ({"cluster": 3, "servers": ("nats://a:4222", "b", "c")}, "server 'nats://a:4222': expected HOST or HOST:PORT"),
        ({"cluster": 3, "servers": ("bad host", "b", "c")}, "server 'bad host': expected HOST or HOST:PORT"),
        ({"cluster": 3, "servers": ("::1", "b", "c")}, "expected HOST or HOST:PORT"),
        ({"servers": ("a",)}, "say how many servers"),
        ({"store": "/data/{name}"}, "say how many servers"),
    ],
)
def test_what_no_cluster_can_be_is_refused(given: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises((BadInput, BadTable), match=why):
        _config(tmp_path / "keys", **given)
    assert not (tmp_path / "keys").exists(), "nothing was written"


def test_servers_that_are_there_keep_their_addresses(tmp_path: Path) -> None:
    files = _config(tmp_path / "keys", cluster=3, servers=("a", "b", "c"))
    before = [Path(files[f"parley-{i}"]).read_bytes() for i in (1, 2, 3)]
    again = _config(tmp_path / "keys", cluster=3)
    assert [Path(again[f"parley-{i}"]).read_bytes() for i in (1, 2, 3)] == before
    with pytest.raises(BadInput, match="has 3 servers"):
        _config(tmp_path / "keys", cluster=5)
    with pytest.raises(BadInput, match="name them with --server"):
        _config(tmp_path / "keys", cluster=3, store="/data/{name}")
