"""Clients find the other servers, and leave one that died, froze, stands alone or is about to stop."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from parley.bus import subjects
from parley.bus.connection import Connection, connect
from parley.bus.errors import BusError, Conflict, Unreachable
from parley.bus.log import Log
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
