"""Streams and consumers on a real server: what they keep, refuse, and make happen later."""

import asyncio
import time
from collections.abc import Awaitable
from datetime import UTC, datetime

import pytest

from parley.bus import streams, subjects
from parley.bus.connection import Connection
from parley.bus.errors import StoreError
from parley.bus.pending_requests import PubAck
from tests.conftest import Bus, Dial, Eventually


async def arm(conn: Connection, sid: str, in_s: float) -> PubAck:
    at = datetime.fromtimestamp(time.time() + in_s, UTC).isoformat().replace("+00:00", "Z")
    headers = {"Nats-Schedule": f"@at {at}", "Nats-Schedule-Target": subjects.fired(sid)}
    return await conn.store(subjects.timer(sid), b"{}", headers=headers)


async def count(conn: Connection, stream: str, subject: str) -> int:
    info = await conn.api(f"STREAM.INFO.{stream}", {"subjects_filter": subject})
    return sum((info["state"].get("subjects") or {}).values())


def fired(conn: Connection, sid: str) -> Awaitable[int]:
    return count(conn, streams.TIMER, subjects.fired(sid))


async def test_streams_are_as_the_table_says(dial: Dial) -> None:
    conn = await dial("moderator")
    await streams.ensure_streams(conn, ack_wait_s=1.0)  # again: the fixture made them
    for name, wanted in streams.stream_configs().items():
        found = (await conn.api(f"STREAM.INFO.{name}"))["config"]
        assert {k: found.get(k) for k in wanted} == wanted
        assert not (name == streams.IN and (found["allow_rollup_hdrs"] or found.get("allow_msg_schedules")))
    consumer = (await conn.api(f"CONSUMER.INFO.IN.{streams.MODERATORS}"))["config"]
    assert (consumer["ack_policy"], consumer["max_deliver"], consumer["ack_wait"]) == ("explicit", -1, 1_000_000_000)


async def test_configuration_follows(dial: Dial) -> None:
    conn = await dial("moderator")
    try:
        await streams.ensure_streams(conn, log_max_age_s=100 * streams.DAY_S, ack_wait_s=2.5)
        await streams.ensure_queue(conn, "panel_1", ack_wait_s=2.5)
        assert (await conn.api("STREAM.INFO.LOG"))["config"]["max_age"] == 100 * 86_400 * 10**9
        for consumer in ("IN.moderators", "WORK.panel_1"):
            assert (await conn.api(f"CONSUMER.INFO.{consumer}"))["config"]["ack_wait"] == 2_500_000_000
    finally:
        await streams.ensure_streams(conn, ack_wait_s=1.0)
        await streams.ensure_queue(conn, "panel_1", ack_wait_s=1.0)


async def test_in_refuses_a_flood_on_one_subject_only(dial: Dial) -> None:
    client = await dial("client")
    flooded = subjects.inbox("client", "client", "flood")
    for n in range(streams.IN_PER_SUBJECT):
        await client.store(flooded, str(n).encode())
    with pytest.raises(StoreError, match="maximum messages per subject"):
        await client.store(flooded, b"one more")
    assert (await client.store(subjects.inbox("client", "client", "calm"), b"fine")).stream == streams.IN


async def test_a_timer_fires_again_while_what_it_made_is_not_taken(dial: Dial, eventually: Eventually) -> None:
    conn = await dial("moderator")
    before = time.time()
    await arm(conn, "due", 0.4)
    assert await fired(conn, "due") == 0
    await eventually(lambda: fired(conn, "due"))
    assert 0.4 <= time.time() - before < 2.0
    first = await _last_fired(conn, "due")
    await arm(conn, "due", 0.3)  # again, though the first is not yet taken

    async def again() -> bool:
        return await _last_fired(conn, "due") > first

    await eventually(again)
    assert await count(conn, streams.TIMER, subjects.fired.each) == 1
    assert (await conn.api(f"CONSUMER.INFO.TIMER.{streams.MODERATORS}"))["num_pending"] == 1


async def _last_fired(conn: Connection, sid: str) -> int:
    answer = await conn.api("STREAM.MSG.GET.TIMER", {"last_by_subj": subjects.fired(sid)})
    return int(answer["message"]["seq"])


async def test_timer_is_replaced_and_cancelled(dial: Dial, eventually: Eventually) -> None:
    conn = await dial("moderator")
    for sid, in_s in (("sooner", 60.0), ("sooner", 0.3), ("later", 0.3), ("later", 60.0), ("never", 0.3)):
        await arm(conn, sid, in_s)
    await conn.api("STREAM.PURGE.TIMER", {"filter": subjects.timer("never")})
    await arm(conn, "after", 1.2)
    await eventually(lambda: fired(conn, "after"))
    assert [await fired(conn, sid) for sid in ("sooner", "later", "never")] == [1, 0, 0]


async def test_timers_survive_the_server(bus: Bus, dial: Dial, eventually: Eventually) -> None:
    conn = await dial("moderator")
    back = asyncio.Event()
    conn.on_reconnect.append(back.set)
    await arm(conn, "meanwhile", 0.3)
    await arm(conn, "afterwards", 1.5)
    bus.server.kill()
    bus.server.restart()
    await asyncio.wait_for(back.wait(), 10)
    await eventually(lambda: fired(conn, "afterwards"))
    await eventually(lambda: fired(conn, "meanwhile"))
    assert [await fired(conn, sid) for sid in ("meanwhile", "afterwards")] == [1, 1]
