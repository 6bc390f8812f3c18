"""Sessions that a program asks for: opened, followed, left, and followed up.

A program that goes away while it waits for its answer cancels the session (parley.client.leaving).
"""

import asyncio
from collections.abc import Coroutine
from hashlib import sha256
from typing import Any, TypeVar

from starlette.types import Receive

from parley.bus.errors import UnknownSession
from parley.client import follow_up, following
from parley.client.client import Client
from parley.client.errors import BadInput, NotAllowed
from parley.client.follow_up import Earlier
from parley.client.view.fold import Fold
from parley.schemas.post import SessionRow
from parley.schemas.session import EVERYBODY, SESSION_ID, Document

T = TypeVar("T")
ROOT = "parley gateway"
"""Name of the span around what a door opens."""


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
