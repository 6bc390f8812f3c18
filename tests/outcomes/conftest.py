from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.engine import Engine, engine


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Engine]:
    """A server with accounts on, one moderator and one worker a queue."""
    async with engine(tmp_path) as started:
        await started.moderator()
        await started.workers()
        yield started
