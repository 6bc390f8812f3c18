"""A session of the Python API, once it was opened."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from parley.bus import errors as bus
from parley.client.errors import UnknownSession
from parley.client.rendering.told import Result, to_api
from parley.schemas.post import Live, Post
from parley.schemas.session import DecideItem

if TYPE_CHECKING:
    from parley.client.client import Client


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
            Called with what seats are doing between their posts: who is at work, and whose server fails.
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
        """End the session with what it has come to by now. Its result says so (`stop.reason` is `answered_now`), unless
        the seats that answered have signed one answer."""
        await self._client.answer_now(self.sid)

    async def seat(self, act: Literal["add", "remove"], name: str, why: str = "") -> None:
        """Let a member of a panel join the session, or a seat leave it, from the next round on. Raises Refusal where
        nobody serves it, or no round follows."""
        await self._client.decide(self.sid, DecideItem(item="seat", choice=f"{act} {name}", note=why))

    async def feedback(self, right: bool, *, answer: str = "", note: str = "") -> None:
        """Say whether its result is right, once it is closed. The session keeps all feedback, and the last one counts.

        Parameters
        ----------
        answer
            What the answer should have been, at most 4,000 characters.
        note
            Why, at most 4,000 characters.
        """
        await self._client.feedback(self.sid, right=right, answer=answer, note=note)


@contextmanager
def _known() -> Iterator[None]:
    """Says what the bus says of a session that nobody knows. Raises UnknownSession."""
    try:
        yield
    except bus.UnknownSession as error:
        raise UnknownSession(error.sid, error.why) from None
