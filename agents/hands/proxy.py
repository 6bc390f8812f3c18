"""The key stays with the worker: one turn's way to its model, on a Unix socket in a folder of the turn's own.

Agents in the sandbox have the turn's token in place of a key. A request is passed on if it is a POST to one of three
paths, with this token, and if what it may take is left of the turn's tokens: its prompt by its size and its answer by
its limit are reserved before it goes out, so that the turn's limit is never passed. The first that no longer fits is
answered with 402, and `spent` is set. What the provider counts is the turn's usage, whatever the agent tells. Nothing
is followed, and of an answer's headers only its type and when to try again are passed on. At the turn's end the socket
and the token are gone.
"""

import asyncio
import contextlib
import contextvars
import hmac
import io
import json
import os
import secrets
import socket
from pathlib import Path
from typing import NamedTuple, Self

import aiohttp
import msgspec
from aiohttp import web

from parley.agents.endpoint.limits import gate
from parley.agents.endpoint.transport import certificates, proxy_of
from parley.agents.hands import dialects
from parley.agents.hands.dialects import PATHS, Reading, RequestRefused
from parley.agents.openai.options import EndpointOptions
from parley.agents.still_open import before_request
from parley.agents.text.tokens import BYTES_PER_TOKEN
from parley.bus.errors import BusError
from parley.schemas.turn import Usage

SOCKET = "model.sock"
_MOST_REQUEST = 16_000_000
"""Bytes."""
_AT_ONCE = 4
"""Requests of which the worker holds the body."""
_MOST_CONNECTIONS = 256
_MOST_REFUSED = 1_000
_GRACE_S = 5.0
"""From the first refusal for want of tokens until the agent is killed: it may end by itself, with a word."""
_MOST_LINE = 8_000_000
_PICTURE = 5_000
"""Tokens of a picture, at most: providers scale it down."""
_LEAST_ANSWER = 256
"""Tokens of an answer for which a call is made."""
_CONNECT_S = 10.0
_LOOK_S = 0.1
_MARGIN = 1.02
"""Times what was counted of a prompt: what the same may take again."""


class Room(NamedTuple):
    """What a turn may take at its model."""

    tokens: int
    """Of prompts and answers."""
    output: int
    """Of answers, all together."""
    answer: int
    """Of one answer."""
    calls: int


class TurnProxy:
    """One turn's. An async context manager.

    Parameters
    ----------
    folder
        The socket is made there.
    options
        Address, key, model and price.
    room
        What the turn may take.
    """

    def __init__(self, folder: Path, options: EndpointOptions, room: Room) -> None:
        self._folder = folder
        self._options = options
        self._room = room
        self._limit = f"the turn may take {room.tokens:,} tokens in {room.calls:,} calls"
        self.token = f"turn-{secrets.token_urlsafe(24)}"
        self.spent = asyncio.Event()
        """A request was refused, since the turn's tokens or calls are spent."""
        self.usage = Usage()
        self._refused = 0
        self._bodies = asyncio.Semaphore(_AT_ONCE)
        self._reserved = 0
        self._running = 0
        self._answers = 0
        """Tokens of answers that are reserved."""
        self._known = (0, 0)
        """(bytes, tokens) of the longest prompt that was counted: the next begins with it, as a rule."""
        self._ended = asyncio.Condition()
        self._turn = contextvars.copy_context()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=_MOST_REQUEST)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
        await self._runner.setup()
        timeout = aiohttp.ClientTimeout(None, sock_connect=_CONNECT_S, sock_read=self._options.silence_s)
        connector = aiohttp.TCPConnector(ssl=certificates())
        self._client = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=timeout,
            headers={"accept-encoding": "identity"},
        )
        await web.SockSite(self._runner, _listening(self._folder)).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.token = secrets.token_urlsafe(24)
        await self._runner.cleanup()
        await self._client.close()
        (self._folder / SOCKET).unlink(missing_ok=True)

    async def over(self) -> str:
        """Wait until the agent is to be ended: why."""
        while not self.spent.is_set():
            await asyncio.sleep(_LOOK_S)
            if self._runner.server is not None and len(self._runner.server.connections) > _MOST_CONNECTIONS:
                return f"it held more than {_MOST_CONNECTIONS} connections to its model"
            if self._refused > _MOST_REFUSED:
                return f"more than {_MOST_REFUSED:,} of its requests were refused"
        await asyncio.sleep(_GRACE_S)
        return "the turn's tokens are spent"

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/v1")
        headers = request.headers
        given = (headers.get("authorization", "").removeprefix("Bearer "), headers.get("x-api-key", ""))
        if not any(hmac.compare_digest(x.encode(), self.token.encode()) for x in given):
            return self._refuse(401, "this is not the turn's token")
        if request.method != "POST" or path not in PATHS:
            return self._refuse(404, f"{request.method} {request.path[:100]}: only {', '.join(PATHS)} are passed on")
        if self.spent.is_set():
            return self._refuse(402, self._limit)
        try:
            async with self._bodies:
                data = await request.read()
                asked = dialects.request(path, data, self._options.model, self._options.preset.tokens_field)
        except web.HTTPRequestEntityTooLarge:
            return self._refuse(413, f"the request has more than {_MOST_REQUEST:,} bytes")
        except RequestRefused as error:
            return self._refuse(400, str(error))
        body = asked.body
        if path == "/chat/completions":
            body |= self._options.extra
            if body.get("stream") and self._options.preset.stream_usage:
                body["stream_options"] = {"include_usage": True}
        most = self._room.answer
        prompt = self._prompt_tokens(asked.text) + asked.pictures * _PICTURE
        answer = await self._reserve(prompt, min(asked.asked or most, most))
        if not answer:
            return self._refuse(402, self._limit)
        reading = Reading()
        try:
            return await self._passed_on(request, path, body, answer, reading)
        finally:
            await self._count(reading, prompt, answer, asked.text)

    async def _reserve(self, prompt: int, wanted: int) -> int:
        """Tokens that the answer may have, reserved with the prompt's; 0: nothing is left. Where others are under way,
        they are waited for rather than refused."""
        async with self._ended:
            while True:
                used, most = self.usage, self._room
                room = most.tokens - used.input_tokens - used.output_tokens - self._reserved - prompt
                room = min(room, most.output - used.output_tokens - self._answers)
                fits = used.calls + self._running < most.calls
                if self._running and (room < wanted or not fits):
                    await self._ended.wait()
                    continue
                if room < min(_LEAST_ANSWER, wanted) or not fits:
                    self.spent.set()
                    return 0
                answer = min(room, wanted)
                self._reserved += prompt + answer
                self._answers += answer
                self._running += 1
                return answer

    def _prompt_tokens(self, size: int) -> int:
        """What a prompt of so many bytes may come to: what was counted, and a token for each byte that is new."""
        known, tokens = self._known
        if not known:
            return -(-size // BYTES_PER_TOKEN)
        return int(tokens * min(1.0, size / known) * _MARGIN) + max(0, size - known)

    async def _passed_on(
        self, request: web.Request, path: str, body: dict[str, object], answer: int, reading: Reading
    ) -> web.StreamResponse:
        options = self._options
        data = dialects.limited(path, body, answer, options.preset.tokens_field)
        headers = {"content-type": "application/json"}
        headers |= {n: request.headers[n] for n in ("anthropic-version", "anthropic-beta") if n in request.headers}
        key = options.api_key.reveal() if options.api_key is not None else ""
        if key and (path, options.provider) != ("/messages", "anthropic"):  # which takes one of the two alone
            headers |= {"authorization": f"Bearer {key}"}
        if key and path == "/messages":
            headers |= {"x-api-key": key}
        url = options.base_url + path + ("?beta=true" if request.query_string == "beta=true" else "")
        async with gate(options.base_url, options.concurrency).place():
            if not await self._is_open():
                return self._refuse(410, "the turn is over, or nobody knows whether it is")
            reading.sent = True
            try:
                async with self._client.post(
                    url, data=io.BytesIO(data), headers=headers, allow_redirects=False, proxy=proxy_of(url)
                ) as reply:
                    return await self._answered(request, reply, reading, key.encode())
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                reading.sent = not isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
                return self._refuse(502, f"the model's server cannot be reached ({type(error).__name__})")

    async def _is_open(self) -> bool:
        """Whether a call may still be paid for the turn."""
        try:
            await asyncio.get_running_loop().create_task(before_request(), context=self._turn)
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            self.spent.set()
            return False
        except BusError:
            return False
        return True

    async def _answered(
        self, request: web.Request, reply: aiohttp.ClientResponse, reading: Reading, key: bytes
    ) -> web.StreamResponse:
        """Pass the answer on, line by line, without the key."""
        reading.sent = reply.status < 300
        if 300 <= reply.status < 400:
            return self._refuse(502, f"the model's server sends elsewhere (HTTP {reply.status}), which is not followed")
        kept = {n: reply.headers[n][:200] for n in ("content-type", "retry-after") if n in reply.headers}
        response = web.StreamResponse(status=reply.status, headers=kept)
        await response.prepare(request)
        rest = b""
        async for piece in reply.content.iter_any():
            *lines, rest = (rest + piece).split(b"\n")
            lines = [line + b"\n" for line in lines]
            if len(rest) > _MOST_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                reading.line(line)
            if lines:
                await response.write(_without(b"".join(lines), key))
        reading.line(rest)
        reading.end()
        await response.write(_without(rest, key))
        await response.write_eof()
        return response

    async def _count(self, reading: Reading, prompt: int, answer: int, size: int) -> None:
        """Book a call, and give back what was reserved for it. An answer that came whole without a count is booked by
        its size; one that did not, since the agent hung up, at all that it might have become."""
        counted, usage = reading.counted, Usage()
        if counted is not None:
            cached = min(counted.cached, counted.input)
            price = self._options.effective_price
            usage = Usage(
                input_tokens=counted.input,
                output_tokens=counted.output,
                calls=1,
                cost_usd=price.of(counted.input, counted.output, cached),
                cached_tokens=cached or msgspec.UNSET,
            )
            self._known = max(self._known, (size, counted.input))
        elif reading.sent:
            output = min(answer, reading.bytes // BYTES_PER_TOKEN) if reading.ended else answer
            cost = self._options.effective_price.of(prompt, output)
            usage = Usage(input_tokens=prompt, output_tokens=output, calls=1, cost_usd=cost, estimated=True)
        if usage.calls:
            usage = msgspec.structs.replace(usage, unpriced=self._options.price is None)
        async with self._ended:
            self.usage += usage
            self._reserved -= prompt + answer
            self._answers -= answer
            self._running -= 1
            self._ended.notify_all()

    def _refuse(self, status: int, why: str) -> web.Response:
        self._refused += 1
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": why}}
        return web.Response(status=status, text=json.dumps(error), content_type="application/json")


def _without(data: bytes, key: bytes) -> bytes:
    return data.replace(key, b"***") if len(key) >= 8 else data


def _listening(folder: Path) -> socket.socket:
    """A socket in the folder, whose path may be longer than a socket's address can be."""
    listening = socket.socket(socket.AF_UNIX)
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, at)
        listening.bind(f"/proc/self/fd/{at}/{SOCKET}")
    (folder / SOCKET).chmod(0o600)
    listening.listen(64)
    return listening
