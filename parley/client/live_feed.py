"""Feeds a view with a running session: its posts in order, the state of its turns and seats, and who is there.

Owners are told from the log, which has everything in its order; what is heard on the wire says when there is something
new. Others are told the posts of the channels that their credentials read.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from parley.bus.errors import BusError
from parley.client.api import Parley
from parley.client.errors import ParleyError
from parley.client.opened_session import Session
from parley.client.post_order import in_order
from parley.client.records import Altered
from parley.client.view.fold import Fold
from parley.client.view.shapes import PostCard
from parley.client.view.taking import Notice
from parley.schemas.post import Live, Post
from parley.schemas.result import Result

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from parley.client.client import Client

_LOG_S = 0.4
"""The log is looked at when something is heard, and at least so often."""


class View(Protocol):
    """Takes what happens."""

    wants_workers: bool

    def located(self, where: str) -> None: ...
    def forgets(self) -> None: ...
    def is_led_on(self) -> None: ...
    def leads_on(self, step: str) -> None: ...
    def begins(self, fold: Fold) -> None: ...
    def opened(self) -> None: ...
    def cards(self, cards: Sequence[PostCard], notices: Iterable[Notice]) -> None: ...
    def live(self, live: Live) -> None: ...
    def caught_up(self) -> None: ...
    def note(self, text: str) -> None: ...
    def result(self, result: Result) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...


async def show(parley: Parley, fold: Fold, view: View) -> Result:
    """Every post, to the session's end; what it came to. `fold`: of what was told already."""
    posts = Session(parley.client, fold.sid).posts(on_live=view.live)
    if not parley.client.owner or not await _by_log(parley, fold, view, posts):
        async for post in in_order(posts):
            card = fold.post(post)
            view.cards([card] if card is not None else [], fold.notices())
    assert fold.result is not None, "a session's posts end with its closing"
    return fold.result


async def _by_log(parley: Parley, fold: Fold, view: View, heard: "AsyncIterator[Post]") -> bool:
    """To the end by the log; False: another version writes it, and the posts go on. Raises what `heard` raises."""
    news = asyncio.Event()
    listening = asyncio.ensure_future(_listen(heard, news))
    try:
        while True:
            over = listening.done()
            with contextlib.suppress(ParleyError, BusError):  # what is heard says whether it goes on
                try:
                    await _read(parley.client, fold, view)
                except Altered:
                    return False
                if view.wants_workers:
                    there = await parley.client.workers()
                    if there.heard:
                        fold.scene.workers(frozenset(w.queue for w in there.workers))
            if fold.result is not None:
                return True
            if over:
                listening.result()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOG_S):
                    await news.wait()
            news.clear()
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _read(client: "Client", fold: Fold, view: View) -> None:
    """Take what the log has beyond what is known."""
    for text in await client.log(fold.sid, len(fold.texts)):
        view.cards(fold.entry(text), fold.notices())
    view.caught_up()


async def _listen(heard: "AsyncIterator[Post]", news: asyncio.Event) -> None:
    async for _ in heard:
        news.set()
