"""Who leaves a session before its end: one rule for the command line, programs, and every door.

Whoever waits for an answer and goes away has the session cancelled, since nobody would read what it costs, unless it
was said before that it may go on. A gateway that is stopped has not left: whoever asked still waits, and its sessions
go on.
"""

import asyncio
import contextlib
from typing import TYPE_CHECKING

import anyio

from parley.bus.errors import BusError
from parley.client.errors import ParleyError
from parley.observability import caller
from parley.schemas.session import OpenSession

if TYPE_CHECKING:
    from parley.client.client import Client

GONE = "the program that asked has gone"
_CANCEL_S = 5.0
"""So long a session that nobody waits for any more is cancelled, or its opening awaited first."""


async def opened(client: "Client", opening: OpenSession, sid: str | None = None, *, root: str = "") -> str:
    """Open a session; its id once a moderator has taken it. Who goes away meanwhile has it cancelled. Raises as
    Client.open.

    Parameters
    ----------
    root
        Name of the span around it; empty: it stands in the caller's.
    """
    from parley.client.client import new_sid

    sid = sid or new_sid()
    with caller.root(root) if root else contextlib.nullcontext():
        taking = asyncio.ensure_future(client.open(opening, sid))
    try:
        return await asyncio.shield(taking)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            await asyncio.wait((taking,), timeout=_CANCEL_S)
        taking.cancel()
        await leave(client, sid)
        raise


async def leave(client: "Client", sid: str, why: str = GONE) -> bool:
    """Cancel a session that nobody waits for any more; whether it is known to be cancelled. Done although the caller is
    being cancelled."""
    if client.is_stopped():
        return False
    with anyio.CancelScope(shield=True), contextlib.suppress(ParleyError, BusError, TimeoutError):
        async with asyncio.timeout(_CANCEL_S):
            await client.cancel(sid, why)
            return True
    return False
