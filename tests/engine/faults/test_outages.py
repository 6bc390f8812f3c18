"""Who opens a session waits for servers that are away."""

import asyncio
import time

import pytest

from parley.bus import streams
from parley.client.client import Client
from parley.schemas.session import OpenSession
from tests.support.engine import Engine, until

pytestmark = pytest.mark.slow
GIVEN_UP_S = 10.2
"""So long after it was stored an opening of an asker without patience is too late."""


async def test_an_opening_that_was_stored_before_an_outage_is_opened_after_it(bare: Engine) -> None:
    """Its asker waited all the time. Refused as too late, it is submitted anew, under the same id."""
    watcher = await bare.connect("moderator")
    await streams.ensure_streams(watcher, ack_wait_s=bare.ack_wait_s)
    connection = await bare.connect("client")
    client = Client(connection, "client", patience_s=0.1, outlasts=True)
    asking = asyncio.create_task(client.open(OpenSession(question="?", protocol="consensus"), "s1"))

    async def stored() -> bool:
        return bool((await watcher.api("STREAM.INFO.IN"))["state"]["messages"])

    await until(stored)
    since = time.monotonic()
    bare.server.kill()
    bare.server.restart()

    async def too_late() -> bool:
        return time.monotonic() - since > GIVEN_UP_S

    await until(too_late, 2 * GIVEN_UP_S)
    assert not asking.done()
    await bare.moderator()
    await bare.workers()
    assert await asking == "s1"
    assert (await bare.sessions()).rows[0].status in ("open", "finished")
