"""Where the attacks are played: one connection a user, a secret, and a referee with a moderator's key.

The referee posts the secret where an attacker must not hear it, listens where an attacker must not be heard, and takes
away what is left over. A row is `refused` only if the broker or a moderator said no, or if what was to arrive was shown
not to. What was let through counts as a failure, whether anybody was there to be harmed or not.
"""

import asyncio
import base64
import contextlib
import secrets
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import sha256
from typing import Literal, NamedTuple, Self

import msgspec
from nats.aio.msg import Msg

from parley.agents.tools.folder import archive
from parley.bus import accounts, artifacts, channels, rights, streams, subjects
from parley.bus.accounts import Credentials
from parley.bus.connection import Connection, connect
from parley.bus.errors import ApiError, BusError, Denied
from parley.client.protocols import panel_setup
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas.post import CLOSED, AskFate, Fate, Post, Posts, ReadPosts
from parley.schemas.presence import Announcement
from parley.schemas.session import CancelSession, Document, OpenSession, Seat, child_id
from parley.schemas.turn import Turn, Work
from parley.schemas.wire import decode, encode

Outcome = Literal["refused", "SUCCEEDED", "let through", "could not run"]
REFUSED: Outcome = "refused"
SUCCEEDED: Outcome = "SUCCEEDED"
LET_THROUGH: Outcome = "let through"
NOT_RUN: Outcome = "could not run"
VIOLATION = "permissions violation"
NOT_STORED = {"Nats-Expected-Stream": "none"}
"""A header by which a stream refuses a message that listeners on its subject hear all the same."""
ASK_S = 2.0
READY_S = 10.0
"""So long a bus that has just started is waited for."""
_GRACE_S = 0.08
_TRIES = 3
PROTOCOL = PROTOCOLS[panel_setup().name]
"""Of the check's own session."""
_ROLES = {
    f"zz_check_{number}": role
    for number, role in enumerate((r.name for r in PROTOCOL.roles for _ in range(r.least)), 1)
}
_QUEUES = tuple(_ROLES)
HELD = _QUEUES[-1]
"""Queues of the check's own session. Nobody serves them, so no model is paid."""


class Verdict(msgspec.Struct, frozen=True):
    outcome: Outcome
    how: str


class CannotRun(Exception):
    """An attack could not be made."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    who: str
    group: str
    attack: str
    outcome: Outcome
    how: str


class OpenTurn(msgspec.Struct, frozen=True):
    """A turn of the check's own session, with its real token."""

    queue: str
    work: Work
    turn: Turn


class Owned(msgspec.Struct):
    """A session of one client's, which others attack: with a document and an artifact."""

    owner: str
    sid: str
    document: str
    """Its id."""
    seq: int = 0
    """Of its opening, in IN; 0: it could not be opened."""


class Planted(NamedTuple):
    """An entry of the check's own, which holds its secret, in LOG."""

    sid: str
    seq: int


ARCHIVE = archive({"check.txt": (b"parley bus check", False)})
ARCHIVE_ID = sha256(ARCHIVE).hexdigest()
"""What the check stores as an artifact."""


def writes(user: Credentials) -> list[str]:
    """The channels that a user speaks on."""
    return rights.writable(user.row)


def violation(denied: Denied) -> Verdict:
    return Verdict(REFUSED, f"{VIOLATION} ({denied.operation})")


class Scene:
    """One run of the check against one bus."""

    def __init__(self, url: str, users: Mapping[str, Credentials], guess: Callable[[str], str] | None = None) -> None:
        self.url = url
        self.users = dict(users)
        self.sid = f"check_{secrets.token_hex(6)}"  # no hyphen: one before "c1" would name a child of a session
        self.secret = f"secret-{secrets.token_hex(8)}".encode()
        self.message_id = guess or (lambda sid: secrets.token_hex(16))
        """How the users of this bus make the id of a submission."""
        self.connections: dict[str, Connection] = {}
        self.turns: tuple[OpenTurn, ...] = ()
        self._count = 0
        self.owned = self._to_be_opened()
        self.planted = Planted(self.beside("log"), 0)
        self.held = ""
        """Where a turn that somebody else holds is settled."""
        self._stack = AsyncExitStack()
        self.serving: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """A queue whose turns an attack counts on is left alone by the others."""
        self._opening = asyncio.Lock()

    # -- life
    async def __aenter__(self) -> Self:
        try:
            for name, credentials in self.users.items():
                connection = await connect(self.url, credentials, name=f"check {name}")
                self.connections[name] = connection
                self._stack.push_async_callback(connection.close)
            self.referee = self.connections[self._named(accounts.MODERATOR)]
            await self._lay_out()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(BusError):
            await self._clear_up()
        await self._stack.aclose()

    def _named(self, kind: str) -> str:
        names = sorted(name for name, c in self.users.items() if c.kind == kind)
        if not names:
            raise CannotRun(f"no credentials of a {kind} in the folder")
        return names[0]

    async def _lay_out(self) -> None:
        """A secret in LOG, a turn in another's hands, and a session that is open; a consumer for each
        queue, also where its worker is not there yet."""
        for user in self.users.values():
            if user.kind == accounts.AGENT:
                await self.ensure_consumer(user.queue)
        ack = await self.referee.store(subjects.log(self.planted.sid, subjects.STEP), self.secret)
        self.planted = Planted(self.planted.sid, ack.seq)
        for queue in _QUEUES:
            await self.ensure_consumer(queue)
        self.held = await self._hold()
        with contextlib.suppress(BusError, CannotRun):  # without a moderator there is no session to attack
            await self._open()
            for owned in self.owned.values():
                await self._open_owned(owned)

    async def ensure_consumer(self, queue: str) -> None:
        """The queue's consumer; one that is there stays as it is."""
        try:
            await self.referee.api(f"CONSUMER.INFO.WORK.{subjects.consumer(queue)}")
        except ApiError:
            await streams.ensure_queue(self.referee, queue)

    async def _hold(self) -> str:
        """Put a turn on a queue of the check's, and take it; where it is to be settled."""
        await self.referee.store(subjects.work(HELD, self.beside("held"), "1"), self.secret)
        inbox = self.referee.nc.new_inbox()
        got: asyncio.Queue[Msg] = asyncio.Queue()
        sub = await self.referee.subscribe(inbox, got.put_nowait)
        await self.referee.publish(subjects.next_turns(HELD), b'{"batch":1,"expires":500000000}', reply=inbox)
        try:
            msg = await asyncio.wait_for(got.get(), READY_S)
        except TimeoutError:
            raise CannotRun("no turn could be taken from WORK") from None
        finally:
            await sub.unsubscribe()
        assert msg.data == self.secret
        return msg.reply

    async def _open(self) -> None:
        """Open a session whose queues nobody serves, and read the turns that it asks."""
        await self.open(self.sid, turn_timeout_s=300.0)
        found = []
        for queue in _QUEUES[:2]:
            subject = subjects.work.of(queue=queue, session=self.sid)
            stored = await self.referee.api("STREAM.MSG.GET.WORK", {"last_by_subj": subject})
            work = decode(base64.b64decode(stored["message"]["data"]), Work)
            found.append(OpenTurn(queue, work, work.turns[0]))
        self.turns = tuple(found)

    def _to_be_opened(self) -> dict[str, Owned]:
        """Of two clients, so that each has one to attack: of those that read no others' first, then of owners."""
        rank = {accounts.CLIENT: 0, accounts.OWNER: 1}
        owned = sorted(
            (c for c in self.users.values() if c.kind in rank), key=lambda c: (rank[c.kind], c.reads, c.user)
        )
        document = sha256(self.secret).hexdigest()
        return {c.user: Owned(c.user, self.fresh(), document) for c in owned[:2]}

    async def _open_owned(self, owned: Owned) -> None:
        conn = self.connections[owned.owner]
        document = Document(id=owned.document, name="secret.txt", text=self.secret.decode())
        seq = await self.open(owned.sid, turn_timeout_s=300.0, by=owned.owner, documents=(document,))
        await artifacts.put(conn, owned.sid, ARCHIVE, patience_s=ASK_S)
        owned.seq = seq

    async def open(self, sid: str, *, turn_timeout_s: float, by: str = "", documents: tuple[Document, ...] = ()) -> int:
        """Open one more session of silent seats; the opening's sequence in IN. Raises BusError, CannotRun."""
        author, seq = by or self.opener, 0
        seats = tuple(Seat(seat=q, role=r, queue=q) for q, r in _ROLES.items())
        opening = OpenSession(
            question="Are its seats silent?", protocol=PROTOCOL.name, seats=seats, turn_timeout_s=turn_timeout_s,
            documents=documents,
        )  # fmt: skip
        fate = Fate(fate="pending")
        async with self._opening:  # one that is through says that its seats are gone
            try:
                for _ in range(_TRIES):  # of several moderators one may not have heard yet who another knows of
                    await self._announce(draining=False)
                    seq = await self.store(author, channels.CLIENT, sid, encode(opening))
                    fate = await self.fate(author, author, channels.CLIENT, sid, seq)
                    if fate.fate == "taken" or "no worker is alive" not in fate.why:
                        break
            finally:
                await self._announce(draining=True)
        if fate.fate != "taken":
            raise CannotRun(f"no session could be opened: {fate.why or fate.fate}")
        return seq

    async def _announce(self, *, draining: bool) -> None:
        """The check's queues come and go: nobody else's session should seat them."""
        for queue, role in _ROLES.items():
            here = Announcement(
                instance=self.sid, queue=queue, roles=(role,), model="none", family="none", draining=draining
            )
            await self.referee.publish(subjects.here(role, queue, ""), encode(here), confirm=True)

    async def until_closed(self, sid: str) -> None:
        """Wait until a session is over: its seats are silent. Raises CannotRun."""
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            reply = await self.referee.request(subjects.read(channels.CONTROL, sid), encode(ReadPosts()), ASK_S)
            if any(post.kind == CLOSED for post in decode(reply.data, Posts).posts):
                return
            await self.grace()
        raise CannotRun(f"a session did not end within {READY_S:g} s")

    async def posts(self, sid: str, channel: str) -> tuple[Post, ...]:
        """A channel's history, as the opener may read it."""
        msg = await self.connections[self.opener].request(subjects.read(channel, sid), encode(ReadPosts()), ASK_S)
        return decode(msg.data, Posts).posts

    @property
    def opener(self) -> str:
        """Who opens the check's session: an owner, or else a client."""
        with contextlib.suppress(CannotRun):
            return self._named(accounts.OWNER)
        return self._named(accounts.CLIENT)

    async def submit(self, name: str, channel: str, sid: str, data: bytes) -> Fate:
        """Store something on IN in a user's own name, and wait for its fate. Raises BusError, CannotRun."""
        return await self.fate(name, name, channel, sid, await self.store(name, channel, sid, data))

    async def store(self, name: str, channel: str, sid: str, data: bytes) -> int:
        """Store something on IN in a user's own name; its sequence."""
        conn = self.connections[name]
        return (await conn.store(subjects.inbox(channel, name, sid), data, msg_id=secrets.token_hex(16))).seq

    async def fate(self, who: str, author: str, channel: str, sid: str, seq: int, timeout_s: float = 8.0) -> Fate:
        """What a moderator tells one user about a submission of an author."""
        deadline = time.monotonic() + timeout_s
        while True:
            ask = encode(AskFate(seq=seq))
            msg = await self.connections[who].request(subjects.fate(channel, author, sid), ask, ASK_S)
            fate = decode(msg.data, Fate)
            if fate.fate != "pending" or time.monotonic() > deadline:
                return fate
            await asyncio.sleep(0.02)

    async def _clear_up(self) -> None:
        cancel = encode(CancelSession(reason="the check is over"))
        if self.turns:
            channel = channels.OWNER if self.users[self.opener].kind == accounts.OWNER else channels.CLIENT
            await self.submit(self.opener, channel, self.sid, cancel)
        for owned in (one for one in self.owned.values() if one.seq):
            await self.submit(owned.owner, channels.CLIENT, owned.sid, cancel)
        beneath = [child_id(owned.sid, 1) for owned in self.owned.values()]
        beside = (self.beside(str(i)) for i in ("held", "log", *range(self._count + 1)))
        for sid in (self.sid, *beside, *beneath):
            await streams.erase_session(self.referee, sid)
            if sid != self.sid:
                await self.referee.api("STREAM.PURGE.LOG", {"filter": subjects.log_of(sid)})
                await self.referee.api("STREAM.PURGE.INDEX", {"filter": subjects.index.of(session=sid)})

    # -- names
    def beside(self, what: str) -> str:
        """A session id of this run."""
        return f"{self.sid}-{what}"

    def words(self) -> tuple[str, str]:
        """Two that nobody else says."""
        return secrets.token_hex(16), secrets.token_hex(16)

    def fresh(self) -> str:
        """A session id that nothing has used: what arrives under it can only be of one attack."""
        self._count += 1
        return self.beside(str(self._count))

    # -- looking
    @asynccontextmanager
    async def ears(self, subject: str, names: Iterable[str]) -> AsyncIterator[list[bytes]]:
        """Listen as these users, as far as they may; what was heard."""
        heard: list[bytes] = []
        subs = []
        for name in names:
            with contextlib.suppress(Denied):
                subs.append(
                    await self.connections[name].subscribe(subject, lambda msg: heard.append(msg.data or b"(nothing)"))
                )
        try:
            yield heard
        finally:
            for sub in subs:
                with contextlib.suppress(Exception):
                    await sub.unsubscribe()

    async def settle(self, *connections: Connection) -> None:
        """Everything published so far has arrived where it goes."""
        for conn in connections:
            await conn.nc.flush(5)

    async def grace(self) -> None:
        """Time for what a server or a moderator sends on its own."""
        await asyncio.sleep(_GRACE_S)
