"""The cookie of a seat: its person's browser shows any copy of the gateway which sitting is the person's.

It holds session, seat, and the transition of the session with which the sitting began. It is signed for one principal
with the gateway's key, as the cookie of the sign-in is, and is worth nothing without that one. It is sent to the paths
of its session alone, and no script sees it.
"""

from collections.abc import Iterable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from parley.web.app import principal_of, shared_of
from parley.web.guard import cookies_of
from parley.web.principals import COOKIE_S, digest

NAME = "parley-seat-"
"""How the cookie's name begins; the rest tells session and seat apart."""
_MARK = 16
_MOST = 64
"""Cookies of one request that are looked at: a session has no more seats."""


class Ticket(NamedTuple):
    """That somebody sits on a seat since a transition of the session."""

    sid: str
    seat: str
    n: int


def tickets_of(request: Request, sid: str) -> tuple[Ticket, ...]:
    """Those of who asks, for one session."""
    principals, principal = shared_of(request).principals, principal_of(request)
    shown = cookies_of(request.headers, NAME)[:_MOST]
    tickets = (principals.of_seat(principal, value) for value in shown)
    return tuple(Ticket(*ticket) for ticket in tickets if ticket is not None and ticket[0] == sid)


def give(request: Request, response: Response, ticket: Ticket) -> None:
    """Put the cookie into the answer."""
    value = shared_of(request).principals.seat(principal_of(request), *ticket)
    _set(request, response, ticket.sid, ticket.seat, value, COOKIE_S)


def take(request: Request, response: Response, tickets: Iterable[Ticket]) -> None:
    """Have the browser forget sittings that are over."""
    for ticket in tickets:
        _set(request, response, ticket.sid, ticket.seat, "", 0)


def _set(request: Request, response: Response, sid: str, seat: str, value: str, seconds: int) -> None:
    response.set_cookie(
        NAME + digest(f"{sid} {seat}")[:_MARK],
        value,
        max_age=seconds,
        path=f"/api/sessions/{sid}",
        httponly=True,
        samesite="strict",
        secure=shared_of(request).config.secure,
    )
