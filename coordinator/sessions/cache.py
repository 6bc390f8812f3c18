"""The sessions that this process has folded: a cache of their logs, and how a log is folded."""

import asyncio
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby

import msgspec

from parley.bus import subjects
from parley.bus.log import Log, Stored
from parley.coordinator.machine import Protocol, Session, record, record_opening
from parley.coordinator.protocols import STANDING
from parley.coordinator.sessions import lost
from parley.coordinator.sessions.broken import BrokenLog, Unreadable
from parley.coordinator.sessions.group import PendingSubmission
from parley.observability.metrics import Metrics
from parley.schemas import log
from parley.schemas.wire import SchemaError, decode


class CachedSession:
    """A session as this process last read it."""

    __slots__ = (
        "authors",
        "breaks",
        "causes",
        "digest",
        "draining",
        "erased",
        "last",
        "last_n",
        "last_seq",
        "lock",
        "looked_at",
        "lost",
        "out",
        "protocol",
        "refusals",
        "session",
        "waiting",
    )

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting: list[PendingSubmission] = []
        """Submissions that came since the last append began."""
        self.draining = False
        """Whether a task is appending them."""
        self.forget()

    def forget(self) -> None:
        """Forget all that was read of its log."""
        self.session: Session | None = None
        self.protocol: Protocol | None = None
        self.last_seq = 0
        self.breaks = -1
        """How often the connection had broken when its log was last read. A restore beneath this process breaks it."""
        self.looked_at = -math.inf
        """When its log was last read, on the monotonic clock."""
        self.digest = ""
        self.causes: dict[str, int] = {}
        self.authors: dict[str, str] = {}
        """Cause -> author, for each cause that was submitted to IN."""
        self.refusals: dict[str, log.Refused] = {}
        self.last: tuple[log.Command, ...] = ()
        self.last_n = -1
        self.erased = False
        self.lost: lost.LostSession | None = None
        """What is known of a session that nobody could run; `session` is None then."""
        self.out = (0, -1, -1)
        """First and last transition whose effects this process got out, and how often the connection had broken by
        then."""

    def carried(self, first: int, last: int, breaks: int, out: bool) -> None:
        """Note that the effects of these transitions were carried out. `out`: all of them got out."""
        if not out:
            self.out = (0, -1, -1)
        elif self.out[1:] == (first - 1, breaks):
            self.out = (self.out[0], last, breaks)
        else:
            self.out = (first, last, breaks)

    def is_out(self, n: int, breaks: int) -> bool:
        """Whether this process got the effects of a transition out over the present connection. If so, a repeat of the
        submission needs no effects again."""
        first, last, breaks_then = self.out
        return first <= n <= last and breaks_then == breaks

    @property
    def refused(self) -> str:
        """Why its opening was refused; empty if it was not refused, or was accepted later."""
        if self.session is not None:
            return ""
        return next((r.why for r in self.refusals.values() if r.what == "open"), "")

    @property
    def over(self) -> str:
        """Why nothing is accepted for it any more; empty if it may be."""
        return self.lost.why if self.lost else "it was erased" if self.erased else ""

    def is_of(self, owner: str | None) -> bool:
        """Whether this owner's session it is, opened or refused. None: any owner."""
        if owner is None:
            return True
        if self.session is not None:
            return self.session.opened.author == owner
        if self.lost is not None:
            return self.lost.author == owner
        return bool(self.refused_by(owner, "open"))

    def refused_by(self, author: str, what: str) -> str:
        """Why a request of this author (a client, or the session above) was refused; `what`: open or cancel. Empty: it
        was not."""
        if self.session is not None:
            return ""
        return next((r.why for r in self.refusals.values() if r.what == what and r.author == author), "")

    def empty(self, remains: lost.LostSession | None = None) -> None:
        """Forget everything but the fact that it was erased, or, if nobody could run it, what `remains`."""
        self.session, self.protocol = None, None
        self.lost, self.erased = remains, remains is None
        self.causes, self.authors = (remains.causes, remains.authors) if remains else ({}, {})
        self.refusals = {}
        self.last, self.last_n = (), -1


_LOGGER = logging.getLogger(__name__)
_CLOSED_KEPT = 200
"""So many closed sessions stay in memory: most of their readers come soon after the end."""


class Cache:
    """The sessions that this process has folded, the least recently used first."""

    def __init__(
        self, log: Log, protocols: Mapping[str, Protocol], metrics: Metrics, unreadable: Unreadable, most: int
    ) -> None:
        self._log = log
        self._protocols = protocols
        self._metrics = metrics
        self._unreadable = unreadable
        self._most = most
        self._sessions: OrderedDict[str, CachedSession] = OrderedDict()
        self._closed: OrderedDict[str, None] = OrderedDict()
        self.on_ended: Callable[[str, Iterable[str]], None] = lambda sid, turns: None
        """Called with turns of a session that are not open any more."""

    async def look(self, sid: str, *, fresh: bool = False) -> CachedSession:
        """The session. `fresh` reads the log's tail first. Raises BrokenLog."""
        cached = self.get(sid)
        if fresh or not self.holds(cached):
            async with cached.lock:
                await self.reload(sid, cached)
        return cached

    def sessions(self) -> Mapping[str, CachedSession]:
        """The sessions that this process holds, by id."""
        return self._sessions

    def get(self, sid: str) -> CachedSession:
        cached = self._sessions.get(sid)
        if cached is None:
            cached = self._sessions[sid] = CachedSession()
            while len(self._sessions) > self._most:
                oldest, candidate = next(iter(self._sessions.items()))
                if candidate.lock.locked() or candidate.draining:
                    break
                del self._sessions[oldest]
            self._metrics.sessions_cached.set(len(self._sessions))
        else:
            self._sessions.move_to_end(sid)
        return cached

    def holds(self, cached: CachedSession) -> bool:
        """Whether its log was read over the present connection. If not, the log may be another one: a restore."""
        return cached.last_seq > 0 and cached.breaks == self._log.breaks

    async def reload(self, sid: str, cached: CachedSession, *, doubt: bool = False) -> bool:
        """Fold what was appended since the last read. What is newer than the log is forgotten, and the log is read from
        its beginning. True: there was something. `doubt`: an append at its end was refused. Raises BrokenLog."""
        looked_at, breaks = time.monotonic(), self._log.breaks
        doubt = cached.last_seq > 0 and (doubt or cached.breaks != breaks)
        stored = await self._log.read(sid, cached.last_seq - doubt)
        forgot = doubt and not _goes_on(cached, stored)
        if forgot:
            _LOGGER.warning("session %s: its log is older than what was read of it: it is read again", sid)
            cached.forget()
            stored = await self._log.read(sid)
        elif doubt:
            stored = [s for s in stored if s.seq > cached.last_seq]
        cached.looked_at, cached.breaks = looked_at, breaks
        end = next((i for i, m in enumerate(stored) if m.kind == subjects.ERASED), None)
        if end is not None:  # nobody needs to decode what lies before the end
            if lost.read_end(stored[end]) is None:
                stored = stored[end:]
            else:
                cached.empty(lost.fold(sid, await self._log.read(sid)))
                cached.last_seq = stored[end].seq
                stored = stored[end + 1 :]
        for _, together in groupby(stored, key=lambda s: s.seq):
            self._fold(sid, cached, list(together))
        self._unreadable.drop(sid)
        return bool(stored) or end is not None or forgot

    def _fold(self, sid: str, cached: CachedSession, together: list[Stored]) -> None:
        """Fold one message of the log. A message that cannot be folded changes nothing, now and at every later read."""
        message = together[0]
        if message.kind == subjects.REFUSED:
            refused = decode(message.data, log.Refused)
            cached.refusals[refused.cause] = refused
        elif message.kind == subjects.ERASED:
            cached.empty()
        elif not cached.lost:  # entries after such an end are from a moderator that did not know of it
            try:
                self._fold_entries(sid, cached, [_entry(sid, m) for m in together])
            except BrokenLog as error:
                if sid not in STANDING:
                    raise
                # A log of the moderators' own, written by another version: its memory is lost, and it is opened anew.
                _LOGGER.warning("%s; it is opened anew", error)
                cached.session = cached.protocol = None
        cached.last_seq = message.seq

    def _fold_entries(self, sid: str, cached: CachedSession, entries: list[log.Entry]) -> None:
        """Fold the entries of one message: all, or none."""
        if cached.session is None and entries[0].n and sid in STANDING:
            return  # the log no longer has its opening: it is opened anew
        protocol, session, digest = cached.protocol, cached.session, cached.digest
        steps = []
        for entry in entries:
            protocol, session, again = self._folded(sid, protocol, session, digest, entry)
            digest = entry.digest
            steps.append((session, again.commands, entry))
        assert protocol is not None and session is not None
        for after, commands, entry in steps:
            self.keep(cached, protocol, after, commands, entry)
        if session.closed:
            self.retire(sid, cached)

    def _folded(
        self, sid: str, known: Protocol | None, session: Session | None, digest: str, entry: log.Entry
    ) -> tuple[Protocol, Session, log.Entry]:
        if isinstance(entry.event, log.Opened):
            name, version = entry.event.protocol, entry.event.version
            protocol = self.protocol(sid, name, version)
            if not protocol.steps(version):
                why = f"it is of {name} {version}, and this moderator has {protocol.version}"
                raise BrokenLog(sid, "version", why, name, version)
        else:
            if session is None or known is None or entry.n != session.n:
                raise BrokenLog(sid, "gap", f"entry {entry.n} does not follow")
            protocol, name, version = known, known.name, session.opened.version
        try:
            after, again = _stepped(protocol, sid, session, digest, entry)
        except Exception as error:  # events of another version may raise anything
            why = f"entry {entry.n} cannot be taken: {type(error).__name__}: {error}"
            raise BrokenLog(sid, "entry", why, name, version) from error
        if again.digest != entry.digest:
            raise BrokenLog(sid, "digest", f"entry {entry.n} recomputes to something else", name, version)
        return protocol, after, again

    def protocol(self, sid: str, name: str, version: int) -> Protocol:
        protocol = self._protocols.get(name)
        if protocol is None:
            known = sorted(n for n, known in self._protocols.items() if not known.standing)
            why = f"protocol {name} is not known here; known are {', '.join(known)}"
            raise BrokenLog(sid, "protocol", why, name, version)
        return protocol

    def keep(
        self,
        cached: CachedSession,
        protocol: Protocol,
        session: Session,
        commands: tuple[log.Command, ...],
        entry: log.Entry,
    ) -> None:
        before = cached.session
        cached.protocol = protocol
        cached.session = session
        if before is not None and (ended := before.turns.keys() - session.turns.keys()):
            self.on_ended(session.sid, ended)
        cached.digest = entry.digest
        cached.causes[entry.cause] = entry.n
        if entry.cause.startswith("in:"):
            cached.authors[entry.cause] = getattr(entry.event, "author", "")
        if commands:
            cached.last = commands
            cached.last_n = entry.n

    def retire(self, sid: str, cached: CachedSession) -> None:
        """Forget a closed session's documents, since nobody asks for them; and keep only so many closed sessions."""
        assert cached.session is not None
        bare = msgspec.structs.replace(cached.session.opened, documents=())
        cached.session = msgspec.structs.replace(cached.session, opened=bare)
        self._closed[sid] = None
        self._closed.move_to_end(sid)
        while len(self._closed) > _CLOSED_KEPT:
            oldest, _ = self._closed.popitem(last=False)
            if oldest != sid:
                self._sessions.pop(oldest, None)

    def drop(self, sid: str) -> None:
        """Forget a session that another process erased."""
        self._sessions.pop(sid, None)


def _goes_on(cached: CachedSession, stored: list[Stored]) -> bool:
    """Whether a log, read from the last known message on, still has that message."""
    if not stored or stored[0].seq != cached.last_seq:
        return False
    last = [s for s in stored if s.seq == cached.last_seq][-1]
    beside = last.kind in (subjects.REFUSED, subjects.ERASED) or cached.over
    return bool(beside) or decode(last.data, log.Entry).digest == cached.digest


def _entry(sid: str, message: Stored) -> log.Entry:
    try:
        return decode(message.data, log.Entry)
    except SchemaError as error:
        raise BrokenLog(sid, "entry", f"an entry cannot be read: {error}") from error


def _stepped(
    protocol: Protocol, sid: str, session: Session | None, digest: str, entry: log.Entry
) -> tuple[Session, log.Entry]:
    if isinstance(entry.event, log.Opened):
        return record_opening(protocol, sid, entry.event, entry.at_ns, entry.cause)
    assert session is not None
    return record(protocol, session, digest, entry.event, entry.at_ns, entry.cause)
