"""Answers the questions of readers, clients and owners, from the log and from presence."""

import asyncio

import msgspec

from parley.bus import subjects
from parley.bus.channels import PUBLIC
from parley.bus.library import Msg
from parley.bus.log import Asides
from parley.bus.pending_requests import Stores
from parley.coordinator.presence import Presence
from parley.coordinator.sessions.broken import Unreadable
from parley.coordinator.sessions.limits import Admission
from parley.coordinator.sessions.rows import Listing
from parley.coordinator.sessions.store import Sessions
from parley.coordinator.sessions.sweep import Sweep
from parley.schemas.log import Aside
from parley.schemas.post import (
    AskFate,
    EraseSession,
    Fate,
    ListSessions,
    LogPage,
    Post,
    Posts,
    ReadLog,
    ReadPosts,
    RebuildIndex,
)
from parley.schemas.presence import Workers
from parley.schemas.session import Document
from parley.schemas.turn import Documents, FetchDocuments, SubmitAnswer
from parley.schemas.wire import Json, decode

_PAGE_BYTES = 1_000_000
_FRESH_S = 1.0
"""Seconds that a reader waits for the newest state of a session while a step of it is under way."""


class QueryService:
    """Answers questions. It changes nothing, except when an owner has a session erased."""

    def __init__(
        self,
        sessions: Sessions,
        asides: Asides,
        presence: Presence,
        unreadable: Unreadable,
        listing: Listing,
        name: str,
        stores: Stores,
        sweep: Sweep,
        admission: Admission,
    ) -> None:
        """`name`: this moderator's; `stores`: of its connection."""
        self._sweep = sweep
        self._admission = admission
        self._stores = stores
        self._sessions = sessions
        self._unreadable = unreadable
        self._listing = listing
        self._name = name
        self._asides = asides
        self._presence = presence

    async def read(self, msg: Msg, channel: str, sid: str, owner: str | None = None) -> Posts:
        """A channel's posts from `k` on, as many as fit one message. The broker has checked that the asker may read the
        channel, for the sessions of `owner` if one is named. Another owner's session looks like one that does not
        exist."""
        request = decode(msg.data, ReadPosts)
        behind = False
        try:
            async with asyncio.timeout(_FRESH_S):
                cached = await self._sessions.find(sid)
        except TimeoutError:  # a step is under way that the bus does not store: the posts before it are valid
            cached, behind = await self._sessions.look(sid), True
        if cached is not None and not cached.is_of(owner):
            cached = None
        if cached is None or (cached.session is None and cached.lost is None):
            refused = ""
            if cached is not None and not cached.erased:
                refused = cached.refused if owner is None else cached.refused_by(owner, "open")
            return Posts(posts=(), known=cached is not None and not cached.erased and not refused, refused=refused)
        page: list[Post] = []
        size = 0
        for post in cached.session.posts if cached.session else cached.lost.posts if cached.lost else ():
            if post.channel != channel or post.k < request.k:
                continue
            size += len(bytes(post.body)) + 300
            if page and size > _PAGE_BYTES:
                return Posts(posts=tuple(page), more=True)
            page.append(post)
        return Posts(posts=tuple(page), behind=behind)

    async def documents(self, msg: Msg, channel: str, sid: str, owner: str | None = None) -> Documents:
        """Documents of a session by content hash, as many as fit one message. Documents lie on `public`."""
        request = decode(msg.data, FetchDocuments)
        cached = await self._sessions.look(sid)
        if cached.session is None or cached.erased or channel != PUBLIC or not cached.is_of(owner):
            return Documents(documents=())
        wanted = set(request.ids)
        page: list[Document] = []
        size = 0
        for document in cached.session.opened.documents:
            if document.id not in wanted:
                continue
            size += 4 * len(document.text)
            if page and size > 4 * _PAGE_BYTES:
                break
            page.append(document)
        return Documents(documents=tuple(page))

    async def fate(self, msg: Msg, channel: str, author: str, sid: str) -> Fate:
        """What became of a submission to IN. Only its author is told; to everybody else it does not exist."""
        cause = f"in:{decode(msg.data, AskFate).seq}"
        cached = await self._sessions.look(sid, fresh=True)
        if cached.authors.get(cause) == author:
            return Fate(fate="taken")
        refused = cached.refusals.get(cause)
        if refused is not None and refused.author == author:
            return Fate(fate="refused", why=refused.why, field=refused.field, retry_s=refused.retry_s)
        last = await self._asides.last(sid)
        if last is not None:
            aside = decode(last, Aside)
            if aside.cause == cause and aside.subject.startswith(
                subjects.inbox.of(channel=channel, author=author)[:-1]
            ):
                return Fate(fate="aside", why=aside.why)
        return Fate(fate="pending")

    async def own(self, msg: Msg, what: str, author: str, sid: str) -> msgspec.Struct:
        """An owner's questions: `sessions`, `log`, `workers`; his orders to `erase` a session and to rebuild the
        `index`. And a client's question for sessions that are `mine`."""
        if what in ("sessions", "mine"):  # the broker vouches for the author: a client lists only its own
            asked = decode(msg.data, ListSessions)
            page = await self._listing.page(asked, author if what == "mine" else None)
            return msgspec.structs.replace(page, limits=await self._admission.used(author)) if asked.limits else page
        if what == "index":
            return await self._listing.rebuild(decode(msg.data, RebuildIndex))
        if what == "log":
            return await self._log(decode(msg.data, ReadLog), sid)
        if what == "workers":
            here = self._presence
            return Workers(
                workers=here.everybody(),
                experts=here.experts(),
                listening_s=here.listening_s(),
                moderator=self._name,
                unreadable=self._unreadable.sessions(),
                unstored=self._stores.trouble(),
                damaged=self._sweep.damaged(),
                damaged_count=self._sweep.damaged_count,
            )
        if what == "erase":
            decode(msg.data, EraseSession)
            receipt = await self._sessions.erase(sid, author)
            return SubmitAnswer(verdict="accepted" if receipt.accepted else "refused", why=receipt.why, n=receipt.n)
        return SubmitAnswer(
            verdict="refused", why=f"there is no {what} to ask for; known are erase, index, log, sessions, workers"
        )

    async def _log(self, request: ReadLog, sid: str) -> LogPage:
        entries = await self._sessions.entries(sid, request.n)
        page: list[Json] = []
        size = 0
        for entry in entries:
            size += len(bytes(entry))
            if page and size > 3 * _PAGE_BYTES:
                return LogPage(entries=tuple(page), more=True)
            page.append(entry)
        return LogPage(entries=tuple(page))
