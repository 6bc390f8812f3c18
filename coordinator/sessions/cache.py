"""The sessions that this process has folded: a cache of their logs, and how a log is folded."""

import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from itertools import groupby

import msgspec

from parley.bus import subjects
from parley.bus.log import Log, Stored
from parley.coordinator.machine import Protocol, Session, record, record_opening
from parley.coordinator.protocols import STANDING
from parley.coordinator.sessions import lost
from parley.coordinator.sessions.broken import BrokenLog, Unreadable
from parley.coordinator.sessions.cached import CachedSession
from parley.observability.metrics import Metrics
from parley.schemas import log
from parley.schemas.wire import SchemaError, decode

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

    @staticmethod
    def keep(
        cached: CachedSession,
        protocol: Protocol,
        session: Session,
        commands: tuple[log.Command, ...],
        entry: log.Entry,
    ) -> None:
        cached.protocol = protocol
        cached.session = session
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
