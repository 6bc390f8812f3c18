"""Pages that watch while the gateway, a moderator and nats-server are killed: each shows every post once."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

from parley.client.client import Client
from parley.schemas.session import OpenSession
from parley.stack.lease import OWNER
from parley.web.principals import new_token
from tests.chaos.harness import Rig, make_stack, pause
from tests.support.engine import until
from tests.web.support import Event, Process, browser, posts

VIEWERS = 20
Deed = Callable[[list[Event]], Awaitable[None]]
"""What is done while pages watch, given what the first one has seen."""
pytestmark = [pytest.mark.serial, pytest.mark.timeout(120)]


@asynccontextmanager
async def _process(rig: Rig, folder: Path) -> AsyncIterator[tuple[Process, str]]:
    keys = folder / "keys"
    keys.mkdir()
    (keys / "owner.json").write_bytes(rig.lease.credentials(OWNER).read_bytes())
    token = new_token(keys / "owner.json")
    gateway = Process(rig.lease.url, keys)
    await gateway.start()
    try:
        yield gateway, token
    finally:
        gateway.kill()


async def _page(url: str, token: str, sid: str, seen: list[Event], fourth: asyncio.Event) -> None:
    """What a page shows: its stream, asked for again from its last id whenever it is cut."""
    while True:
        last = next((e.id for e in reversed(seen) if e.id), "")
        try:
            async with browser(url, token) as page:
                async for event in page.events(f"/api/sessions/{sid}/events", headers={"last-event-id": last}):
                    seen.append(event)
                    if len(posts(seen)) == 4:
                        fourth.set()
                    if event.name == "end":
                        return
        except (httpx.TransportError, AssertionError):
            await pause(0.05)  # as a browser waits before it asks again


async def _watched(rig: Rig, gateway: Process, token: str, sid: str, deed: Deed) -> list[list[Event]]:
    """VIEWERS pages of one session; `deed` is done once all have four posts."""
    client: Client = rig.client
    await client.open(OpenSession(question="What is the answer?", protocol="consensus", turn_timeout_s=40.0), sid)
    pages: list[list[Event]] = [[] for _ in range(VIEWERS)]
    fourth = [asyncio.Event() for _ in range(VIEWERS)]
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for seen, event in zip(pages, fourth, strict=True):
            group.create_task(_page(gateway.url, token, sid, seen, event))
        await asyncio.gather(*(event.wait() for event in fourth))
        await deed(pages[0])
    return pages


async def test_every_page_shows_every_post_once_whatever_is_killed(tmp_path: Path) -> None:
    stack = make_stack(tmp_path, latency_s=1.0)
    async with Rig(tmp_path, stack) as rig, _process(rig, tmp_path) as (gateway, token):

        async def gateway_dies(_: list[Event]) -> None:
            gateway.kill()
            await gateway.start()

        async def moderator_dies(_: list[Event]) -> None:
            rig.lease.kill("moderator-1")

        async def bus_dies(seen: list[Event]) -> None:
            """It stays away until a page was told so: its supervisor is frozen as long."""

            async def told() -> bool:
                return any(e.name == "trouble" for e in seen)

            rig.lease.kill("supervisor", signal.SIGSTOP)
            try:
                rig.lease.kill("nats")
                await until(told)
            finally:
                rig.lease.kill("supervisor", signal.SIGCONT)

        for sid, deed in (("gateway", gateway_dies), ("moderator", moderator_dies), ("nats", bus_dies)):
            pages = await _watched(rig, gateway, token, sid, deed)
            said = {(p.channel, p.k) for c in ("public", "control") for p in await rig.client.history(sid, c)}
            for seen in pages:
                told = posts(seen)
                assert len(told) == len(set(told)), f"{sid}: a post was told twice"
                assert set(told) == said, f"{sid}: a post was lost"
                assert [e.data["result"]["answer"] for e in seen if e.name == "result"][-1] == "the agreed answer"
            if sid == "nats":
                away = [e.data["away"] for e in pages[0] if e.name == "trouble"]
                assert away[:1] == [True] and away[-1] is False
