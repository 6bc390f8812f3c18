"""Transitions: fold a session's log, step the machine, append, carry the effects out.

Nothing here is owned: what is kept between two transitions is a cache of the log, and an append that the broker refuses
says that the cache is old. The rules that make this exact (one message a transition; reload before anything is dropped;
effects out before an answer) are those of docs/bus.md.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

import msgspec

from bus import subjects
from bus.connection import Connection
from bus.errors import BusError, Conflict
from bus.log import Log, Stored
from bus.streams import purge_session
from coordinator.briefing import turn_transition
from coordinator.effects import Effects
from coordinator.folded import lost
from coordinator.folded.broken import BrokenLog, Unreadable
from coordinator.folded.held import Held
from coordinator.machine import Illegal, Protocol, Session, record, record_opening
from coordinator.measures import note
from coordinator.protocols import STANDING
from observability.metrics import Metrics
from schemas import log
from schemas.post import SessionRow
from schemas.stops import STOPS, VERSION_LOST
from schemas.wire import Json, SchemaError, decode, encode

_LOGGER = logging.getLogger(__name__)
_TRIES = 50
_CLOSED_KEPT = 200
"""Closed sessions that stay folded: their readers come soon, or not."""


class Receipt(msgspec.Struct, frozen=True):
    """What became of a submission: accepted at a transition, or refused and why."""

    accepted: bool
    n: int = -1
    why: str = ""
    again: bool = False
    """It had been taken before."""


class Sessions:
    """All sessions, as far as this process has seen them."""

    def __init__(
        self,
        connection: Connection,
        *,
        protocols: Mapping[str, Protocol],
        effects: Effects,
        metrics: Metrics,
        unreadable: Unreadable,
        most: int = 20_000,
        checkpoint: Callable[[str, str], None] | None = None,
    ) -> None:
        self._connection = connection
        self._clock = connection.clock
        self._log = Log(connection)
        self._protocols = protocols
        self._effects = effects
        self._metrics = metrics
        self._unreadable = unreadable
        self._most = most
        self._checkpoint = checkpoint
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._rows: dict[str, SessionRow] = {}
        self._rows_to = 0
        self._listing = asyncio.Lock()
        self._closed: OrderedDict[str, None] = OrderedDict()

    # -- looking
    async def look(self, sid: str, *, fresh: bool = False) -> Held:
        """The session; `fresh` also reads the log's tail. Its `session` is None where the log has no opening."""
        held = self._get(sid)
        if fresh or held.last_seq == 0:
            async with held.lock:
                await self._reload(sid, held)
        return held

    async def recent(self, sid: str, within_s: float) -> Held:
        """The session as the log had it within the last seconds."""
        held = self._get(sid)
        return held if time.monotonic() - held.looked_at < within_s else await self.look(sid, fresh=True)

    async def find(self, sid: str) -> Held | None:
        """The session after a look at the log's tail; None where the log has nothing of it."""
        held = await self.look(sid, fresh=True)
        return held if held.last_seq else None

    def _get(self, sid: str) -> Held:
        held = self._held.get(sid)
        if held is None:
            held = self._held[sid] = Held()
            while len(self._held) > self._most:
                oldest, candidate = next(iter(self._held.items()))
                if candidate.lock.locked():
                    break
                del self._held[oldest]
            self._metrics.sessions_cached.set(len(self._held))
        else:
            self._held.move_to_end(sid)
        return held

    async def _reload(self, sid: str, held: Held) -> bool:
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
        for message in stored:
            self._fold(sid, held, message)
        self._unreadable.drop(sid)
        return bool(stored) or end is not None

    def _fold(self, sid: str, held: Held, message: Stored) -> None:
        """Take one message of the log; a message that cannot be taken changes nothing, now and at every later look."""
        if message.kind == subjects.REFUSED:
            refused = decode(message.data, log.Refused)
            held.refusals[refused.cause] = refused
        elif message.kind == subjects.ERASED:
            held.empty()
        elif not held.lost:  # what came later was taken by a moderator that did not know of such an end
            try:
                self._fold_entry(sid, held, _entry(sid, message))
            except BrokenLog as error:
                if sid not in STANDING:
                    raise
                # The moderators' own, of another version of them: what it remembered is gone, and it is opened anew.
                _LOGGER.warning("%s; it is opened anew", error)
                held.session = held.protocol = None
        held.last_seq = message.seq

    def _fold_entry(self, sid: str, held: Held, entry: log.Entry) -> None:
        if held.session is None and entry.n and sid in STANDING:
            return  # its opening is older than the log keeps: it is opened anew
        if isinstance(entry.event, log.Opened):
            name, version = entry.event.protocol, entry.event.version
            protocol = self._protocol(sid, name, version)
            if not protocol.steps(version):
                why = f"it is of {name} {version}, and this moderator has {protocol.version}"
                raise BrokenLog(sid, "version", why, name, version)
        else:
            if held.session is None or held.protocol is None or entry.n != held.session.n:
                raise BrokenLog(sid, "gap", f"entry {entry.n} does not follow")
            protocol, name, version = held.protocol, held.protocol.name, held.session.opened.version
        try:
            session, again = _stepped(protocol, sid, held, entry)
        except Exception as error:  # the events of another version may break anything
            why = f"entry {entry.n} cannot be taken: {type(error).__name__}: {error}"
            raise BrokenLog(sid, "entry", why, name, version) from error
        if again.digest != entry.digest:
            raise BrokenLog(sid, "digest", f"entry {entry.n} recomputes to something else", name, version)
        self._keep(held, protocol, session, again.commands, entry)
        if session.closed:
            self._retire(sid, held)

    def _protocol(self, sid: str, name: str, version: int) -> Protocol:
        protocol = self._protocols.get(name)
        if protocol is None:
            why = f"protocol {name} is not known here; known are {', '.join(sorted(self._protocols))}"
            raise BrokenLog(sid, "protocol", why, name, version)
        return protocol

    @staticmethod
    def _keep(
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

    # -- one transition
    async def open(self, sid: str, cause: str, opened: log.Opened) -> Receipt:
        """The first transition. Raises Inadmissible where the machine refuses it."""
        held = self._get(sid)  # as its caller has just looked; an append to a log that moved since is refused
        async with held.lock:
            for _ in range(_TRIES):
                if cause in held.causes:
                    await self._again(sid, held, held.causes[cause])
                    return Receipt(True, held.causes[cause], again=True)
                if held.session is not None or held.over:
                    return Receipt(False, why=f"session {sid} exists already")
                if opened.parent and held.refused_by(opened.parent, "cancel"):
                    return Receipt(False, why=f"session {opened.parent} cancelled it before it was opened")
                protocol = self._protocol(sid, opened.protocol, opened.version)
                session, entry = record_opening(protocol, sid, opened, self._clock.now_ns(), cause)
                row = SessionRow(
                    session=sid, seq=0, protocol=opened.protocol, question=opened.question[:300], status="open",
                    opened_ns=entry.at_ns,
                )  # fmt: skip
                if await self._append(sid, held, protocol, session, entry, row):
                    return Receipt(True, 0)
        raise BusError(f"session {sid}: no append in {_TRIES} tries")

    async def take(self, sid: str, cause: str, event: log.Event) -> Receipt:
        """One transition after the first: stepped, appended, carried out; or refused with the reason."""
        held = await self.look(sid)
        async with held.lock:
            for _ in range(_TRIES):
                if cause in held.causes:
                    await self._again(sid, held, held.causes[cause])
                    return Receipt(True, held.causes[cause], again=True)
                if held.session is None or held.protocol is None:
                    if await self._reload(sid, held):
                        continue
                    if held.lost:  # whoever ended it may have died before the effects were out
                        await self._effects.lost(sid, held.lost)
                    return Receipt(
                        False, why=f"session {sid}: {held.over}" if held.over else f"there is no session {sid}"
                    )
                started = time.perf_counter()
                try:
                    session, entry = record(
                        held.protocol, held.session, held.digest, event, self._clock.now_ns(), cause
                    )
                except Illegal as why:
                    # A compare-and-swap fences what is accepted, never what is dropped: look again before dropping.
                    if await self._reload(sid, held):
                        continue
                    return Receipt(False, why=str(why))
                self._metrics.step_seconds.observe(time.perf_counter() - started)
                row = self._closing_row(session, entry)
                if await self._append(sid, held, held.protocol, session, entry, row):
                    return Receipt(True, entry.n)
        raise BusError(f"session {sid}: no append in {_TRIES} tries")

    async def refuse(self, sid: str, refused: log.Refused) -> bool:
        """Record beside the transitions that a submission to IN was refused; False: it was taken before."""
        held = await self.look(sid, fresh=True)
        async with held.lock:
            for _ in range(_TRIES):
                if refused.cause in held.causes:
                    return False
                if refused.cause in held.refusals:
                    break
                row = None
                if refused.what == "open":
                    row = SessionRow(
                        session=sid, seq=0, protocol="", question="", status="refused", reason=refused.why[:300],
                        opened_ns=refused.at_ns,
                    )  # fmt: skip
                try:
                    held.last_seq = await self._log.append(sid, subjects.REFUSED, encode(refused), held.last_seq, row)
                except Conflict:
                    await self._reload(sid, held)
                    continue
                held.refusals[refused.cause] = refused
                break
        return True

    async def _append(
        self, sid: str, held: Held, protocol: Protocol, session: Session, entry: log.Entry, row: SessionRow | None
    ) -> bool:
        """Append and carry out; False where somebody else moved the session (its tail is folded then)."""
        sendings = self._effects.build(session, entry.n, entry.commands, entry.at_ns)  # a leak stops it here
        kind = subjects.OPENED if entry.n == 0 else subjects.CLOSED if session.closed else subjects.STEP
        before = held.session
        if self._checkpoint is not None:
            self._checkpoint("stepped", sid)
        started = time.perf_counter()
        try:
            seq = await self._log.append(sid, kind, encode(entry), held.last_seq, row)
        except Conflict:
            self._metrics.append_conflicts.inc()
            await self._reload(sid, held)
            return False
        except BusError:
            # No answer: it may be stored. The tail knows; if it is not there, its sender tries again.
            await self._reload(sid, held)
            if held.causes.get(entry.cause) != entry.n or held.digest != entry.digest:
                raise
        else:
            self._metrics.append_seconds.observe(time.perf_counter() - started)
            self._keep(held, protocol, session, entry.commands, entry)
            held.last_seq = seq
        note(self._metrics, protocol, before, session, entry)
        _tell(session, entry)
        if self._checkpoint is not None:
            self._checkpoint("appended", sid)
        await self._effects.carry_out(held.session or session, entry.n, entry.commands, sendings)
        if self._checkpoint is not None:
            self._checkpoint("effected", sid)
        if session.closed:
            self._retire(sid, held)
        return True

    def _retire(self, sid: str, held: Held) -> None:
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

    @staticmethod
    def _closing_row(session: Session, entry: log.Entry) -> SessionRow | None:
        if not session.closed:
            return None
        for command in entry.commands:
            if isinstance(command, log.Close):
                return SessionRow(
                    session=session.sid, seq=0, protocol=session.opened.protocol, question="", status=command.status,
                    reason=command.reason, opened_ns=session.opened_ns, closed_ns=entry.at_ns,
                )  # fmt: skip
        return None

    # -- effects
    async def _again(self, sid: str, held: Held, n: int, *, timer: bool = True) -> None:
        """Carry transition `n`'s effects out once more, marked re-issued: the first time may not have got out."""
        if held.lost:
            await self._effects.lost(sid, held.lost)
            return
        commands = held.last
        if n != held.last_n:
            beside = (subjects.REFUSED, subjects.ERASED)
            stored = [s for s in await self._log.read(sid) if s.kind not in beside]
            commands = decode(stored[n].data, log.Entry).commands
        assert held.session is not None
        self._metrics.effects_reissued.inc()
        sendings = self._effects.build(held.session, n, commands, held.session.at_ns, reissued=True)
        if not timer:  # these are an entry's last commands: the others keep their places, which are their ids
            commands = tuple(c for c in commands if not isinstance(c, log.SetTimer | log.Ask))  # turns are in sendings
        await self._effects.carry_out(held.session, n, commands, sendings, reissued=True)

    async def reissue(self, sid: str, cause: str = "", *, timer: bool = True) -> None:
        """Carry a transition's effects out once more: that of a cause (it may have been stored by a process that died
        before they were out), or the last one (a timer fired, and sets itself again)."""
        held = await self.look(sid)
        async with held.lock:
            if held.session is not None or held.lost:
                await self._again(sid, held, held.causes[cause] if cause else held.last_n, timer=timer)

    def held(self) -> Mapping[str, Held]:
        """What this process holds, by session."""
        return self._held

    async def revive(self, sid: str) -> bool:
        """Send the open turns of an open session and set its timer once more, as nothing would bring it back; False:
        it is none that would go on. Raises BrokenLog, BusError."""
        held = await self.look(sid, fresh=True)
        async with held.lock:
            session = held.session
            if session is None or session.closed or not (session.timer_ns or session.turns or session.children):
                return False
            for n in sorted({turn_transition(turn) for turn in session.turns} | {held.last_n}):
                await self._again(sid, held, n, timer=False)
            await self._effects.rearm(session)
        return True

    # -- for owners
    async def entries(self, sid: str, n: int) -> list[Json]:
        """Entries from transition `n` on, exactly as stored; the one that ends a session that nobody could run is the
        last."""
        found: list[Json] = []
        for stored in await self._log.read(sid):
            if stored.kind == subjects.ERASED:
                return [*found, msgspec.Raw(stored.data)][n:] if lost.read_end(stored) is not None else []
            if stored.kind != subjects.REFUSED:
                found.append(msgspec.Raw(stored.data))
        return found[n:]

    async def rows(self) -> list[SessionRow]:
        """One row a session, in the order of their openings; only what is new since the last time is read."""
        async with self._listing:
            self._rows_to = await self._log.rows(self._rows, self._rows_to)
        return list(self._rows.values())

    async def erase(self, sid: str, author: str) -> Receipt:
        """Remove a closed session's texts: its log but for one message that says so, its turns, its timer, what was put
        aside of it. Repeating it finishes what a killed process began."""
        held = await self.look(sid, fresh=True)
        async with held.lock:
            for _ in range(_TRIES):
                if not held.erased:
                    if held.session is None and held.lost is None:
                        return Receipt(False, why=f"there is no session {sid}")
                    if held.session is not None and not held.session.closed:
                        return Receipt(False, why=f"session {sid} is open; cancel it first")
                    erased, row = _tombstone(sid, held.session or held.lost, author, self._clock.now_ns())
                    try:
                        seq = await self._log.append(sid, subjects.ERASED, encode(erased), held.last_seq, row)
                    except Conflict:
                        await self._reload(sid, held)
                        continue
                    held.last_seq = seq
                    held.empty()
                await self._log.purge(sid, held.last_seq)
                await purge_session(self._connection, sid)
                return Receipt(True)
        raise BusError(f"session {sid}: no append in {_TRIES} tries")

    async def lose(self, error: BrokenLog) -> bool:
        """End a session that nobody can run, for which something has waited for too long; False: it is over already,
        and all that comes for it is to be dropped."""
        sid, held = error.sid, self._get(error.sid)
        async with held.lock:
            stored = await self._log.read(sid)
            if any(m.kind == subjects.ERASED for m in stored):
                return True
            if not stored or any(m.kind == subjects.CLOSED for m in stored) or sid in STANDING:
                return False
            entry, row = lost.ending(sid, stored, error, self._clock.now_ns())
            try:
                await self._log.append(sid, subjects.ERASED, encode(entry), stored[-1].seq, row)
            except Conflict:
                return True  # somebody runs it after all
            _LOGGER.error("ended, as no moderator can run it: %s", error)
            label = self._metrics.protocol(row.protocol)
            self._metrics.sessions_closed.labels(protocol=label, reason=VERSION_LOST).inc()
            await self._reload(sid, held)
            if held.lost:
                await self._effects.lost(sid, held.lost)
        return True

    def forget(self, sid: str) -> None:
        """Drop what this process holds of a session that another one erased."""
        self._held.pop(sid, None)


def _tell(session: Session, entry: log.Entry) -> None:
    """One line a transition: the first and the last of a session at INFO, what lies between at DEBUG."""
    if entry.n == 0:
        about = {
            "protocol": session.opened.protocol,
            "seats": len(session.opened.seats),
            "author": session.opened.author,
        }
        _LOGGER.info("session opened", extra=about)
    elif session.closed and session.stopped is not None:
        _LOGGER.info("session closed", extra={"reason": session.stopped.reason, "transitions": session.n})
    elif _LOGGER.isEnabledFor(logging.DEBUG):
        _LOGGER.debug(
            "transition taken", extra={"n": entry.n, "event": type(entry.event).__name__, "cause": entry.cause}
        )


def _entry(sid: str, message: Stored) -> log.Entry:
    try:
        return decode(message.data, log.Entry)
    except SchemaError as error:
        raise BrokenLog(sid, "entry", f"an entry cannot be read: {error}") from error


def _stepped(protocol: Protocol, sid: str, held: Held, entry: log.Entry) -> tuple[Session, log.Entry]:
    if isinstance(entry.event, log.Opened):
        return record_opening(protocol, sid, entry.event, entry.at_ns, entry.cause)
    assert held.session is not None
    return record(protocol, held.session, held.digest, entry.event, entry.at_ns, entry.cause)


def _tombstone(sid: str, session: Session | lost.Lost | None, author: str, at_ns: int) -> tuple[log.Erased, SessionRow]:
    """What stays, and its row: neither holds a word of the session."""
    assert session is not None
    if isinstance(session, lost.Lost):
        reason, protocol, closed_ns = VERSION_LOST, session.protocol, session.closed_ns
    else:
        assert session.stopped is not None, "a closed session was stopped"
        reason, protocol, closed_ns = session.stopped.reason, session.opened.protocol, session.at_ns
    status = STOPS[reason].status
    facts = {"protocol": protocol, "opened_ns": session.opened_ns, "closed_ns": closed_ns}
    erased = log.Erased(at_ns=at_ns, author=author, status=status, reason=reason, **facts)  # type: ignore[arg-type]
    row = SessionRow(
        session=sid, seq=0, question="", status="erased", reason=reason, erased_ns=at_ns, erased_by=author,
        **facts,  # type: ignore[arg-type]
    )  # fmt: skip
    return erased, row
