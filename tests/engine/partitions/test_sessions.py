"""Sessions on a log of four partitions: they end, are listed, found, erased, counted and missed as on one."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from parley.bus import streams, subjects
from parley.bus.errors import WrongPartitions
from parley.bus.log import Log
from parley.bus.storage.partitions import Partitions
from parley.client.client import Client
from parley.coordinator.sessions.whole import GONE
from parley.schemas.post import EraseSession, IndexRebuilt, RebuildIndex, SessionRow
from parley.schemas.presence import AskWorkers, Workers
from parley.schemas.result import Result
from parley.schemas.turn import Answer
from parley.schemas.wire import decode, encode
from tests.support.engine import Engine, engine, until

FOUR = Partitions(4)
SIDS = [f"s{n}" for n in range(8)]
ASK = 5.0


@pytest.fixture
async def four(tmp_path: Path) -> AsyncIterator[Engine]:
    """One moderator and one worker a queue, and eight sessions that are over, in all partitions."""
    async with engine(tmp_path, partitions=4) as bare:
        await bare.moderator()
        await bare.workers()
        for sid in SIDS:
            await bare.open(sid)
        for sid in SIDS:
            await bare.closed(sid)
        yield bare


async def erase(bare: Engine, sid: str) -> Answer:
    found = await bare.ask(subjects.own("erase", "owner", sid), EraseSession(), Answer)
    assert isinstance(found, Answer)
    return found


def plain(found: list[SessionRow]) -> dict[str, SessionRow]:
    return {r.session: msgspec.structs.replace(r, seq=0) for r in found}


async def test_an_erased_session_leaves_one_message_in_its_own_partition(four: Engine) -> None:
    other = await four.moderator()
    for sid in SIDS:
        await other.sessions.find(sid)
    moderator = await four.connect("moderator")
    before = {p.stream: (await moderator.api(f"STREAM.INFO.{p.stream}"))["state"]["messages"] for p in FOUR.all}
    assert all(before.values())
    part, length = FOUR.of("s1"), len(await Log(moderator, FOUR).read("s1"))
    assert length > 3 and (await erase(four, "s1")).verdict == "accepted"
    assert [s.kind for s in await Log(moderator, FOUR).read("s1")] == [subjects.ERASED]
    for p in FOUR.all:
        left = (await moderator.api(f"STREAM.INFO.{p.stream}"))["state"]["messages"]
        assert left <= before[p.stream] - 3 if p is part else left == before[p.stream]

    async def forgotten() -> bool:
        return "s1" not in other.sessions.cached()

    await until(forgotten, ASK)
    assert await four.log("s1") == () and len(await four.log("s2")) > 3


async def test_the_index_is_entered_anew_from_all_partitions_and_from_any_place_on(four: Engine) -> None:
    await four.open("gone", protocol="nonsense")
    assert (await erase(four, "s5")).verdict == "accepted"
    client = Client(four.owner, "owner")
    before = plain(await client.sessions())
    assert len(before) == len(SIDS) + 1
    connection = await four.connect("moderator")
    await connection.api("STREAM.DELETE.INDEX")
    await streams.ensure_streams(connection, ack_wait_s=four.ack_wait_s, partitions=FOUR)
    assert await client.listed() == ([], False), "it says that it is not whole"
    found = [await client.row(sid) for sid in ("s1", "s5", "gone", "NOSUCH")]
    assert [r and r.status for r in found] == ["finished", "erased", "refused", None], "before it is rebuilt"
    pieces = [piece async for piece in client.rebuild_index()]
    after = await client.listed()
    assert (plain(after.rows), after.whole) == (before, True)
    assert sum(p.sessions for p in pieces) == len(before)
    total, sessions = pieces[-1].last_seq, len(before)
    for place in range(0, total + 1, 7):  # where a piece ends, the next one begins
        subject, asked = subjects.own("index", "owner", ""), RebuildIndex(after_seq=place)
        piece: IndexRebuilt = decode((await four.owner.request(subject, encode(asked), ASK)).data, IndexRebuilt)
        assert piece.done and (piece.seq, piece.last_seq) == (total, total) and piece.sessions <= sessions
        sessions = piece.sessions
    assert sessions <= 1


async def test_a_log_that_is_gone_is_missed_in_whichever_partition(four: Engine) -> None:
    connection = await four.connect("moderator")
    for sid in ("s0", "s1", "s3"):
        await Log(connection, FOUR).erase(sid, 10_000)
    await four.moderator(sweep_s=0.2)

    async def told() -> dict[str, str]:
        asked = subjects.own("workers", "owner", "")
        got: Workers = decode((await four.owner.request(asked, encode(AskWorkers()), ASK)).data, Workers)
        return {d.session: d.why for d in got.damaged}

    async def all_told() -> bool:
        return await told() == dict.fromkeys(("s0", "s1", "s3"), GONE)

    await until(all_told, 15.0)


async def test_two_moderators_move_sessions_of_all_partitions(tmp_path: Path) -> None:
    """Each serves all, and who lost a race steps again."""
    async with engine(tmp_path, partitions=3) as bare:
        moderators = [await bare.moderator() for _ in range(2)]
        await bare.workers()
        for sid in SIDS:
            await bare.open(sid)
        for sid in SIDS:
            assert decode((await bare.closed(sid)).body, Result).status == "finished"
        assert {r.session: r.status for r in (await bare.sessions()).rows} == dict.fromkeys(SIDS, "finished")
        for moderator in moderators:
            for sid in SIDS:
                assert (await moderator.sessions.find(sid)) is not None


async def test_a_store_of_one_partition_goes_on_and_takes_no_more(tmp_path: Path) -> None:
    first, copy = tmp_path / "first", tmp_path / "copy"
    first.mkdir()
    async with engine(first) as before:
        await before.moderator()
        await before.workers({"latency_s": 60}, drain_s=0.1)
        assert (await before.open("open")).fate == "taken"
    shutil.copytree(first, copy)
    async with engine(copy, partitions=4) as asked:
        with pytest.raises(WrongPartitions, match="has 1 partition since this bus was set up"):
            await asked.moderator()
    async with engine(copy) as after:
        await after.moderator()
        await after.workers()
        assert decode((await after.closed("open", 30.0)).body, Result).status == "finished"
        assert (await after.connect("moderator")).nc.is_connected


async def test_a_store_of_four_partitions_is_restored_from_a_copy(tmp_path: Path) -> None:
    first, copy = tmp_path / "first", tmp_path / "copy"
    first.mkdir()
    async with engine(first, partitions=4) as before:
        await before.moderator()
        await before.workers({"latency_s": 60}, drain_s=0.1)
        for sid in SIDS:
            assert (await before.open(sid)).fate == "taken"
    shutil.copytree(first, copy)
    async with engine(copy, partitions=4) as after:
        await after.moderator()
        await after.workers()
        for sid in SIDS:
            assert decode((await after.closed(sid, 30.0)).body, Result).status == "finished"
