"""The proxy of a turn: what it passes on, what it takes off, what it counts, and where it stops."""

import asyncio
import io
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from parley.agents.hands.proxy import SOCKET, Room, TurnProxy
from parley.agents.still_open import StillOpen, begin
from tests.hands.stub import KEY, Server, model, texts
from tests.hands.support import options
from tests.support.engine import until

WIDE = Room(tokens=1_000_000, output=1_000_000, answer=16_000, calls=100)
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}
PATHS: dict[str, Any] = {"chat/completions": ASKED, "messages": ASKED, "responses": {"input": "hi"}}


@asynccontextmanager
async def proxied(folder: Path, server: Server, room: Room = WIDE, **more: Any) -> AsyncIterator[tuple[TurnProxy, Any]]:
    """(a proxy, a function that asks it and gives status and body)."""
    async with TurnProxy(folder, options(server.url, **more), room) as proxy:
        connector = aiohttp.UnixConnector(str(folder / SOCKET))
        async with aiohttp.ClientSession(connector=connector) as client:

            async def ask(
                path: str = "chat/completions", body: Any = ASKED, method: str = "POST", **headers: str
            ) -> tuple[int, str]:
                headers = {"authorization": f"Bearer {proxy.token}", **headers}
                headers = {"content-type": "application/json"} | headers
                data = io.BytesIO(json.dumps(body).encode())
                async with client.request(method, f"http://x/v1/{path}", data=data, headers=headers) as answer:
                    return answer.status, await answer.text()

            yield proxy, ask


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", PATHS)
async def test_a_call_has_the_real_key_and_the_turns_model_and_is_counted(
    tmp_path: Path, path: str, stream: bool
) -> None:
    with model(texts("yes")) as server:
        async with proxied(tmp_path, server) as (proxy, ask):
            body: dict[str, Any] = {**PATHS[path], "model": "dearer", "stream": stream, "max_tokens": 50}
            status, text = await ask(path, body, **{"anthropic-version": "2023-06-01", "x-evil": "1"})
            assert status == 200 and "yes" in text and KEY not in text
            sent = server.asked[0]
            assert sent["body"]["model"] == "hand" and sent["headers"]["authorization"] == f"Bearer {KEY}"
            assert ("x-api-key" in sent["headers"]) == (path == "messages") and "x-evil" not in sent["headers"]
            assert proxy.token not in json.dumps(sent)
            used = proxy.usage
            assert (used.calls, used.input_tokens + used.output_tokens, used.estimated) == (1, server.counted, False)
            assert used.cost_usd == pytest.approx((used.input_tokens + 2 * used.output_tokens) / 1e6)


async def test_only_a_post_to_a_models_path_with_the_turns_token_is_passed_on(tmp_path: Path) -> None:
    with model(texts("yes")) as server:
        async with proxied(tmp_path, server) as (_, ask):
            for headers in ({"authorization": "Bearer x"}, {"authorization": f"Bearer {KEY}"}, {"authorization": ""}):
                assert (await ask(**headers))[0] == 401
            for path in ("models", "files", "embeddings", "chat/completions/../../files", "messages/count_tokens",
                         "messages/batches", "//chat/completions", "chat/completions%2f..%2ffiles"):  # fmt: skip
                assert (await ask(path))[0] == 404, path
            for method in ("GET", "PUT", "DELETE", "OPTIONS"):
                assert (await ask(method=method))[0] == 404
            assert (await ask(body=[1]))[0] == 400
        assert server.asked == []


async def test_what_the_provider_would_do_beyond_words_is_taken_off(tmp_path: Path) -> None:
    tools = [
        {"type": "web_search", "external_web_access": True}, {"type": "web_search_20250305", "name": "web_search"},
        {"type": "code_interpreter"}, {"type": "mcp", "server_url": "http://x"}, {"type": "tomorrow"},
        {"type": "function", "name": "mine"}, {"name": "mine too", "input_schema": {}},
        {"type": "bash_20250124", "name": "bash"}, {"type": "custom", "name": "apply_patch"},
        {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f"}, {"type": "web_search"}]},
    ]  # fmt: skip
    more = {"mcp_servers": [{"url": "http://x"}], "models": ["dear"], "background": True, "n": 5, "store": True,
            "service_tier": "priority", "previous_response_id": "r", "web_search_options": {}}  # fmt: skip
    with model(texts("yes")) as server:
        async with proxied(tmp_path, server) as (_, ask):
            assert (await ask("responses", {"input": "hi", "tools": tools, **more}))[0] == 200
            only = {**ASKED, "tools": tools[:1], "tool_choice": "auto"}
            assert (await ask("chat/completions", only))[0] == 200
        sent, second = (a["body"] for a in server.asked)
        kept = [t.get("name", t.get("type")) for t in sent["tools"]]
        assert kept == ["mine", "mine too", "bash", "apply_patch", "n"]
        assert sent["tools"][-1]["tools"] == [{"type": "function", "name": "f"}]
        assert not set(more) & set(sent) - {"store"} and sent["store"] is False
        assert "tools" not in second and "tool_choice" not in second


@pytest.mark.parametrize("part", [
    {"type": "image_url", "image_url": {"url": "https://x/?q=secret"}}, {"type": "input_image", "image_url": "http://x"},
    {"type": "image", "source": {"type": "url", "url": " HTTPS://x"}}, {"type": "input_file", "file_url": "https://x"},
])  # fmt: skip
async def test_an_address_that_the_provider_would_fetch_is_refused(tmp_path: Path, part: dict[str, Any]) -> None:
    with model(texts("yes")) as server:
        async with proxied(tmp_path, server) as (_, ask):
            status, text = await ask("messages", {"messages": [{"role": "user", "content": [part]}]})
            assert status == 400 and "would fetch" in text and server.asked == []
            said = {"role": "assistant", "content": [{"type": "tool_use", "name": "get", "input": part}]}
            inline = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 3_000_000}"}}
            fine = {"messages": [said, {"role": "user", "content": [inline]}]}
            assert (await ask("messages", fine))[0] == 200, "a tool's own argument, and what is in the request"


async def test_a_redirect_is_not_followed_and_an_error_comes_without_the_key(tmp_path: Path) -> None:
    answers = [
        {"status": 307, "headers": {"location": "http://127.0.0.1:1/"}},
        {"status": 401, "error": {"error": {"message": f"Incorrect API key provided: {KEY}"}}},
        {"status": 429, "headers": {"retry-after": "7", "set-cookie": "a=b"}},
    ]
    with model(lambda _b, n: answers[n]) as server:
        async with proxied(tmp_path, server) as (proxy, ask):
            assert (await ask())[0] == 502
            status, text = await ask()
            assert status == 401 and KEY not in text and "***" in text
            assert (await ask())[0] == 429
            assert proxy.usage.calls == 0 and not proxy.spent.is_set(), "nothing of that was paid"


async def test_calls_stop_before_the_tokens_are_passed_whatever_the_agent_asks_for(tmp_path: Path) -> None:
    """Prompts grow as an agent's do, and each answer takes all that it may."""
    for tokens in (3_000, 9_000, 20_000):
        with model(lambda _b, _n: {"text": "x", "output": 10**9}) as server:
            async with proxied(tmp_path, server, WIDE._replace(tokens=tokens)) as (proxy, ask):
                status, n, text = 200, 0, ""
                while status == 200:
                    n += 1
                    body = {"messages": [{"role": "user", "content": "word " * 150 * n}], "max_tokens": 900}
                    status, text = await ask(body=body)
                assert status == 402 and "may take" in text and proxy.spent.is_set()
                assert proxy.usage.input_tokens + proxy.usage.output_tokens == server.counted
                assert tokens * 0.5 < server.counted <= tokens


async def test_calls_at_once_share_the_room_and_wait_for_each_other(tmp_path: Path) -> None:
    with model(lambda _b, _n: {"text": "x", "output": 10**9}) as server:
        async with proxied(tmp_path, server, WIDE._replace(tokens=3_000)) as (proxy, ask):
            body = {**ASKED, "max_tokens": 1_000}
            found = await asyncio.gather(*(ask(body=body) for _ in range(8)))
            assert {status for status, _ in found} == {200, 402} and proxy.usage.calls == 3
            assert 2_000 < server.counted <= 3_000


async def test_calls_and_answers_have_a_limit_of_their_own(tmp_path: Path) -> None:
    with model(lambda _b, _n: {"text": "x", "output": 10**9}) as server:
        async with proxied(tmp_path, server, WIDE._replace(calls=2, answer=400)) as (proxy, ask):
            found = [(await ask(body={**ASKED, "max_tokens": 9_000}))[0] for _ in range(3)]
            assert found == [200, 200, 402] and proxy.usage.output_tokens == 800
        async with proxied(tmp_path, server, WIDE._replace(output=900)) as (proxy, ask):
            assert [(await ask())[0] for _ in range(2)] == [200, 402] and proxy.usage.output_tokens == 900


async def test_an_answer_that_the_agent_does_not_wait_for_is_booked_at_its_most(tmp_path: Path) -> None:
    with model(texts("yes")) as server:
        server.hold = threading.Event()
        async with proxied(tmp_path, server) as (proxy, ask):
            waiting = asyncio.create_task(ask(body={"messages": [{"role": "user", "content": "x" * 3_000}]}))

            async def asked() -> bool:
                return bool(server.asked)

            async def booked() -> bool:
                return proxy.usage.calls == 1

            await until(asked)
            waiting.cancel()
            await asyncio.wait({waiting})
            await until(booked)
            assert proxy.usage.estimated and 1_000 <= proxy.usage.input_tokens <= 1_100
            assert proxy.usage.output_tokens == 16_000


async def test_no_call_is_paid_for_a_turn_that_is_over(tmp_path: Path) -> None:
    class Closed(StillOpen):
        def __init__(self) -> None:
            """Of no session."""

        async def check(self) -> None:
            raise asyncio.CancelledError("closed")

    with model(texts("yes")) as server:
        begin(Closed())
        async with proxied(tmp_path, server) as (proxy, ask):
            assert (await ask())[0] == 410 and proxy.spent.is_set() and server.asked == []


async def test_with_the_turn_the_socket_is_gone(tmp_path: Path) -> None:
    with model(texts("yes")) as server:
        async with proxied(tmp_path, server) as (proxy, ask):
            assert (await ask())[0] == 200 and (tmp_path / SOCKET).stat().st_mode & 0o777 == 0o600
            token = proxy.token
        assert proxy.token != token and not (tmp_path / SOCKET).exists()


async def test_no_key_of_another_file_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's proxies are used, and .netrc is not."""
    (tmp_path / "netrc").write_text("default login somebody password of-another-file\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with model(texts("yes")) as server:
        for provider in ("openai_compatible", "anthropic"):
            async with proxied(tmp_path, server, provider=provider) as (_, ask):
                assert (await ask("messages"))[0] == 200
        assert "Basic" not in json.dumps([a["headers"] for a in server.asked])
        last = server.asked[-1]["headers"]
        assert last["x-api-key"] == KEY and "authorization" not in last, "Anthropic's own header alone"
