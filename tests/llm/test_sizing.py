"""What a model learns of its endpoint and of itself: windows, speed, and the thoughts before an answer."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parley.agents.models import ModelRefused
from parley.agents.openai import probe
from parley.schemas.protocols.consensus import Settings
from parley.schemas.turn import Caps, Usage
from tests.llm.server import ModelServer, Request, Step, fails, model_server, raw, says, thinks
from tests.llm.support import FULL, Heard, asked, model, silent


def tells(places: dict[str, Any]) -> Step:
    """A server that answers at these paths alone."""

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        found = places.get(request.path)
        await (fails(404) if found is None else raw(json.dumps(found).encode()))(server, request, writer)

    return step


@pytest.mark.parametrize(
    "provider, places, window",
    [
        ("vllm", {"/v1/models": {"data": [{"id": "m", "max_model_len": 32_768}]}}, 32_768),
        ("llama.cpp", {"/v1/models": {"data": [{"id": "m", "meta": {"n_ctx": 4_096, "n_ctx_train": 8_192}}]}}, 4_096),
        ("llama.cpp", {"/props": {"default_generation_settings": {"n_ctx": 2_048}}}, 2_048),
        ("ollama", {"/api/show": {"parameters": "temperature 0.7\nnum_ctx    16384"}}, 16_384),
        ("ollama", {"/api/ps": {"models": [{"name": "m:latest", "context_length": 4_096}]}}, 4_096),
        ("ollama", {"/api/ps": {"models": [{"name": "other:latest", "context_length": 4_096}]}}, None),
        ("ollama", {"/api/show": {"parameters": "num_ctx 16384"},
                    "/api/ps": {"models": [{"name": "m", "context_length": 8_192}]}}, 8_192),
        ("openai_compatible", {"/v1/models": {"data": [{"id": "m", "context_length": 131_072}]}}, 131_072),
        ("openai_compatible", {"/v1/models": {"data": [{"id": "m", "context_length": "many"}]}}, None),
        ("openai_compatible", {"/v1/models": [1, 2]}, None),
        ("openai_compatible", {"/v1/models": {"data": [{"id": "m", "context_length": 3}]}}, None),
        ("openai_compatible", {}, None),
    ],
)  # fmt: skip
async def test_a_window_is_learned_from_where_a_server_tells_it(
    provider: str, places: dict[str, Any], window: int | None
) -> None:
    async with model_server(says("x"), look=tells(places)) as server, model(server.url, provider=provider) as made:
        await made.prepare()
        assert made.memory.get().window == window


async def test_the_speed_of_a_local_model_is_measured_and_of_no_other() -> None:
    for provider, measured in (("llama.cpp", 1), ("openai_compatible", 0)):
        answer = says("a b c", usage=(60, 24))
        async with model_server(answer, look=fails(404)) as server, model(server.url, provider=provider) as made:
            for _ in range(2):
                await made.prepare()
        assert len(server.requests) == measured


USUAL = Caps(input_tokens=Settings().max_input_tokens, output_tokens=Settings().max_output_tokens)


@pytest.fixture(params=[True, False], ids=["counted apart", "counted among the rest"])
def told(request: pytest.FixtureRequest) -> Iterator[bool]:
    yield request.param


async def test_two_thousand_tokens_of_thought_work_with_the_defaults(told: bool) -> None:
    async with model_server(thinks(2_200, FULL, told=told)) as server, model(server.url) as made:
        completion = await made.reply(asked(caps=USUAL), silent)
    assert completion.body.answer == "A4"
    assert completion.usage == Usage(input_tokens=900, output_tokens=2_320, calls=1, unpriced=True), "thoughts are paid"


async def test_one_that_thinks_longer_gets_more_once_and_it_is_remembered(told: bool, tmp_path: Path) -> None:
    heard = Heard()
    async with model_server(thinks(12_000, FULL, told=told)) as server, model(server.url, state=str(tmp_path)) as made:
        first = await made.reply(asked(caps=USUAL), heard)
        probe.forget()  # as a new process
        second = await made.reply(asked(caps=USUAL), silent)
    assert (first.usage.calls, second.usage.calls) == (2, 1)
    assert [r.body["max_tokens"] for r in server.requests] == [9_500, 17_500, 17_500]
    assert any("think longer" in state for state in heard.states)
    assert "repaired" not in first.flags, "nothing was wrong with its form"


async def test_one_that_never_comes_to_an_answer_is_told_with_the_setting() -> None:
    async with model_server(thinks(10**6, FULL)) as server, model(server.url) as made:
        with pytest.raises(
            ModelRefused, match=r"thought for 17,500 tokens.*LLM_REASONING_TOKENS \(it is 8,000\)"
        ) as no:
            await made.reply(asked(caps=USUAL), silent)
    assert len(server.requests) == 2 and no.value.usage.output_tokens == 27_000


async def test_a_model_that_was_seen_to_answer_at_once_is_held_to_the_answers_cap() -> None:
    async with model_server(says(FULL)) as server, model(server.url) as made:
        for _ in range(2):
            await made.reply(asked(caps=USUAL), silent)
    assert [r.body["max_tokens"] for r in server.requests] == [9_500, 1_500]


async def test_thoughts_that_stand_in_the_text_and_never_end_are_no_answer() -> None:
    endless = says("<think>Well, " * 50, finish="length")
    async with model_server(endless, says(FULL)) as server, model(server.url) as made:
        assert (await made.reply(asked(caps=USUAL), silent)).flags == ("unpriced",)


async def test_thoughts_that_a_server_counts_beside_the_completion_are_paid() -> None:
    details = {"total_tokens": 100 + 20 + 700, "completion_tokens_details": {"reasoning_tokens": 700}}
    async with model_server(says(FULL, details=details)) as server, model(server.url) as made:
        assert (await made.reply(asked(), silent)).usage.output_tokens == 720
