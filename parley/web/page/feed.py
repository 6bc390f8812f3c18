"""What happens in one session, heard once for each principal and told to all who watch.

Each event is encoded once. Nothing is queued for a viewer: posts stand in a list, of a state the last one counts, and
live text that a viewer did not take in time is lost to it.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from parley.bus.connection import Connection
from parley.bus.errors import BusError, UnknownSession
from parley.client.client import Client
from parley.client.errors import ParleyError
from parley.client.following import Following, Watcher
from parley.client.text import clean
from parley.client.view.fold import Fold
from parley.client.view.shapes import PostCard, SessionView
from parley.client.view.taking import Notice
from parley.schemas.past_sessions.feedback import CHANNEL as FEEDBACK_ON
from parley.schemas.post import Live, SessionRow
from parley.schemas.wire import SchemaError
from parley.web.page.shapes import HumanTurn, PostEvent, TroubleEvent, TurnEvent

SOON_S = 0.06
"""Live text and states are gathered for so long."""
AGAIN_S = 0.5
"""After the bus failed."""
_UNSETTLED = "Servers of the bus were away. No moderator answers yet; this page goes on by itself"
_LIVE = 512
_FIELDS = tuple(name for name in SessionView.__struct_fields__ if name not in ("version", "session", "rounds"))
"""Of the view: what is told as it changes."""


class EncodedPost(NamedTuple):
    """A post's event."""

    channel: str
    k: int
    data: bytes
    at_ns: int


def encoded(name: str, data: Any) -> bytes:
    """One event of a stream, without an id."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))


class Feed(Watcher):
    """One session for one principal.

    Parameters
    ----------
    dial
        The principal's connection, and what it does there. Raises Unreachable.
    """

    wants_workers = True

    def __init__(
        self,
        sid: str,
        row: SessionRow | None,
        dial: Callable[[], Awaitable[tuple[Connection, Client]]],
        *,
        everything: bool,
        patience_s: float = 10.0,
    ) -> None:
        self.sid, self.patience_s = sid, patience_s
        self.fold = Fold(sid, row, everything=everything)
        self.posts: list[EncodedPost] = []
        self.view: dict[str, tuple[int, bytes]] = {}
        """Field of the SessionView -> how often it changed, and its JSON with its name."""
        self.states: dict[str, tuple[int, bytes]] = {}
        """Other event that replaces the one before -> how often it changed, and its bytes."""
        self.lives: deque[tuple[int, bytes]] = deque(maxlen=_LIVE)
        self.viewers: set[asyncio.Event] = set()
        self.used_at = time.monotonic()
        """When somebody last looked."""
        self.fault: Exception | None = None
        """Why there is nothing to be seen."""
        self._dial = dial
        self._ready = asyncio.Event()
        self._following = Following(self.fold, self)
        self._client: Client | None = None
        self._lived = 0
        self._texts: dict[tuple[str, str, int], str] = {}
        self._soon: asyncio.TimerHandle | None = None
        self._task = asyncio.ensure_future(self._run())

    @property
    def is_lost(self) -> bool:
        """It ended, and not with its session: another is to be made."""
        return self.fault is not None or (self.over and self.fold.result is None)

    @property
    def over(self) -> bool:
        """Nothing more comes."""
        return self._task.done()

    async def ready(self) -> Fold:
        """What is known once all that was said has been read. Raises what stood in the way."""
        async with asyncio.timeout(self.patience_s + 5):
            await self._ready.wait()
        if self.fault is not None:
            raise self.fault
        return self.fold

    async def newest(self) -> Fold:
        """The same, with what was said just now, and after the end. The bus may be away: then as far as it is known."""
        fold = await self.ready()
        client = self._client
        if client is not None:
            with contextlib.suppress(BusError, ParleyError, TimeoutError):
                async with asyncio.timeout(1.0):
                    if client.owner:
                        await self._following.read(client)
                    elif fold.result is not None:
                        await self._read_afterwards(client)
        return fold

    async def _read_afterwards(self, client: Client) -> None:
        """What was said of a session that is closed: feedback."""
        for post in await client.history(self.sid, FEEDBACK_ON):
            if (card := self.fold.post(post)) is not None:
                self.cards([card], ())

    async def close(self) -> None:
        """Hear no more."""
        if self._soon is not None:
            self._soon.cancel()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    # -- hearing
    async def _run(self) -> None:
        while self.fold.result is None:
            try:
                await self._hear()
            except (UnknownSession, SchemaError) as error:
                self._fails(error)
                return
            except (BusError, ParleyError, TimeoutError) as error:
                if not self._ready.is_set():
                    self._fails(error)
                    return
                self.away(error)
                await asyncio.sleep(AGAIN_S)
        self._flush()
        self._wake()

    def _fails(self, error: Exception) -> None:
        self.fault = error
        self._ready.set()
        self._wake()

    async def _hear(self) -> None:
        """Until the session is closed. Raises what the bus raises."""
        connection, client = await self._dial()
        self._client = client

        def gone() -> None:
            self._trouble(away=True, message="the bus is away; this page goes on by itself once it is back")

        connection.on_disconnect.append(gone)
        connection.on_reconnect.append(self._following.look)
        try:
            await self._following.to_the_end(client)
        finally:
            connection.on_disconnect.remove(gone)
            connection.on_reconnect.remove(self._following.look)

    def live(self, live: Live) -> None:
        """A seat's state or text: told soon, with what else comes."""
        self.fold.live(live)
        if live.state == "text":
            key = live.seat, live.turn, live.attempt
            self._texts[key] = self._texts.get(key, "") + live.text
        else:
            self._tell_texts()
            self._tell_live(live)
        self._later()

    def caught_up(self, *, news: bool) -> None:
        """All that was said is told."""
        if not self._ready.is_set():
            self._flush()
            self._ready.set()
        self._trouble(away=False)
        if news:
            self._later()
            self._wake()

    def away(self, error: Exception) -> None:
        """The bus does not answer. Raises it where nothing is known yet."""
        if not self._ready.is_set():
            raise error
        unsettled = self._client is not None and self._client.connection.nc.unsettled
        self._trouble(away=True, message=_UNSETTLED if unsettled else str(getattr(error, "plain", error)))

    # -- telling
    def cards(self, cards: Sequence[PostCard], notices: Iterable[Notice]) -> None:
        """Something was said."""
        show = self.fold.show
        for card in cards:
            event = PostEvent(
                session=self.sid,
                post=card,
                round_title=show.round_title(card.round),
                round_note=show.round_note(card.round),
            )
            self.posts.append(EncodedPost(card.channel, card.k, encoded("post", event), card.at_ms * 1_000_000))

    def _tell_live(self, live: Live) -> None:
        self._lived += 1
        self.lives.append((self._lived, encoded("live", live)))

    def _tell_texts(self) -> None:
        for (seat, turn, attempt), text in self._texts.items():
            self._tell_live(Live(session=self.sid, seat=seat, turn=turn, state="text", text=text, attempt=attempt))
        self._texts.clear()

    def _trouble(self, *, away: bool, message: str = "") -> None:
        known = self.states.get("trouble")
        if known is None and not away:
            return
        event = TroubleEvent(session=self.sid, away=away, message=clean(message) or "the bus is back")
        _changed(self.states, "trouble", encoded("trouble", event))
        self._wake()

    def tell_turn(self, seat: str, turn: HumanTurn | None, message: str) -> None:
        """What the person on a seat is asked now."""
        event = TurnEvent(session=self.sid, seat=seat, turn=turn, message=message)
        _changed(self.states, f"turn:{seat}", encoded("turn", event))
        self._wake()

    def _later(self) -> None:
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(SOON_S, self._flush)

    def _flush(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        self._tell_texts()
        now = self.fold.view(posts=False)
        for name in _FIELDS:
            _changed(self.view, name, b'"%s":%s' % (name.encode(), msgspec.json.encode(getattr(now, name))))
        self._wake()

    def _wake(self) -> None:
        for viewer in self.viewers:
            viewer.set()


def _changed(told: dict[str, tuple[int, bytes]], name: str, data: bytes) -> None:
    version, before = told.get(name, (0, b""))
    if data != before:
        told[name] = version + 1, data
