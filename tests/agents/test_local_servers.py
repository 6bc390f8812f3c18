"""Servers of models on this machine, as a question without model and documents looks for them."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from parley.agents.openai import local_servers
from parley.agents.openai.local_servers import LocalServer
from tests.parley.support import QUESTION, Front


@contextmanager
def serving(
    body: bytes, *, status: int = 200, stalls: threading.Event | None = None
) -> Iterator[tuple[int, list[str]]]:
    """(port, paths that were asked for) of a server that says this to everything."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            if stalls is not None:
                stalls.wait(20)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/v1/models?again")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server.server_address[1], asked
        finally:
            if stalls is not None:
                stalls.set()
            server.shutdown()


def models(*names: str) -> bytes:
    return json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode()


def test_the_usual_ports_are_those_of_the_providers() -> None:
    usual = {"ollama": 11434, "llama.cpp": 8080, "lmstudio": 1234, "vllm": 8000}
    assert local_servers.ports() == usual
    given = "vllm=8001, ollama=x,none=1,lmstudio=0,llama.cpp=99999"
    assert local_servers.ports(given) == usual | {"vllm": 8001}


def test_who_listens_is_found_with_a_model_that_talks() -> None:
    with ExitStack() as servers:
        ollama, asked = servers.enter_context(serving(models("nomic-embed-text", "qwen3:8b")))
        vllm, _ = servers.enter_context(serving(models()))
        page, _ = servers.enter_context(serving(b"<html>not a server of models</html>"))
        found = asyncio.run(local_servers.find({"vllm": vllm, "ollama": ollama, "llama.cpp": page, "lmstudio": 1}))
    assert found == [
        LocalServer(provider="ollama", port=ollama, model="qwen3:8b"),
        LocalServer(provider="vllm", port=vllm, model=""),
    ]
    assert asked == ["/v1/models"]


@pytest.mark.parametrize("body", [b"[]", b'{"data": 7}', b'{"data": [{"name": "x"}]}', b"\xff", b"[" * 2_000_000])
def test_what_is_no_list_of_models_is_nobody(body: bytes) -> None:
    with serving(body) as (port, _):
        assert asyncio.run(local_servers.find({"ollama": port})) == []


def test_no_other_address_is_asked_and_nobody_is_waited_for() -> None:
    stalls = threading.Event()
    with serving(models("a"), status=302) as (port, asked), serving(models("b"), stalls=stalls) as (slow, _):

        async def look() -> list[LocalServer]:
            async with asyncio.timeout(10 * local_servers.WITHIN_S):
                return await local_servers.find({"ollama": port, "vllm": slow})

        assert asyncio.run(look()) == []
    assert asked == ["/v1/models"]


NOBODY = "ollama=1,llama.cpp=1,lmstudio=1,vllm=1"


def test_a_question_without_model_and_documents_names_the_servers_of_this_machine(tmp_path: Path) -> None:
    front = Front(tmp_path)
    with serving(models("qwen3:8b")) as (port, _):
        env = {"PARLEY_LOCAL_PORTS": NOBODY.replace("ollama=1", f"ollama={port}")}
        code, _, err = front.run("ask", QUESTION, env=env)
    told = f"Ollama listens at http://127.0.0.1:{port}/v1: LLM_PROVIDER=ollama LLM_MODEL=qwen3:8b"
    assert code == 2 and told in err and err.endswith('parley ask "..."\n')
    _, _, err = front.run("ask", QUESTION, env={"PARLEY_LOCAL_PORTS": NOBODY})
    assert "no model server listens on this machine" in err


@pytest.mark.slow
def test_quiet_marks_what_is_not_settled(tmp_path: Path) -> None:
    """The answer stands alone only with exit status 0; a tie has none."""
    front = Front(tmp_path)
    asked = ("ask", QUESTION, "--evidence", str(front.evidence), "--quiet")
    assert front.run(*asked)[:2] == (0, "Vilnius is the capital of Lithuania.\n")
    code, out, err = front.run(*asked, "--threshold", "100", "--round-limit", "1")
    assert (code, out.strip()) == (3, "")
    assert err.startswith("parley: no answer: the last round allowed was played; it did not converge\n")
