"""A session followed to its end for a client: progress as posts come, questions to a person, and a client that leaves.

How a person is asked depends on the protocol's version. Until 2025-11-25 the server asks in the middle of the call.
From 2026-07-28 on a server asks nothing by itself: the call ends with `input_required`, and the client makes it again
with the answer. What is to be known then (which session, what was told and asked) travels in the client's hands,
sealed; the session goes on meanwhile, and a question that nobody answers takes its default.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterator
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
from parley.client.client import Client
from parley.client.errors import ParleyError
from parley.client.opened_session import leave
from parley.client.people import inbox
from parley.client.show.open_items import OpenItem
from parley.client.show.palette import seat_name
from parley.client.text import line
from parley.client.view.fold import Fold
from parley.schemas import log
from parley.schemas.post import CLOSED
from parley.schemas.result import Result
from parley.schemas.session import OpenSession
from parley.schemas.wire import InvalidValue, SchemaError, decode
from parley.web import program_sessions
from parley.web.errors import error_text

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


async def run(client: Client, opening: OpenSession, ctx: Asking) -> Result | InputRequiredResult:
    """Open a session and follow it to its end, or go on where the client makes a call again. A client that cancels the
    call, or goes away, cancels the session. Raises as Client.open."""
    if ctx.request_state is None:
        place = Place(session=await program_sessions.opened(client, opening, "mcp"))
    else:  # the library has checked its seal
        place = msgspec.json.decode(ctx.request_state, type=Place)
    try:
        for item, said in (ctx.input_responses or {}).items():
            if isinstance(said, ElicitResult) and (choice := _choice(said)):
                with contextlib.suppress(ParleyError, InvalidValue):  # answered elsewhere, or its time is over
                    await inbox.answer(client, place.session, item, choice)
        return await _Following(client, place, opening, ctx).to_the_end()
    except asyncio.CancelledError:
        await leave(client, place.session, "the client cancelled the call")
        raise


def _choice(said: ElicitResult) -> str:
    """What a person answered; empty: nothing, so that the item's default holds at its deadline."""
    return str((said.content or {}).get("answer") or "") if said.action == "accept" else ""


class _AskedAgain(Exception):
    """The call ends, and is made again with a person's answer."""

    def __init__(self, result: InputRequiredResult) -> None:
        self.result = result


class _Following:
    def __init__(self, client: Client, place: Place, opening: OpenSession, ctx: Asking) -> None:
        self._client, self._place, self._ctx = client, place, ctx
        self._fold = program_sessions.fold_of(place.session, opening.protocol, opening.settings)
        limit = opening.settings.get("round_limit")
        self._rounds = f" of at most {limit}" if isinstance(limit, int) else ""
        self._round = 1
        self._number = 0.0
        """Of the last progress that was told; it only grows."""
        capabilities = ctx.client_capabilities
        self._asks = capabilities is not None and capabilities.elicitation is not None

    async def to_the_end(self) -> Result | InputRequiredResult:
        """Follow it until it is closed, or until the person must be asked by a call that is made again."""
        sid, beating = self._place.session, asyncio.ensure_future(self._beats())
        try:
            return await program_sessions.follow_to_end(self._client, sid, self._say, self._ask, self._fold)
        except _AskedAgain as again:
            return again.result
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _say(self, text: str, fold: Fold) -> None:
        """Tell the client, where it asked to be told, what was said last; end a call that is to be made again."""
        number, post = len(fold.posts), fold.posts[-1]
        first = line(text.strip().split("\n")[0], _WIDE) if text else ""
        if number > self._place.n:
            self._round = max(self._round, post.round)
            if first or post.kind == CLOSED:
                await self._tell(float(number), first or "it is closed")
        items = [i for i in fold.open_items() if i.item not in self._place.asked]
        if items and self._asks and post.kind != CLOSED and (self._ctx.protocol_version or "") >= _INPUT_REQUIRED:
            asked = tuple(sorted({*self._place.asked, *(i.item for i in items)}))
            place = Place(session=self._place.session, n=number, asked=asked)
            raise _AskedAgain(
                InputRequiredResult(
                    input_requests={i.item: ElicitRequest(params=_form(i)) for i in items},
                    request_state=msgspec.json.encode(place).decode(),
                )
            )

    async def _tell(self, number: float, words: str) -> None:
        self._number = max(self._number, number)
        words = line(f"round {self._round}{self._rounds}: {words}", _WIDE + 100)
        await self._ctx.report_progress(self._number, None, words)

    async def _beats(self) -> None:
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
            busy = ", ".join(f"{seat_name(seat)} {state}" for seat, (state, _) in self._fold.scene.busy().items())
            await self._tell(max(self._number, len(self._fold.posts)) + 0.001, busy or "the session runs")

    async def _ask(self, item: OpenItem) -> str:
        """Ask in the middle of the call, until the item's time is over."""
        if not self._asks or (self._ctx.protocol_version or "") >= _INPUT_REQUIRED:
            return ""
        form = _form(item)
        with contextlib.suppress(TimeoutError, MCPError):
            async with asyncio.timeout(max(0.0, item.deadline_ns / 1e9 - time.time())):
                said = await self._ctx.session.elicit_form(
                    form.message, form.requested_schema, related_request_id=self._ctx.request_id
                )
                return _choice(said)
        return ""


def _form(item: OpenItem) -> ElicitRequestFormParams:
    answer: dict[str, Any] = {"type": "string", "title": "Answer"}
    if item.choices:
        answer["enum"] = list(item.choices)
    message = program_sessions.item_words(item)
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    return ElicitRequestFormParams(message=message, requested_schema=schema)
