"""Sessions that are opened, and who leaves one before its end: one rule for the command line, programs and every door.

Whoever waits for an answer and goes away has the session cancelled, since nobody would read what it costs, unless it
was said before that it may go on. A gateway that is stopped has not left: whoever asked still waits, and its sessions
go on.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Literal

import anyio

from parley.bus import errors as bus
from parley.client.errors import ParleyError, UnknownSession
from parley.client.rendering.told import Result, to_api
from parley.observability import caller
from parley.schemas.post import Live, Post
from parley.schemas.session import DecideItem, OpenSession

if TYPE_CHECKING:
    from parley.client.client import Client

GONE = "the program that asked has gone"
_CANCEL_S = 5.0
"""So long a session that nobody waits for any more is cancelled, or its opening awaited first."""


class Session:
    """A session that was opened.

    Attributes
    ----------
    sid
        Its id.
    """

    def __init__(self, client: "Client", sid: str) -> None:
        self._client = client
        self.sid = sid

    async def posts(self, on_live: Callable[[Live], None] | None = None) -> AsyncIterator[Post]:
        """All posts, from the beginning until the session is closed. Raises UnknownSession."""
        with _known():
            async for post in self._client.posts(self.sid, on_live=on_live):
                yield post

    async def result(
        self, on_post: Callable[[Post], None] | None = None, on_live: Callable[[Live], None] | None = None
    ) -> Result:
        """Wait until it is closed, and return its result. Raises UnknownSession.

        Parameters
        ----------
        on_post
            Called with each post as it comes; what it raises ends the waiting.
        on_live
            Called with what seats do between their posts.
        """
        if on_post is not None or on_live is not None:
            async for post in self.posts(on_live):
                if on_post is not None:
                    on_post(post)
        with _known():
            ended = await self._client.result(self.sid)
        from parley.client.following import so_far

        fold = await so_far(self._client, self.sid)
        return to_api(ended, fold.turns.nothing, fold.posts)

    async def cancel(self, reason: str = "") -> None:
        """Cancel the session."""
        await self._client.cancel(self.sid, reason)

    async def answer_now(self) -> None:
        """End the session with what it has come to by now: `stop.reason` is `answered_now`, unless the seats that
        answered have signed one answer."""
        await self._client.answer_now(self.sid)

    async def seat(self, act: Literal["add", "remove"], name: str, why: str = "") -> None:
        """Let a member of a panel join (`add`) or leave (`remove`) from the next round on. Raises Refusal where nobody
        serves it, or no round follows."""
        await self._client.decide(self.sid, DecideItem(item="seat", choice=f"{act} {name}", note=why))

    async def feedback(self, right: bool, *, answer: str = "", note: str = "") -> None:
        """Say whether its result is right, once it is closed. The last feedback counts.

        Parameters
        ----------
        answer
            What the answer should have been, at most 4,000 characters.
        note
            Why, at most 4,000 characters.
        """
        await self._client.feedback(self.sid, right=right, answer=answer, note=note)


@contextlib.contextmanager
def _known() -> Iterator[None]:
    """Says what the bus says of a session that nobody knows. Raises UnknownSession."""
    try:
        yield
    except bus.UnknownSession as error:
        raise UnknownSession(error.sid, error.why) from None


async def open_session(client: "Client", opening: OpenSession, sid: str | None = None, *, root: str = "") -> str:
    """Open a session; its id once a moderator has taken it. Who goes away meanwhile has it cancelled. Raises as
    Client.open. `root`: name of the span around it; empty: it stands in the caller's."""
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
    with anyio.CancelScope(shield=True), contextlib.suppress(ParleyError, bus.BusError, TimeoutError):
        async with asyncio.timeout(_CANCEL_S):
            await client.cancel(sid, why)
            return True
    return False
