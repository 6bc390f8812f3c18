"""The connection's policy, each trap of the client against a real server that is stopped and started again."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from nats.aio.msg import Msg

from parley.bus import accounts, streams, subjects
from parley.bus.clients.hot_paths import HEADROOM
from parley.bus.connection import Connection, connect
from parley.bus.errors import (
    Closed,
    Denied,
    Disconnected,
    PayloadTooLarge,
    RequestTimeout,
    Unreachable,
    WrongCredentials,
)
from parley_research.embedded_cluster import free_ports
from tests.conftest import Bus, Dial, Eventually

LANE = subjects.say.of(lane="any")
SAY = subjects.say("any", "public", "panel_1", "s1")


@pytest.fixture(autouse=True)
async def server_up(bus: Bus) -> AsyncIterator[None]:
    """Every test finds the server running, and leaves it so."""
    bus.server.start()
    yield
    bus.server.start()


async def serve(conn: Connection, answer: bytes | None = b"ok") -> list[Msg]:
    heard: list[Msg] = []

    async def on_say(msg: Msg) -> None:
        heard.append(msg)
        if answer is not None:
            await conn.publish(msg.reply, answer)

    await conn.subscribe(LANE, on_say)
    return heard


async def stored(conn: Connection, sid: str) -> int:
    info = await conn.api("STREAM.INFO.LOG", {"subjects_filter": subjects.log_of(sid)})
    return sum((info["state"].get("subjects") or {}).values())


def watch(conn: Connection) -> tuple[asyncio.Event, asyncio.Event]:
    """(went down, came back)."""
    down, back = asyncio.Event(), asyncio.Event()
    conn.on_disconnect.append(down.set)
    conn.on_reconnect.append(back.set)
    return down, back


async def lost(bus: Bus, conn: Connection) -> asyncio.Event:
    """Kill its server, and wait until it knows; what is set once it is back."""
    down, back = watch(conn)
    bus.server.kill()
    await asyncio.wait_for(down.wait(), 10)
    return back


# -- the first connect


async def test_wrong_credentials(bus: Bus) -> None:
    stranger = accounts.mint(bus.users)["owner"]
    for retry in (False, True):
        with pytest.raises(WrongCredentials, match="'owner'") as caught:
            await connect(bus.url, stranger, name="t", retry_first=retry)
        assert stranger.seed not in str(caught.value)


@pytest.mark.parametrize("url", ["nats://127.0.0.1:{}", "nats://somebody:secret@127.0.0.1:{}", "127.0.0.1:{}"])
async def test_no_server(bus: Bus, url: str) -> None:
    (port,) = free_ports(1)
    with pytest.raises(Unreachable, match=f"127.0.0.1:{port}") as caught:
        await connect(url.format(port), bus.keys["client"], name="t")
    assert "secret" not in str(caught.value)


async def test_waits_for_the_server_if_told(bus: Bus) -> None:
    bus.server.stop()
    waiting = asyncio.create_task(connect(bus.url, bus.keys["client"], name="t", retry_first=True))
    with pytest.raises(Unreachable):
        await connect(bus.url, bus.keys["client"], name="t")
    assert not waiting.done()
    bus.server.start()
    async with await asyncio.wait_for(waiting, 10) as conn:
        assert conn.connected


# -- limits


async def test_too_large_is_refused_before_the_wire(bus: Bus, dial: Dial) -> None:
    moderator, agent = await dial("moderator"), await dial("panel_1")
    await serve(moderator)
    limit = accounts.MAX_PAYLOAD - HEADROOM
    assert agent.max_size == limit
    with pytest.raises(PayloadTooLarge) as caught:
        await agent.request(SAY, b"x" * (limit - 100), 5.0, headers={"a": "y" * 200})
    assert (caught.value.size > limit, caught.value.limit) == (True, limit)
    assert f"{limit:,}" in str(caught.value) and f"{caught.value.size:,}" in str(caught.value)
    answer = await agent.request(SAY, b"x" * (limit - 300), 10.0, headers={"a": "y" * 200})
    assert answer.data == b"ok"


# -- requests


async def test_silence_is_a_timeout_and_a_late_answer_is_nobodys(dial: Dial, eventually: Eventually) -> None:
    moderator, agent = await dial("moderator"), await dial("panel_1")
    heard = await serve(moderator, answer=None)
    with pytest.raises(RequestTimeout, match=r"0\.05 s"):
        await agent.request(SAY, b"first", 0.05)
    second = asyncio.create_task(agent.request(SAY, b"second", 5.0))
    await eventually(lambda: len(heard) == 2)
    await moderator.publish(heard[0].reply, b"late")
    await moderator.publish(heard[1].reply, b"in time")
    assert (await second).data == b"in time"


async def test_a_refusal_is_no_timeout(dial: Dial) -> None:
    agent = await dial("panel_1")
    foreign = subjects.say("any", "public", "panel_2", "s1")
    with pytest.raises(Denied, match="panel_2"):
        await asyncio.wait_for(agent.request(foreign, b"", 600.0), 10)
    with pytest.raises(Denied):
        await asyncio.wait_for(agent.store(subjects.inbox("client", "x", "s"), b"", timeout_s=600.0), 10)
    assert [d.operation for d in agent.denials] == ["publish", "publish"]


# -- outages


async def test_comes_back_after_kill(bus: Bus, dial: Dial, eventually: Eventually) -> None:
    moderator, agent = await dial("moderator"), await dial("panel_1")
    heard = await serve(moderator)
    watched = [watch(c) for c in (moderator, agent)]
    first = agent.connected_at_ns
    bus.server.kill()
    for down, _ in watched:
        await asyncio.wait_for(down.wait(), 10)
    assert not agent.connected
    bus.server.restart()
    for _, back in watched:
        await asyncio.wait_for(back.wait(), 10)
    assert agent.connected_at_ns > first
    assert (await agent.request(SAY, b"again", 5.0)).data == b"ok"
    assert len(heard) == 1


async def test_a_consumer_that_was_there_does_not_tell_the_time(bus: Bus, dial: Dial) -> None:
    bus.server.kill()
    bus.server.restart()
    late = await dial("moderator")
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 0.3)
    await streams.ensure_queue(late, "panel_1", ack_wait_s=1.0)
    assert late.clock.ahead_ns > -200_000_000, "such an answer bears the time of the server's start"


async def test_what_is_under_way_fails_at_once(bus: Bus, dial: Dial, eventually: Eventually) -> None:
    moderator, agent = await dial("moderator"), await dial("panel_1")
    heard = await serve(moderator, answer=None)
    asked = asyncio.create_task(agent.request(SAY, b"", 600.0))
    await eventually(lambda: heard)
    bus.server.kill()
    with pytest.raises(Disconnected):
        await asyncio.wait_for(asked, 10)


async def test_stored_during_an_outage_exactly_once(bus: Bus, dial: Dial) -> None:
    """It times out, is delivered later all the same, and the repeat is known by its id."""
    conn = await dial("moderator")
    back = await lost(bus, conn)
    entry = subjects.log("outage", subjects.STEP)
    with pytest.raises(RequestTimeout):
        await conn.store(entry, b"1", msg_id="outage-1", timeout_s=0.05)
    bus.server.restart()
    await asyncio.wait_for(back.wait(), 10)
    again = await conn.store(entry, b"1", msg_id="outage-1")
    assert again.duplicate
    assert await stored(conn, "outage") == 1


async def test_the_buffer_of_an_outage_is_bounded(bus: Bus, dial: Dial) -> None:
    conn = await dial("moderator")
    await lost(bus, conn)
    with pytest.raises(Disconnected, match="buffer"):
        for _ in range(4):
            await conn.publish(subjects.CALL, b"x" * 1_000_000)


# -- the end


async def test_close_ends_what_waits_and_refuses_what_comes(bus: Bus, dial: Dial, eventually: Eventually) -> None:
    heard = await serve(await dial("moderator"), answer=None)
    conn = await connect(bus.url, bus.keys["panel_1"], name="t")
    asked = asyncio.create_task(conn.request(SAY, b"", 600.0))
    await eventually(lambda: heard)
    for _ in range(2):
        await conn.close()
    with pytest.raises(Closed):
        await asyncio.wait_for(asked, 5)
    for act in (lambda: conn.publish(SAY, b""), lambda: conn.request(SAY, b"", 1.0), lambda: conn.api("INFO")):
        with pytest.raises(Closed):
            await act()


async def test_close_while_the_server_is_gone(bus: Bus) -> None:
    conn = await connect(bus.url, bus.keys["client"], name="t")
    await lost(bus, conn)
    await asyncio.wait_for(conn.close(), 5)
    assert conn.nc.is_closed
