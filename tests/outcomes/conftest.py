from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.engine import Engine, engine


@pytest.fixture
async def stack(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    """A server with accounts on, one moderator and one worker a queue; with as many partitions as the test says."""
    async with engine(tmp_path, partitions=getattr(request, "param", 1)) as started:
        await started.moderator()
        await started.workers()
        yield started
