"""One endpoint: a chat completion asked for, read, and everything that can go wrong told apart by what it costs.

    Failure
    ├─ Rejected    an HTTP status of 400 or more, or an error in a body: nothing was paid unless text came before it
    └─ Broken      no connection, silence, an end in mid-stream, a body that is no completion; `paid`: it may have been

The openai client makes the request and says what its status means, over aiohttp (its own option), and hands the body
back as bytes: model objects and httpx2's transport cost two thirds of a call (docs/reports/performance.md).
`max_retries` is 0.
Every body comes through agents/endpoint/transport.py and has a limit (docs/security.md).
"""

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import httpx2
import msgspec
import openai

from parley.agents.endpoint.bounds import BadBody, Failed, ReplyLimits
from parley.agents.endpoint.completion import Reading, ServerAnswer, decode, ends_whole, without_key
from parley.agents.endpoint.errors import error_parts
from parley.agents.endpoint.events import detect_stream, events
from parley.agents.endpoint.limits import retry_after_s
from parley.agents.endpoint.transport import ACCEPTED, MOST_ERROR, HttpClient
from parley.agents.secrets import Secret, Stream, scrub
from parley.agents.still_open import before_request

CONNECT_S = 5.0
_KEEP_S = 4.0
"""Connections are kept for less than the five seconds after which common servers close them."""
_OF_THIS_MACHINE = tuple(
    f"X-Stainless-{of}"
    for of in (
        "Lang",
        "Package-Version",
        "OS",
        "Arch",
        "Runtime",
        "Runtime-Version",
        "Async",
        "Retry-Count",
        "Read-Timeout",
    )
)
"""Headers by which the client describes where it runs."""
MOST_MODELS = 50_000
"""Objects in a server's list of models."""
_OVERLOADED = re.compile(
    r"overloaded|unavailable|rate.?limit|too many requests|try again|server.?error|internal|timeout", re.I
)
_HEARD = 8_192
"""Characters that a listener hears at once."""
logging.getLogger("httpx2").setLevel(logging.WARNING)  # it would log every address


class Failure(Exception):
    """Base: there is no completion. `why` holds no key and no address."""

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
    """The request did not come to an end that can be used."""

    def __init__(self, why: str, *, paid: bool, text: str = "", reached: bool = False) -> None:
        self.paid = paid
        self.reached = reached or paid
        self.text = text
        super().__init__(why)


class _Model(msgspec.Struct, gc=False):
    id: str


class _Listed(msgspec.Struct):
    data: list[_Model]


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
        pool = httpx2.Limits(
            max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=_KEEP_S
        )
        timeout = httpx2.Timeout(None, connect=CONNECT_S, read=silence_s)
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=key.reveal() if key is not None else "none",
            max_retries=0,
            timeout=timeout,
            http_client=HttpClient(response_limits=self._limits, limits=pool, timeout=timeout, follow_redirects=False),
        )
        # The client would add the first two from variables that are meant for OpenAI. The others tell of this machine:
        # no endpoint needs them, and each costs time in every request.
        left_out = ["OpenAI-Organization", "OpenAI-Project", *_OF_THIS_MACHINE]
        left_out += ["Authorization"] if key is None else []
        self._headers: dict[str, str | openai.Omit] = {name: openai.Omit() for name in left_out}
        self._headers["Accept-Encoding"] = ACCEPTED
        self._base = str(self._client.base_url).rstrip("/")

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def complete(self, body: dict[str, Any], on_text: Callable[[str], None]) -> ServerAnswer:
        """One chat completion; `on_text` hears its text as it comes, if the body asks for a stream.

        Cancelling closes the connection.

        Raises
        ------
        Rejected, Broken
        """
        reading = Reading(self._limits, self._key)
        try:
            async with self._request("/chat/completions", msgspec.json.encode(body), costs=True) as response:
                pieces, is_stream = await detect_stream(response.aiter_raw(), response.headers.get("content-type", ""))
                if is_stream:
                    await self._stream(pieces, reading, on_text)
                else:
                    self._read_whole(await self._read(pieces, "the reply"), reading)
        except (Broken, Rejected) as error:
            error.text = reading.done().written
            raise
        return reading.done()

    async def models(self) -> tuple[str, ...]:
        """Names of the models that the server lists: costs nothing.

        Raises
        ------
        Rejected, Broken
        """
        async with self._request("/models", None, costs=False) as response:
            data = await self._read(response.aiter_raw(), "the server's list of models")
            if data.count(b"{") > MOST_MODELS:
                raise BadBody(f"the server's list of models has more than {MOST_MODELS:,} entries")
            try:
                listed = decode(data, _Listed, "the server's list of models cannot be read: it").data
            except msgspec.ValidationError:
                raise BadBody("the server's list of models cannot be read") from None
            return tuple(model.id.removeprefix("models/") for model in listed)

    async def fetch(self, path: str, body: dict[str, Any] | None = None) -> bytearray:
        """What the server says at a path of its own, undecoded; with a body, it is posted. Costs nothing.

        Raises
        ------
        Rejected, Broken
        """
        content = None if body is None else msgspec.json.encode(body)
        async with self._request(path, content, costs=False) as response:
            return await self._read(response.aiter_raw(), "the server's answer")

    @contextlib.asynccontextmanager
    async def _request(
        self, path: str, content: bytes | None, *, costs: bool, within_s: float | None = None
    ) -> AsyncIterator[httpx2.Response]:
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
        options: Any = {"headers": self._headers}
        if within_s is not None:
            options["timeout"] = httpx2.Timeout(within_s, connect=min(CONNECT_S, within_s))
        # Asked for as its own class, the response comes as it is, unread, whatever stream class is named.
        request: Any = {
            "cast_to": httpx2.Response,
            "stream": True,
            "stream_cls": openai.AsyncStream[Any],
            "options": options,
        }
        if costs:
            await before_request()
        here = False
        time_limit = asyncio.timeout(self._limits.reply_s)
        try:
            async with time_limit:
                response: httpx2.Response = await (
                    self._client.get(url, **request)
                    if content is None
                    else self._client.post(url, content=content, **request)
                )
                here = True
                try:
                    yield response
                finally:
                    with contextlib.suppress(aiohttp.ClientError, httpx2.HTTPError, OSError):
                        await response.aclose()
        except openai.APIStatusError as error:
            raise self._rejected(error) from None
        except Failed as error:
            raise self._failed(error) from None
        except BadBody as error:
            raise Broken(error.why, paid=costs, reached=True) from None
        except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            why, reached = _trouble(error)
            if time_limit.expired():
                why, reached = (
                    f"the reply took longer than {self._limits.reply_s:g} s; the setting is LLM_REPLY_S",
                    True,
                )
            raise Broken(why, paid=costs and (here or reached)) from None

    def _rejected(self, error: openai.APIStatusError) -> Rejected:
        message, code, body = error_parts(error.response.text)
        notes = ["a redirect, which is not followed"] if error.status_code < 400 else []
        if cut := error.response.extensions.get("cut"):
            notes.append(cut)
        return Rejected(
            error.status_code,
            ", ".join(notes + [s for s in [without_key(message, self._key)] if s]),
            code,
            retry_after_s(error.response.headers),
            body=body,
        )

    def _failed(self, error: Failed) -> Rejected:
        """An error with status 200: its code may be the status that it would have had."""
        if len(error.error) > MOST_ERROR:
            message, code, body = error.message, "", error.message
        else:
            message, code, body = error_parts(error.error.decode("utf-8", "replace"))
        status = int(code) if re.fullmatch(r"[45]\d\d", code) else 503 if _OVERLOADED.search(body) else 400
        return Rejected(status, without_key(message, self._key), code, None, body=body, within=True)

    async def _read(self, pieces: AsyncIterator[bytes], what: str, most: int | None = None) -> bytearray:
        most = self._limits.reply_bytes if most is None else most
        data = bytearray()
        async for piece in pieces:
            data += piece
            if len(data) > most:
                raise self._limits.too_much(what, most)
        return data

    def _read_whole(self, data: bytearray, reading: Reading) -> None:
        if data.strip():
            reading.take(data, "the server's answer")

    async def _stream(self, pieces: AsyncIterator[bytes], reading: Reading, on_text: Callable[[str], None]) -> None:
        started, heard = time.perf_counter(), Stream(self._key)
        async for data in events(pieces, self._limits):
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


def _trouble(error: BaseException) -> tuple[str, bool]:
    """What went wrong with a connection, in words, and whether the request may have reached the server.

    The client's aiohttp transport calls a server that hung up a connect time-out, so the cause at the bottom counts.
    """
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__
    if any(isinstance(e, aiohttp.ConnectionTimeoutError) for e in chain):
        return "no connection within the time allowed", False
    if any(isinstance(e, aiohttp.ClientConnectorError) for e in chain):
        root = next(e for e in chain if isinstance(e, aiohttp.ClientConnectorError))
        return f"no connection: {scrub(root.strerror or type(root).__name__, most=80)}", False
    if any(isinstance(e, aiohttp.SocketTimeoutError | httpx2.ReadTimeout) for e in chain):
        return "the server fell silent", True
    if any(isinstance(e, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError | OSError) for e in chain):
        return "the server closed the connection before the reply was complete", True
    return f"the connection failed ({type(chain[-1]).__name__})", True
