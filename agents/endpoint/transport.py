"""Reads what an endpoint sends, in small pieces and within limits, before anything else sees it.

Of the headers, those pass that are read. A body is decompressed piece by piece, so that no piece is larger than it need
be, and the event loop gets its turn between them. A body with an error status is read here and cut at its limit; what
reads another body has its own limit (agents/endpoint/endpoint.py, agents/endpoint/events.py), and all of it one here.
"""

import asyncio
import contextlib
import os
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import cache
from typing import Any

import aiohttp
import httpx2
import openai

from parley.agents.endpoint.bounds import BadBody, ReplyLimits

PIECE = 16_384
"""Bytes that are handled in one go."""
RECEIVED = 32_768
"""Bytes that the system keeps of a connection until they are read; it takes twice as many."""
MOST_ERROR = 64_000
"""Bytes that are read of a body with an error status."""
ERROR_S = 10.0
"""So long such a body may take."""
_KEPT = (b"content-type", b"retry-after", b"retry-after-ms")
_LONGEST_HEADER = 200
_KNOWN = ("gzip", "x-gzip", "deflate")
ACCEPTED = "gzip, deflate"


def certificates() -> ssl.SSLContext:
    """Whom httpx2 trusts. To read that takes longer than all else of a client, so clients share it."""
    return _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _trusted(file: str | None, folder: str | None) -> ssl.SSLContext:
    return httpx2.create_ssl_context()  # it looks at both variables


class HttpClient(openai.DefaultAioHttpClient):
    """openai's client over aiohttp, with a `Transport` around each of its transports: its own, and those of proxies."""

    def __init__(self, *, response_limits: ReplyLimits, **options: Any) -> None:
        self._limits = response_limits
        super().__init__(**{"verify": certificates(), **options})

    def _init_transport(self, *args: Any, **options: Any) -> httpx2.AsyncBaseTransport:
        return Transport(super()._init_transport(*args, **options), self._limits)

    def _init_proxy_transport(self, *args: Any, **options: Any) -> httpx2.AsyncBaseTransport:
        return Transport(super()._init_proxy_transport(*args, **options), self._limits)


class Transport(httpx2.AsyncBaseTransport):
    """Responses with the headers that are read, and a body that is decompressed and bounded."""

    def __init__(self, inner: Any, limits: ReplyLimits) -> None:
        self._inner = inner
        self._limits = limits
        inner.client = self._session

    def _session(self) -> aiohttp.ClientSession:
        pool = self._inner.limits
        connector = aiohttp.TCPConnector(
            limit=pool.max_connections or 0,
            keepalive_timeout=pool.keepalive_expiry,
            ssl=self._inner.ssl_context,
            socket_factory=_socket,
        )
        return aiohttp.ClientSession(connector=connector, cookie_jar=_NoCookies())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """See httpx2. A status of 300 or more comes with its body, `cut` among the extensions where it was."""
        response: httpx2.Response = await self._inner.handle_async_request(request)
        headers = [
            (name, value.partition(b";")[0] if name.lower() == b"content-type" else value[:_LONGEST_HEADER])
            for name, value in response.headers.raw
            if name.lower() in _KEPT
        ]
        body = _Body(response, self._limits)
        status, extensions = response.status_code, response.extensions
        if status < 300:
            return httpx2.Response(status, headers=headers, stream=body, request=request, extensions=extensions)
        data, cut = await _cut(body)
        extensions = {**extensions, "cut": cut}
        return httpx2.Response(status, headers=headers, content=data, request=request, extensions=extensions)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


def _socket(address: Any) -> socket.socket:
    """A socket that holds little of what was not read: what comes before a body is parsed all at once."""
    family, kind, protocol, *_ = address
    created = socket.socket(family, kind, protocol)
    created.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED)
    return created


class _NoCookies(aiohttp.DummyCookieJar):
    """A cookie jar that keeps nothing, so an endpoint gets nothing back."""

    def update_cookies_from_headers(self, headers: Sequence[str], response_url: Any) -> None:
        """Drop them."""


class _Body(httpx2.AsyncByteStream):
    """A body as it was before compression, in pieces of at most `PIECE` bytes.

    Iterating raises BadBody: it is longer than any stream may be, on the wire or unpacked, or cannot be unpacked.
    """

    def __init__(self, response: httpx2.Response, limits: ReplyLimits) -> None:
        self._response = response
        self._encoding = response.headers.get("content-encoding", "identity").strip().lower()
        self._limits = limits

    async def __aiter__(self) -> AsyncIterator[bytes]:
        unpack = _Unpack(self._encoding)
        received = decoded = handled = 0
        assert isinstance(self._response.stream, httpx2.AsyncByteStream)
        async for data in self._response.stream:
            received += len(data)
            handled += len(data)
            for piece in unpack.pieces(data):
                yield piece
                decoded += len(piece)
                handled += len(piece)
                if handled >= PIECE:  # nothing above waits for anything while there is more to read
                    handled = 0
                    await asyncio.sleep(0)
            if max(received, decoded) > self._limits.stream_bytes:
                raise self._limits.too_much("the stream", self._limits.stream_bytes)
            if unpack.ended:
                return

    async def aclose(self) -> None:
        """Close the connection, unless all was read."""
        await self._response.aclose()


class _Unpack:
    """One content encoding, taken off in pieces. What follows the end of the compressed part is not looked at."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("", "identity", *_KNOWN):
            named = encoding[:40] if encoding.isprintable() else "?"
            raise BadBody(f"content-encoding {named!r} is not taken, {ACCEPTED} or none are")
        self._encoding = encoding
        self._inflate: Any = None

    @property
    def ended(self) -> bool:
        """The compressed part is at its end."""
        return self._inflate is not None and bool(self._inflate.eof)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What these bytes stand for. Raises BadBody."""
        if self._encoding not in _KNOWN:
            yield from (data[at : at + PIECE] for at in range(0, len(data), PIECE))
            return
        if self._inflate is None and data:
            self._inflate = zlib.decompressobj(_window(self._encoding, data[0]))
        while self._inflate is not None and not self._inflate.eof:
            try:
                piece = self._inflate.decompress(data, PIECE)
            except zlib.error:
                raise BadBody(f"the body is no {self._encoding}") from None
            data = self._inflate.unconsumed_tail
            if piece:
                yield piece
            if not data and len(piece) < PIECE:
                return


def _window(encoding: str, first: int) -> int:
    """zlib's name of the format: `deflate` comes with and without a header."""
    if encoding != "deflate":
        return 16 + zlib.MAX_WBITS
    return zlib.MAX_WBITS if first & 0x0F == 8 else -zlib.MAX_WBITS


async def _cut(body: _Body) -> tuple[bytes, str]:
    """(the start of a body, why that is not all of it or nothing). The connection is closed."""
    data, cut = bytearray(), ""
    try:
        async with asyncio.timeout(ERROR_S):
            async for piece in body:
                data += piece
                if len(data) > MOST_ERROR:
                    cut = f"its body has more than {MOST_ERROR:,} bytes"
                    break
    except TimeoutError:
        cut = f"its body took longer than {ERROR_S:g} s"
    except BadBody as error:
        cut = error.why
    except (httpx2.HTTPError, aiohttp.ClientError, OSError):
        cut = "its body broke off"
    finally:
        with contextlib.suppress(aiohttp.ClientError, httpx2.HTTPError, OSError):
            await body.aclose()
    return bytes(data[:MOST_ERROR]), cut
