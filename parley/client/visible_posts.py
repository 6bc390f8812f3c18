"""The posts of a session that a reader gets: owners get every channel from its log, others the channels of their
credentials.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from parley.bus.accounts import OWNER as OWNER_KIND
from parley.bus.accounts import Credentials, load_credentials
from parley.bus.channels import readable_by
from parley.bus.errors import BadKeyFile, BusError, EnvironmentFault, UnknownSession
from parley.client.api import CONNECT_S, connect_s
from parley.client.errors import BadInput, Refusal, Unreachable
from parley.client.records import posts_of, record_of
from parley.client.session_view import Seen
from parley.client.turns import Turns
from parley.schemas.post import CLOSED, Post

if TYPE_CHECKING:
    from parley.client.client import Client

_LOG_S = 0.3
"""The log is looked at when a post is heard, and at least so often."""


def _credentials(creds: Path | None) -> Credentials:
    if creds is None:
        raise BadInput("nats.creds", "a bus at --nats needs a credentials file, --creds FILE")
    try:
        return load_credentials(creds)
    except BadKeyFile as error:
        raise BadInput("creds", str(error)) from error


def owns(creds: Path | None) -> bool:
    """Whether a credentials file for a bus that runs elsewhere is an owner's. Raises BadInput."""
    return _credentials(creds).kind == OWNER_KIND


async def posts(
    url: str, creds: Path | None, sid: str, on_connected: Callable[[Callable[[], str]], None] | None = None
) -> Seen:
    """A session's posts on the channels that a credentials file reads: a client's, or those of a seat.

    Parameters
    ----------
    on_connected
        Called with what says what the bus lacks, in words, once there is a connection.

    Raises
    ------
    BadInput
        There is no such session, or the credentials read nothing.
    Refusal
        The session was refused.
    Unreachable
        The bus, or a moderator, does not answer.
    """
    from parley.bus.connection import connect
    from parley.bus.posts import Reader

    credentials = _credentials(creds)
    channels = readable_by(credentials.account)
    if not channels:
        raise BadInput("creds", f"those of {credentials.user!r}, of kind {credentials.kind}, read no channel")
    try:
        async with asyncio.timeout(connect_s(url)):
            connection = await connect(url, credentials, name="parley")
        async with connection:
            if on_connected is not None:
                on_connected(lambda: connection.nc.lacking)
            reader = Reader(connection, patience_s=2 * CONNECT_S)
            try:
                history = [post for channel in channels for post in await reader.history(sid, channel)]
            except EnvironmentFault as error:
                lacking = connection.nc.lacking
                raise Unreachable(f"{error.plain}; {lacking}" if lacking else str(error)) from error
    except UnknownSession as error:
        if error.why:
            raise Refusal("session", str(error)) from None
        limited = "" if credentials.row.sees_all else f", or it is none that {credentials.user!r} may read"
        raise BadInput("session", f"there is no session {sid} in {url}{limited}") from None
    except TimeoutError:
        raise Unreachable(f"no NATS server answers at {url} within {connect_s(url):g} s") from None
    except BusError as error:
        raise Unreachable(str(error)) from error
    history.sort(key=lambda p: p.n)
    return Seen(sid=sid, opened=None, posts=tuple(history), turns=Turns(), record=None)


async def every_post(client: "Client", sid: str, heard: AsyncIterator[Post]) -> AsyncIterator[Post]:
    """Posts of every channel in the order in which they were said, from the log: for owners.

    Parameters
    ----------
    heard
        The posts that clients read: they say when there is something new, and with them live text comes in.

    Raises
    ------
    BusError, ParleyError
        As `heard`, and as the client's log.
    """
    news = asyncio.Event()
    listening = asyncio.ensure_future(_listen(heard, news))
    entries: list[str] = []
    said = 0
    try:
        while True:
            entries += await client.log(sid, len(entries))
            recorded = posts_of(record_of(sid, entries))
            for post in recorded[said:]:
                yield post
                if post.kind == CLOSED:
                    return
            said = len(recorded)
            if listening.done() and listening.exception() is not None:
                raise listening.exception() or BusError
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOG_S):
                    await news.wait()
            news.clear()
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _listen(heard: AsyncIterator[Post], news: asyncio.Event) -> None:
    async for _ in heard:
        news.set()
