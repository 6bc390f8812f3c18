"""An expert that misses a task's post while its connection is away hears it once it is back, as a new process does."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from parley.bus.connection import Connection, connect
from parley.schemas import log
from parley.schemas.expert import queue_of
from tests.protocols.madp.play import EXPERTS, IMPL, SRE, matched, spec
from tests.support.engine import until
from tests.support.madp import Crew, lead_of


class Gate:
    """A TCP proxy before a server, which can be shut: who is connected through it is cut off, and comes back later."""

    def __init__(self, to: int) -> None:
        self._to = to
        self._port = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self._port}"

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._came, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def shut(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers):
            writer.close()

    async def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        self._writers |= {writer, back}
        await asyncio.gather(self._pass(reader, back), self._pass(there, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        self._writers.discard(writer)
        writer.close()


class Gated(Crew):
    """A crew of which one expert is connected through a gate."""

    gate: Gate
    behind = queue_of(SRE)

    async def connect(self, user: str) -> Connection:
        if user != self.behind:
            return await super().connect(user)
        connection = await connect(self.gate.url, self.credentials[user], name=user)
        self._stack.push_async_callback(connection.close)
        return connection


@pytest.fixture
async def crew(tmp_path: Path) -> AsyncIterator[Gated]:
    async with Gated(tmp_path, (spec(x) for x in EXPERTS)) as started:
        started.gate = Gate(started.server.port)
        await started.gate.open()
        yield started
        await started.gate.shut()


async def test_an_expert_that_was_away_when_a_task_came_claims_it_once_it_is_back(crew: Gated) -> None:
    moderator = await crew.moderator()
    await crew.experts()
    await crew.know(moderator)
    await crew.helper(matched({SRE: 0.75, IMPL: 0.7}))
    await crew.gate.shut()
    await crew.task("s1", claim_window_s=60)

    async def said() -> list[str]:
        return [e.event.author for e in await crew.entries("s1") if isinstance(e.event, log.Spoke)]

    async def another() -> bool:
        return queue_of(IMPL) in await said()

    await until(another)
    assert queue_of(SRE) not in await said(), "it has missed the post"
    await crew.gate.open()
    result = await crew.result("s1")
    (claims,) = await crew.kind("s1", "claims")
    assert claims["silent"] == [] and {c["agent_id"] for c in claims["claims"]} == {SRE, IMPL}
    assert lead_of(result) == SRE
    assert (await said()).count(queue_of(IMPL)) == 1, "who heard it before has said it once"
