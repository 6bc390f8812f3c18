from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.coordinator.floor_play import ANSWERS
from tests.support.engine import Engine, engine


@pytest.fixture
async def bare(tmp_path: Path) -> AsyncIterator[Engine]:
    """A server with accounts on; nobody on it yet."""
    async with engine(tmp_path) as started:
        yield started


@pytest.fixture(autouse=True)
def answers() -> Iterator[None]:
    """What the protocol that does as it is told is told (tests.coordinator.floor_play)."""
    ANSWERS.clear()
    yield
    ANSWERS.clear()


@pytest.fixture
async def stack(bare: Engine) -> Engine:
    """One moderator and one worker a queue."""
    await bare.moderator()
    await bare.workers()
    return bare
