"""A bus with its gateway, and who asks there."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.engine import engine
from tests.web.support import Site, Web, folder_of


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with engine(tmp_path / "bus") as bus:
        tokens = folder_of(bus, tmp_path / "keys")
        await bus.moderator()
        await bus.workers({"latency_s": 0.01, "tokens": 10, "metered": True})
        async with (
            Web(bus.server.url, tmp_path / "keys") as web,
            web.client(tokens["owner"]) as owner,
            web.client(tokens["alice"]) as alice,
            web.client(tokens["bob"]) as bob,
            web.client(tokens["auditor"]) as auditor,
        ):
            yield Site(bus, web, owner, alice, bob, auditor)
