"""Endpoints that mean harm: whatever they send, a worker's memory and its event loop stay bounded, and an error names
the limit. How much each did: docs/reports/hostile-endpoints.md."""

import asyncio
import contextlib
import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from parley.agents.endpoint.bounds import BadBody, ReplyLimits
from parley.agents.endpoint.events import events
from parley.agents.models import ModelUnavailable
from parley.schemas.turn import Caps
from tests.llm.server import ModelServer, Request, _head, model_server, raw, says
from tests.llm.support import FULL, asked, model, silent
from tests.security.hostile_endpoint import MODES, trickles

ROOT = Path(__file__).resolve().parents[2]
MOST_MB = 150
MOST_BLOCKED_S = 1.0
"""Of CPU time. Measured is less than 0.1; a machine that is busy with other tests takes longer."""
GOOD = json.dumps({"choices": [{"message": {"content": json.dumps(FULL)}, "finish_reason": "stop"}]}).encode()
CALLS = sorted({mode.call for mode in MODES.values()})


async def suffered(names: list[str], times: int) -> list[dict[str, Any]]:
    """What these modes did to a process that calls each, so often at once."""
    async with contextlib.AsyncExitStack() as stack:
        given = []
        for name in names:
            mode = MODES[name]
            server = await stack.enter_async_context(model_server(says(FULL), mode.step))
            given.append((name, server.url, mode.call, mode.seconds))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.security.endpoint_victim", str(times), cwd=ROOT,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            out, err = await process.communicate(json.dumps(given).encode())
        finally:
            if process.returncode is None:
                process.kill()
        found = [json.loads(line) for line in out.splitlines()]
        assert [f["name"] for f in found] == names, err.decode()
        return found


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("call", CALLS)
async def test_no_mode_takes_memory_or_the_loop_and_each_is_named(call: str) -> None:
    wrong = []
    for found in await suffered([name for name, mode in MODES.items() if mode.call == call], 1):
        (error,) = found["errors"]
        named = re.search(MODES[found["name"]].why, error) and " raised: " not in error
        if not named or found["peak_mb"] > MOST_MB or found["blocked_cpu_s"] > MOST_BLOCKED_S:
            wrong.append(found)
    assert not wrong


def test_the_documented_figures_are_of_these_modes() -> None:
    table = (ROOT / "docs" / "reports" / "hostile-endpoints.md").read_text(encoding="utf-8").partition("| mode |")[2]
    assert re.findall(r"^\| (.+?) \| \d+ \| \d+ ms \|$", table, re.M) == list(MODES)


# -- the limits themselves
async def test_a_reply_that_trickles_in_ends_at_its_limit() -> None:
    async with model_server(trickles(b": x\n", 0.01)) as server, model(server.url, reply_s=0.3) as made:
        with pytest.raises(ModelUnavailable, match=r"longer than 0\.3 s; the setting is LLM_REPLY_S"):
            await made.reply(asked(stream=True, caps=Caps(calls=1)), silent)


async def test_a_line_separator_in_a_text_does_not_cut_its_event() -> None:
    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        delta = {"content": json.dumps({**FULL, "answer": "A\u2028B"}, ensure_ascii=False)}
        chunk = {"choices": [{"delta": delta, "finish_reason": "stop"}]}
        data = f"data: {json.dumps(chunk, ensure_ascii=False)}\n\ndata: [DONE]\n\n".encode()
        writer.write(_head(200, "text/event-stream; charset=utf-8", {}, len(data)) + data)
        await writer.drain()

    async with model_server(step) as server, model(server.url) as made:
        assert (await made.reply(asked(stream=True), silent)).body.answer == "A\u2028B"


async def test_an_endpoint_gets_no_cookie_back() -> None:
    async with model_server(raw(GOOD, set_cookie="a=b; Path=/")) as server, model(server.url) as made:
        for _ in range(2):
            await made.reply(asked(), silent)
    assert [r.headers.get("cookie") for r in server.requests] == [None, None]


async def _lines(*pieces: bytes, most: int = 400) -> list[bytes]:
    async def coming() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    return [data async for data in events(coming(), ReplyLimits(reply_bytes=most))]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
async def test_events_are_the_same_however_they_are_cut(end: bytes, size: int) -> None:
    text = end.join([b": hello", b"data: a", b"data:b", b"", b"id: 7", b"", b"data: c", b"", b"", b"data: d"])
    assert await _lines(*(text[i : i + size] for i in range(0, len(text), size))) == [b"a\nb", b"c", b"d"]


async def test_a_line_and_an_event_have_a_limit_each() -> None:
    assert await _lines(b"data:" + b"x" * 95 + b"\n\n") == [b"x" * 95]
    with pytest.raises(BadBody, match="a line of the stream has more than 100 bytes, a quarter of LLM_REPLY_BYTES"):
        await _lines(b"data:" + b"x" * 96)
    with pytest.raises(BadBody, match="an event of the stream has more than 100 bytes"):
        await _lines(*[b"data: x\n"] * 60)
