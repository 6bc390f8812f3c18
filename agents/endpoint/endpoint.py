"""One endpoint: a chat completion asked for, read, and everything that can go wrong told apart by what it costs.

    Failure
    ├─ Rejected    an HTTP status of 400 or more, or an error in a body: nothing was paid unless text came before it
    └─ Broken      no connection, silence, an end in mid-stream, a body that is no completion; `paid`: it may have been

aiohttp makes the request (docs/decisions/0080-models-are-asked-over-aiohttp.md). Every body comes through
agents/endpoint/transport.py and has a limit (docs/security.md).
"""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import msgspec

from parley.agents.endpoint.bounds import BadBody, Failed, ReplyLimits
from parley.agents.endpoint.completion import Reading, ServerAnswer, ends_whole, without_key
from parley.agents.endpoint.errors import error_parts
from parley.agents.endpoint.events import detect_stream, events
from parley.agents.endpoint.limits import retry_after_s
from parley.agents.endpoint.transport import MOST_ERROR, error_body, pieces, proxy_of, session
from parley.agents.secrets import Secret, Stream, scrub
from parley.agents.still_open import before_request

_OVERLOADED = re.compile(
    r"overloaded|unavailable|rate.?limit|too many requests|try again|server.?error|internal|timeout", re.I
)
_PROXY = "the proxy that http_proxy, https_proxy or all_proxy names"
_HEARD = 8_192
"""Characters that a listener hears at once."""


class Failure(Exception):
    """Base: there is no completion. `why` holds no key, and no address but one that a redirect names."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class Rejected(Failure):
    """The server answered with an error status, or with an error in a body whose status is 200 (`within`)."""

    def __init__(
        self, status: int, message: str, code: str, retry_after: float | None, *, body: str = "", within: bool = False
    ) -> None:
        self.status = status
        self.body = body
        """All that the server said, for what can be learned of it. It may hold a key: it is shown to nobody."""
        self.within = within
        self.text = ""
        """What the model had said before it."""
        self.message = message
        self.code = code
        self.retry_after_s = retry_after
        how = "the server failed" if within else f"HTTP {status}"
        super().__init__(how + (f"{': ' if within else ', '}{message}" if message else ""))


class Broken(Failure):
    """The request did not come to an end that can be used. `cure`: what mends it where the same would come again."""

    def __init__(self, why: str, *, paid: bool, text: str = "", reached: bool = False, cure: str = "") -> None:
        self.paid = paid
        self.cure = cure
        self.reached = reached or paid
        self.text = text
        super().__init__(why)


class Endpoint:
    """Requests to one base URL with one key. Safe for several at once on one event loop."""

    def __init__(
        self,
        base_url: str,
        key: Secret | None,
        *,
        connections: int,
        silence_s: float,
        limits: ReplyLimits | None = None,
    ) -> None:
        self._key = key
        self._limits = limits or ReplyLimits()
        self._base = base_url.rstrip("/")
        self._proxy = proxy_of(base_url)
        bearer = {} if key is None else {"Authorization": f"Bearer {key.reveal()}"}
        headers = {"Accept": "application/json", "Content-Type": "application/json", **bearer}
        self._session = session(headers, connections=connections, silence_s=silence_s)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def complete(self, body: dict[str, Any], on_text: Callable[[str], None]) -> ServerAnswer:
        """One chat completion; `on_text` hears its text as it comes, if the body asks for a stream.

        Cancelling closes the connection. Raises Rejected, Broken.
        """
        reading = Reading(self._limits, self._key)
        try:
            async with self._request("/chat/completions", msgspec.json.encode(body), costs=True) as response:
                kind = response.headers.get("content-type", "").partition(";")[0].strip()
                coming, is_stream = await detect_stream(pieces(response, self._limits), kind)
                if is_stream:
                    await self._stream(coming, reading, on_text)
                elif (data := await self._read(coming, "the reply")).strip():
                    reading.take(data, "the server's answer")
        except (Broken, Rejected) as error:
            error.text = reading.done().written
            raise
        return reading.done()

    async def fetch(self, path: str, body: dict[str, Any] | None = None) -> bytearray:
        """What the server says at a path of its own, undecoded; with a body, it is posted. Costs nothing. Raises
        Rejected, Broken."""
        content = None if body is None else msgspec.json.encode(body)
        async with self._request(path, content, costs=False) as response:
            return await self._read(pieces(response, self._limits), "the server's answer")

    @contextlib.asynccontextmanager
    async def _request(self, path: str, content: bytes | None, *, costs: bool) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response to one request with its body unread; what goes wrong until it is read as a Failure.

        Parameters
        ----------
        path
            Under the base URL, or a whole address.
        content
            None: GET.
        costs
            A request that may have been served may have been paid.
        """
        url = path if "://" in path else self._base + path
        if costs:
            await before_request()
        here = False
        time_limit = asyncio.timeout(self._limits.reply_s)
        try:
            async with time_limit:
                method = "GET" if content is None else "POST"
                response = await self._session.request(
                    method, url, data=content, proxy=self._proxy, allow_redirects=False
                )
                here = True
                try:
                    if response.status == 407 and self._proxy is not None:
                        raise _by_proxy(407)
                    if response.status >= 300:
                        raise await self._rejected(response)
                    yield response
                finally:
                    if not response.content.at_eof():
                        response.close()
                    response.release()
        except Failed as error:
            raise self._failed(error) from None
        except BadBody as error:
            raise Broken(error.why, paid=costs, reached=True, cure=error.cure) from None
        except aiohttp.ClientHttpProxyError as error:
            raise _by_proxy(error.status) from None
        except (aiohttp.ClientError, OSError) as error:
            why, reached = _trouble(error)
            if time_limit.expired():
                why = f"the reply took longer than {self._limits.reply_s:g} s; the setting is LLM_REPLY_S"
                reached = True
            raise Broken(why, paid=costs and (here or reached)) from None

    async def _rejected(self, response: aiohttp.ClientResponse) -> Rejected:
        text, cut = await error_body(response, self._limits)
        message, code, body = error_parts(text)
        notes = (f"a redirect{self._location(response)}, which is not followed" if response.status < 400 else "", cut)
        return Rejected(
            response.status,
            ", ".join(said for said in (*notes, without_key(message, self._key)) if said),
            code,
            retry_after_s(response.headers),
            body=body,
        )

    def _location(self, response: aiohttp.ClientResponse) -> str:
        """Where a redirect leads, as LLM_BASE_URL would name it: without what may be secret in an address."""
        try:
            to = urlsplit(response.headers.get("location", ""))
        except ValueError:
            return ""
        at = urlunsplit(("", to.netloc.rpartition("@")[2], to.path.removesuffix("/chat/completions"), "", ""))
        return f" to {to.scheme}{':' if to.scheme else ''}{without_key(at, self._key)}" if at else ""

    def _failed(self, error: Failed) -> Rejected:
        """An error with status 200: its code may be the status that it would have had."""
        if len(error.error) > MOST_ERROR:
            message, code, body = error.message, "", error.message
        else:
            message, code, body = error_parts(error.error.decode("utf-8", "replace"))
        status = int(code) if re.fullmatch(r"[45]\d\d", code) else 503 if _OVERLOADED.search(body) else 400
        return Rejected(status, without_key(message, self._key), code, None, body=body, within=True)

    async def _read(self, coming: AsyncIterator[bytes], what: str) -> bytearray:
        data = bytearray()
        async for piece in coming:
            data += piece
            if len(data) > self._limits.reply_bytes:
                raise self._limits.too_much(what, self._limits.reply_bytes)
        return data

    async def _stream(self, coming: AsyncIterator[bytes], reading: Reading, on_text: Callable[[str], None]) -> None:
        started, heard = time.perf_counter(), Stream(self._key)
        async for data in events(coming, self._limits):
            if data == b"[DONE]":
                break
            text = heard.feed(reading.take(data, "a part of the server's stream"))
            if text and reading.answer.first_token_s is None:
                reading.answer.first_token_s = time.perf_counter() - started
            for at in range(0, len(text), _HEARD):
                on_text(text[at : at + _HEARD])
                if len(text) > _HEARD:
                    await asyncio.sleep(0)
        else:
            self._check_whole(reading.done())
        if rest := heard.rest():
            on_text(rest)

    def _check_whole(self, answer: ServerAnswer) -> None:
        if answer.written and not answer.finish and not ends_whole(answer.text):
            raise BadBody("the server ended its stream before the reply was complete")


def _by_proxy(status: int) -> Broken:
    """The proxy's own refusal. What a proxy fails at (500 and above) may heal."""
    cure = "a name and a password stand before its host (http://NAME:PASSWORD@HOST), no_proxy names who needs no proxy"
    return Broken(f"{_PROXY} refuses it (HTTP {status})", paid=False, cure=cure if status < 500 else "")


def _trouble(error: Exception) -> tuple[str, bool]:
    """What went wrong with a connection, in words, and whether the request may have reached the server."""
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return "no connection within the time allowed", False
    if isinstance(error, aiohttp.ClientConnectorError):
        to = f" to {_PROXY}" if isinstance(error, aiohttp.ClientProxyConnectionError) else ""
        return f"no connection{to}: {scrub(error.strerror or type(error).__name__, most=80)}", False
    if isinstance(error, aiohttp.SocketTimeoutError):
        return "the server fell silent", True
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError | OSError):
        return "the server closed the connection before the reply was complete", True
    return f"the connection failed ({type(error).__name__})", True
