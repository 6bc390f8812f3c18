"""Three servers are one bus: streams lie on all of them, and go on without one."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.bus import accounts, streams, subjects
from parley.bus.cluster import certificates
from parley.bus.connection import connect
from parley.bus.errors import Conflict, WrongCredentials
from parley.bus.log import Log
from parley.stack.server import WatchedServer
from tests.support.cluster import QUEUES, Cluster

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


async def test_streams_and_consumers_lie_on_three_servers(cluster: Cluster) -> None:
    async with await cluster.dial("moderator") as conn:
        for name in streams.STREAMS:
            info = await conn.api(f"STREAM.INFO.{name}")
            assert info["config"]["num_replicas"] == 3, name
            assert len(info["cluster"]["replicas"]) == 2, name
        consumer = await conn.api(f"CONSUMER.INFO.WORK.{subjects.consumer('panel_1')}")
        assert len(consumer["cluster"]["replicas"]) == 2


async def test_what_one_moderator_wrote_the_next_reads_at_every_server(cluster: Cluster) -> None:
    async with await cluster.dial("moderator") as writer:
        readers = [await cluster.dial("moderator", server) for server in range(3)]
        seq = 0
        for n in range(100):
            seq = await Log(writer).append("s1", subjects.OPENED, b'{"n":%d}' % n, seq)
            for reader in readers:
                assert [s.seq for s in await Log(reader).read("s1", seq - 1)] == [seq]
                last = await Log(reader).last("s1")
                assert last is not None and last.seq == seq
        for reader in readers:
            assert len(await Log(reader).read("s1")) == 100
            with pytest.raises(Conflict):
                await Log(reader).append("s1", subjects.OPENED, b"{}", seq - 1)
            await reader.close()


@pytest.mark.parametrize("known", [True, False])
def test_only_the_authoritys_certificates_open_a_route(cluster: Cluster, tmp_path: Path, known: bool) -> None:
    folder = cluster.nats.folder if known else tmp_path
    certificates.authority(folder)
    certificates.issue(folder, tmp_path, "stranger", ("127.0.0.1",))
    context = ssl.create_default_context(cafile=str(cluster.nats.folder / certificates.AUTHORITY))
    context.load_cert_chain(tmp_path / certificates.CERTIFICATE, tmp_path / certificates.KEY)
    with socket.create_connection(("127.0.0.1", cluster.nats.route_ports[0]), timeout=10) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as route:
            if known:
                assert route.recv(5) == b"INFO "
            else:
                with pytest.raises(ssl.SSLError):
                    route.recv(5)


async def test_a_server_that_is_down_serves_the_new_table_from_its_start_on(cluster: Cluster) -> None:
    users = accounts.table(QUEUES, clients=("client", "carol"))
    keys = {**cluster.keys, **accounts.mint(u for u in users if u.name == "carol")}
    down = cluster.nats.servers[1]
    down.stop()
    for server in cluster.nats.servers:
        WatchedServer(server).reload(users, accounts.publics(keys))
    down.start()
    for server in cluster.nats.servers:
        async with await connect(server.url, keys["carol"], name="carol") as carol:
            assert carol.connected
        with pytest.raises(WrongCredentials, match="'bob'"):
            await connect(server.url, keys["bob"], name="bob")
