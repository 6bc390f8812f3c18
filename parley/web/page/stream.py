"""Streams of server-sent events to one viewer: one session from a position on, or what is known of several.

A position says how many posts of each channel were taken: `control:3,public:12`; empty at the beginning.

sse-starlette is not used: it takes over a part of uvicorn's server for the whole process, and a stream here is the
bytes that feeds have encoded already.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from parley.client.errors import BadInput
from parley.observability.metrics import Metrics
from parley.web.page.feed import Feed, encoded
from parley.web.page.shapes import EndEvent
from parley.web.program_sessions import CallerLeft, unless_left

PING_S = 15.0
SLOW_S = 20.0
"""A viewer that takes nothing for so long is cut; it goes on from its last id."""
RETRY_MS = 1_000
_PIECES = 100
"""Events in one piece of the answer."""
Position = dict[str, int]
"""Channel -> posts that were taken."""
_PART = re.compile(r"([a-z_]{1,32}):(\d{1,9})")


def written(position: Mapping[str, int]) -> str:
    """A position in its words."""
    return ",".join(f"{channel}:{k}" for channel, k in sorted(position.items()) if k)


def parse_position(text: str) -> Position:
    """A position from its words. Raises BadInput."""
    position: Position = {}
    for part in text.split(",") if text else ():
        match = _PART.fullmatch(part)
        if match is None:
            raise BadInput("from", f"got {part[:40]!r}, wanted is a position such as control:3,public:12")
        position[match[1]] = int(match[2])
    return position


class FeedPosition:
    """Where one viewer is in one feed. `brief`: it gets no posts and no live text."""

    def __init__(self, feed: Feed, position: Position, metrics: Metrics, *, brief: bool = False) -> None:
        self.feed, self.position, self._brief = feed, dict(position), brief
        self._metrics, self._backlog = metrics, len(feed.posts)
        self._next = 0
        self._told: dict[str, int] = {}
        """Field of the view, or state -> the version that was told."""
        self._lived = feed.lives[-1][0] if feed.lives else 0
        self.ended = False

    def take(self) -> list[bytes]:
        """What is new, some pieces at most."""
        chunks: list[bytes] = []
        posts = self.feed.posts
        while not self._brief and self._next < len(posts) and len(chunks) < _PIECES:
            post = posts[self._next]
            self._next += 1
            if self._next > self._backlog:
                self._metrics.gateway_lag_seconds.observe(max(0.0, (time.time_ns() - post.at_ns) / 1e9))
            if post.k >= self.position.get(post.channel, 0):
                self.position[post.channel] = post.k + 1
                chunks.append(b"id: %s\n%s" % (written(self.position).encode(), post.data))
                self._sent("post")
        if not self._brief and self._next < len(posts):
            return chunks
        if fields := [data for _, data in self._news(self.feed.view)]:
            sid = msgspec.json.encode(self.feed.sid)
            chunks.append(b'event: view\ndata: {"session":%s,%s}\n\n' % (sid, b",".join(fields)))
            self._sent("view")
        for name, data in self._news(self.feed.states):
            chunks.append(data)
            self._sent(name.partition(":")[0])
        if not self._brief:
            lives = [data for number, data in self.feed.lives if number > self._lived]
            chunks += lives
            self._sent("live", len(lives))
        self._lived = self.feed.lives[-1][0] if self.feed.lives else self._lived
        if self.feed.over and not self.ended and not self.has_more():
            self.ended = True
            why = "" if self.feed.fault is None else str(self.feed.fault)
            chunks.append(encoded("end", EndEvent(session=self.feed.sid, why=why)))
        return chunks

    def _news(self, states: Mapping[str, tuple[int, bytes]]) -> Iterator[tuple[str, bytes]]:
        """What changed of these since it was told last."""
        for name, (version, data) in states.items():
            if self._told.get(name) != version:
                self._told[name] = version
                yield name, data

    def _sent(self, event: str, count: int = 1) -> None:
        if count:
            self._metrics.gateway_events.labels(event=event).inc(count)

    def has_more(self) -> bool:
        """Whether posts wait."""
        return not self._brief and self._next < len(self.feed.posts)


async def pieces(views: Sequence[FeedPosition]) -> AsyncIterator[bytes]:
    """The bytes of a stream, until all its sessions are closed."""
    wake = asyncio.Event()
    for view in views:
        view.feed.viewers.add(wake)
    try:
        yield b"retry: %d\n\n" % RETRY_MS
        while True:
            wake.clear()
            chunks = [data for view in views for data in view.take()]
            if chunks:
                yield b"".join(chunks)
            elif all(view.ended for view in views):
                return
            else:
                try:
                    async with asyncio.timeout(PING_S):
                        await wake.wait()
                except TimeoutError:
                    yield b": ping\n\n"
    finally:
        now = time.monotonic()
        for view in views:
            view.feed.viewers.discard(wake)
            view.feed.used_at = now


class EventStream(Response):
    """The answer that is a stream. `streams`: all that are open or about to be, with whose they are; this one has its
    `place` there until it ends."""

    media_type = "text/event-stream"

    def __init__(
        self, views: Sequence[FeedPosition], metrics: Metrics, streams: dict[object, str], place: object
    ) -> None:
        super().__init__(headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._views, self._metrics, self._streams, self._place = views, metrics, streams, place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until there is nothing more, the viewer leaves, or it takes nothing for too long."""
        self._metrics.gateway_streams.set(len(self._streams))
        try:
            with contextlib.suppress(CallerLeft, TimeoutError, OSError):
                await unless_left(receive, self._send(send))
        finally:
            self._streams.pop(self._place, None)
            self._metrics.gateway_streams.set(len(self._streams))

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with contextlib.aclosing(pieces(self._views)) as chunks:  # type: ignore[type-var]
            async for data in chunks:
                try:
                    async with asyncio.timeout(SLOW_S):
                        await send({"type": "http.response.body", "body": data, "more_body": True})
                except TimeoutError:
                    self._metrics.gateway_slow.inc()
                    raise
        await send({"type": "http.response.body", "body": b"", "more_body": False})
