"""Sessions that a program asks for: opened, followed, left, and followed up.

A program that goes away while it waits for its answer cancels the session, unless the door says otherwise: nobody would
read what it costs.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from hashlib import sha256
from typing import Any, TypeVar

import anyio
from starlette.types import Receive

from parley.bus.errors import BusError, UnknownSession
from parley.client import follow_up, following
from parley.client.api import Parley
from parley.client.client import Client, new_sid
from parley.client.errors import BadInput, NotAllowed, ParleyError
from parley.client.follow_up import Earlier
from parley.client.view.fold import Fold
from parley.observability import caller
from parley.schemas.post import SessionRow
from parley.schemas.session import EVERYBODY, SESSION_ID, Document, OpenSession

T = TypeVar("T")
_CANCEL_S = 5.0
"""So long a session that nobody waits for any more is cancelled, or its opening awaited first."""


async def acted_on(client: Client, sid: str, *, own: bool = False) -> SessionRow:
    """The row of a session with which the client may do something: of its own ones, or as an owner of any. `own`: of
    its own ones alone, owners too.

    Raises
    ------
    UnknownSession
        There is none that the client may see.
    NotAllowed
        It may be read, and it is another's.
    """
    row = await client.row(sid)
    if row is None:
        raise UnknownSession(sid)
    if row.owner != client.user and (own or not client.owner):
        raise NotAllowed("session", f"session {sid} was opened by somebody else: you may read it, and no more")
    return row


class Left(Exception):
    """The program that asked has gone."""


async def opened(parley: Parley, opening: OpenSession) -> str:
    """Open a session; its id once a moderator has taken it. Who goes away meanwhile has it cancelled. Raises as
    Client.open."""
    sid = new_sid()
    with caller.root("parley gateway"):
        taking = asyncio.ensure_future(parley.client.open(opening, sid))
    try:
        return await asyncio.shield(taking)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            await asyncio.wait((taking,), timeout=_CANCEL_S)
        taking.cancel()
        await leave(parley.client, sid)
        raise


async def leave(client: Client, sid: str, why: str = "the program that asked has gone") -> bool:
    """Cancel a session that nobody waits for any more; whether it is known to be cancelled. Done although the caller is
    being cancelled."""
    with anyio.CancelScope(shield=True), contextlib.suppress(ParleyError, BusError, TimeoutError):
        async with asyncio.timeout(_CANCEL_S):
            await client.cancel(sid, why)
            return True
    return False


async def so_far(client: Client, sid: str) -> Fold:
    """As much of a session as its reader may see now. Raises UnknownSession."""
    if not SESSION_ID.fullmatch(sid):
        raise BadInput("session", f"got {sid[:80]!r}, which is not a session's id")
    fold = await following.so_far(client, sid, None if client.owner else await client.row(sid))
    if client.owner and not fold.texts:
        raise UnknownSession(sid)
    return fold


async def earlier(client: Client, sid: str) -> Earlier:
    """What a finished session leaves to the one that goes on from it. Of a session that the client reads, and no owner,
    that is its protocol and what it came to.

    Raises
    ------
    BadInput
        It is still open.
    UnknownSession
        There is no such session, or it is another's.
    """
    if not SESSION_ID.fullmatch(sid):
        raise BadInput("continues", f"{sid[:80]!r} is not a session's id")
    session = await so_far(client, sid)
    if session.record is not None:
        return follow_up.earlier(session.record)
    found = follow_up.found_by(sid, session.question, session.result, session.posts)
    return follow_up.Earlier(sid=sid, protocol=session.protocol, settings={}, documents=(), background=(found,))


async def unless_left(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives, unless the program that asked goes away first: then it is cancelled, and Left is raised."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise Left
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def document(name: str, text: str) -> Document:
    """A text that comes with a question, for every seat that documents are dealt to. Raises InvalidValue where it is
    too long."""
    return Document(id=sha256(text.encode()).hexdigest(), name=name, text=text, holders=(EVERYBODY,))
