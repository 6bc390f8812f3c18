"""The sessions that this process has folded: a cache of their logs, and how a log is folded."""

import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from itertools import groupby

import msgspec

from bus import subjects
from bus.log import Log, Stored
from coordinator.folded import lost
from coordinator.folded.broken import BrokenLog, Unreadable
from coordinator.folded.held import Held
from coordinator.machine import Protocol, Session, record, record_opening
from coordinator.protocols import STANDING
from observability.metrics import Metrics
from schemas import log
from schemas.wire import SchemaError, decode

_LOGGER = logging.getLogger(__name__)
_CLOSED_KEPT = 200
"""Closed sessions that stay folded: their readers come soon, or not."""


class Cache:
    """All sessions, as far as this process has seen them."""

    def __init__(
        self, log: Log, protocols: Mapping[str, Protocol], metrics: Metrics, unreadable: Unreadable, most: int
    ) -> None:
        self._log = log
        self._protocols = protocols
        self._metrics = metrics
        self._unreadable = unreadable
        self._most = most
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._closed: OrderedDict[str, None] = OrderedDict()

    async def look(self, sid: str, *, fresh: bool = False) -> Held:
        """The session; `fresh` also reads the log's tail. Raises BrokenLog."""
        held = self.get(sid)
        if fresh or held.last_seq == 0:
            async with held.lock:
                await self.reload(sid, held)
        return held

    def held(self) -> Mapping[str, Held]:
        """What this process holds, by session."""
        return self._held

    def get(self, sid: str) -> Held:
        held = self._held.get(sid)
        if held is None:
            held = self._held[sid] = Held()
            while len(self._held) > self._most:
                oldest, candidate = next(iter(self._held.items()))
                if candidate.lock.locked() or candidate.draining:
                    break
                del self._held[oldest]
            self._metrics.sessions_cached.set(len(self._held))
        else:
            self._held.move_to_end(sid)
        return held

    async def reload(self, sid: str, held: Held) -> bool:
        """Fold what was appended since; whether there was anything. Raises BrokenLog."""
        looked_at = time.monotonic()
        stored = await self._log.read(sid, held.last_seq)
        held.looked_at = looked_at
        end = next((i for i, m in enumerate(stored) if m.kind == subjects.ERASED), None)
        if end is not None:  # nobody needs to understand what lies before
            if lost.read_end(stored[end]) is None:
                stored = stored[end:]
            else:
                held.empty(lost.fold(sid, await self._log.read(sid)))
                held.last_seq = stored[end].seq
                stored = stored[end + 1 :]
        for _, together in groupby(stored, key=lambda s: s.seq):
            self._fold(sid, held, list(together))
        self._unreadable.drop(sid)
        return bool(stored) or end is not None

    def _fold(self, sid: str, held: Held, together: list[Stored]) -> None:
        """Take one message of the log; a message that cannot be taken changes nothing, now and at every later look."""
        message = together[0]
        if message.kind == subjects.REFUSED:
            refused = decode(message.data, log.Refused)
            held.refusals[refused.cause] = refused
        elif message.kind == subjects.ERASED:
            held.empty()
        elif not held.lost:  # what came later was taken by a moderator that did not know of such an end
            try:
                self._fold_entries(sid, held, [_entry(sid, m) for m in together])
            except BrokenLog as error:
                if sid not in STANDING:
                    raise
                # The moderators' own, of another version of them: what it remembered is gone, and it is opened anew.
                _LOGGER.warning("%s; it is opened anew", error)
                held.session = held.protocol = None
        held.last_seq = message.seq

    def _fold_entries(self, sid: str, held: Held, entries: list[log.Entry]) -> None:
        """Those of one message: all, or none."""
        if held.session is None and entries[0].n and sid in STANDING:
            return  # its opening is older than the log keeps: it is opened anew
        protocol, session, digest = held.protocol, held.session, held.digest
        steps = []
        for entry in entries:
            protocol, session, again = self._folded(sid, protocol, session, digest, entry)
            digest = entry.digest
            steps.append((session, again.commands, entry))
        assert protocol is not None and session is not None
        for after, commands, entry in steps:
            self.keep(held, protocol, after, commands, entry)
        if session.closed:
            self.retire(sid, held)

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
        except Exception as error:  # the events of another version may break anything
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
        held: Held,
        protocol: Protocol,
        session: Session,
        commands: tuple[log.Command, ...],
        entry: log.Entry,
    ) -> None:
        held.protocol = protocol
        held.session = session
        held.digest = entry.digest
        held.causes[entry.cause] = entry.n
        if entry.cause.startswith("in:"):
            held.authors[entry.cause] = getattr(entry.event, "author", "")
        if commands:
            held.last = commands
            held.last_n = entry.n

    def retire(self, sid: str, held: Held) -> None:
        """A closed session's documents are asked for by nobody; and only so many closed sessions stay folded."""
        assert held.session is not None
        bare = msgspec.structs.replace(held.session.opened, documents=())
        held.session = msgspec.structs.replace(held.session, opened=bare)
        self._closed[sid] = None
        self._closed.move_to_end(sid)
        while len(self._closed) > _CLOSED_KEPT:
            oldest, _ = self._closed.popitem(last=False)
            if oldest != sid:
                self._held.pop(oldest, None)

    def drop(self, sid: str) -> None:
        """Forget a session that another process erased."""
        self._held.pop(sid, None)


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
