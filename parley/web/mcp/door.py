"""The server at /mcp, by streamable HTTP, behind the guard.

A client of the version 2026-07-28 needs nothing that one copy of the gateway alone has. One of an earlier version has a
session of the transport, which lives in one copy: a proxy in front of several sends it there by its `Mcp-Session-Id`.
Where that copy is gone, the client gets a 404 and begins anew. No debate is lost by that: it runs on the bus.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from parley.client.api import Parley
from parley.web.app import Door, client_of
from parley.web.guard import UPLOAD
from parley.web.mcp.following import Asking
from parley.web.mcp.server import make_server
from parley.web.offered_models import Offers
from parley.web.principals import Principal

PATH = "/mcp"
MOST_SESSIONS = 1_000
"""Sessions of the transport that are open at once."""
MOST_OF_ONE = 50
"""Of one principal."""
_SESSION = "mcp-session-id"
NO_SESSIONS = "2026-07-28"
"""From this version of the protocol on, a client opens no session of the transport."""


def mcp_door(offers: Offers, roots: Sequence[Path] = (), *, secret: bytes | None = None) -> Door:
    """The door. `secret`: as make_server takes it."""
    server = make_server(_who, offers, roots, secret=secret, name_of=_name)
    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=UPLOAD,
        max_sessions=MOST_SESSIONS,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard checks these
    )
    route = next(route for route in inner.routes if isinstance(route, Route) and route.path == PATH)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    return Door(routes=(Route(PATH, _Named(route.app)),), uploads=(PATH,), lifespan=lifespan)


class _Named:
    """Tells the library whose request it is: a session of the transport answers to the principal alone that began
    it. Of each principal only so many are open: a further one ends the one that was quiet longest."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open: dict[str, OrderedDict[str, int]] = {}
        """Principal -> its sessions, and how many requests of each are being answered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        principal: Principal = scope["state"]["principal"]
        whose = f"{principal.name}.{principal.fingerprint}"
        user = AuthenticatedUser(AccessToken(token="", client_id=whose, scopes=[]))
        mine = self._open.setdefault(whose, OrderedDict())
        named = Headers(scope=scope).get(_SESSION, "")
        if named in mine:
            mine[named] += 1
            mine.move_to_end(named)
        elif not named and self._is_full(mine, scope):
            why = f"{MOST_OF_ONE} sessions of MCP are open already, and in use: end one of them"
            raise HTTPException(429, why, {"Retry-After": "10"})

        async def sends(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun = Headers(raw=message.get("headers", [])).get(_SESSION, "")
                if begun and not named:
                    mine.setdefault(begun, 0)
                if named and (message["status"] == 404 or scope["method"] == "DELETE"):
                    mine.pop(named, None)
            await send(message)

        try:
            await self._app({**scope, "user": user}, receive, sends)
        finally:
            if named in mine:
                mine[named] -= 1
        await self._end_quiet(mine, {**scope, "user": user})

    @staticmethod
    def _is_full(mine: OrderedDict[str, int], scope: Scope) -> bool:
        """Whether none of so many can be ended for a further one; a client of today's version opens none."""
        opens = Headers(scope=scope).get("mcp-protocol-version", "") < NO_SESSIONS
        return opens and len(mine) >= MOST_OF_ONE and all(mine.values())

    async def _end_quiet(self, mine: OrderedDict[str, int], scope: Scope) -> None:
        quiet = [sid for sid, busy in mine.items() if not busy]
        for sid in quiet[: max(0, len(mine) - MOST_OF_ONE)]:
            mine.pop(sid, None)
            headers = [(b"mcp-session-id", sid.encode()), (b"accept", b"application/json, text/event-stream")]
            await self._app({**scope, "method": "DELETE", "headers": headers}, _nothing, _unread)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unread(message: Message) -> None:
    """Nobody waits for this answer."""


async def _who(ctx: Asking) -> Parley:
    request: Any = ctx.request_context.request
    return Parley(await client_of(request))


def _name(ctx: ServerRequestContext[Any, Any]) -> str | None:
    request: Any = ctx.request
    principal: Principal = request.state.principal
    return principal.name
