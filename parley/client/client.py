"""A client of a running bus: open a session, follow it, cancel it, read its result and its log."""

import asyncio
import contextlib
import math
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TypeVar

import msgspec

from parley.bus import artifacts, subjects
from parley.bus.accounts import CLIENT as CLIENT_KIND
from parley.bus.accounts import EVERYBODY
from parley.bus.accounts import OWNER as OWNER_KIND
from parley.bus.accounts import VIEWER as VIEWER_KIND
from parley.bus.channels import CLIENT, CLIENTS, CONTROL, INBOX, OWNER, readable_by
from parley.bus.cluster.patience import Patience
from parley.bus.connection import Connection
from parley.bus.errors import BusError, LocalFault, ModeratorsBusy
from parley.bus.pending_requests import lacks_room
from parley.bus.posts import Reader
from parley.client.errors import BadInput, NotAllowed, Refusal, StackFailed, Unanswered, Unreachable, bad_input
from parley.client.post_order import in_order
from parley.client.show.session_list import Listed
from parley.observability import caller
from parley.schemas.folders.notes import Note
from parley.schemas.post import (
    CLOSED,
    AskFate,
    EraseSession,
    Fate,
    IndexRebuilt,
    LimitUse,
    ListSessions,
    Live,
    LogPage,
    Post,
    ReadLog,
    RebuildIndex,
    SessionRow,
    SessionRows,
)
from parley.schemas.presence import AskWorkers, Workers
from parley.schemas.result import Result
from parley.schemas.session import (
    AnswerNow,
    CancelSession,
    DecideItem,
    ForkSession,
    GiveFeedback,
    KeepNotes,
    OpenSession,
    Submission,
)
from parley.schemas.turn import SubmitAnswer
from parley.schemas.wire import Undecodable, decode, encode

T = TypeVar("T")

_REQUEST_S = 2.0
_PIECE_S = 15.0
"""So long one piece of an index that is rebuilt may take."""
_PAGE = 200
_FATE_S = 1.0
"""A moderator that died with the question is not waited for longer: another one has the submission soon."""
_AGAIN_S = 0.02
_LISTENING_S = 0.1
_LATE_S = 10.0
"""So long after its asker gave up an opening may still be taken: clocks differ."""


def new_sid() -> str:
    """A session's id: 80 random bits, hex."""
    return secrets.token_hex(10)


Opening = TypeVar("Opening", OpenSession, ForkSession)
Serve = Callable[[OpenSession | ForkSession], Awaitable[Mapping[str, str]]]


class Client:
    """What a client's credential may do, over one connection.

    Parameters
    ----------
    user
        The user that the credential stands for: the broker pins it as the author.
    patience_s
        How long to wait for a moderator.
    outlasts
        Whether that time stands still while servers of the bus are away, and until they have settled. Posts are
        waited for so anyway.
    lacking_s
        How long to wait where it does not stand still, while so many servers are away that nothing is stored.
    """

    def __init__(
        self,
        connection: Connection,
        user: str,
        *,
        url: str = "",
        patience_s: float = 30.0,
        outlasts: bool = False,
        lacking_s: float = math.inf,
    ) -> None:
        self.owner = connection.credentials.kind == OWNER_KIND
        """Whether it may ask for logs, workers and everybody's sessions."""
        self.connection = connection
        self._user = user
        self._url = url
        self._patience_s = patience_s
        self._outlasts = outlasts
        self._lacking_s = lacking_s
        self._reader = Reader(connection, patience_s=patience_s)
        self.recall: Callable[[OpenSession], Awaitable[OpenSession]] | None = None
        """Puts into what is opened what past sessions teach; None: nothing."""
        self.is_stopped: Callable[[], bool] = lambda: False
        """Whether the gateway that it serves is being stopped: then nobody has left."""
        self.serve: Serve | None = None
        """Has whom a session needs served just before it is opened, and says by which queues; None: whoever is alive
        serves."""

    @property
    def user(self) -> str:
        """The user that it is."""
        return self._user

    # -- submitting
    async def open(self, request: OpenSession, sid: str | None = None) -> str:
        """Open a session; its id once a moderator has taken it.

        It expires shortly after nobody waits for it any more: a moderator that comes later refuses it.

        Raises
        ------
        Refusal
            A moderator refused it, and why.
        Unanswered
            No moderator answered in time: the session may still run, until it expires.
        BadInput
            It does not fit one message.
        """
        request = await self.with_workers(request)
        if self.recall is not None:
            request = await self.recall(request)
        return await self._open("parley open", request, sid or new_sid())

    async def fork(self, request: ForkSession, sid: str | None = None) -> str:
        """Open a session that carries the record of another of one's own on; its id once a moderator has taken it.
        Raises as `open`."""
        return await self._open("parley fork", await self.with_workers(request), sid or new_sid())

    async def _open(self, name: str, request: OpenSession | ForkSession, sid: str) -> str:
        waits = request.expires_s is msgspec.UNSET
        expires_s = self._patience_s + _LATE_S if request.expires_s is msgspec.UNSET else request.expires_s
        began = time.monotonic()
        try:
            with caller.asking(name, sid) as headers:
                await self._opens(sid, msgspec.structs.replace(request, expires_s=expires_s), headers, again=waits)
        except Unreachable as error:
            raise Unanswered(sid, str(error), began + expires_s - time.monotonic()) from error
        return sid

    async def with_workers(self, request: Opening) -> Opening:
        """The request with the queues that serve it, once they do. Raises as `serve`."""
        if self.serve is None or request.queues:
            return request
        return msgspec.structs.replace(request, queues=dict(await self.serve(request)))

    async def _opens(
        self, sid: str, request: OpenSession | ForkSession, headers: dict[str, str], *, again: bool
    ) -> None:
        """Submit it. Stored just before servers went away it may be refused as too late, although its asker waited:
        with `again` it is submitted anew."""
        while True:
            since = time.monotonic()
            try:
                await self._submit(sid, request, headers=headers)
                return
            except Refusal as refusal:
                late = refusal.field == "session" and time.monotonic() - since > self._patience_s + _LATE_S
                if not (late and again and self._outlasts):
                    raise

    async def cancel(self, sid: str, reason: str = "") -> None:
        """End a session. Raises as `open`; Refusal also where it is not open."""
        await self._submit(sid, CancelSession(reason=reason), OWNER if self.owner else CLIENT)

    async def answer_now(self, sid: str) -> None:
        """End a session with what it has come to by now. Raises as `open`; Refusal also where it is not open."""
        await self._submit(sid, AnswerNow(), OWNER if self.owner else CLIENT)

    async def decide(self, sid: str, decision: DecideItem) -> None:
        """Answer an open item of a session, one's own or as an owner. Raises as `open`; Refusal with the moderator's
        words."""
        await self._submit(sid, decision, OWNER if self.owner else CLIENT)

    async def feedback(self, sid: str, *, right: bool, answer: str = "", note: str = "") -> None:
        """Say whether a closed session's result is right, one's own or as an owner. The last feedback counts.

        Raises
        ------
        Refusal
            There is no such session, it is open, or another's.
        BadInput
            A text is too long.
        """
        with bad_input():
            given = GiveFeedback(right=right, answer=answer, note=note)
        await self._submit(sid, given, OWNER if self.owner else CLIENT)

    async def keep_notes(self, sid: str, notes: tuple[Note, ...]) -> None:
        """Say which notes of a closed session stay, one's own or as an owner, and in which words. Raises Refusal as
        `feedback`."""
        await self._submit(sid, KeepNotes(notes=notes), OWNER if self.owner else CLIENT)

    async def inbox(self, sid: str) -> tuple[Post, ...]:
        """What a session asked humans, and what was answered. Raises UnknownSession."""
        return await self.history(sid, INBOX)

    async def history(self, sid: str, channel: str) -> tuple[Post, ...]:
        """What was said on a channel so far. Raises UnknownSession."""
        return await self._reader.history(sid, channel)

    async def said(self, sid: str) -> list[Post]:
        """What was said so far on the channels that clients read, in its order. Raises UnknownSession."""
        return sorted([p for c in readable_by(CLIENTS) for p in await self.history(sid, c)], key=lambda p: p.n)

    async def put(self, sid: str, data: bytes) -> str:
        """Store an artifact in one's own session, which may still be to open; its id. Raises as
        parley.bus.artifacts.put."""
        patience_s, outlasts = self._patience_s, self._outlasts
        return await artifacts.put(self.connection, sid, data, patience_s=patience_s, outlasts=outlasts)

    async def get(self, sid: str, id: str) -> bytes:
        """An artifact of a session. Raises as parley.bus.artifacts.get."""
        patience_s, outlasts = self._patience_s, self._outlasts
        return await artifacts.get(self.connection, sid, id, patience_s=patience_s, outlasts=outlasts)

    async def _submit(
        self, sid: str, submission: Submission, channel: str = CLIENT, headers: dict[str, str] | None = None
    ) -> None:
        """Store on IN, then ask until a moderator says what became of it. One id, so that repeats are one
        submission."""
        if self.connection.credentials.kind == VIEWER_KIND:
            raise NotAllowed("creds", f"{self._user!r} is a viewer, and a viewer may only read")
        data = encode(submission)
        limit = self.connection.max_size - 1_024
        if len(data) > limit:
            raise BadInput(
                "evidence",
                f"the session has {len(data) / 1e6:.1f} MB, but a message can have at most {limit / 1e6:.1f} MB",
            )
        patience = self._patience()
        subject = subjects.inbox(channel, self._user, sid)
        msg_id = secrets.token_hex(16)
        ack = await self._until(
            patience, lambda: self.connection.store(subject, data, msg_id=msg_id, headers=headers), storing=True
        )
        ask = encode(AskFate(seq=ack.seq))
        while True:
            fate = await self._ask(patience, subjects.fate(channel, self._user, sid), ask, Fate, _FATE_S)
            if fate.fate == "taken":
                return
            if fate.fate != "pending":
                retry_s = fate.retry_s if isinstance(fate.retry_s, float) else 0.0
                raise Refusal(fate.field, fate.why or f"the submission was put {fate.fate}", retry_s)
            if patience.over():
                raise self._nobody("no moderator took the submission", patience)
            await asyncio.sleep(_AGAIN_S)

    # -- reading
    async def posts(
        self,
        sid: str,
        from_k: int | Mapping[str, int] = 0,
        on_live: Callable[[Live], None] | None = None,
        *,
        expected: int = 0,
    ) -> AsyncGenerator[Post, None]:
        """Posts of the channels that clients read, in the order in which they were said, until the session is closed.
        `expected`: the number of the first. Raises as parley.bus.posts.Reader.follow."""
        async with contextlib.aclosing(self.heard(sid, from_k, on_live)) as posts:
            async for post in in_order(posts, expected=expected):
                yield post

    async def heard(
        self, sid: str, from_k: int | Mapping[str, int] = 0, on_live: Callable[[Live], None] | None = None
    ) -> AsyncGenerator[Post, None]:
        """The same as they come, each channel in its order."""
        async with contextlib.aclosing(self._reader.follow(sid, readable_by(CLIENTS), from_k, on_live)) as posts:
            async for post in posts:
                yield post

    async def result(self, sid: str) -> Result:
        """The session's result; waits until it is closed."""
        async with contextlib.aclosing(self._reader.follow(sid, (CONTROL,))) as posts:
            async for post in posts:
                if post.kind == CLOSED:
                    return decode(post.body, Result)
        raise Unreachable(f"session {sid} gave no result")

    async def finished(self, sid: str) -> Result | None:
        """The session's result if it is closed; does not wait. Raises UnknownSession."""
        for post in await self._reader.history(sid, CONTROL):
            if post.kind == CLOSED:
                return decode(post.body, Result)
        return None

    # -- lists
    async def sessions(self, limit: int | None = None, *, only_open: bool = False) -> list[SessionRow]:
        """Sessions, those that changed last first; all of them, or the newest `limit`. To an owner all of the tenant,
        to a client those that its credential reads."""
        return (await self.listed(limit, only_open=only_open)).rows

    async def listed(self, limit: int | None = None, *, only_open: bool = False, before: int | None = None) -> Listed:
        """As `sessions`, and whether sessions may be missing. `before`: those alone that stand
        behind this `seq` of a row."""
        rows: dict[tuple[str, str], SessionRow] = {}
        whole = True
        for subject in self._lists():
            floor, pages = 0, 2
            while pages > 1:  # what changed meanwhile moved from pages to come to those that were read
                floor, pages, said = await self._pages(subject, floor, limit, only_open, rows, before)
                whole = whole and said
        newest_first = sorted(rows.values(), key=lambda row: row.seq, reverse=True)
        return Listed(newest_first[:limit], whole)

    async def _pages(
        self,
        subject: str,
        floor: int,
        limit: int | None,
        only_open: bool,
        rows: dict[tuple[str, str], SessionRow],
        before: int | None = None,
    ) -> tuple[int, int, bool]:
        """Read the rows behind `floor`, newest first, into `rows`: the newest one's sequence, how many pages that took,
        whether the index is whole."""
        top, pages, read = floor, 0, 0
        while True:
            size = _PAGE if limit is None else min(_PAGE, limit - read)
            page = await self._list(subject, ListSessions(before_seq=before, limit=size, open=only_open))
            pages += 1
            for row in page.rows:
                known = rows.get((row.owner, row.session))
                if known is None or known.seq < row.seq:
                    rows[row.owner, row.session] = row
                read += 1
                top = max(top, row.seq)
            if not page.more or not page.rows or read == limit or page.rows[-1].seq <= floor:
                return top, pages, page.whole
            before = page.rows[-1].seq

    async def limits(self) -> tuple[LimitUse, ...]:
        """What is used of the limits of whoever opens sessions with this credential; none: there are none."""
        kind = "sessions" if self.owner else "mine"
        asked = ListSessions(limit=1, limits=True)
        return (await self._list(subjects.own(kind, self._user, ""), asked)).limits

    async def row(self, sid: str) -> SessionRow | None:
        """What a list says of one session; None where there is no such session, or where it is another's."""
        for subject in self._lists():
            page = await self._list(subject, ListSessions(session=sid))
            if page.rows:
                return page.rows[0]
        return None

    def _lists(self) -> list[str]:
        """Where it asks for sessions: for all of the tenant, or for those of each client that it reads."""
        if not (self.owner or self.connection.credentials.kind in (CLIENT_KIND, VIEWER_KIND)):
            raise BadInput("creds", f"sessions are listed to owners and clients; {self._user!r} is neither")
        granted = self.connection.credentials.reads
        if self.owner or EVERYBODY in granted:
            return [subjects.own("sessions", self._user, "")]
        return [subjects.own("mine", name, "") for name in dict.fromkeys((self._user, *granted))]

    async def _list(self, subject: str, asked: ListSessions) -> SessionRows:
        return await self._ask(self._patience(), subject, encode(asked), SessionRows)

    async def rebuild_index(self) -> AsyncGenerator[IndexRebuilt, None]:
        """Enter all sessions of the log in the index, piece by piece; what each came to. It may be left off and begun
        again at any time."""
        self._owners_only("the index is rebuilt for owners")
        subject, done = subjects.own("index", self._user, ""), IndexRebuilt(seq=0, last_seq=0, sessions=0)
        while not done.done:
            ask = encode(RebuildIndex(after_seq=done.seq))
            done = await self._ask(self._patience(), subject, ask, IndexRebuilt, _PIECE_S)
            yield done

    # -- for owners
    async def log(self, sid: str, n: int = 0) -> list[str]:
        """The session's log from transition `n` on, one JSON text an entry, exactly as stored."""
        self._owners_only("logs are read by owners")
        entries: list[str] = []
        while True:
            ask = encode(ReadLog(n=n + len(entries)))
            page = await self._ask(self._patience(), subjects.own("log", self._user, sid), ask, LogPage)
            entries += [bytes(entry).decode() for entry in page.entries]
            if not page.more or not page.entries:
                return entries

    async def workers(self, patience_s: float | None = None) -> Workers:
        """Who is alive, copies of one queue apart, as one moderator has heard. `patience_s`: instead of the client's.
        Raises Unreachable: no moderator answered."""
        patience = self._patience() if patience_s is None else Patience(self.connection.nc, patience_s)
        return await self._ask(patience, subjects.own("workers", self._user, ""), encode(AskWorkers()), Workers)

    async def everybody(self, patience_s: float) -> Workers:
        """Who is alive, as a moderator says that has listened for as long as workers take to tell of themselves. If
        none has within `patience_s`: as far as one has heard. Raises Unreachable."""
        deadline = time.monotonic() + patience_s
        workers = await self.workers(patience_s)
        while not workers.heard and time.monotonic() < deadline:
            await asyncio.sleep(_LISTENING_S)
            workers = await self.workers(patience_s)
        return workers

    async def erase(self, sid: str) -> None:
        """Remove a closed session's texts. Raises Refusal where it is open or unknown, or was erased before."""
        self._owners_only("sessions are erased by owners")
        subject = subjects.own("erase", self._user, sid)
        answer = await self._ask(self._patience(), subject, encode(EraseSession()), SubmitAnswer)
        if answer.verdict != "accepted":
            raise Refusal("session", answer.why)

    # -- asking
    def _owners_only(self, what: str) -> None:
        if not self.owner:
            raise NotAllowed("creds", f"{what}; the credentials of {self._user!r} are a client's")

    def _patience(self) -> Patience:
        nc, lacking_s = self.connection.nc, self._lacking_s
        return Patience(nc, self._patience_s, outlasts=self._outlasts, lacking_s=lacking_s)

    async def _ask(
        self, patience: Patience, subject: str, data: bytes, wanted: type[T], timeout_s: float = _REQUEST_S
    ) -> T:
        async def once() -> T:
            answer = (await self.connection.request(subject, data, timeout_s)).data
            try:
                return decode(answer, wanted)
            except Undecodable as error:
                try:  # a moderator that is busy, or refuses to answer
                    said = decode(answer, SubmitAnswer)
                except Undecodable:  # asked again, it would answer the same
                    raise Refusal("", f"the moderator's answer cannot be read: {error}") from error
                if said.verdict == "refused":
                    raise Refusal("", said.why) from error
                raise ModeratorsBusy from error

        return await self._until(patience, once)

    async def _until(self, patience: Patience, call: Callable[[], Awaitable[T]], *, storing: bool = False) -> T:
        """Call again until it answers, or the patience is over. `storing`: the call stores something."""
        pause = _AGAIN_S
        while True:
            await patience.connected()
            try:
                return await call()
            except LocalFault as error:
                raise Refusal("", error.plain) from error
            except BusError as error:
                if patience.over(error):
                    full = storing and lacks_room(error)
                    what = "the bus stored nothing (its disk may be full, see parley doctor)"
                    busy = isinstance(error, ModeratorsBusy)
                    none = f"{error}; none answered" if busy else "no moderator answered"
                    raise self._nobody(what if full else none, patience) from error
                await asyncio.sleep(patience.pause_s(pause))
                pause = min(0.25, pause * 1.5)

    def _nobody(self, what: str, patience: Patience) -> Unreachable | StackFailed:
        nc = self.connection.nc
        if gone := nc.hopeless():
            return StackFailed(gone)
        where = f" at {self._url}" if self._url else ""
        why = f"; {nc.lacking}" if nc.lacking else ""
        early = min(self._patience_s, patience.waited_s) if self._lacking_s < self._patience_s else self._patience_s
        return Unreachable(f"{what} within {early:g} s{where}{why}")
