"""Takes a session into a fold as it goes on, for whoever watches: a terminal, a page.

Owners are told from the log, which has everything in its order; what is heard on the wire says when there is something
new. Others, and owners where another version writes the log, are told the posts of the channels that their credentials
read.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from parley.bus.errors import BusError
from parley.client.errors import ParleyError
from parley.client.records import Altered
from parley.client.view.fold import Fold, fold_log
from parley.client.view.shapes import PostCard
from parley.client.view.taking import Notice
from parley.schemas.post import Live, Post, SessionRow

if TYPE_CHECKING:
    from parley.client.client import Client

LOOK_S = 0.5
"""The log is looked at when something is heard, and at least so often."""
WORKERS_S = 2.0
"""How often it is asked who is alive, while a seat waits."""
_AT_ONCE = 25
"""Entries that are taken before somebody else has a turn."""


class Watcher:
    """Who watches. This one does nothing."""

    wants_workers = False
    """Whether it tells that nobody serves a seat's queue."""

    def cards(self, cards: Sequence[PostCard], notices: Iterable[Notice]) -> None:
        """Something was said, or became known."""

    def live(self, live: Live) -> None:
        """A seat's state or text."""

    def caught_up(self, *, news: bool) -> None:
        """All that was said is told. `news`: something was taken since it was so last."""

    def away(self, error: Exception) -> None:
        """The bus, or the moderators, did not answer; they are asked again."""


class Following:
    """One session and who watches it."""

    def __init__(self, fold: Fold, watcher: Watcher) -> None:
        self._fold, self._watcher = fold, watcher
        self._reading = asyncio.Lock()
        self._news = asyncio.Event()
        self._workers_at = 0.0

    async def to_the_end(self, client: "Client") -> None:
        """Until the session is closed: then the fold has its result. Raises as Client.posts."""
        if not client.owner or not await self._by_log(client):
            await self._by_channels(client)

    def look(self) -> None:
        """There may be something new."""
        self._news.set()

    async def read(self, client: "Client") -> None:
        """Take what the log has beyond what is known. Raises Altered, and as Client.log."""
        async with self._reading:
            texts = await client.log(self._fold.sid, len(self._fold.texts))
            for count, text in enumerate(texts, 1):
                self._watcher.cards(self._fold.entry(text), self._fold.notices())
                if count % _AT_ONCE == 0:
                    await asyncio.sleep(0)
            if self._fold.texts:
                self._watcher.caught_up(news=bool(texts))

    async def _by_log(self, client: "Client") -> bool:
        """To the end by the log; False: another version writes it. Raises as what is heard does."""
        listening: asyncio.Future[None] | None = None
        try:
            while True:
                over = listening is not None and listening.done()
                try:
                    await self.read(client)
                    await self._look_who_is_there(client)
                except Altered:
                    return False
                except (BusError, ParleyError) as error:  # what is heard says whether it goes on
                    self._watcher.away(error)
                if self._fold.result is not None:
                    return True
                if listening is None:
                    listening = asyncio.ensure_future(self._listen(client))
                elif over:
                    listening.result()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self._news.wait()
                self._news.clear()
        finally:
            if listening is not None:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)

    async def _listen(self, client: "Client") -> None:
        async with contextlib.aclosing(client.heard(self._fold.sid, dict(self._fold.position), self._live)) as posts:
            async for _ in posts:
                self.look()
        self.look()

    async def _look_who_is_there(self, client: "Client") -> None:
        """A seat waits in vain where nobody serves its queue."""
        waits = any(seat.state == "queued" for seat in self._fold.scene.seats.values())
        if not self._watcher.wants_workers or not waits or time.monotonic() < self._workers_at:
            return
        self._workers_at = time.monotonic() + WORKERS_S
        presence = await client.workers(1.0)
        if presence.heard:
            self._fold.scene.workers(frozenset(w.queue for w in presence.workers))
            self._watcher.caught_up(news=True)

    async def _by_channels(self, client: "Client") -> None:
        for post in await client.said(self._fold.sid):
            self._take(post)
        self._watcher.caught_up(news=True)
        if self._fold.result is not None:
            return
        expected = self._fold.posts[-1].n + 1 if self._fold.posts else 0
        coming = client.posts(self._fold.sid, dict(self._fold.position), self._live, expected=expected)
        async with contextlib.aclosing(coming) as posts:
            async for post in posts:
                self._take(post)
                self._watcher.caught_up(news=True)

    def _take(self, post: Post) -> None:
        self._fold.recognised([post])
        card = self._fold.post(post)
        self._watcher.cards([card] if card is not None else [], self._fold.notices())

    def _live(self, live: Live) -> None:
        self._watcher.live(live)
        if live.state != "text":
            self.look()  # a reply may stand in the log that no post tells of yet


async def so_far(client: "Client", sid: str, row: SessionRow | None = None) -> Fold:
    """As much of a session as its reader may see now. Raises UnknownSession, Altered."""
    if client.owner:
        return fold_log(sid, await client.log(sid), row=row)
    return fold_log(sid, posts=await client.said(sid), row=row)
