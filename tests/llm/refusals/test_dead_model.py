"""A model's server that is not there is told within ten seconds: before a stack starts, and on one that runs."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

import parley
from parley.agents.models import ModelUnavailable
from parley.coordinator.admission import admit
from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas.presence import Announcement
from parley.schemas.session import OpenSession
from parley.schemas.turn import Usage
from tests.llm.server import fails, goes_silent, model_server, raw, says
from tests.llm.support import FULL, asked, model, silent

AWAY = "provider ollama cannot be used: no connection"
LISTED = raw(b'{"data": []}')


@contextmanager
def dead(how: str) -> Iterator[str]:
    """The address of a server that nobody can use."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if how != "refused":
            listener.listen(8)
        port = listener.getsockname()[1]
        yield {"no such name": "http://nobody.invalid/v1"}.get(how, f"http://127.0.0.1:{port}/v1")


async def test_python_tells_of_a_dead_endpoint_within_ten_seconds() -> None:
    started = time.monotonic()
    with dead("refused") as url:
        options = {"provider": "openai_compatible", "base_url": url, "model": "m"}
        with pytest.raises(parley.BadInput, match="cannot be used: no connection"):
            async with parley.local(2, protocol="consensus", model="openai", options=options):
                raise AssertionError("the stack came up")
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("how", ["refused", "no such name", "never accepted"])
async def test_a_worker_that_starts_finds_that_nobody_is_there(how: str) -> None:
    started = time.monotonic()
    with dead(how) as url:
        async with model(url, provider="ollama") as made:
            await made.look()
    assert made.no_server.startswith("provider ollama cannot be used: no ") and "LLM_BASE_URL" in made.no_server
    assert time.monotonic() - started < 8


async def test_a_worker_knows_when_its_server_is_back_and_when_it_went() -> None:
    async with model_server(says(FULL), look=LISTED) as server, model(server.url) as made:
        made.saw_server("gone")
        await made.look()
        assert not made.no_server
        made.saw_server("gone")
        await made.reply(asked(), silent)
        assert not made.no_server
    async with model(server.url) as made:
        with pytest.raises(ModelUnavailable, match="no connection") as found:
            await made.reply(asked(seconds=2.0), silent)
        assert found.value.usage == Usage() and server.url.split("/")[2] not in found.value.why
        assert "no connection" in made.no_server
    async with model_server(goes_silent(), look=fails(401, "no such key")) as server, model(server.url) as made:
        await made.look()
        assert "HTTP 401, no such key" in made.no_server


def there(*away: str) -> list[Announcement]:
    """A worker for each queue; the servers of these are away."""
    queues = ("panelist_1", "panelist_2", "panelist_3", "analyst")
    return [
        Announcement(
            instance=queue, queue=queue, roles=(queue.partition("_")[0],), model="m", family="qwen",
            no_server=AWAY if queue in away else msgspec.UNSET,
        )
        for queue in queues
    ]  # fmt: skip


def test_a_session_is_refused_where_too_few_can_be_asked_and_not_for_one_seat() -> None:
    request, protocol = OpenSession(question="Which?", protocol="consensus"), PROTOCOLS["consensus"]
    assert len(admit(protocol, request, tuple(there("panelist_2")), 1, "").seats) == 4
    for away in (("panelist_1", "panelist_3"), ("analyst",)):
        with pytest.raises(Inadmissible, match=f"seats: {', '.join(away)}: {AWAY}") as refused:
            admit(protocol, request, tuple(there(*away)), 1, "")
        assert not refused.value.worker, "it is told at once"
