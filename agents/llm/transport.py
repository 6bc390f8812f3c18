"""The HTTP transport under the openai client: aiohttp, spoken to through httpx2's interface.

It does what a model call needs and no more: one POST, a body in one piece, a reply that is read whole or as it comes.
Closing a response that is not finished closes its connection, which is how a server learns of a cancelled call. No
redirects, no cookies.
"""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import httpx2


class _Body(httpx2.AsyncByteStream):
    """The reply's body as it comes."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, asyncio.IncompleteReadError, ConnectionError) as error:
            raise httpx2.ReadError(type(error).__name__) from error
        except TimeoutError as error:
            raise httpx2.ReadTimeout("silence") from error

    async def aclose(self) -> None:
        """Give the connection back when the reply was read to its end, else close it."""
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """Requests of an httpx2 client over one aiohttp session, made when the first request is."""

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=60),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
                auto_decompress=False,
            )
        return self._session

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request.

        Raises
        ------
        httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ReadError, httpx2.ReadTimeout
            As httpx2's own transport would.
        """
        times = request.extensions.get("timeout", {})
        headers = [(k, v) for k, v in request.headers.multi_items() if k not in ("host", "content-length")]
        try:
            response = await self._open().request(
                request.method,
                str(request.url),
                data=request.content,
                headers=headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=times.get("connect"), sock_read=times.get("read")
                ),
            )
        except aiohttp.ServerTimeoutError as error:
            slow = isinstance(error, aiohttp.ConnectionTimeoutError)
            raise (httpx2.ConnectTimeout if slow else httpx2.ReadTimeout)("silence", request=request) from error
        except aiohttp.ClientConnectorError as error:
            raise httpx2.ConnectError(type(error).__name__, request=request) from error
        except (aiohttp.ClientError, ConnectionError) as error:
            raise httpx2.ReadError(type(error).__name__, request=request) from error
        return httpx2.Response(response.status, headers=response.raw_headers, stream=_Body(response), request=request)

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()


def http_client(connections: int) -> httpx2.AsyncClient:
    """A client for openai's `http_client`, of at most so many connections at once."""
    return httpx2.AsyncClient(transport=AiohttpTransport(connections), trust_env=False)
