"""Attacks of several steps: slow and smuggled requests, streams without end, another's session by its id on every route
of every door."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
import pytest_asyncio
from prometheus_client import generate_latest

from parley.web.guard import BODY
from parley.web.mcp.door import MOST_OF_ONE
from tests.support.engine import until
from tests.web.attacks.target import BEGIN, BODY_S, HEAD_S, Target, target

pytestmark = pytest.mark.asyncio(loop_scope="module")
WHAT_IF = {"settings": {"threshold": 50}}
CHAT = {"model": "parley/consensus", "messages": [{"role": "user", "content": "x?"}]}
START = {"question": "x?", "protocol": "consensus"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ROUTES: list[tuple[str, str, Any]] = [
    ("GET", "/api/sessions/{}", None),
    ("GET", "/api/sessions/{}/events", None),
    ("GET", "/api/events?session={}", None),
    ("GET", "/api/sessions/{}/export/record", None),
    ("GET", "/api/sessions/{}/export/html", None),
    ("GET", "/api/sessions/{}/export/json", None),
    ("POST", "/api/sessions/{}/what-if", WHAT_IF),
    ("POST", "/api/sessions/{}/cancel", {}),
    ("POST", "/api/sessions/{}/decide", {"item": "1", "choice": "emit"}),
    ("POST", "/api/sessions/{}/fork", {"round": 1}),
    ("POST", "/api/sessions/{}/feedback", {"right": False}),
    ("POST", "/api/sessions/{}/seats/panelist_1/sit", {}),
    ("POST", "/api/sessions/{}/seats/panelist_1/leave", {}),
    ("POST", "/api/sessions/{}/seats/panelist_1/reply", {"turn": "0-0", "body": {}}),
    ("TOOL", "get_debate", {}),
    ("TOOL", "stop_debate", {}),
    ("TOOL", "explain", {}),
    ("TOOL", "replay_what_if", WHAT_IF),
]
"""Every route and tool with a session's id in it."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def attacked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Target]:
    async with target(tmp_path_factory.mktemp("attacked")) as found:
        yield found


# -- how requests are sent


async def test_a_length_and_chunks_at_once_smuggle_no_second_request(attacked: Target) -> None:
    head = f"POST /login HTTP/1.1\r\nHost: 127.0.0.1:{attacked.port}\r\nContent-Length: 4\r\n"
    token = attacked.tokens["alice"]
    inner = f"GET /api/me HTTP/1.1\r\nHost: 127.0.0.1:{attacked.port}\r\nAuthorization: Bearer {token}\r\n\r\n"
    data = f"{head}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n{inner}".encode()
    answer = await attacked.raw(data)
    assert '"name":"alice"' not in answer.text and answer.status in (400, 401)
    twice = f"{head}Content-Length: 9\r\n\r\ntoken=xyz".encode()
    assert (await attacked.raw(twice)).status == 400


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: parley=x", "a\nX: y", "a\0b", "a\rb"])
async def test_a_line_break_in_a_header_or_a_query_writes_no_header(attacked: Target, value: str) -> None:
    escaped = "".join(f"%{ord(c):02x}" for c in value)
    paths = (f"/login?code={escaped}", f"/api/sessions/{escaped}", f"/static/{escaped}", f"/s/{escaped}")
    for path, headers in (("/api/me", {"X-Trace": value}), *((path, {}) for path in paths)):
        answer = await attacked.ask("GET", path, attacked.as_("bob") | headers)
        assert answer.status < 500 and "set-cookie" not in answer.headers and "x" not in answer.headers


async def test_a_body_without_end_is_cut_at_its_limit_and_a_slow_one_at_its_time(attacked: Target) -> None:
    async def without_end() -> AsyncIterator[bytes]:
        for _ in range(20 * BODY // 50_000):
            yield b" " * 50_000

    async with attacked.browser("alice") as alice:
        for path in ("/api/estimate", f"/api/sessions/{attacked.open}/cancel", "/login", "/v1/chat/completions"):
            try:
                answer = await alice.http.post(path, content=without_end(), headers=FORM)
            except httpx.TransportError:
                continue  # it was cut while it was sent
            assert answer.status_code == 413, path
        assert (await alice.get(f"/api/sessions/{attacked.open}"))["status"] == "open"
    for path in ("/api/sessions", "/login", "/v1/chat/completions"):
        who = attacked.as_("alice") if path != "/login" else {}
        started = asyncio.get_running_loop().time()
        assert (await attacked.ask("POST", path, {"Content-Length": "1000", **FORM, **who}, b"{")).status == 408, path
        assert asyncio.get_running_loop().time() - started >= BODY_S
    unknown = await attacked.ask("POST", "/api/sessions", {"Content-Length": "16000000"}, b"{")
    assert unknown.status == 401, "who is not known has no body read"


async def test_a_head_that_comes_byte_by_byte_or_never_is_cut(attacked: Target) -> None:
    """The first one of a connection, a later one, and a connection that says nothing at all."""
    head = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{attacked.port}\r\n"

    async def slowly(begin: str) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", attacked.port)
        writer.write(begin.encode())
        cut = asyncio.ensure_future(reader.read())
        try:
            async with asyncio.timeout(HEAD_S + 5):
                while begin and not cut.done():
                    writer.write(b"X-Slow: 1\r\n")
                    await asyncio.wait((cut,), timeout=0.2)
                return await cut
        except ConnectionError:
            return b"HTTP/1.1 408 "
        finally:
            writer.close()

    started = asyncio.get_running_loop().time()
    found = await asyncio.gather(slowly(head), slowly(f"{head}\r\n{head}"), slowly(""))
    assert asyncio.get_running_loop().time() - started >= HEAD_S
    assert [told.count(b"HTTP/1.1 408 ") for told in found] == [1, 1, 1]
    assert b'{"ok":true}' in found[1], "the request before it was answered"


async def test_a_stream_outlives_the_limits_of_heads_and_bodies(attacked: Target) -> None:
    async with attacked.browser("alice") as alice, asyncio.timeout(HEAD_S + BODY_S + 10):
        async with alice.http.stream("GET", f"/api/sessions/{attacked.open}/events") as stream:
            assert stream.status_code == 200
            told = stream.aiter_raw()
            while True:
                try:
                    await asyncio.wait_for(anext(told), HEAD_S + BODY_S)
                except TimeoutError:
                    break  # quiet for longer than both limits, and not cut
        assert (await alice.get(f"/api/sessions/{attacked.open}"))["status"] == "open"


# -- what is held open


async def _held(one: Target, path: str, headers: dict[str, str]) -> tuple[int, asyncio.StreamWriter]:
    """A request that is not read to its end: (the status, what it is closed by)."""
    reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
    lines = "".join(f"{k}: {v}\r\n" for k, v in {"Host": f"127.0.0.1:{one.port}", **headers}.items())
    writer.write(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
    return int((await reader.readline()).split()[1]), writer


async def test_streams_are_limited_also_those_that_come_at_once(tmp_path: Path) -> None:
    async with target(tmp_path, streams=3) as one:
        path = f"/api/sessions/{one.open}/events"
        held = await asyncio.gather(*(_held(one, path, one.as_("alice")) for _ in range(12)))
        assert sorted(status for status, _ in held) == [200] * 3 + [429] * 9
        assert (await one.json("bob", "GET", "/api/me")).status == 200
        for _, writer in held:
            writer.close()
        async with asyncio.timeout(10):
            while "parley_gateway_streams 0.0" not in generate_latest(one.web.metrics.registry).decode():
                assert (await one.json("bob", "GET", "/healthz")).status == 200
        refused = await one.json("alice", "GET", "/api/sessions/none/events")
        assert refused.status == 404, "and none is counted that never began"
        status, writer = await _held(one, path, one.as_("alice"))
        assert status == 200
        writer.close()


async def test_who_floods_mcp_with_sessions_ends_its_own_and_nobody_elses(tmp_path: Path) -> None:
    """One that listens is ended by none: who holds as many as it may gets no further one."""
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    async with target(tmp_path) as one, one.browser("alice") as alice, one.browser("bob") as bob:

        async def begun(who: Any) -> int:
            accept = {"Accept": "application/json, text/event-stream"}
            return int((await who.http.post("/mcp", json=BEGIN, headers=accept)).status_code)

        theirs = await one.mcp_session("alice")
        first, *rest = [await one.mcp_session("bob") for _ in range(MOST_OF_ONE + 1)]
        assert (await bob.http.post("/mcp", json=asked, headers=first)).status_code == 404
        assert (await bob.http.post("/mcp", json=asked, headers=rest[-1])).status_code == 200
        assert (await alice.http.post("/mcp", json=asked, headers=theirs)).status_code == 200
        held = [await _held(one, "/mcp", {**one.as_("bob"), **headers}) for headers in rest]
        assert {status for status, _ in held} == {200}
        assert [await begun(bob), await begun(alice)] == [429, 200]
        held[0][1].close()

        async def again() -> bool:
            return await begun(bob) == 200

        await until(again)
        for _, writer in held:
            writer.close()


# -- sessions of others


@pytest.mark.parametrize("method, path, body", ROUTES, ids=lambda value: value if isinstance(value, str) else "")
async def test_anothers_session_is_as_if_not_there(attacked: Target, method: str, path: str, body: Any) -> None:
    async def told(sid: str) -> str:
        if method == "TOOL":
            said = await attacked.mcp("bob", path, {"session": sid, **body})
            assert '"isError":true' in said
            return said.replace(sid, "")
        answer = await attacked.json("bob", method, path.format(sid), body)
        assert answer.status in (400, 404), answer.text
        return f"{answer.status} {answer.text}".replace(sid, "")

    assert await told(attacked.open) == await told("0" * len(attacked.open))
    found = await attacked.json("alice", "GET", f"/api/sessions/{attacked.open}")
    assert found.document["status"] == "open" and found.document["sits"] == []


async def test_anothers_session_is_not_followed_up(attacked: Target) -> None:
    async def told(sid: str) -> str:
        answer = await attacked.json("bob", "POST", "/v1/chat/completions", {**CHAT, "parley": {"continues": sid}})
        assert answer.status == 400
        return answer.text.replace(sid, "")

    assert await told(attacked.finished) == await told("nobody")
    footer = {"role": "assistant", "content": f"x\n\nparley session {attacked.finished}"}
    chat = {**CHAT, "messages": [*CHAT["messages"], footer, {"role": "user", "content": "y?"}]}
    assert (await attacked.json("bob", "POST", "/v1/chat/completions", chat)).status == 400
    start = await attacked.json("bob", "POST", "/api/sessions", {**START, "continues": attacked.finished})
    assert start.status in (400, 404)
    said = await attacked.mcp("bob", "start_debate", {"question": "x?", "continues": attacked.finished})
    assert '"isError":true' in said and "the agreed answer" not in said


async def test_a_viewer_does_nothing(attacked: Target) -> None:
    before = len((await attacked.json("owner", "GET", "/api/sessions")).document["sessions"])
    doing = [(m, path.format(attacked.open), body) for m, path, body in ROUTES if m == "POST" and "what-if" not in path]
    doing += [("POST", "/api/sessions", START), ("POST", "/v1/chat/completions", CHAT)]
    for answer in await asyncio.gather(*(attacked.json("viewer", *one) for one in doing)):
        assert answer.status == 403 or "you do not sit on" in answer.text, answer.text
    for tool, arguments in (("stop_debate", {"session": attacked.open}), ("start_debate", {"question": "x?"})):
        assert '"isError":true' in await attacked.mcp("viewer", tool, arguments)
    found = await attacked.json("alice", "GET", f"/api/sessions/{attacked.open}")
    assert found.document["status"] == "open" and found.document["sits"] == []
    assert len((await attacked.json("owner", "GET", "/api/sessions")).document["sessions"]) == before


# -- what is told of it


async def test_health_and_metrics_say_nothing_of_sessions(attacked: Target) -> None:
    for path in ("/healthz", "/readyz"):
        assert (await attacked.ask("GET", path)).document == {"ok": True}
    shown = generate_latest(attacked.web.metrics.registry).decode()
    words = (attacked.finished, attacked.open, "alice", "bob", "Whose is this", *attacked.secrets())
    assert not [word for word in words if word in shown]


async def test_a_fault_of_the_gateway_tells_no_word_of_it(tmp_path: Path) -> None:
    async with target(tmp_path) as one:
        one.bus.server.stop()
        for who, path in (("owner", "/api/sessions"), ("bob", f"/api/sessions/{one.open}"), ("viewer", "/api/inbox")):
            answer = await one.json(who, "GET", path)
            assert answer.status in (500, 503, 404)
            assert not [s for s in one.secrets() if s in answer.text]


async def test_logs_hold_no_token_code_or_cookie(attacked: Target) -> None:
    answer = await attacked.ask("POST", "/login", FORM, f"token={attacked.tokens['owner']}")
    cookie = answer.headers["set-cookie"]
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Domain" not in cookie
    cookie = cookie.partition(";")[0]
    await attacked.ask("GET", "/login?code=a-code-of-a-link")
    await attacked.ask("GET", f"/api/me?token={attacked.tokens['bob']}")
    await attacked.ask("GET", "/api/me", {"Cookie": cookie})
    told = "\n".join(attacked.logged)
    words = (*attacked.keys_and_tokens(), cookie.partition("=")[2], "a-code-of-a-link")
    assert not [word for word in words if word in told]
