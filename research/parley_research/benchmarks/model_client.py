"""What one model call costs: a whole turn, and aiohttp alone, on the same stub.

The stub answers every request with the same completion of about 1,000 characters, in a process of its own. Quoted is
CPU time of the calling process per call, which contention disturbs least, and calls a second with `callers` at once.

    python -m parley_research.benchmarks.model_client
"""

import asyncio
import multiprocessing
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection
from typing import Any

import msgspec

CALLERS = 100
CALLS = 2_000
PROMPT = "x" * 4_096
REPLY = {
    "answer": "yes", "reasoning": "y" * 830, "confidence": 0.5, "citations": [], "change": "kept", "change_reason": "",
    "moved_by": [], "abstains": False,
}  # fmt: skip
CONTENT = msgspec.json.encode(REPLY).decode()
ANSWER = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "stub",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": CONTENT}}],
    "usage": {"prompt_tokens": 1_000, "completion_tokens": 250, "total_tokens": 1_250},
}  # fmt: skip
BODY: dict[str, Any] = {"model": "stub", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 300}
Call = Callable[[], Awaitable[object]]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One way to call a model."""

    way: str
    cpu_us: float
    """CPU time of the calling process, microseconds a call."""
    calls_per_s: float


class _Stub(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, no more of it than the clients here need."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end].lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
            if len(self._data) < end + 4 + length:
                return
            self._data = self._data[end + 4 + length :]
            self._transport.write(self._answer)


def _serve(pipe: Connection) -> None:
    body = msgspec.json.encode(ANSWER)
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    answer = head.encode() + body

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(lambda: _Stub(answer), "127.0.0.1", 0, backlog=256)
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.to_thread(pipe.recv)

    asyncio.run(main())


async def _turn(stack: AsyncExitStack, url: str) -> Call:
    """What an agent does: prompt, request, checked reply, usage."""
    from parley.agents.context import Shown
    from parley.agents.openai import model as openai
    from parley.schemas.protocols.consensus import PanelBrief, Position

    model = openai.make({"base_url": url, "model": "stub", "concurrency": CALLERS, "usd_per_million_input": 1,
                         "usd_per_million_output": 2})  # fmt: skip
    stack.push_async_callback(model.aclose)
    shown = Shown(
        session="s", protocol="consensus", question=PROMPT[:1_024], seat="panelist_1", role="panelist", kind="answer",
        round=1, brief=PanelBrief(iteration=1, round_limit=5), reply=Position,
    )  # fmt: skip

    async def turn() -> object:
        return await model.reply(shown, lambda _text: None)

    return turn


async def _alone(stack: AsyncExitStack, url: str) -> Call:
    import aiohttp

    session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CALLERS)))

    async def by_aiohttp() -> object:
        async with session.post(f"{url}/chat/completions", data=msgspec.json.encode(BODY)) as response:
            return msgspec.json.decode(await response.read())

    return by_aiohttp


WAYS = {"aiohttp alone": _alone, "a whole turn of model openai": _turn}


async def _measure(way: str, url: str, callers: int, calls: int) -> Figure:
    async with AsyncExitStack() as stack:
        call = await WAYS[way](stack, url)

        async def caller(n: int) -> None:
            for _ in range(n):
                await call()

        await asyncio.gather(*(caller(2) for _ in range(callers)))
        before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        await asyncio.gather(*(caller(calls // callers) for _ in range(callers)))
        took_s, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    done = calls // callers * callers
    return Figure(way=way, cpu_us=cpu_s / done * 1e6, calls_per_s=done / took_s)


def measure(ways: Sequence[str] = tuple(WAYS), callers: int = CALLERS, calls: int = CALLS) -> list[Figure]:
    """Figures of the named ways, each in an event loop of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    try:
        url = f"http://127.0.0.1:{ours.recv()}/v1"
        return [asyncio.run(_measure(way, url, callers, calls)) for way in ways]
    finally:
        ours.send(None)
        server.join(5)


def main() -> None:
    """Print the table."""
    for figure in measure(sys.argv[1:] or tuple(WAYS)):
        print(f"{figure.way:32} {figure.cpu_us:7.0f} us CPU a call {figure.calls_per_s:8.0f} calls/s")


if __name__ == "__main__":
    main()
