"""Requests over aiohttp, and bodies in small pieces and within limits, before anything else sees them.

No compression is asked for, and none is taken. A body with an error status is cut at its limit; what reads another body
has its own limit (agents/endpoint/endpoint.py, agents/endpoint/events.py), and all of it one here.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2

from parley.agents.endpoint.bounds import BadBody, ReplyLimits

PIECE = 16_384
"""Bytes that are handled in one go."""
RECEIVED = 32_768
"""Bytes that the system keeps of a connection until they are read; it takes twice as many."""
MOST_ERROR = 64_000
"""Bytes that are read of a body with an error status."""
ERROR_S = 10.0
"""So long such a body may take."""
CONNECT_S = 5.0
_KEEP_S = 4.0
"""Connections are kept for less than the five seconds after which common servers close them."""


def certificates() -> ssl.SSLContext:
    """Whom httpx2 trusts. To read that takes longer than all else of a client, so clients share it."""
    return _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _trusted(file: str | None, folder: str | None) -> ssl.SSLContext:
    return httpx2.create_ssl_context()  # it looks at both variables


def proxy_of(url: str) -> str | None:
    """The environment's proxy for an address: `http_proxy` or `https_proxy`, else `all_proxy`. None: none is named,
    `no_proxy` names the host (or host and port), or it is this machine, which no proxy could reach.

    aiohttp's own way to the environment sends passwords of .netrc too.
    """
    parts = urlsplit(url)
    if _is_this_machine(parts.hostname or "") or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    named = getproxies()
    proxy = named.get(parts.scheme) or named.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a name
        return False


def session(headers: Mapping[str, str], *, connections: int, silence_s: float) -> aiohttp.ClientSession:
    """Connections to one endpoint."""
    connector = aiohttp.TCPConnector(
        limit=connections, keepalive_timeout=_KEEP_S, ssl=certificates(), socket_factory=_socket
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=_NoCookies(),
        headers={"Accept-Encoding": "identity", "User-Agent": "parley", **headers},
        timeout=aiohttp.ClientTimeout(None, sock_connect=CONNECT_S, sock_read=silence_s),
        auto_decompress=False,
    )


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


async def pieces(response: aiohttp.ClientResponse, limits: ReplyLimits) -> AsyncIterator[bytes]:
    """A body in pieces of at most `PIECE` bytes. Raises BadBody: it is compressed, or longer than any stream may be."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        named = encoding[:40] if encoding.isprintable() else "?"
        raise BadBody(
            f"content-encoding {named!r} is not taken, and was not asked for",
            "have the server, or the proxy before it, not compress, or name another with LLM_BASE_URL",
        )
    received = 0
    async for piece in response.content.iter_chunked(PIECE):
        yield piece
        received += len(piece)
        if received > limits.stream_bytes:
            raise limits.too_much("the stream", limits.stream_bytes)
        await asyncio.sleep(0)  # nothing above waits for anything while there is more to read


async def error_body(response: aiohttp.ClientResponse, limits: ReplyLimits) -> tuple[str, str]:
    """(the start of a body, why that is not all of it or nothing)."""
    data, cut = bytearray(), ""
    try:
        async with asyncio.timeout(ERROR_S):
            async for piece in pieces(response, limits):
                data += piece
                if len(data) > MOST_ERROR:
                    cut = f"its body has more than {MOST_ERROR:,} bytes"
                    break
    except TimeoutError:
        cut = f"its body took longer than {ERROR_S:g} s"
    except BadBody as error:
        cut = error.why
    except (aiohttp.ClientError, OSError):
        cut = "its body broke off"
    return data[:MOST_ERROR].decode("utf-8", "replace"), cut
