"""Feeds a view with a running session: its posts in order, the state of its turns and seats, and who is there.

Owners are told from the log, which has everything in its order; what is heard on the wire says when there is something
new. Others are told the posts of the channels that their credentials read.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from parley.bus.errors import BusError
from parley.client.api import Parley
from parley.client.errors import ParleyError
from parley.client.opened_session import Session
from parley.client.post_order import in_order
from parley.client.records import Altered
from parley.client.rendering.terminal import bare, failed
from parley.client.show.open_items import item_lines
from parley.client.show.printing import warn
from parley.client.view.fold import Fold
from parley.client.view.result import came_to_nothing
from parley.client.view.shapes import PostCard
from parley.client.view.taking import Notice
from parley.schemas.post import Live, Post
from parley.schemas.result import Result

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from parley.client.client import Client

_LOG_S = 0.4
"""The log is looked at when something is heard, and at least so often."""


class View:
    """Takes what happens. This one shows nothing while it runs, but questions to a human; notes go to stderr."""

    wants_workers = False
    """Whether it tells that nobody serves a seat's queue."""

    def __init__(self, *, verbose: bool = False) -> None:
        self._fold = Fold("")
        self._verbose = verbose
        self._where = ""
        self._kept = True
        self._led = False

    def located(self, where: str) -> None:
        """The options that name the bus, for commands that are shown."""
        self._where = where

    def forgets(self) -> None:
        """Nothing of the session is kept."""
        self._kept = False

    def is_led_on(self) -> None:
        """After the result the one next step is told, so the card has none."""
        self._led = True

    def leads_on(self, step: str) -> None:
        """What to do next."""
        self.note(f"next: {step}")

    def begins(self, fold: Fold) -> None:
        """What the session is folded into, as it goes."""
        self._fold = fold
        fold.led = self._led or not self._kept

    def opened(self) -> None:
        """The session is open."""

    def cards(self, cards: Sequence[PostCard], notices: Iterable[Notice]) -> None:
        """Something was said. A question to a human is told: somebody has to answer it."""
        for card in cards:
            if card.asks is not None:
                for text in bare(item_lines(self._fold.sid, card.asks, card.at_ms * 1_000_000, self._where)):
                    self.note(f"parley: {text.strip()}")

    def live(self, live: Live) -> None:
        """A seat's state or text."""

    def caught_up(self) -> None:
        """What the log had is told."""

    def note(self, text: str) -> None:
        """Something that the user should know."""
        warn(text)

    def result(self, result: Result) -> None:
        """It is over; where it failed, why turns came to nothing."""
        card = self._fold.answer()
        if card is not None and failed(result, card):
            for text in came_to_nothing(self._fold.turns):
                self.note(f"parley: {text}")

    def pause(self) -> None:
        """The terminal is wanted for a question."""

    def resume(self) -> None:
        """The question is over."""

    def close(self) -> None:
        """Leave the terminal as it was."""


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
