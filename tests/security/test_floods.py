"""Floods are bounded: one agent and one client send as fast as they can, and other sessions complete meanwhile."""

import asyncio
import time
from pathlib import Path

import pytest

from parley.bus import streams, subjects
from parley.bus.connection import Connection
from parley.bus.errors import BusError
from parley.bus.posts import Reader
from parley.schemas.post import CLOSED, Live
from parley.schemas.presence import Announcement
from parley.schemas.result import Result
from parley.schemas.session import CancelSession
from parley.schemas.turn import Reply, TurnStatusRequest
from parley.schemas.wire import decode, encode
from tests.support.engine import Engine, engine

SESSIONS = 6
pytestmark = pytest.mark.serial


async def completes(bare: Engine, name: str, sessions: int = SESSIONS) -> float:
    """Open sessions and follow each to its end as a viewer does; seconds that the longest took."""
    reader = Reader(await bare.connect("owner"))

    async def one(sid: str) -> float:
        began = time.perf_counter()
        assert (await bare.open(sid, settings={"round_limit": 2})).fate == "taken"
        async for post in reader.follow(sid, ("public", "control")):
            if post.kind == CLOSED:
                assert decode(post.body, Result).status == "finished"
                return time.perf_counter() - began
        raise AssertionError("it ended without a word")

    return max(await asyncio.gather(*(one(f"{name}{i}") for i in range(sessions))))


async def blast(connection: Connection, count: int, subject: str, payload: bytes, *, many: bool = False) -> None:
    """Publish so often, answers wanted but not waited for; `many`: each to a session of its own."""
    inbox = connection.nc.new_inbox()
    for i in range(count):
        await connection.publish(f"{subject}-{i}" if many else subject, payload, reply=inbox)
        if i % 200 == 199:
            await connection.nc.flush(30)


@pytest.mark.alone
async def test_other_sessions_complete_while_an_agent_and_a_client_flood(tmp_path: Path) -> None:
    async with engine(tmp_path, queues=QUEUES) as bare:
        await bare.moderator()
        for queue in WORKING:
            await bare.worker(queue)
        quiet = await completes(bare, "quiet")
        agent, client = await bare.connect("panelist_4"), await bare.connect("client")
        sid = "quiet0"
        reply = encode(Reply(turn="0-0", token="x"))
        here = encode(Announcement(instance="x", queue="panelist_4", roles=("panelist",), model="m", family="f"))
        live = encode(Live(session="loud0", seat="panelist_4", turn="0-0", state="thinking"))
        check = encode(TurnStatusRequest(turn="0-0", token="x"))
        floods = (
            (agent, 4_000, subjects.say("any", "public", "panelist_4", sid), reply, False),
            (agent, 4_000, subjects.check("any", "public", "panelist_4", sid), check, False),
            (agent, 8_000, subjects.live_owned("public", "panelist_4", "client", "loud0"), live, False),
            (agent, 2_000, subjects.here("panelist", "panelist_4", ""), here, False),
            (agent, 4_000, subjects.read("public", sid), b"{}", False),
            (client, 4_000, subjects.read("public", sid), b"{}", False),
            (client, 4_000, subjects.fate("client", "client", sid), b'{"seq":1}', False),
            (client, 4_000, subjects.inbox("client", "client", "flood"), encode(CancelSession()), True),
        )  # fmt: skip
        flooding = [asyncio.create_task(blast(c, n, s, p, many=m)) for c, n, s, p, m in floods]
        loud = await completes(bare, "loud")
        await asyncio.gather(*flooding)
        assert loud < 30
        assert await completes(bare, "after", 2) < 10 * quiet + 5, "afterwards all is as before"


QUEUES = {f"panelist_{i}": "panelist" for i in (1, 2, 3, 4)} | {"analyst": "analyst"}
WORKING = ("panelist_1", "panelist_2", "panelist_3", "analyst")


async def test_a_full_stream_refuses_and_deadlines_still_pass(tmp_path: Path) -> None:
    """IN takes so many and no more; the session's timer gets through, and so does who asks again."""
    async with engine(tmp_path) as bare:
        await bare.moderator()
        for queue in ("panelist_1", "panelist_2", "analyst"):
            await bare.worker(queue)
        await bare.worker("panelist_3", {"latency_s": 60.0}, drain_s=0.1)
        assert (await bare.open("s1", turn_timeout_s=1.0, settings={"round_limit": 1})).fate == "taken"
        client = await bare.connect("client")
        inbox = client.nc.new_inbox()
        refused: list[bytes] = []
        await client.subscribe(inbox, lambda msg: refused.append(msg.data) if b'"error"' in msg.data else None)
        cancel = encode(CancelSession())
        sent = 0
        began = time.perf_counter()
        while not refused and sent < 4 * streams.IN_MESSAGES:
            for _ in range(500):
                await client.publish(subjects.inbox("client", "client", f"f{sent}"), cancel, reply=inbox)
                sent += 1
            await client.nc.flush(30)
        assert refused, "the stream is full at some time"
        assert b"maximum messages" in refused[0]
        result = decode((await bare.closed("s1", 30.0)).body, Result)
        assert result.session == "s1"
        while True:  # as every client does
            try:
                assert (await bare.open("s2", turn_timeout_s=1.0)).fate == "taken"
                break
            except BusError:
                assert time.perf_counter() - began < 30
