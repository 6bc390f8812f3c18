"""Channels: live posts over core NATS, history by asking a moderator.

Live posts are lossy by nature. A post's number on its channel says what was dropped: doubles are passed over, a gap is
asked for, and after a reconnect or a silence the reader asks anyway. What it yields is complete and in order, whatever
the wire did.

What nobody hears is not sent: see Audience.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

import msgspec

from parley.bus import subjects
from parley.bus.channels import ACCOUNT_OF_ROLE, CONTROL
from parley.bus.cluster.patience import Patience
from parley.bus.connection import Connection
from parley.bus.errors import ModeratorRefused, ModeratorsBusy, PeerFault, UnknownSession
from parley.bus.library import Msg, Subscription
from parley.schemas.expert import expert_of
from parley.schemas.post import CLOSED, Live, Post, Posts, ReadPosts, decode_posts
from parley.schemas.session import human_queue, plain_name
from parley.schemas.turn import SubmitAnswer
from parley.schemas.wire import Undecodable, decode, encode

QUIET_S = 2.0
"""Seconds for which nothing is sent under a subject after the server said that nobody hears it, unless the session is
read."""
_SESSIONS_KEPT = 20_000
_NONE: Mapping[str, float] = {}


class Audience:
    """Sends a moderator's posts as long as somebody hears them: one of those who see all sessions, or one of owners.

    A post names a subject for an answer. Where nobody subscribes to it the server answers so (no responders), and for
    `QUIET_S` nothing more is sent under its subject. Who begins to follow a session subscribes and then reads its
    history: all moderators hear that he asks, and from then on send all.
    """

    def __init__(self, connection: Connection, reads: str) -> None:
        """`reads`: the subjects under which those listeners ask for history."""
        self._connection = connection
        self._reads = reads
        self._inbox = ""
        self._unheard: dict[str, dict[str, float]] = {}
        """Session -> subjects that nobody heard, and until when they are left out."""

    async def open(self) -> None:
        """Begin to hear who does not listen, and who reads. Before that everything is sent."""
        inbox = self._connection.nc.new_inbox()
        await self._connection.nc.hear(f"{inbox}.>", "", self._nobody)
        await self._connection.subscribe(self._reads, self._on_read)
        self._inbox = inbox

    def hears(self, sid: str, subject: str) -> bool:
        """Whether somebody may be listening to a subject of a session."""
        until = self._unheard.get(sid, _NONE).get(subject)
        return until is None or time.monotonic() >= until

    def follows(self, sid: str) -> bool:
        """Whether somebody may be listening to every subject of a session."""
        quiet = self._unheard.get(sid)
        return quiet is None or time.monotonic() >= max(quiet.values())

    def put(self, sid: str, subject: str, data: bytes, headers: Mapping[str, str] | None = None) -> bool:
        """Send at once, and learn whether anybody heard it; as Connection.put."""
        return self._connection.put(subject, data, headers, f"{self._inbox}.{sid}.{subject}" if self._inbox else "")

    def _on_read(self, msg: Msg) -> None:
        self._unheard.pop(msg.subject.rpartition(".")[2], None)

    def _nobody(self, msg: Msg) -> None:
        if msg.headers and msg.headers.get("Status") == "503":
            sid, _, subject = msg.subject[len(self._inbox) + 1 :].partition(".")
            if len(self._unheard) >= _SESSIONS_KEPT:
                self._unheard.clear()
            self._unheard.setdefault(sid, {})[subject] = time.monotonic() + QUIET_S


class Reader:
    """Follows channels of sessions over one connection.

    Parameters
    ----------
    quiet_s
        Seconds of silence after which history is asked for: the longest that a lost post stays unseen.
    patience_s
        Seconds for which a moderator that does not answer is asked again before the error is raised.
    """

    def __init__(self, connection: Connection, *, quiet_s: float = 2.0, patience_s: float = 30.0) -> None:
        self._connection = connection
        self._quiet_s = quiet_s
        self._patience_s = patience_s
        self._sees_all = connection.credentials.row.sees_all
        self._owners = ("", *connection.credentials.reads)
        """The owners whose sessions it reads: itself, or everybody, and those that granted it the right."""
        self._of: dict[str, str] = {}

    async def follow(
        self,
        sid: str,
        channels: Sequence[str],
        from_k: int | Mapping[str, int] = 0,
        on_live: Callable[[Live], None] | None = None,
    ) -> AsyncGenerator[Post, None]:
        """Posts of the channels, each channel in order from number `from_k`, which may be one for each channel; ends
        after `closed` on `control`.

        Parameters
        ----------
        on_live
            Called with seat states and live text as they come; lossy, in no order with the posts.

        Raises
        ------
        UnknownSession
            No moderator knows it.
        ModeratorRefused
            A moderator does not answer this, and why.
        BusError
            No moderator answered for `patience_s`, or each was busy. The time does not run while servers of the bus
            are away, nor for `parley.bus.clients.moving.SETTLE_S` after that.
        """
        inbox: asyncio.Queue[Post | None] = asyncio.Queue()
        subscriptions = await self._subscribe(sid, channels, inbox, on_live)

        def on_reconnect() -> None:
            inbox.put_nowait(None)

        self._connection.on_reconnect.append(on_reconnect)
        next_k = {c: from_k if isinstance(from_k, int) else from_k.get(c, 0) for c in channels}
        following = _Following(next_k, waits=True)
        try:
            async for post in self._catch_up(sid, channels, following):
                yield post
            while not following.closed:
                try:
                    async with asyncio.timeout(self._quiet_s):
                        next_post = await inbox.get()
                except TimeoutError:
                    next_post = None
                if next_post is not None and following.is_next(next_post):
                    if next_post.kind == CLOSED and next_post.channel == CONTROL:
                        async for post in self._rest(sid, following):
                            yield post
                    following.took(next_post)
                    yield next_post
                elif next_post is None or following.is_gap(next_post):
                    async for post in self._catch_up(
                        sid, channels if next_post is None else [next_post.channel], following
                    ):
                        yield post
        finally:
            self._connection.on_reconnect.remove(on_reconnect)
            for subscription in subscriptions:
                with contextlib.suppress(Exception):  # the connection may be gone
                    await subscription.unsubscribe()

    async def history(self, sid: str, channel: str, from_k: int = 0) -> tuple[Post, ...]:
        """A channel's posts so far. Raises as `follow`."""
        following = _Following({channel: from_k})
        return tuple([post async for post in self._catch_up(sid, [channel], following)])

    async def _subscribe(
        self,
        sid: str,
        channels: Sequence[str],
        inbox: "asyncio.Queue[Post | None]",
        on_live: Callable[[Live], None] | None,
    ) -> list[Subscription]:
        async def hear(msg: Msg) -> None:
            with contextlib.suppress(Undecodable):  # a message of another version is asked for like a lost post
                for post in decode_posts(msg.data):
                    inbox.put_nowait(post)

        async def hear_live(msg: Msg) -> None:
            assert on_live is not None
            with contextlib.suppress(Undecodable, subjects.BadSubject):  # lossy by nature
                _, author, _ = subjects.parse_live(msg.subject)
                live = decode(msg.data, Live)
                if live.session == sid:
                    on_live(msgspec.structs.replace(live, seat=_vouched(live.seat, author)))

        subscribe = self._connection.subscribe
        subscriptions = [await subscribe(subjects.post.of(session=sid, channel=c), hear) for c in channels]
        if on_live is not None:
            if self._sees_all:
                spoken = [subjects.live_owned.of(channel=c, session=sid) for c in channels]
            else:
                spoken = [subjects.live.of(channel=c, session=sid) for c in channels]
            subscriptions += [await subscribe(subject, hear_live) for subject in spoken]
        return subscriptions

    async def _catch_up(self, sid: str, channels: Sequence[str], following: "_Following") -> AsyncGenerator[Post, None]:
        """The posts of these channels in history beyond those yielded; `control` last, since it may end all."""
        for channel in sorted(channels, key=lambda c: c == CONTROL):
            async for post in self._beyond(sid, channel, following):
                if post.kind == CLOSED and channel == CONTROL:  # the others came since history was asked for
                    async for last in self._rest(sid, following):
                        yield last
                following.took(post)
                yield post

    async def _rest(self, sid: str, following: "_Following") -> AsyncGenerator[Post, None]:
        """All that the other channels have, before `closed` ends them."""
        for channel in following.next_k.keys() - {CONTROL}:
            async for post in self._beyond(sid, channel, following, whole=True):
                following.took(post)
                yield post

    async def _beyond(
        self, sid: str, channel: str, following: "_Following", *, whole: bool = False
    ) -> AsyncGenerator[Post, None]:
        """The posts of one channel in history beyond those yielded. `whole`: asked until a moderator has read the log
        for it."""
        more = True
        while more:
            page = await self._page(sid, channel, following.next_k[channel], waits=following.waits)
            if not page.known:
                raise UnknownSession(sid, page.refused)
            for post in page.posts:
                if following.is_next(post):
                    yield post
            more = (page.more and bool(page.posts)) or (whole and page.behind)

    async def _page(self, sid: str, channel: str, k: int, *, waits: bool) -> Posts:
        """A page of history, of the owner that the session belongs to. If it belongs to none of them, the answer for
        one's own."""
        if sid in self._of or self._sees_all or len(self._owners) == 1:
            return await self._ask(sid, self._of.get(sid, ""), channel, k, waits=waits)
        pages = {owner: await self._ask(sid, owner, channel, k, waits=waits) for owner in self._owners}
        owner = next((o for o, page in pages.items() if page.known), "")
        if pages[owner].known:
            self._of[sid] = owner
        return pages[owner]

    async def _ask(self, sid: str, owner: str, channel: str, k: int, *, waits: bool) -> Posts:
        """One page. `waits`: wait also while servers are away, since the session goes on after that."""
        subject = subjects.read(channel, sid)
        if owner:
            subject = subjects.owned(owner, subject)

        async def ask() -> Posts:
            return _page_of((await self._connection.request(subject, encode(ReadPosts(k=k)), 2.0)).data)

        return await Patience(self._connection.nc, self._patience_s, outlasts=waits).asked(ask)


def _page_of(data: bytes) -> Posts:
    """The page that a moderator answered with.

    Raises
    ------
    ModeratorRefused
        It refused.
    ModeratorsBusy
        It is busy: another one may answer.
    PeerFault
        Its answer cannot be read: another one may give one that can.
    """
    try:
        return decode(data, Posts)
    except Undecodable as error:
        try:
            answer = decode(data, SubmitAnswer)
        except Undecodable:
            raise PeerFault(f"a moderator's answer cannot be read: {error}") from error
    if answer.verdict == "refused":
        raise ModeratorRefused(answer.why)
    raise ModeratorsBusy


def _vouched(seat: str, author: str) -> str:
    """A seat's name, as it may be shown. The broker vouches for the author, and nobody for the seat. The name alone is
    shown if the seat is the author's own: its queue's, also on another model, its person's, or that of the expert who
    has the queue. Otherwise both are shown. If a role has the name of an expert, its seat belongs to the role alone."""
    author = plain_name(author)
    own = author in (seat, human_queue(seat)) or (
        bool(seat) and seat == expert_of(author) and seat not in ACCOUNT_OF_ROLE
    )
    return seat if own else f"{seat} ({author})"


class _Following:
    """The next post that one reader expects on each channel."""

    def __init__(self, next_k: dict[str, int], *, waits: bool = False) -> None:
        self.next_k = next_k
        self.waits = waits
        self.closed = False

    def is_next(self, post: Post) -> bool:
        return self.next_k.get(post.channel) == post.k

    def is_gap(self, post: Post) -> bool:
        return post.channel in self.next_k and post.k > self.next_k[post.channel]

    def took(self, post: Post) -> None:
        self.next_k[post.channel] = post.k + 1
        if post.channel == CONTROL and post.kind == CLOSED:
            self.closed = True
