"""A bus with its gateway, and who asks there."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.engine import engine
from tests.web.support import Site, site_of


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with engine(tmp_path / "bus") as bus:
        await bus.moderator()
        await bus.workers({"latency_s": 0.01, "tokens": 10, "metered": True})
        async with site_of(bus, tmp_path / "keys") as found:
            yield found
