"""Clients find the other servers, and leave one that died, froze, stands alone or is about to stop."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator

import pytest

from parley.bus import subjects
from parley.bus.channels import CONTROL
from parley.bus.clients.moving import MovingClient
from parley.bus.connection import Connection, connect
from parley.bus.errors import BusError, Conflict, NoModerator, Unreachable
from parley.bus.log import Log
from parley.bus.posts import Reader
from tests.conftest import Eventually
from tests.support.cluster import Cluster
from tests.support.links import Links

pytestmark = pytest.mark.serial


@pytest.fixture(scope="module")
def links() -> Iterator[Links]:
    with Links() as found:
        yield found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, links: Links) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("cluster"), reached_at=links.ports)
    links.lead_to(lambda: found.nats.route_ports, lambda: [s.pid if s.running else 0 for s in found.nats])
    with found:
        yield found


async def _stores(conn: Connection, sid: str) -> bool:
    """Whether a session's first entry is there. What was not acknowledged in time may be stored all the same, so a
    repeat names what it expects, as the engine does: else the session has two entries."""
    try:
        await conn.store(
            subjects.log(sid, subjects.STEP), b"{}", expected_last=(subjects.log_of(sid), 0), timeout_s=2.0
        )
    except Conflict:
        return True
    except BusError:
        return False
    return True


async def _kinds(conn: Connection, sid: str) -> list[str]:
    """Of its entries; nothing while the servers choose who leads."""
    try:
        return [s.kind for s in await Log(conn).read(sid)]
    except BusError:
        return []


def _at(cluster: Cluster, conn: Connection) -> int:
    url = conn.nc.connected_url
    return [s.port for s in cluster.nats].index(url.port) if url is not None and url.port else -1


async def test_one_address_is_enough_to_find_the_others(cluster: Cluster, eventually: Eventually) -> None:
    async with await cluster.dial("moderator", 0) as conn:
        await eventually(lambda: conn.nc.reached == 3)
        cluster.nats.servers[0].kill()
        try:
            await eventually(lambda: conn.connected and _at(cluster, conn) in (1, 2))
        finally:
            cluster.nats.servers[0].start()


async def test_of_several_addresses_one_that_answers_is_enough(cluster: Cluster) -> None:
    closed = "nats://127.0.0.1:9"
    async with await connect(f"{closed},{cluster.nats.servers[1].url}", cluster.keys["client"], name="one") as conn:
        assert _at(cluster, conn) == 1
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9,nats://127\.0\.0\.1:19"):
        await connect(f"{closed},nats://127.0.0.1:19", cluster.keys["client"], name="none")


@pytest.mark.parametrize("how", ["freeze", "cut"])
async def test_a_client_leaves_a_server_that_froze_or_stands_alone(
    cluster: Cluster, links: Links, eventually: Eventually, how: str
) -> None:
    async with await cluster.dial("moderator", 2) as conn:
        await eventually(lambda: conn.nc.reached == 3)
        began = time.monotonic()
        pid = cluster.nats.servers[2].pid
        if how == "freeze":
            os.kill(pid, signal.SIGSTOP)
        else:
            links.cut(2)
        try:
            await eventually(lambda: conn.connected and _at(cluster, conn) in (0, 1))
            print(f"{how}: gone over after {time.monotonic() - began:.1f} s")
            await eventually(lambda: _stores(conn, f"s-{how}"))
            print(f"{how}: stored after {time.monotonic() - began:.1f} s")
        finally:
            os.kill(pid, signal.SIGCONT)
            links.heal(2)
        assert await Log(conn).last(f"s-{how}") is not None
        await eventually(lambda: conn.nc.reached == 3)


# nats-py leaves the connection to a server that accepts it and says nothing to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_no_server_is_called_silent_before_it_was_asked(cluster: Cluster, eventually: Eventually) -> None:
    async with await cluster.dial("moderator", 0) as conn:
        await eventually(lambda: conn.nc.reached == 3)
        here = _at(cluster, conn)
        frozen = [cluster.nats.servers[i].pid for i in (here, (here + 1) % 3)]
        conn.nc._to = f"127.0.0.1:{cluster.nats.servers[(here + 1) % 3].port}"  # is asked first, and is frozen too
        told: set[str] = set()

        def went_over() -> bool:
            told.add(conn.nc.lacking.partition(",")[0])
            return conn.connected and _at(cluster, conn) == (here + 2) % 3

        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        try:
            await eventually(went_over)
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
        assert "the connection to the bus is lost" in told, told
        assert not [text for text in told if text.startswith("no connection to any")], told
        await eventually(lambda: conn.nc.reached == 3)


@pytest.mark.parametrize(
    ("named", "told", "most"), [(3, 0, 3), (3, 1, 3), (3, 2, 3), (3, 3, 3), (4, 2, 3), (5, 2, 5), (1, 3, 3), (1, 2, 2)]
)
def test_a_server_that_was_away_from_the_beginning_counts(named: int, told: int, most: int) -> None:
    client = MovingClient()
    client._named_servers = frozenset(f"bus:{i}" for i in range(named))
    client._reached_urls, client._most_reached = frozenset(f"bus:{i}" for i in range(told)), told
    assert client.most == most


async def test_a_client_leaves_a_server_that_is_about_to_stop(cluster: Cluster, eventually: Eventually) -> None:
    server = cluster.nats.servers[0]
    async with await cluster.dial("moderator", 0) as conn:
        await eventually(lambda: conn.nc.reached == 3)
        os.kill(server.pid, signal.SIGUSR2)
        began = time.monotonic()
        try:
            await eventually(lambda: conn.connected and _at(cluster, conn) in (1, 2))
            print(f"lame duck: gone over after {time.monotonic() - began:.1f} s")
        finally:
            server.kill()
            server.start()


async def test_with_the_quorum_gone_nothing_is_stored_and_all_goes_on_by_itself(
    cluster: Cluster, eventually: Eventually
) -> None:
    async with await cluster.dial("moderator", 1) as conn:
        await eventually(lambda: _stores(conn, "s-before"))
        for gone in (0, 2):
            cluster.nats.servers[gone].kill()
        try:
            await eventually(lambda: conn.nc.alone)
            assert not await _stores(conn, "s-quorum")
            impatient = Reader(conn, patience_s=0.1)
            with pytest.raises(NoModerator):
                await impatient.history("s-before", CONTROL)
            with pytest.raises(TimeoutError):  # who follows a session waits for the servers, and longer than that
                async with asyncio.timeout(1.0):
                    await anext(impatient.follow("s-before", (CONTROL,)))
        finally:
            for gone in (0, 2):
                cluster.nats.servers[gone].start()
        await eventually(lambda: _stores(conn, "s-after"))
        assert await eventually(lambda: _kinds(conn, "s-before")) == [subjects.STEP]
        assert subjects.STEP in await eventually(lambda: _kinds(conn, "s-after"))
