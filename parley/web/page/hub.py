"""The feeds of this gateway: one for each principal and session, kept a little while after the last viewer left."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from parley.bus.connection import Connection
from parley.bus.errors import UnknownSession
from parley.bus.library import cancelled
from parley.client.client import Client
from parley.client.errors import Unreachable
from parley.observability.metrics import Metrics
from parley.schemas.post import SessionRow
from parley.web.connections import Connections
from parley.web.page.feed import Feed
from parley.web.principals import Principal

LINGER_S = 20.0
"""A page asks for its snapshot, then for its stream: both are answered from one feed."""
MOST = 1_024
"""Feeds at once."""
MOST_OF_ONE = 256
"""Of one principal."""
GONE = ("refused", "erased")
"""States of a session of which nothing but its row is there."""
_Key = tuple[str, str, str, bool]


class Hub:
    """Finds and makes feeds."""

    def __init__(self, pool: Connections, metrics: Metrics) -> None:
        self._pool, self.metrics = pool, metrics
        self.streams: dict[object, str] = {}
        """Streams that are open -> whose each is."""
        self._feeds: dict[_Key, Feed] = {}
        self._making: dict[_Key, asyncio.Lock] = {}
        self._ending: set[asyncio.Future[None]] = set()

    async def feed(self, principal: Principal, sid: str, *, everything: bool = False) -> Feed:
        """The feed of a session; begun where there is none.

        Raises
        ------
        UnknownSession
            There is none, or only its row is left (`row` has it).
        Unreachable
            The bus does not answer, or too much is watched already.
        """
        key = principal.name, principal.credentials.public, sid, everything
        feed = self._feeds.get(key)
        if feed is None or feed.is_lost:
            async with self._making.setdefault(key, asyncio.Lock()):
                try:
                    feed = await self._made(principal, key)
                finally:
                    self._making.pop(key, None)
        feed.used_at = time.monotonic()
        return feed

    async def _made(self, principal: Principal, key: _Key) -> Feed:
        feed = self._feeds.get(key)
        if feed is not None and not feed.is_lost:
            return feed
        *_, sid, everything = key
        self._make_room(principal)
        row = await self.row(principal, sid)
        if row is None or row.status in GONE:
            raise UnknownSession(sid, row.reason if row and row.status == "refused" else "")
        feed = Feed(sid, row, lambda: self._dialled(principal), everything=everything)
        self._feeds[key] = feed
        self._counts()
        return feed

    async def row(self, principal: Principal, sid: str) -> SessionRow | None:
        """What the list says of a session; None: there is none that this principal may see."""
        return await (await self._pool.client(principal)).row(sid)

    async def _dialled(self, principal: Principal) -> tuple[Connection, Client]:
        return await self._pool.connection(principal), await self._pool.client(principal)

    def _make_room(self, principal: Principal) -> None:
        mine = sum(name == principal.name for name, *_ in self._feeds)
        if mine < MOST_OF_ONE and len(self._feeds) < MOST:
            return
        for key, feed in sorted(self._feeds.items(), key=lambda item: item[1].used_at):
            if not feed.viewers and (mine < MOST_OF_ONE or key[0] == principal.name):
                self._drop(key)
                return
        raise Unreachable(f"this gateway watches {len(self._feeds)} sessions already, which is its limit; try again")

    def _drop(self, key: _Key) -> None:
        feed = self._feeds.pop(key)
        self._counts()
        ending = asyncio.ensure_future(feed.close())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def sweep(self) -> None:
        """End feeds that nobody has looked at for a while; runs until it is cancelled."""
        while True:
            await asyncio.sleep(LINGER_S / 4)
            now = time.monotonic()
            for key, feed in list(self._feeds.items()):
                if not feed.viewers and now - feed.used_at > LINGER_S:
                    self._drop(key)

    def _counts(self) -> None:
        self.metrics.gateway_feeds.set(len(self._feeds))

    async def close(self) -> None:
        """End all."""
        feeds = list(self._feeds.values())
        self._feeds.clear()
        await asyncio.gather(*(feed.close() for feed in feeds), return_exceptions=True)


@asynccontextmanager
async def hub(pool: Connections, metrics: Metrics) -> AsyncIterator[Hub]:
    """Feeds that end with the block."""
    feeds = Hub(pool, metrics)
    sweeping = asyncio.ensure_future(feeds.sweep())
    try:
        yield feeds
    finally:
        await cancelled(sweeping)
        await feeds.close()
