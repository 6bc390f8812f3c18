"""LOG in partitions: who is where, who is refused, and who may read it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from parley.bus import accounts, streams, subjects
from parley.bus.accounts import Credentials
from parley.bus.connection import Connection, connect
from parley.bus.embedded import EmbeddedServer
from parley.bus.errors import ApiError, Conflict, WrongPartitions
from parley.bus.log import Log
from parley.bus.storage.partitions import MOST, Partitions
from parley.bus.streams import partitions_of

Users = dict[str, Credentials]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[tuple[EmbeddedServer, Users]]:
    """A server of its own, as what is made here stays."""
    users = accounts.table({"panel_1": "panelist"}, clients=("client",), observers=("metrics",))
    keys = accounts.mint(users)
    with EmbeddedServer(tmp_path, users, accounts.publics(keys)) as found:
        yield found, keys


async def dialled(server: tuple[EmbeddedServer, Users], user: str = "moderator") -> Connection:
    return await connect(server[0].url, server[1][user], name=f"test-{user}")


def test_the_partition_of_a_session_never_changes() -> None:
    """These pairs are what stores were written by."""
    four = Partitions(4)
    ids = ("s1", "s2", "1f2e3d4c5b6a79880716", "child.of=one", "")
    assert [four.of(sid).stream for sid in ids] == EXPECTED
    for sid in ids:
        part = four.of(sid)
        assert subjects.parse_log(part.subject(sid, "closed")) == (sid, "closed")
    number = int(four.of("s1").stream.partition("-")[2] or 0)
    assert four.of("s1").subject("s1", "step") == f"parley.log.{number}.s1.step"


EXPECTED = ["LOG", "LOG-2", "LOG-2", "LOG-1", "LOG"]


@pytest.mark.parametrize("count", [2, 4, MOST])
def test_sessions_spread_evenly(count: int) -> None:
    """Of any form of id: each has its share, but for what chance moves."""
    parts = Partitions(count)
    for form in ("s{}", "{:020x}", "session-{}-child"):
        found = Counter(parts.of(form.format(n)).stream for n in range(1_000 * count))
        assert set(found) == set(parts.streams) and max(found.values()) < 1_200 and min(found.values()) > 800


@pytest.mark.parametrize("count", [0, MOST + 1])
def test_a_count_out_of_range_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"1 to {MOST}"):
        Partitions(count)


async def test_the_same_count_may_be_told_again(server: tuple[EmbeddedServer, Users]) -> None:
    async with await dialled(server) as conn:
        await streams.ensure_streams(conn, partitions=Partitions(4))
        await streams.ensure_streams(conn, partitions=Partitions(4), log_max_age_s=0)
        assert (await partitions_of(conn)).count == 4
        made = (await conn.api("STREAM.NAMES"))["streams"]
        assert sorted(made) == sorted(streams.names(Partitions(4)))
        ages = {p.stream: (await conn.api(f"STREAM.INFO.{p.stream}"))["config"]["max_age"] for p in Partitions(4).all}
        assert set(ages.values()) == {0}


@pytest.mark.parametrize(("there", "asked"), [(1, 4), (4, 1), (4, 2), (2, 4)])
async def test_another_count_is_refused_and_changes_nothing(
    server: tuple[EmbeddedServer, Users], there: int, asked: int
) -> None:
    async with await dialled(server) as conn:
        await streams.ensure_streams(conn, partitions=Partitions(there))
        before = {n: (await conn.api(f"STREAM.INFO.{n}"))["config"] for n in streams.names(Partitions(there))}
        with pytest.raises(WrongPartitions, match=f"has {there} partition.*bus.partitions says {asked}") as refused:
            await streams.ensure_streams(conn, partitions=Partitions(asked), log_max_age_s=60)
        assert f"set bus.partitions to {there}" in str(refused.value)
        made = (await conn.api("STREAM.NAMES"))["streams"]
        assert {n: (await conn.api(f"STREAM.INFO.{n}"))["config"] for n in made} == before


async def test_of_two_that_make_it_with_different_counts_one_is_refused(server: tuple[EmbeddedServer, Users]) -> None:
    async with await dialled(server) as one, await dialled(server) as two:
        done = await asyncio.gather(
            streams.ensure_streams(one, partitions=Partitions(2)),
            streams.ensure_streams(two, partitions=Partitions(4)),
            return_exceptions=True,
        )
        refused = [error for error in done if error is not None]
        assert len(refused) == 1 and isinstance(refused[0], WrongPartitions)
        made = (await one.api("STREAM.NAMES"))["streams"]
        assert sorted(made) == sorted(streams.names(await partitions_of(one)))


async def test_the_broker_refuses_a_moderator_that_knows_no_partitions(server: tuple[EmbeddedServer, Users]) -> None:
    """It would make LOG as it was, over the partitions' subjects."""
    async with await dialled(server) as conn:
        await streams.ensure_streams(conn, partitions=Partitions(2))
        with pytest.raises(ApiError, match="subjects overlap"):
            await conn.api("STREAM.UPDATE.LOG", streams.stream_configs()["LOG"])
        assert (await partitions_of(conn)).count == 2


async def test_a_session_is_appended_to_and_read_in_its_own_partition(server: tuple[EmbeddedServer, Users]) -> None:
    async with await dialled(server) as conn:
        parts = Partitions(3)
        await streams.ensure_streams(conn, partitions=parts)
        log = Log(conn, parts)
        last: dict[str, int] = {}
        for round_ in range(3):
            for n in range(12):
                sid, kind = f"s{n}", (subjects.OPENED, subjects.STEP, subjects.CLOSED)[round_]
                last[sid] = await log.append(sid, kind, b'{"n":%d}' % round_, last.get(sid, 0))
        for sid, seq in last.items():
            assert [s.kind for s in await log.read(sid)] == [subjects.OPENED, subjects.STEP, subjects.CLOSED]
            end = await log.last(sid)
            assert end is not None and (end.seq, end.kind) == (seq, subjects.CLOSED)
            with pytest.raises(Conflict):
                await log.append(sid, subjects.STEP, b"{}", seq - 1)
            await log.erase(sid, seq)
            assert [s.kind for s in await log.read(sid)] == [subjects.CLOSED]
