"""What a model learns of its endpoint before the first turn, from a real server that tells it in one place each."""

import asyncio
import json
from typing import Any

import pytest

from tests.llm.server import ModelServer, Request, Step, fails, model_server, raw, says
from tests.llm.support import model


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
        (
            "ollama",
            {
                "/api/show": {"parameters": "num_ctx 16384"},
                "/api/ps": {"models": [{"name": "m", "context_length": 8_192}]},
            },
            8_192,
        ),
        ("openai_compatible", {"/v1/models": {"data": [{"id": "m", "context_length": 131_072}]}}, 131_072),
        ("openai_compatible", {"/v1/models": {"data": [{"id": "m", "context_length": "many"}]}}, None),
        ("openai_compatible", {"/v1/models": [1, 2]}, None),
        ("openai_compatible", {"/v1/models": {"data": [{"id": "m", "context_length": 3}]}}, None),
        ("openai_compatible", {}, None),
    ],
)
async def test_a_window_is_learned_from_where_a_server_tells_it(
    provider: str, places: dict[str, Any], window: int | None
) -> None:
    async with model_server(says("x"), look=tells(places)) as server, model(server.url, provider=provider) as made:
        await made.prepare()
        assert made.memory.get().window == window


async def test_the_speed_of_a_local_model_is_measured_and_of_no_other() -> None:
    for provider, measured in (("llama.cpp", 1), ("openai_compatible", 0)):
        async with model_server(says("a b c", usage=(60, 24)), look=fails(404)) as server:
            async with model(server.url, provider=provider) as made:
                await made.prepare()
                await made.prepare()
        assert len(server.requests) == measured
