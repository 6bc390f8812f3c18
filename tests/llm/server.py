"""A server of chat completions for exact cases: each request is answered by the next step of a script."""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from queue import SimpleQueue
from typing import Any

Write = Callable[[bytes], Awaitable[None]]


class Request:
    """What one request said."""

    def __init__(self, head: str, body: bytes) -> None:
        first, *lines = head.split("\r\n")
        self.path = first.split(" ")[1]
        self.headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
        self.body: dict[str, Any] = json.loads(body or b"{}")

    @property
    def format(self) -> str:
        """The type of its response_format, `text` if it has none."""
        return str(self.body.get("response_format", {}).get("type", "text"))

    @property
    def prompt(self) -> str:
        """All its messages."""
        return "\n\n".join(m["content"] for m in self.body["messages"])


Step = Callable[["ModelServer", Request, asyncio.StreamWriter], Awaitable[None]]


class ModelServer:
    """The script's server; the last step is repeated. `url` is a base URL."""

    def __init__(self, steps: Sequence[Step], look: Step | None = None) -> None:
        self._steps = list(steps)
        self._look = look
        self.requests: list[Request] = []
        self.url = ""
        self.gone = asyncio.Event()
        """The client closed its connection while a step was waiting for that."""
        self.arrived = asyncio.Event()
        """The first request was read."""
        self.under_way = 0
        self.most_at_once = 0
        self._more = asyncio.Condition()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            await self._answer(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), 1)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int(head.lower().partition("content-length:")[2].partition("\r\n")[0] or 0)
                request = Request(head.strip(), await reader.readexactly(length))
                if self._look is not None and not request.path.endswith("/completions"):
                    await self._look(self, request, writer)
                    continue
                self.requests.append(request)
                step = self._steps[min(len(self.requests), len(self._steps)) - 1]
                self.under_way += 1
                self.most_at_once = max(self.most_at_once, self.under_way)
                self.arrived.set()
                async with self._more:
                    self._more.notify_all()
                try:
                    await step(self, request, writer)
                finally:
                    self.under_way -= 1
                if writer.is_closing():
                    break
                if step.__dict__.get("until_gone"):
                    assert await reader.read() == b""
                    self.gone.set()
                    break

    async def crowd(self, of: int, at_most_s: float) -> None:
        """Until so many requests are under way at once, or the time is up."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(at_most_s), self._more:
                await self._more.wait_for(lambda: self.under_way >= of)


@asynccontextmanager
async def model_server(*steps: Step, look: Step | None = None) -> AsyncIterator[ModelServer]:
    """A server on a free port; closed at the end. `look` answers all but completions (a list of models, a window),
    which is then no request; without it these are answered by the steps too."""
    server = ModelServer(steps, look)
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(server.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listening.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def served(step: Step, look: Step | None) -> Iterator[ModelServer]:
    """The same in a thread of its own."""
    started: SimpleQueue[ModelServer] = SimpleQueue()
    over = threading.Event()

    async def serve() -> None:
        async with model_server(step, look=look) as server:
            started.put(server)
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    try:
        yield started.get()
    finally:
        over.set()
        thread.join()


def _head(status: int, kind: str, headers: dict[str, str], length: int | None) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", *(f"{k}: {v}" for k, v in headers.items())]
    lines.append("transfer-encoding: chunked" if length is None else f"content-length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def raw(data: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> Step:
    """Answers with these bytes."""

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        named = {k.replace("_", "-"): v for k, v in headers.items()}
        writer.write(_head(status, kind, named, len(data)) + data)
        await writer.drain()

    return step


def fails(status: int, message: str = "no", code: str = "", **headers: str) -> Step:
    """Answers with an error."""
    error = {"error": {"message": message, "type": "x", "param": None, "code": code or None}}
    return raw(json.dumps(error).encode(), status, **headers)


def says(content: Any, *, usage: Any = (100, 20), finish: str = "stop", details: Any = None, **message: Any) -> Step:
    """Answers with a completion, whole or as a stream, as the request wants it. `content` may be an object."""
    text = content if isinstance(content, str) else json.dumps(content)
    counted = {"prompt_tokens": usage[0], "completion_tokens": usage[1], **(details or {})} if usage else None

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        if not request.body.get("stream"):
            choice = {"index": 0, "finish_reason": finish, "message": {"content": text, **message}}
            body = {"object": "chat.completion", "choices": [choice], **({"usage": counted} if counted else {})}
            await raw(json.dumps(body).encode())(server, request, writer)
            return
        writer.write(_head(200, "text/event-stream", {}, None))
        for i in range(0, len(text), 7):
            _event(writer, {"choices": [{"delta": {"content": text[i : i + 7]}}]})
        _event(writer, {"choices": [{"delta": message, "finish_reason": finish}]})
        if counted and request.body.get("stream_options"):
            _event(writer, {"choices": [], "usage": counted})
        _chunk(writer, b": keep-alive\n\ndata: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    return step


def thinks(tokens: int, content: Any, *, answer_tokens: int = 120, told: bool = True) -> Step:
    """A model that thinks first, and counts its thoughts among the completion's tokens. It needs so many before the
    first word of its answer, and stops where the request's limit is.

    Parameters
    ----------
    told
        Its usage says how many tokens were thoughts.
    """

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        limit = request.body.get("max_completion_tokens") or request.body["max_tokens"]
        cut = limit < tokens + answer_tokens
        used = min(limit, tokens + answer_tokens)
        details = {"completion_tokens_details": {"reasoning_tokens": min(limit, tokens)}} if told else {}
        answer = says(
            "" if cut else content, usage=(900, used), finish="length" if cut else "stop", details=details,
            reasoning_content="Let me see ..." if told else "",
        )  # fmt: skip
        await answer(server, request, writer)

    return step


def breaks_off(text: str, politely: bool = False) -> Step:
    """Streams this text, then hangs up, or ends its stream as if that were all."""

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(_head(200, "text/event-stream", {}, None))
        _event(writer, {"choices": [{"delta": {"content": text}}]})
        if politely:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        if not politely:
            writer.close()

    return step


def hangs_up() -> Step:
    """Closes the connection without a word."""

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.close()

    return step


def goes_silent(text: str = "") -> Step:
    """Streams this text, then says nothing more until the client is gone."""

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        if text:
            writer.write(_head(200, "text/event-stream", {}, None))
            _event(writer, {"choices": [{"delta": {"content": text}}]})
            await writer.drain()

    step.__dict__["until_gone"] = True
    return step


def _event(writer: asyncio.StreamWriter, data: Any) -> None:
    _chunk(writer, b"data: " + json.dumps(data).encode() + b"\n\n")


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
