"""Servers of models on this machine, as a question without model and documents looks for them."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from parley.agents.openai import local_servers
from parley.agents.openai.local_servers import LocalServer
from tests.llm.server import ModelServer, Step, goes_silent, model_server, raw, served
from tests.parley.support import QUESTION, Front


def port(server: ModelServer) -> int:
    return int(server.url.rpartition(":")[2].removesuffix("/v1"))


def models(*names: str) -> Step:
    return raw(json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode())


def test_the_usual_ports_are_those_of_the_providers() -> None:
    usual = {"ollama": 11434, "llama.cpp": 8080, "lmstudio": 1234, "vllm": 8000}
    assert local_servers.ports() == usual
    given = "vllm=8001, ollama=x,none=1,lmstudio=0,llama.cpp=99999"
    assert local_servers.ports(given) == usual | {"vllm": 8001}


async def test_who_listens_is_found_with_a_model_that_talks() -> None:
    async with AsyncExitStack() as stack:
        said = (models("nomic-embed-text", "qwen3:8b"), models(), raw(b"<html>not a server of models</html>"))
        ollama, vllm, page = [await stack.enter_async_context(model_server(step)) for step in said]
        where = {"vllm": port(vllm), "ollama": port(ollama), "llama.cpp": port(page), "lmstudio": 1}
        assert await local_servers.find(where) == [
            LocalServer(provider="ollama", port=port(ollama), model="qwen3:8b"),
            LocalServer(provider="vllm", port=port(vllm), model=""),
        ]
    assert [r.path for r in ollama.requests] == ["/v1/models"]


@pytest.mark.parametrize("body", [b"[]", b'{"data": 7}', b'{"data": [{"name": "x"}]}', b"\xff", b"[" * 2_000_000])
async def test_what_is_no_list_of_models_is_nobody(body: bytes) -> None:
    async with model_server(raw(body)) as server:
        assert await local_servers.find({"ollama": port(server)}) == []


async def test_no_other_address_is_asked_and_nobody_is_waited_for() -> None:
    elsewhere = raw(b"", 302, location="/v1/models?again")
    async with model_server(elsewhere) as moved, model_server(goes_silent()) as slow:
        async with asyncio.timeout(10 * local_servers.WITHIN_S):
            assert await local_servers.find({"ollama": port(moved), "vllm": port(slow)}) == []
    assert [r.path for r in moved.requests] == ["/v1/models"]


NOBODY = "ollama=1,llama.cpp=1,lmstudio=1,vllm=1"


def test_a_question_without_model_and_documents_names_the_servers_of_this_machine(tmp_path: Path) -> None:
    front = Front(tmp_path)
    with served(models("qwen3:8b"), look=None) as server:
        env = {"PARLEY_LOCAL_PORTS": NOBODY.replace("ollama=1", f"ollama={port(server)}")}
        code, _, err = front.run("ask", QUESTION, env=env)
    told = f"Ollama listens at {server.url}: LLM_PROVIDER=ollama LLM_MODEL=qwen3:8b"
    assert code == 2 and told in err and err.endswith('parley ask "..."\n')
    _, _, err = front.run("ask", QUESTION, env={"PARLEY_LOCAL_PORTS": NOBODY})
    assert "no model server listens on this machine" in err
