"""The real engine inside one process: a nats-server child with accounts on, moderators, workers with the stub model."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self

from prometheus_client import CollectorRegistry, Counter

from parley.agents.models import make_model
from parley.agents.specs import AgentSpec, load
from parley.agents.worker import Worker
from parley.bus import subjects
from parley.bus.accounts import Credentials, mint, publics, table
from parley.bus.channels import CLIENT
from parley.bus.clock import Clock
from parley.bus.connection import Connection, connect
from parley.bus.embedded import EmbeddedServer
from parley.bus.errors import RequestTimeout
from parley.bus.log import waiting
from parley.coordinator.machine import Protocol
from parley.coordinator.moderator import Moderator
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.sessions.token_keys import TokenKeys
from parley.observability.metrics import Metrics
from parley.schemas.log import Entry
from parley.schemas.post import AskFate, Fate, ListSessions, LogPage, Post, Posts, ReadLog, ReadPosts, SessionRows
from parley.schemas.result import Result
from parley.schemas.session import CancelSession, OpenSession
from parley.schemas.turn import SubmitAnswer
from parley.schemas.wire import decode, encode

QUEUES = {"panelist_1": "panelist", "panelist_2": "panelist", "panelist_3": "panelist", "analyst": "analyst"}
KEY = b"k" * 32


def counted(counter: Counter) -> float:
    """What a counter, or one of its labels, has counted."""
    (family,) = counter.collect()
    return family.samples[0].value


async def until(
    what: Callable[[], Any], timeout_s: float = 10.0, why: str = "", *, right: Callable[[Any], Any] = bool
) -> Any:
    """Ask, or await, until the answer is right; the answer."""
    end = time.monotonic() + timeout_s
    while True:
        value = what()
        if isinstance(value, Awaitable):
            value = await value
        if right(value):
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{why or 'it'}: did not come true within {timeout_s:g} s")
        await _tick()


async def _tick() -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)


class Engine:
    """Everything that a test of the engine starts, and closes in the right order."""

    def __init__(
        self,
        folder: Path,
        queues: Mapping[str, str] = QUEUES,
        ack_wait_s: float = 1.0,
        pins: Mapping[str, str] | None = None,
        viewers: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.users = table(
            queues,
            clients=("client", "alice", "bob"),
            observers=("metrics",),
            pins=pins,
            readers={"audit": ("alice",), "auditor": ("*",)},
            viewers=viewers,
            probes=("probe",),
        )
        self.credentials: dict[str, Credentials] = mint(self.users)
        self.server = EmbeddedServer(folder, self.users, publics(self.credentials))
        self.queues = dict(queues)
        self.ack_wait_s = ack_wait_s
        self._watching: Connection | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.server.start()
        self._stack.callback(self.server.stop)
        self.owner = await self.connect("owner")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def clock_of(self, user: str) -> Clock:
        """The clock of the machine that a user is on."""
        return Clock()

    async def connect(self, user: str) -> Connection:
        """A connection of one user, closed at the end."""
        connection = await connect(self.server.url, self.credentials[user], name=user, clock=self.clock_of(user))
        self._stack.push_async_callback(connection.close)
        return connection

    async def moderator(self, protocols: Mapping[str, Protocol] = PROTOCOLS, **options: Any) -> Moderator:
        """One more moderator."""
        connection = await self.connect("moderator")
        given = {"in_ack_wait_s": self.ack_wait_s, "work_ack_wait_s": self.ack_wait_s, "token_keys": TokenKeys(KEY),
                 **options}  # fmt: skip
        moderator = Moderator(connection, metrics=Metrics(CollectorRegistry()), protocols=protocols, **given)
        return await self._stack.enter_async_context(moderator)

    async def worker(
        self,
        queue: str,
        options: Mapping[str, Any] | None = None,
        *,
        room: int = 4,
        model: Any = None,
        spec: AgentSpec | None = None,
        **more: Any,
    ) -> Worker:
        """One more copy of a queue's worker."""
        spec = (spec or load(queue)).model_copy(update={"room": room})
        connection = await self.connect(queue)
        worker = Worker(
            connection,
            spec=spec,
            model=model or make_model("tests.support.model:make", dict(options or {})),
            metrics=Metrics(CollectorRegistry()),
            ack_wait_s=self.ack_wait_s,
            **more,
        )
        return await self._stack.enter_async_context(worker)

    async def workers(self, options: Mapping[str, Any] | None = None, **more: Any) -> list[Worker]:
        """One worker a queue."""
        return [await self.worker(queue, options, **more) for queue in self.queues]

    # -- as a client
    async def open(self, sid: str, **request: Any) -> Fate:
        """Open a session and wait for its fate."""
        message = OpenSession(**{"question": "What is the answer?", "protocol": "consensus", **request})
        return await self.submit(sid, encode(message))

    async def play(self, sid: str, **request: Any) -> Result:
        """Open a session and wait for its end; what came of it."""
        fate = await self.open(sid, **request)
        assert fate.fate == "taken", fate
        return decode((await self.closed(sid)).body, Result)

    async def cancel(self, sid: str, reason: str = "") -> Fate:
        """Cancel a session and wait for the fate of that."""
        return await self.submit(sid, encode(CancelSession(reason=reason)))

    async def submit(
        self, sid: str, data: bytes, by: Connection | None = None, channel: str = CLIENT, msg_id: str = ""
    ) -> Fate:
        """Anything to IN, in the owner's name or another user's, and its fate."""
        by = by or self.owner
        author = by.credentials.user
        ack = await by.store(subjects.inbox(channel, author, sid), data, msg_id=msg_id or secrets.token_hex(16))

        async def fate() -> Fate | None:
            answer = await self.ask(subjects.fate(channel, author, sid), AskFate(seq=ack.seq), Fate, by)
            return None if answer.fate == "pending" else answer

        settled = await until(fate)
        assert isinstance(settled, Fate)
        return settled

    async def posts(self, sid: str, channel: str) -> tuple[Post, ...]:
        """A channel's history."""
        posts: Posts = await self.ask(subjects.read(channel, sid), ReadPosts(), Posts)
        return posts.posts

    async def ask(self, subject: str, question: object, wanted: type[Any], by: Connection | None = None) -> Any:
        """As the owner or another user; again while the moderator that is asked is busy."""

        async def once() -> Any:
            data = (await (by or self.owner).request(subject, encode(question), 5.0)).data
            return None if data == encode(SubmitAnswer(verdict="busy")) else decode(data, wanted)

        return await until(once)

    async def closed(self, sid: str, timeout_s: float = 15.0) -> Post:
        """Wait until the session is closed; the post that says so."""

        async def look() -> Post | None:
            return next((p for p in await self.posts(sid, "control") if p.kind == "closed"), None)

        post = await until(look, timeout_s)
        assert isinstance(post, Post)
        return post

    async def log(self, sid: str) -> tuple[str, ...]:
        """The session's entries as stored."""
        msg = await self.owner.request(subjects.own("log", "owner", sid), encode(ReadLog()), 5.0)
        page = decode(msg.data, LogPage)
        assert not page.more
        return tuple(bytes(entry).decode() for entry in page.entries)

    async def entries(self, sid: str) -> list[Entry]:
        """The session's entries."""
        return [decode(e.encode(), Entry) for e in await self.log(sid)]

    async def kept(self, stream: str, only: str = ">") -> list[str]:
        """The subjects under which a stream has messages."""
        if self._watching is None:
            self._watching = await self.connect("moderator")
        return await waiting(self._watching, stream, only)

    async def emptied(self, stream: str, only: str = ">", timeout_s: float = 10.0) -> None:
        """Wait until a stream has no such message any more."""

        async def empty() -> bool:
            return not await self.kept(stream, only)

        await until(empty, timeout_s)

    async def sessions(self) -> SessionRows:
        """All sessions. Asked twice, as clients do: a moderator that ends may take a question with it."""
        asked = (subjects.own("sessions", "owner", ""), encode(ListSessions()))
        try:
            msg = await self.owner.request(*asked, 5.0)
        except RequestTimeout:
            msg = await self.owner.request(*asked, 15.0)
        return decode(msg.data, SessionRows)


@asynccontextmanager
async def engine(folder: Path, **options: Any) -> AsyncIterator[Engine]:
    """A started engine without moderators and workers."""
    async with Engine(folder, **options) as started:
        yield started
