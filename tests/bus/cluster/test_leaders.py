"""The log's partitions on three servers: their leaders are spread when they are made, and again by one command."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from parley.bus import subjects
from parley.bus.cluster.leaders import _move, spread
from parley.bus.log import Log
from parley.bus.storage.partitions import Partitions
from parley.bus.streams import ensure_streams, partitions_of
from parley.bus_admin.replicas import replicas
from parley.stack import keys
from tests.support.cluster import Cluster
from tests.support.engine import until

pytestmark = pytest.mark.slow
FOUR = Partitions(4)
SERVERS = ("parley-1", "parley-2", "parley-3")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster"), partitions=FOUR) as found:
        yield found


async def leaders(cluster: Cluster) -> Counter[int]:
    async with await cluster.dial("moderator") as conn:
        return Counter([await cluster.leader(part.stream, conn) for part in FOUR.all])


async def test_leaders_are_spread_when_partitions_are_made(cluster: Cluster) -> None:
    assert sorted((await leaders(cluster)).values()) == [1, 1, 2]
    async with await cluster.dial("moderator") as conn:
        assert (await partitions_of(conn)).count == 4
        for part in FOUR.all:
            assert (await conn.api(f"STREAM.INFO.{part.stream}"))["config"]["num_replicas"] == 3


async def test_leaders_that_meet_on_one_server_are_spread_again_under_appends(cluster: Cluster) -> None:
    async with await cluster.dial("moderator") as conn:
        log, last = Log(conn, FOUR), dict.fromkeys((f"s{n}" for n in range(12)), 0)
        for part in FOUR.all:
            assert await _move(conn, part, SERVERS[0]) == SERVERS[0]
        assert await leaders(cluster) == {0: 4}
        for sid in last:
            last[sid] = await log.append(sid, subjects.OPENED, b"{}", 0)
        found = await spread(conn, FOUR)
        assert sorted(Counter(found.values()).values()) == [1, 1, 2] and set(found.values()) == set(SERVERS)
        for sid, seq in last.items():
            last[sid] = await log.append(sid, subjects.CLOSED, b"{}", seq)
            assert [s.kind for s in await log.read(sid)] == [subjects.OPENED, subjects.CLOSED]
        assert await spread(conn, FOUR) == found, "repeating it moves nothing"


async def test_a_moderator_that_starts_moves_no_leader(cluster: Cluster) -> None:
    before = await leaders(cluster)
    async with await cluster.dial("moderator") as conn:
        await ensure_streams(conn, ack_wait_s=1.0, partitions=FOUR)
    assert await leaders(cluster) == before


def test_the_command_spreads_them(cluster: Cluster, tmp_path: Path) -> None:
    cluster.keys["moderator"].save(keys.file(tmp_path, "moderator"))
    rows = replicas(cluster.url, tmp_path, None, spread=True)
    led = Counter(row["leader"] for row in rows if row["stream"] in FOUR.streams)
    assert sorted(led.values()) == [1, 1, 2] and {row["replicas"] for row in rows} == {3}


async def test_what_is_erased_is_in_no_servers_stream(cluster: Cluster) -> None:
    """What the servers tell each other goes later: after some two minutes, when they write their state down."""
    async with await cluster.dial("moderator") as conn:
        log, last = Log(conn, FOUR), 0
        for n in range(20):
            last = await log.append("erased", subjects.STEP, b"the words of this session %d" % n, last)
        last = await log.append("erased", subjects.ERASED, b"{}", last)

        async def holding() -> int:
            files = [file for server in cluster.nats.servers for file in server.folder.rglob("streams/**/*.blk")]
            return sum(b"the words of this session" in file.read_bytes() for file in files)

        await until(lambda: _is(holding, 3))
        await log.erase("erased", last)
        await until(lambda: _is(holding, 0))


async def _is(count: Callable[[], Awaitable[int]], wanted: int) -> bool:
    return await count() == wanted
