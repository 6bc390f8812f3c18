"""Metrics, health and readiness of one service over HTTP.

    GET /metrics   every series: OpenMetrics where it is asked for, else the Prometheus text format
    GET /healthz   200 while the event loop turns
    GET /readyz    200 when the service can take work, else 503 and the reason

A hand-written responder: three fixed pages, GET and HEAD only, a bounded head, a deadline, one request a connection.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

MAX_HEAD = 16_384
"""Bytes of a request's line and headers."""
MAX_CONNECTIONS = 64
REQUEST_TIMEOUT_S = 5.0

_PHRASES = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}
_TEXT = "text/plain; charset=utf-8"

Page = tuple[int, str, bytes]
"""Status, content type, body."""


class HealthServer:
    """Serves the pages from `async with` to its end; closing twice is fine.

    Parameters
    ----------
    registry
        Whose series /metrics shows.
    ready
        None when the service can take work, else why not, in words.
    host, port
        Where to listen. Port 0 takes any free one; `port` and `url` say which.

    Raises
    ------
    OSError
        The address is taken or not ours.
    """

    def __init__(
        self, registry: CollectorRegistry, ready: Callable[[], str | None], host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self._registry = registry
        self._ready = ready
        self._host = host
        self._wanted = port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "HealthServer":
        self._server = await asyncio.start_server(self._connected, self._host, self._wanted, limit=MAX_HEAD)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop listening, and drop the requests under way."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        assert self._server is not None, "the server is open"
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """Address of the pages, without a path."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}"

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                if len(self._tasks) > MAX_CONNECTIONS:
                    method, page = "GET", _page(503, "too many connections")
                else:
                    method, page = await self._answer(reader)
                writer.write(_response(method, page))
                await writer.drain()
        except (OSError, TimeoutError):
            pass  # the asker has gone, or is too slow to be waited for
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[str, Page]:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return "GET", _page(431, f"a request's head may have at most {MAX_HEAD:,} bytes")
        except asyncio.IncompleteReadError:
            return "GET", _page(400, "the request ended early")
        line, *fields = head.decode("latin-1").split("\r\n")
        words = line.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return "GET", _page(400, "not an HTTP/1 request")
        method, target, _ = words
        if method not in ("GET", "HEAD"):
            return method, _page(405, "only GET and HEAD")
        headers = {name.strip().lower(): value.strip() for name, _, value in (f.partition(":") for f in fields if f)}
        return method, self._route(target.partition("?")[0], headers.get("accept", ""))

    def _route(self, path: str, accept: str) -> Page:
        if path == "/metrics":
            encode, content_type = choose_encoder(accept)
            return 200, content_type, encode(self._registry)
        if path == "/healthz":
            return _page(200, "ok")
        if path == "/readyz":
            why = self._ready()
            return _page(200, "ready") if why is None else _page(503, f"not ready: {why}")
        return _page(404, "pages are /metrics, /healthz and /readyz")


def _page(status: int, text: str) -> Page:
    return status, _TEXT, f"{text}\n".encode()


def _response(method: str, page: Page) -> bytes:
    status, content_type, body = page
    allow = "Allow: GET, HEAD\r\n" if status == 405 else ""
    head = (
        f"HTTP/1.1 {status} {_PHRASES[status]}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        f"{allow}Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
    return head.encode("latin-1") + (b"" if method == "HEAD" else body)
