"""The model `openai` against a foreign server: aimock, with its errors, malformed bodies, stalls and disconnects."""

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from parley.agents.models import ModelUnavailable
from parley.agents.secrets import Secret
from parley.schemas.turn import Caps
from tests.llm.aimock import Aimock, aimock
from tests.llm.support import FULL, PROSE, Heard, asked, model, silent

GOOD = json.dumps(FULL)
COMPARED = {
    "agreements": [],
    "key_disagreements": ["the paper"],
    "comment": "",
    "argued": [],
    "approach": 0,
    "priority": 0,
}
APART = json.dumps({**COMPARED, "groups": [{"label": "A4", "posts": [0, 2]}, {"label": "letter", "posts": [1]}]})
ALIKE = json.dumps({**COMPARED, "groups": [{"label": "A4", "posts": [5, 6, 7]}]})
CONCLUSION = json.dumps({"group": "A4", "answer": "A4, as measured", "reasoning": "r"})
LETTER = json.dumps({**FULL, "answer": "letter"})
STAYS = json.dumps({**FULL, "answer": "letter", "change_reason": "It was not measured."})
NEITHER = json.dumps({"differs": "A4", "states": "neither", "reservation": ""})
MOVED = json.dumps({**FULL, "change": "partly", "change_reason": "the measurement"})
LONG = json.dumps({**FULL, "reasoning": "It is measured, twice. " * 20})


def fixture(name: str, content: str = GOOD, /, *, match: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """What aimock says to a model of this name."""
    return {"match": {"model": name, **(match or {})}, "response": {"content": content}, **more}


def error(name: str, status: int, message: str, code: str = "", match: dict[str, Any] | None = None) -> dict[str, Any]:
    """What it fails with."""
    body = {"error": {"message": message, "type": "x", "code": code}, "status": status}
    return {"match": {"model": name, **(match or {})}, "response": body}


FIXTURES = [
    fixture("plain"),
    fixture("long", LONG),
    fixture("prose", PROSE),
    fixture("fenced", f"Certainly!\n```json\n{GOOD}\n```"),
    fixture("wrong", json.dumps({**FULL, "confidence": 9}), match={"sequenceIndex": 0}),
    fixture("wrong", GOOD),
    error("no-schema", 400, "response_format json_schema is not supported", match={"responseFormat": "json_schema"}),
    fixture("no-schema"),
    error("no-json", 400, "response_format json_schema is not supported", match={"responseFormat": "json_schema"}),
    error("no-json", 400, "response_format is unknown", match={"responseFormat": "json_object"}),
    fixture("no-json"),
    error("limited", 429, "Rate limited", match={"sequenceIndex": 0}),
    fixture("limited"),
    error("overloaded", 503, "Overloaded"),
    error("unknown-key", 401, "Incorrect API key provided: sk-secret-0123456789"),
    fixture("malformed", chaos={"malformedRate": 1.0}),
    fixture("dropped", chaos={"dropRate": 1.0}),
    fixture("disconnected", chaos={"disconnectRate": 1.0}),
    fixture("cut", LONG, truncateAfterChunks=8, latency=20),
    fixture("stalled", LONG, latency=5_000),
    fixture("panel", ALIKE, match={"systemMessage": "the analyst of a panel", "userMessage": '"iteration": 2'}),
    fixture("panel", APART, match={"userMessage": "Compare the positions"}),
    fixture("panel", CONCLUSION, match={"userMessage": "A sentence is wanted"}),
    fixture("panel", MOVED, match={"userMessage": "This is round 2"}),
    fixture("panel", NEITHER, match={"systemMessage": "which sentence states your answer"}),
    fixture("panel"),
    fixture("lonely", STAYS, match={"userMessage": "This is round 2"}),
    fixture("lonely", NEITHER, match={"systemMessage": "which sentence states your answer"}),
    fixture("lonely", LETTER),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    """One for all tests; each uses models of its own."""
    with aimock(tmp_path_factory.mktemp("aimock"), FIXTURES) as found:
        yield found


def formats(requests: list[dict[str, Any]]) -> list[str]:
    """How each reply was asked for."""
    return [r["body"].get("response_format", {}).get("type", "text") for r in requests]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_turn(server: Aimock, stream: bool) -> None:
    heard = Heard()
    async with model(server.url, model="plain", api_key=Secret("sk-secret-0123456789")) as made:
        completion = await made.reply(asked(stream=stream), heard)
    assert completion.body.answer == "A4" and completion.usage.calls == 1 and not completion.usage.estimated
    assert completion.usage.input_tokens > 0 and bool(heard.pieces) == stream
    request = (await server.requests("plain"))[-1]
    assert bool(request["body"].get("stream")) == stream and formats([request]) == ["json_schema"]


@pytest.mark.parametrize("name, why", [("malformed", "not JSON"), ("disconnected", "closed the connection")])
async def test_calls_that_may_have_been_paid_are_no_more_than_the_cap(server: Aimock, name: str, why: str) -> None:
    async with model(server.url, model=name) as made:
        with pytest.raises(ModelUnavailable, match=why) as found:
            await made.reply(asked(), silent)
    assert len(await server.requests(name)) == found.value.usage.calls == Caps().calls
    assert found.value.usage.estimated


async def test_a_disconnect_in_mid_stream(server: Aimock) -> None:
    heard = Heard()
    async with model(server.url, model="cut") as made:
        with pytest.raises(ModelUnavailable, match="before the reply was complete") as found:
            await made.reply(asked(stream=True), heard)
    assert found.value.usage.calls == 2 and found.value.usage.output_tokens > 0 and len(heard.states) == 1


async def test_a_stall_ends_with_the_turn(server: Aimock) -> None:
    started = time.monotonic()
    async with model(server.url, model="stalled") as made:
        with pytest.raises(ModelUnavailable, match="deadline") as found:
            await made.reply(asked(seconds=1.0, stream=True), silent)
    assert time.monotonic() - started < 2 and found.value.usage.calls == 1 and found.value.usage.estimated


async def test_many_at_once(server: Aimock) -> None:
    async with model(server.url, model="plain", concurrency=16) as made:
        found = await asyncio.gather(*(made.reply(asked(stream=i % 2 == 0), silent) for i in range(60)))
    assert len(found) == 60 and {c.body.answer for c in found} == {"A4"}
