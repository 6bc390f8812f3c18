"""A session followed to its end for a client: progress as posts come, questions to a person, and a client that leaves.

How a person is asked depends on the protocol's version. Until 2025-11-25 the server asks in the middle of the call.
From 2026-07-28 on a server asks nothing by itself: the call ends with `input_required`, and the client makes it again
with the answer. What is to be known then (which session, what was told and asked) travels in the client's hands,
sealed; the session goes on meanwhile, and a question that nobody answers takes its default.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

from parley.bus.errors import BusError
from parley.client.api import Parley
from parley.client.client import Client
from parley.client.errors import ParleyError, Refusal
from parley.client.opened_session import leave, open_session
from parley.client.show.open_items import OpenItem
from parley.client.show.palette import seat_name
from parley.client.text import line
from parley.client.view.fold import Fold
from parley.schemas import log
from parley.schemas.post import CLOSED, Post
from parley.schemas.result import Result
from parley.schemas.session import DecideItem, OpenSession
from parley.schemas.wire import InvalidValue, SchemaError, decode
from parley.web import program_sessions
from parley.web.errors import error_text
from parley.web.verdicts import text_of

Asking = Context[Any, Any]
_INPUT_REQUIRED = "2026-07-28"
"""Versions are dates, and so are ordered."""
_WIDE = 300
_BEAT_S = 8.0
"""Between two signs of life while nothing is said."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a call goes on that a client makes again with an answer."""

    session: str
    n: int = 0
    """Posts that were told."""
    asked: tuple[str, ...] = ()
    """Items that were put to the person."""


@contextlib.contextmanager
def errors() -> Iterator[None]:
    """Errors of Parley as those of a tool: the field, the value and what is allowed."""
    try:
        yield
    except (ParleyError, BusError, SchemaError) as error:
        raise ToolError(error_text(error)) from error


async def run(parley: Parley, opening: OpenSession, ctx: Asking) -> Result | InputRequiredResult:
    """Open a session and follow it to its end, or go on where the client makes a call again. A client that cancels the
    call, or goes away, cancels the session. Raises as Client.open."""
    place = _place(ctx)
    if place is None:
        place = Place(session=await open_session(parley.client, opening, root=program_sessions.ROOT))
    client = parley.client
    try:
        await _answered(client, place, ctx)
        return await _Following(client, place, opening, ctx).to_the_end()
    except asyncio.CancelledError:
        await leave(client, place.session, "the client cancelled the call")
        raise


def _place(ctx: Asking) -> Place | None:
    """The place of a call that is made again; the library has checked its seal."""
    if ctx.request_state is None:
        return None
    return msgspec.json.decode(ctx.request_state, type=Place)


async def _answered(client: Client, place: Place, ctx: Asking) -> None:
    """Hand in what the person answered, of a call that is made again."""
    for item, response in (ctx.input_responses or {}).items():
        if isinstance(response, ElicitResult):
            await _decide(client, place.session, item, response)


async def _decide(client: Client, sid: str, item: str, said: ElicitResult) -> None:
    """Hand an answer in. One that nobody gave leaves the item as it is: its default holds at the deadline."""
    choice = str((said.content or {}).get("answer") or "") if said.action == "accept" else ""
    if choice:
        with contextlib.suppress(Refusal, InvalidValue):  # answered elsewhere, or its time is over
            await client.decide(sid, DecideItem(item=item, choice=choice))


class _Following:
    """One session that is followed."""

    def __init__(self, client: Client, place: Place, opening: OpenSession, ctx: Asking) -> None:
        self._client, self._place, self._ctx = client, place, ctx
        self._fold = Fold(place.session)
        self._fold.runs(opening.protocol, opening.settings)
        limit = opening.settings.get("round_limit")
        self._rounds = f" of at most {limit}" if isinstance(limit, int) else ""
        self._round = 1
        self._number = 0.0
        """Of the last progress that was told; it only grows."""
        self._asked = set(place.asked)
        self._asking: set[asyncio.Task[None]] = set()

    async def to_the_end(self) -> Result | InputRequiredResult:
        """Follow it until it is closed, or until the person must be asked by a call that is made again."""
        sid = self._place.session
        seen = self._fold.posts
        beating = asyncio.ensure_future(self._beats(seen))
        try:
            async with contextlib.aclosing(self._client.posts(sid, on_live=self._fold.live)) as posts:
                async for post in posts:
                    text = text_of(self._fold.post(post))
                    if len(seen) > self._place.n:
                        await self._progress(post, len(seen), text)
                    if post.kind != CLOSED and (question := self._question(len(seen))):
                        return question
        finally:
            for task in (beating, *self._asking):
                task.cancel()
            await asyncio.gather(beating, *self._asking, return_exceptions=True)
        result = self._fold.result
        assert result is not None, "a session's posts end with its closing"
        return result

    async def _progress(self, post: Post, number: int, text: str) -> None:
        """Tell the client, where it asked to be told, what was said last."""
        first = line(text.strip().split("\n")[0], _WIDE) if text else ""
        self._round = max(self._round, post.round)
        if first or post.kind == CLOSED:
            where = f"round {self._round}{self._rounds}"
            self._number = max(self._number, number)
            await self._ctx.report_progress(self._number, None, f"{where}: {first or 'it is closed'}")

    async def _beats(self, seen: Sequence[Post]) -> None:
        """Say every few seconds who is at work: clients give a call up of which they hear nothing."""
        read = 0
        while True:
            await asyncio.sleep(_BEAT_S)
            if self._client.owner:
                with contextlib.suppress(ParleyError, BusError):
                    entries = await self._client.log(self._place.session, read)
                    read += len(entries)
                    for entry in entries:
                        with contextlib.suppress(SchemaError):
                            self._fold.scene.entry(decode(entry.encode(), log.Entry))
            self._number = max(self._number, len(seen)) + 0.001
            busy = ", ".join(f"{seat_name(seat)} {state}" for seat, (state, _) in self._fold.scene.busy().items())
            words = f"round {self._round}{self._rounds}: {busy or 'the session runs'}"
            await self._ctx.report_progress(self._number, None, line(words, _WIDE))

    def _question(self, number: int) -> InputRequiredResult | None:
        """Ask the person what the session asks, where the client can; what ends this call, where that is how."""
        items = [i for i in self._fold.open_items() if i.item not in self._asked]
        capabilities = self._ctx.client_capabilities
        if not items or capabilities is None or capabilities.elicitation is None:
            return None
        self._asked.update(i.item for i in items)
        if (self._ctx.protocol_version or "") < _INPUT_REQUIRED:
            for item in items:
                task = asyncio.ensure_future(self._ask(item))
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)
            return None
        place = Place(session=self._place.session, n=number, asked=tuple(sorted(self._asked)))
        return InputRequiredResult(
            input_requests={i.item: ElicitRequest(params=_form(i)) for i in items},
            request_state=msgspec.json.encode(place).decode(),
        )

    async def _ask(self, item: OpenItem) -> None:
        """Ask in the middle of the call, until the item's time is over. Who does not answer leaves it as it is."""
        form = _form(item)
        with contextlib.suppress(TimeoutError, MCPError, ParleyError, BusError):
            async with asyncio.timeout(max(0.0, item.deadline_ns / 1e9 - time.time())):
                said = await self._ctx.session.elicit_form(
                    form.message, form.requested_schema, related_request_id=self._ctx.request_id
                )
                await _decide(self._client, self._place.session, item.item, said)


def _form(item: OpenItem) -> ElicitRequestFormParams:
    """An item as a form with one field."""
    answer: dict[str, Any] = {"type": "string", "title": "Answer"}
    if item.choices:
        answer["enum"] = list(item.choices)
    message = program_sessions.item_words(item)
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    return ElicitRequestFormParams(message=message, requested_schema=schema)
