"""Reading what a request asks: query, JSON body, session."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from starlette.requests import Request

from parley.bus.accounts import Credentials
from parley.client.errors import BadInput, NotAllowed, bad_input
from parley.schemas.session import SESSION_ID
from parley.web.app import principal_of, shared_of
from parley.web.errors import TooLarge
from parley.web.page.hub import Hub
from parley.web.page.seats import Seats

T = TypeVar("T")
MOST_JSON = 400_000
"""Bytes of a JSON body."""
_DIGITS = 20
_TRUE = ("1", "true", "yes")


def hub_of(request: Request) -> Hub:
    """The feeds of this gateway."""
    hub: Hub = request.app.state.hub
    return hub


def seats_of(request: Request) -> Seats:
    """The seats that people have taken here."""
    seats: Seats = request.app.state.seats
    return seats


def may_take(request: Request) -> Mapping[str, Credentials]:
    """Seats that who asks may take."""
    return shared_of(request).config.seats(principal_of(request).name)


def sid_of(request: Request) -> str:
    """The session in the path. Raises BadInput."""
    return known_id(request.path_params["sid"])


def known_id(sid: str) -> str:
    """A session's id. Raises BadInput."""
    if not SESSION_ID.fullmatch(sid):
        raise BadInput("session", f"{sid[:80]!r} is not a session's id")
    return sid


def everything_of(request: Request) -> bool:
    """Whether every channel is asked for. Raises NotAllowed where only owners see them."""
    everything = request.query_params.get("everything", "").lower() in _TRUE
    if everything and not principal_of(request).operates:
        raise NotAllowed("everything", "only an owner's credentials see every channel of a session")
    return everything


def whole_number(request: Request, name: str, default: int | None, most: int) -> int | None:
    """A number of the query, from 1. Raises BadInput."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    digits = text.isascii() and text.isdecimal() and len(text) <= _DIGITS
    if not digits or not 0 < int(text) <= most:
        raise BadInput(name, f"got {text[:40]!r}, wanted is a number from 1 to {most:,}")
    return int(text)


async def body_of(request: Request, kind: type[T]) -> T:
    """The JSON document in a request's body. Raises BadInput, TooLarge."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MOST_JSON:
            raise TooLarge(f"body: it is larger than {MOST_JSON:,} bytes")
    return document(data or b"{}", kind)


def document(data: bytes, kind: type[T], name: str = "body") -> T:
    """A JSON document. Raises BadInput with the field."""
    with bad_input(name, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(data, type=kind)
