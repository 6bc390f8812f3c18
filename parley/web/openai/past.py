"""Responses that were asked for before: read again, cancelled, or deleted, by any program that may."""

from typing import Any

import msgspec

from parley.bus.errors import UnknownSession
from parley.client.client import Client
from parley.client.errors import BadInput, Refusal
from parley.schemas.result import Result
from parley.schemas.session import SESSION_ID
from parley.web import program_sessions, verdicts
from parley.web.openai.errors import ApiError
from parley.web.openai.fused import fused
from parley.web.openai.requests import PREFIX, RESPONSE

_CANCELLED = "cancelled by a program"


class PastResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A session that a response stands for."""

    sid: str
    protocol: str
    continues: str
    """The session that it follows up; empty: none, or its log is closed to whoever asks."""
    result: Result | None
    """None: it is still open."""
    times: tuple[int, int]
    """Its beginning and its end, in seconds since the epoch; the end is 0 while it is open."""
    said: tuple[str, ...]
    """What was said, a text for each post."""
    fused: dict[str, Any]
    """What its members said beside each other."""

    @property
    def model(self) -> str:
        """The protocol's name. Which saved panel was named is not kept."""
        return f"{PREFIX}{self.protocol}"


async def load_past(client: Client, id: str) -> PastResponse:
    """A response by its id, as far as its session has come.

    Raises
    ------
    ApiError
        There is no such response, or the client may not read it: status 404.
    """
    sid = _sid(id)
    try:
        session = await program_sessions.so_far(client, sid)
        row = await client.row(sid)
    except UnknownSession as error:
        raise _absent(id) from error
    if row is None:
        raise _absent(id)
    return PastResponse(
        sid=sid,
        protocol=session.protocol,
        continues=session.continues,
        result=session.result,
        times=(row.opened_ns // 1_000_000_000, (row.closed_ns or 0) // 1_000_000_000),
        said=tuple(text for card in session.cards if (text := verdicts.text_of(card))),
        fused=fused(session),
    )


async def cancel(client: Client, id: str) -> PastResponse:
    """End a response's session; one that is over already stays what it is. Raises as `load_past`, and NotAllowed: it is
    another's."""
    past = await load_past(client, id)
    if past.result is None:
        await program_sessions.acted_on(client, past.sid)
        try:
            await client.cancel(past.sid, _CANCELLED)
        except Refusal:  # it ended meanwhile
            pass
        await client.result(past.sid)
        past = await load_past(client, id)
    return past


async def delete(client: Client, id: str) -> str:
    """Remove the texts of a response's session; its id. Raises as `load_past`; NotAllowed where no owner asks;
    BadInput: it is still open."""
    past = await load_past(client, id)
    if past.result is None:
        raise BadInput("response_id", f"{id[:80]} is still open: cancel it first")
    await client.erase(past.sid)
    return f"{RESPONSE}{past.sid}"


def _sid(id: str) -> str:
    sid = id.removeprefix(RESPONSE)
    if not SESSION_ID.fullmatch(sid):
        raise _absent(id)
    return sid


def _absent(id: str) -> ApiError:
    message = f"response_id: there is no response {id[:80]!r}, or you may not read it"
    return ApiError(message, param="response_id", code="response_not_found", status=404)
