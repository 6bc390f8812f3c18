"""A record that is larger than one message of the bus: it is refused in words, and a shorter part of it is carried."""

from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.bus.accounts import publics
from parley.bus.clients.hot_paths import HEADROOM
from parley.bus.embedded import EmbeddedServer
from parley.client.client import Client
from parley.client.errors import Refusal
from parley.schemas.session import EVERYBODY, Document, ForkSession
from tests.engine.afterwards.test_fork import finished, result
from tests.support.engine import Engine
from tests.support.model import StubModel

ROOM = 256 * 1024
"""Bytes of one message that Parley uses."""
WORDS = "It is as it was said before. " * 60
"""What each reply says."""
TEXT = "The answer is known. " * 11_000
"""A document: with it the opening nearly fills a message, and what four rounds said does not fit beside it."""
DOCUMENT = Document(id=sha256(TEXT.encode()).hexdigest(), name="known.md", text=TEXT, holders=(EVERYBODY,))


class Wordy(StubModel):
    """Says much."""

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The stub's reply, with many words in it."""
        found = await super().reply(shown, emit)
        if hasattr(found.body, "reasoning") and shown.kind in ("answer", "revise"):
            return msgspec.structs.replace(found, body=msgspec.structs.replace(found.body, reasoning=WORDS))
        return found


@pytest.fixture
async def small(tmp_path: Path) -> AsyncIterator[Engine]:
    """A bus whose messages are small, with a panel that says much."""
    engine = Engine(tmp_path)
    engine.server = EmbeddedServer(
        tmp_path, engine.users, publics(engine.credentials), max_payload=ROOM + HEADROOM
    )  # fmt: skip
    async with engine:
        await engine.moderator()
        for queue in engine.queues:
            await engine.worker(queue, model=Wordy({"agree_from": 99}))
        yield engine


async def test_a_record_that_is_larger_than_one_message_is_refused_in_words(small: Engine) -> None:
    before: dict[str, Any] = await finished(small, settings={"round_limit": 6, "stuck_rounds": 9}, documents=[DOCUMENT])
    assert len(before["rounds"]) == 6
    client = Client(small.owner, "owner")
    with pytest.raises(Refusal, match="the record up to the end of the round does not fit one message"):
        await client.fork(ForkSession(of="s1"), "f1")
    row = await client.row("f1")
    assert row is not None and row.status == "refused" and "does not fit one message" in row.reason
    await client.fork(ForkSession(of="s1", round=1, settings={"round_limit": 2}), "f2")
    after = await result(small, "f2")
    assert after["fork"]["round"] == 1 and len(after["rounds"]) == 2, "a shorter part of it is carried on"
