"""A session that is followed while its client waits: opened before anything is answered, told as it goes."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from parley.bus.errors import BusError, UnknownSession
from parley.client.client import Client
from parley.client.errors import BadInput, ParleyError
from parley.client.opened_session import leave
from parley.schemas.result import Result
from parley.schemas.wire import SchemaError
from parley.web import program_sessions, verdicts
from parley.web.openai import errors
from parley.web.openai.errors import ApiError
from parley.web.openai.fused import compares, fused
from parley.web.openai.history import FOOTER
from parley.web.openai.requests import OWN, ChatRequest
from parley.web.openai.typed import Stated, stated, with_form

SESSION = "X-Parley-Session"
"""The header with the session's id."""
_QUIET_S = 10.0
"""After so long without a post a comment is sent: proxies cut what is silent."""


class Running:
    """A session that was opened for a request."""

    def __init__(self, client: Client, sid: str, wanted: ChatRequest) -> None:
        self.client, self.sid, self.wanted = client, sid, wanted
        self.result: Result | None = None
        """What it came to, once it is closed."""
        self.fused: dict[str, Any] = {}
        """What its members said beside each other, once it is closed."""
        self.form: Stated | None = None
        """The same in the form that was asked for."""

    async def said(self) -> AsyncGenerator[str, None]:
        """What is said, a text for each post, until it is closed; `result` is there then."""
        fold = program_sessions.fold_of(self.sid, self.wanted.offer.protocol)
        async with contextlib.aclosing(program_sessions.heard(self.client, self.sid, fold)) as texts:
            async for text, _ in texts:
                if text:
                    yield text
        if fold.result is not None and compares(fold.protocol):
            with contextlib.suppress(ParleyError, BusError, SchemaError):  # the result is there, and is told without it
                self.fused = fused(await program_sessions.so_far(self.client, self.sid))
        if fold.result is not None and self.wanted.form is not None:
            self.form = await stated(self.client, fold.result, self.wanted.form)
        self.result = fold.result if fold.result is None else with_form(fold.result, self.form)

    @property
    def ended(self) -> Result:
        """What it came to."""
        assert self.result is not None, "it was followed to its end"
        return self.result

    def content(self) -> str:
        """The verdict, and the line by which a conversation goes on."""
        if self.form is not None:
            return self.form.text
        return f"{verdicts.verdict(self.ended)}\n\n{FOOTER}{self.sid}"

    @property
    def tool(self) -> str:
        """The tool whose arguments the content is; empty: none."""
        return self.wanted.form.tool if self.wanted.form is not None else ""

    def own(self) -> dict[str, Any]:
        """The field `parley` of the answer."""
        more = {
            "continues": self.wanted.continues,
            "ignored": list(self.wanted.ignored),
            "left_out": list(self.wanted.left_out),
            "form": self.form.session if self.form else "",
        }
        return verdicts.figures(self.ended) | {name: value for name, value in more.items() if value} | self.fused

    def headers(self) -> Mapping[str, str]:
        """Of the answer."""
        return {SESSION: self.sid}


async def start_request(client: Client, wanted: ChatRequest) -> Running:
    """Open the session that a request asks for. Raises ApiError, BadInput, and as Client.open."""
    try:
        before = await program_sessions.earlier(client, wanted.continues) if wanted.continues else None
    except (UnknownSession, BadInput) as error:
        message = f"the earlier session {wanted.continues} cannot be followed up: {error}"
        raise ApiError(message, param=f"{OWN}.continues", code="session_not_found") from error
    opening = await asyncio.to_thread(wanted.opening, before)
    sid = await program_sessions.opened(client, opening, "v1")
    return Running(client, sid, msgspec.structs.replace(wanted, left_out=opening.left_out or ()))


async def to_the_end(running: Running, request: Request) -> list[str]:
    """What was said, once the session is closed. Who goes away meanwhile has it cancelled. Raises CallerLeft."""

    async def all_of_it() -> list[str]:
        return [text async for text in running.said()]

    try:
        return await program_sessions.unless_left(request.receive, all_of_it())
    except (program_sessions.CallerLeft, asyncio.CancelledError):
        await leave(running.client, running.sid)
        raise


class EventStream(Response):
    """Events of the server as they come. Who goes away meanwhile has the session cancelled."""

    media_type = "text/event-stream"

    def __init__(self, running: Running, events: AsyncIterator[bytes]) -> None:
        super().__init__(headers={**running.headers(), "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._running, self._events = running, events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them."""
        try:
            await program_sessions.unless_left(receive, self._send(send))
        except (program_sessions.CallerLeft, OSError, asyncio.CancelledError) as error:
            await leave(self._running.client, self._running.sid)
            if isinstance(error, asyncio.CancelledError):
                raise

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            async for event in with_comments(self._events):
                await send({"type": "http.response.body", "body": event, "more_body": True})
        except (ParleyError, BusError, SchemaError) as error:
            failed = event_of(errors.body(error)[1])
            await send({"type": "http.response.body", "body": failed, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def with_comments(events: AsyncIterator[bytes], quiet_s: float = _QUIET_S) -> AsyncIterator[bytes]:
    """The events, and a comment wherever none came for so long."""
    coming = asyncio.ensure_future(_next(events))
    try:
        while True:
            done, _ = await asyncio.wait((coming,), timeout=quiet_s)
            if not done:
                yield b": they are thinking\n\n"
                continue
            event = coming.result()
            if event is None:
                return
            yield event
            coming = asyncio.ensure_future(_next(events))
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


async def _next(events: AsyncIterator[bytes]) -> bytes | None:
    return await anext(events, None)


def event_of(data: Any) -> bytes:
    """One event of the server."""
    return b"data: " + msgspec.json.encode(data) + b"\n\n"
