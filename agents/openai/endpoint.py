"""One endpoint: a chat completion asked for, read, and everything that can go wrong told apart by what it costs.

    Failure
    ├─ Rejected    an HTTP status of 400 or more: nothing was paid
    └─ Broken      no connection, silence, an end in mid-stream, a body that is no completion; `paid`: it may have been

The openai client makes the request and says what its status means, over aiohttp (its own option), and hands the body
back as bytes: model objects and httpx2's transport cost two thirds of a call (docs/models.md). `max_retries` is 0.
"""

import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import httpx2
import msgspec
import openai

from agents.openai.limits import retry_after_s
from agents.secrets import Secret, scrub

CONNECT_S = 5.0
_KEEP_S = 4.0
"""Connections are kept for less than the five seconds after which common servers close them."""
MOST_BYTES = 16_000_000
"""Of one reply."""
logging.getLogger("httpx2").setLevel(logging.WARNING)  # it would log every address


class Failure(Exception):
    """Base: there is no completion. `why` holds no key and no address."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class Rejected(Failure):
    """The server answered with an error status."""

    def __init__(self, status: int, said: str, code: str, retry_after: float | None) -> None:
        self.status = status
        self.said = said
        self.code = code
        self.retry_after_s = retry_after
        super().__init__(f"HTTP {status}" + (f", {said}" if said else ""))


class Broken(Failure):
    """The request did not come to an end that can be used."""

    def __init__(self, why: str, *, paid: bool, text: str = "", reached: bool = False) -> None:
        self.paid = paid
        self.reached = reached or paid
        self.text = text
        super().__init__(why)


class ServerAnswer(msgspec.Struct, kw_only=True):
    """A completion."""

    text: str = ""
    refusal: str = ""
    finish: str = ""
    input_tokens: int | None = None
    """None: the server did not count."""
    output_tokens: int | None = None
    cost_usd: float | None = None
    first_token_s: float | None = None


class Endpoint:
    """Requests to one base URL with one key. Safe for several at once on one event loop."""

    def __init__(self, base_url: str, key: Secret | None, *, connections: int, silence_s: float) -> None:
        self._key = key
        limits = httpx2.Limits(
            max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=_KEEP_S
        )
        timeout = httpx2.Timeout(None, connect=CONNECT_S, read=silence_s)
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=key.reveal() if key is not None else "none",
            max_retries=0,
            timeout=timeout,
            http_client=openai.DefaultAioHttpClient(limits=limits, timeout=timeout, follow_redirects=False),
        )
        # The client would add the first two from variables that are meant for OpenAI.
        left_out = ["OpenAI-Organization", "OpenAI-Project", *(["Authorization"] if key is None else [])]
        self._headers: dict[str, str | openai.Omit] = {name: openai.Omit() for name in left_out}

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
        answer = ServerAnswer()
        sent = False
        try:
            # Asked for as its own class, the response comes as it is, unread, whatever stream class is named.
            response: Any = await self._client.post(
                "/chat/completions", cast_to=httpx2.Response, content=msgspec.json.encode(body), stream=True,
                stream_cls=openai.AsyncStream[Any], options={"headers": self._headers},
            )  # fmt: skip
            sent = True
            try:
                kind = response.headers.get("content-type", "")
                if "text/event-stream" in kind:
                    await self._stream(response, answer, on_text)
                else:
                    self._whole(await self._read(response), answer)
            finally:
                with contextlib.suppress(aiohttp.ClientError, httpx2.HTTPError, OSError):
                    await response.aclose()
        except openai.APIStatusError as error:
            raise self._rejected(error) from None
        except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            why, reached = _trouble(error)
            raise Broken(why, paid=sent or reached, text=answer.text) from None
        return answer

    async def models(self) -> tuple[str, ...]:
        """Names of the models that the server lists: costs nothing.

        Raises
        ------
        Rejected, Broken
        """
        try:
            response: Any = await self._client.get(
                "/models", cast_to=httpx2.Response, options={"headers": self._headers}
            )
            body = msgspec.json.decode(response.content)
            return tuple(str(m["id"]).removeprefix("models/") for m in body["data"])
        except openai.APIStatusError as error:
            raise self._rejected(error) from None
        except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            raise Broken(_trouble(error)[0], paid=False) from None
        except (msgspec.DecodeError, KeyError, TypeError):
            raise Broken("the server's list of models cannot be read", paid=False, reached=True) from None

    async def embeddings(self, body: dict[str, Any], within_s: float) -> bytes:
        """The body of the answer to one request for embeddings, unread. Cancelling closes the connection.

        Raises
        ------
        Rejected, Broken
        """
        timeout = httpx2.Timeout(within_s, connect=min(CONNECT_S, within_s))
        try:
            response: Any = await self._client.post(
                "/embeddings", cast_to=httpx2.Response, content=msgspec.json.encode(body),
                options={"headers": self._headers, "timeout": timeout},
            )  # fmt: skip
            return bytes(response.content)
        except openai.APIStatusError as error:
            raise self._rejected(error) from None
        except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            why, reached = _trouble(error)
            raise Broken(why, paid=reached) from None

    def _rejected(self, error: openai.APIStatusError) -> Rejected:
        body = error.body if isinstance(error.body, dict) else {}
        inner = body.get("error", body)
        fields = inner if isinstance(inner, dict) else {"message": inner}
        said = str(fields.get("message") or error.response.text[:1_000])
        param = fields.get("param")
        if param and str(param) not in said:
            said = f"{param}: {said}"
        return Rejected(
            error.status_code, scrub(said, self._key), str(fields.get("code") or ""),
            retry_after_s(error.response.headers),
        )  # fmt: skip

    async def _read(self, response: httpx2.Response) -> bytes:
        data = bytearray()
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > MOST_BYTES:
                raise Broken(f"the reply has more than {MOST_BYTES:,} bytes", paid=True)
        return bytes(data)

    def _whole(self, data: bytes, answer: ServerAnswer) -> None:
        try:
            body = msgspec.json.decode(data)
        except (msgspec.DecodeError, RecursionError):
            raise Broken("the server's answer is not JSON", paid=True) from None
        self._take(body, answer, "message")
        if not answer.finish and not answer.text and not answer.refusal:
            raise Broken("the server's answer holds no completion", paid=True)

    async def _stream(self, response: httpx2.Response, answer: ServerAnswer, on_text: Callable[[str], None]) -> None:
        started, done = time.perf_counter(), False
        async for data in _events(response):
            if data == "[DONE]":
                done = True
                break
            try:
                chunk = msgspec.json.decode(data)
            except (msgspec.DecodeError, RecursionError):
                raise Broken("a part of the server's stream is not JSON", paid=True, text=answer.text) from None
            piece = self._take(chunk, answer, "delta")
            if piece:
                if answer.first_token_s is None:
                    answer.first_token_s = time.perf_counter() - started
                on_text(piece)
                if len(answer.text) > MOST_BYTES:
                    raise Broken(f"the reply has more than {MOST_BYTES:,} characters", paid=True, text=answer.text)
        if not done and not answer.finish:
            raise Broken("the server ended its stream before the reply was complete", paid=True, text=answer.text)

    def _take(self, body: Any, answer: ServerAnswer, part: str) -> str:
        """Add one body or chunk to the answer; the text that came with it. Fields of unexpected types are skipped."""
        if not isinstance(body, dict):
            raise Broken("the server's answer holds no completion", paid=True, text=answer.text)
        if body.get("error"):
            error = body["error"]
            said = error.get("message", "") if isinstance(error, dict) else error
            raise Broken(f"the server failed: {scrub(str(said), self._key)}", paid=True, text=answer.text)
        _usage(body.get("usage"), answer)
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        found = choice.get(part)
        message: dict[str, Any] = found if isinstance(found, dict) else {}
        answer.finish = str(choice.get("finish_reason") or answer.finish)
        refusal, text = message.get("refusal"), message.get("content")
        if isinstance(refusal, str):
            answer.refusal += refusal
        if not isinstance(text, str):
            return ""
        answer.text += text
        return text


def _usage(usage: Any, answer: ServerAnswer) -> None:
    if not isinstance(usage, dict):
        return
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    if all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 1e12 for n in counts) and any(counts):
        answer.input_tokens, answer.output_tokens = counts
    cost = usage.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e6:
        answer.cost_usd = float(cost)


async def _events(response: httpx2.Response) -> AsyncIterator[str]:
    """The data of each server-sent event."""
    data: list[str] = []
    async for line in response.aiter_lines():
        if line.startswith("data:"):
            data.append(line[5:].strip())
        elif not line and data:
            yield "\n".join(data)
            data = []
    if data:
        yield "\n".join(data)


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
