"""The store of sessions: it folds a log, steps the machine, appends, and carries out the effects.

Any number of moderators serve all sessions, and none of them owns one. What this process keeps of a session between two
transitions is a cache of its log. The log alone is the truth.

What always holds:

1. One transition is one entry: event, cause, commands, digest. An entry is in the log whole or not at all.
2. An append names the last sequence that this process folded. The broker refuses it if somebody else appended since.
   The loser folds what it missed and steps the event again, because the new state may lead elsewhere.
3. A cause is taken once, or refused once. It comes from the broker or from the turn, never from an id that the sender
   chose.
4. Whoever gets an answer "accepted" may rely on it: the entry is stored, and its effects are out.

Why the steps have this order:

- Build what the turns show before the append. A turn that shows a seat too much (`briefing.Leak`) then stores nothing.
- Append before the effects. Effects follow from the entry, so they can be sent again. The reverse is not possible: a
  post that went out before a refused append would be a post of nothing.
- Effects before the answer. A process may die between the two. The sender then repeats its submission, the cause is
  found in the log, and `_again` carries the same effects out under the same ids.
- Read the log's tail before something is dropped. The compare-and-swap protects only what is appended. A stale cache
  would refuse a valid reply, and nothing would notice.
- After an append without an answer, read the tail: the entry may be stored.

Submissions that arrive while a session is busy wait, and are appended together (`parley.coordinator.sessions.group`).
Each is still a transition of its own. One that is bad, refused or a repeat touches none of the others.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from parley.bus import subjects
from parley.bus.connection import Connection
from parley.bus.errors import BusError, Conflict, PayloadTooLarge
from parley.bus.log import Log, Stored
from parley.bus.storage.packs import pack
from parley.bus.streams import erase_session
from parley.coordinator.briefing import Sending, not_its_turn, turn_transition
from parley.coordinator.forks.carry import CarriedEntry, ForkRequest, carry
from parley.coordinator.machine import Protocol, Session, record_opening
from parley.coordinator.moderator_metrics import count_transition
from parley.coordinator.protocols import STANDING
from parley.coordinator.sessions import group, lost, rows, spans
from parley.coordinator.sessions.broken import BrokenLog, Unreadable
from parley.coordinator.sessions.cache import Cache, CachedSession
from parley.coordinator.sessions.effects import Effects, StepEffects
from parley.coordinator.sessions.group import PendingSubmission, PendingTransition, Receipt
from parley.coordinator.sessions.spans import Spans
from parley.coordinator.sessions.token_keys import TokenKeys
from parley.coordinator.table import OpenTurn
from parley.observability import logs, tracing
from parley.observability.metrics import Metrics
from parley.schemas import log
from parley.schemas.artifact import PutArtifact, TakeArtifact
from parley.schemas.past_sessions.fork import CAUSE
from parley.schemas.turn import Retry
from parley.schemas.wire import Json, decode, encode

_LOGGER = logging.getLogger(__name__)
_TRIES = 50


class Sessions:
    """All sessions, as this process last read them from the log."""

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
        self._cache = Cache(self._log, protocols, metrics, unreadable, most)
        self._cache.on_ended = effects.lanes.ended
        self._effects = effects
        self._spans = Spans(self._log)
        self._metrics = metrics
        self._checkpoint = checkpoint
        self._drains: set[asyncio.Task[None]] = set()

    # -- looking
    async def look(self, sid: str, *, fresh: bool = False) -> CachedSession:
        """The session. `fresh` reads the log's tail first. `session` is None if the log has no opening."""
        return await self._cache.look(sid, fresh=fresh)

    async def recent(self, sid: str, within_s: float) -> CachedSession:
        """The session, if the log was read within the last `within_s` seconds; else it is read again."""
        cached = self._cache.get(sid)
        return cached if time.monotonic() - cached.looked_at < within_s else await self.look(sid, fresh=True)

    async def find(self, sid: str) -> CachedSession | None:
        """The session after a read of the log's tail; None if the log has nothing of it."""
        cached = await self.look(sid, fresh=True)
        return cached if cached.last_seq else None

    async def open_turn(
        self, sid: str, channel: str, author: str, named: PutArtifact | TakeArtifact | Retry, keys: TokenKeys
    ) -> OpenTurn | str:
        """The open turn that a worker names with its token, or why it may not act for it. The log's tail is read before
        a turn is said not to be open."""
        cached = await self.look(sid)
        if cached.session is None or named.turn not in cached.session.turns:
            cached = await self.look(sid, fresh=True)
        why = not_its_turn(cached.session, keys.fit, channel, author, sid, named.turn, named.token)
        if why or cached.session is None:
            return why
        return cached.session.turns.get(named.turn, f"turn {named.turn} is not open")

    # -- one transition
    async def open(self, sid: str, cause: str, opened: log.Opened, wanted: ForkRequest | None = None) -> Receipt:
        """Store the first transition, and with it those that carry a record (`wanted`). Raises Inadmissible if the
        machine refuses it."""
        cached = self._cache.get(sid)  # its caller has just read it; if the log has moved since, the append is refused
        async with cached.lock:
            if cached.last_seq and not self._cache.holds(cached):
                await self._cache.reload(sid, cached)
            for _ in range(_TRIES):
                if cause in cached.causes:
                    await self._again(sid, cached, cached.causes[cause])
                    return Receipt(True, cached.causes[cause], again=True)
                if cause in cached.refusals:
                    return Receipt(False, why=cached.refusals[cause].why)
                if cached.session is not None or cached.over:
                    return Receipt(False, why=f"session {sid} exists already")
                if opened.parent and cached.refused_by(opened.parent, "cancel"):
                    return Receipt(False, why=f"session {opened.parent} cancelled it before it was opened")
                protocol = self._cache.protocol(sid, opened.protocol, opened.version)
                now_ns = self._clock.now_ns()
                if wanted is None:
                    carried = [CarriedEntry(None, *record_opening(protocol, sid, opened, now_ns, cause))]
                else:
                    carried = await asyncio.to_thread(carry, wanted, now_ns, cause)
                last = carried[-1].after
                steps = [
                    PendingTransition(
                        c.before, c.after, c.entry, self._effects.build(last, c.entry.n, c.entry.commands, now_ns)
                    )
                    for c in carried
                ]  # a leak stops it here
                errors = await self._append(sid, cached, protocol, steps)
                if errors is not None:
                    if errors[0] is not None:
                        raise errors[0]
                    return Receipt(True, 0)
        raise BusError(f"session {sid}: no append in {_TRIES} tries")

    async def take(self, sid: str, cause: str, event: log.Event) -> Receipt:
        """Step the session by one event, append the transition and carry it out; or refuse it with a reason."""
        return await group.outcome_of(partial(self.submit, sid), cause, event, headers=tracing.trace_headers())

    def submit(self, sid: str, waiting: PendingSubmission) -> None:
        """Let one more submission wait for its session. All that wait are appended together."""
        cached = self._cache.get(sid)
        cached.waiting.append(waiting)
        if not cached.draining:
            cached.draining = True
            task = asyncio.create_task(self._drain(sid, cached))
            self._drains.add(task)
            task.add_done_callback(self._drains.discard)

    async def settled(self, within_s: float) -> None:
        """Wait until no submission waits any more, at most `within_s` seconds."""
        if self._drains:
            await asyncio.wait(self._drains, timeout=within_s)

    async def _drain(self, sid: str, cached: CachedSession) -> None:
        """Append whatever waits for one session, one append after another."""
        waiting: list[PendingSubmission] = []
        try:
            with logs.session(sid):
                while cached.waiting:
                    async with cached.lock:  # submissions that come while another task has the lock wait together
                        waiting, cached.waiting = group.cut(cached.waiting)
                        await self._take_together(sid, cached, waiting)
                        waiting = []
        finally:
            cached.draining = False
            for w in (*waiting, *cached.waiting):  # some are left only if this task was cancelled
                w.settle(BusError(f"session {sid}: not taken any more"))

    async def _take_together(self, sid: str, cached: CachedSession, waiting: list[PendingSubmission]) -> None:
        """Append these together, and settle each of them."""
        try:
            if not tracing.is_enabled():
                await self._try_together(sid, cached, waiting)
                return
            first = waiting[0]
            within = spans.step_within(cached.session, first.event)
            with tracing.process("step", subjects.log_of(sid), headers=first.headers, session=sid, within=within):
                await self._try_together(sid, cached, waiting)
        except PayloadTooLarge as error:
            if len(waiting) == 1:
                waiting[0].settle(error)
            else:  # each may fit alone
                for w in waiting:
                    if not w.over:
                        await self._take_together(sid, cached, [w])
        except Exception as error:
            for w in waiting:
                w.settle(error)

    async def _try_together(self, sid: str, cached: CachedSession, waiting: list[PendingSubmission]) -> None:
        n = -1 if cached.session is None else cached.session.n
        if not self._cache.holds(cached) or any([w.asked_by >= n for w in waiting]):
            await self._cache.reload(sid, cached)
        for _ in range(_TRIES):
            for w in waiting:
                if w.cause in cached.refusals:
                    w.settle(Receipt(False, why=cached.refusals[w.cause].why))
            if any([w.over or w.cause in cached.causes for w in waiting]):
                waiting = await self._repeated(sid, cached, waiting)
            if not waiting:
                return
            if cached.session is None or cached.protocol is None:
                if await self._cache.reload(sid, cached):
                    continue
                if cached.lost:  # the process that ended it may have died before the effects were out
                    await self._effects.lost(sid, cached.lost)
                why = f"session {sid}: {cached.over}" if cached.over else f"there is no session {sid}"
                for w in waiting:
                    w.settle(Receipt(False, why=why))
                return
            now_ns = self._clock.now_ns()
            folded = group.fold(
                cached.protocol, cached.session, cached.digest, cached.causes, waiting, now_ns, self._build
            )
            # A compare-and-swap fences what is accepted, never what is dropped: look again before dropping. Where some
            # were appended in the same go, that was the look.
            if not folded.taken and folded.dropped and await self._cache.reload(sid, cached):
                continue
            errors: list[Exception | None] = []
            if folded.taken:
                steps = [step for _, step in folded.taken]
                appended = await self._append(sid, cached, cached.protocol, steps)
                if appended is None:
                    continue
                errors = appended
            _settle(folded, errors)
            return
        raise BusError(f"session {sid}: no append in {_TRIES} tries")

    def _build(self, session: Session, entry: log.Entry) -> list[Sending]:
        return self._effects.build(session, entry.n, entry.commands, entry.at_ns)

    async def _repeated(
        self, sid: str, cached: CachedSession, waiting: list[PendingSubmission]
    ) -> list[PendingSubmission]:
        """Settle those whose cause was taken before; return the others."""
        remaining = []
        for w in waiting:
            if w.over:
                continue
            n = cached.causes.get(w.cause)
            if n is None:
                remaining.append(w)
                continue
            try:
                if not cached.is_out(n, self._connection.breaks):
                    await self._again(sid, cached, n)
                w.settle(Receipt(True, n, again=True))
            except Exception as error:
                w.settle(error)
        return remaining

    async def refuse(self, sid: str, refused: log.Refused) -> bool:
        """Record beside the transitions that a submission to IN was refused. False: it was taken before."""
        cached = await self.look(sid, fresh=True)
        async with cached.lock:
            for _ in range(_TRIES):
                if refused.cause in cached.causes:
                    return False
                if refused.cause in cached.refusals:
                    break
                row = rows.of_refused(sid, refused) if refused.what == "open" else None
                try:
                    seq = await self._log.append(sid, subjects.REFUSED, encode(refused), cached.last_seq, row)
                    cached.last_seq = seq
                except Conflict:
                    await self._cache.reload(sid, cached, doubt=True)
                    continue
                cached.refusals[refused.cause] = refused
                break
            if refused.what == "open" and cached.session is None and not cached.over:
                await self._effects.index.put(rows.of_refused(sid, refused))
        return True

    async def _append(
        self, sid: str, cached: CachedSession, protocol: Protocol, steps: list[PendingTransition]
    ) -> list[Exception | None] | None:
        """Append these steps as one message, and carry them out. For each step: the error that kept its effects back,
        or None. Returns None if another process moved the session; its tail is then folded."""
        session, entries = steps[-1].after, [step.entry for step in steps]
        last = entries[-1]
        kind = _kind(steps)
        row = rows.of(session) if kind in (subjects.OPENED, subjects.CLOSED) else None
        if self._checkpoint is not None:
            self._checkpoint("stepped", sid)
        started = time.perf_counter()
        try:
            seq = await self._log.append(sid, kind, pack(entries), cached.last_seq, row)
        except Conflict:
            self._metrics.append_conflicts.inc()
            await self._cache.reload(sid, cached, doubt=True)
            return None
        except PayloadTooLarge:
            raise
        except BusError:
            # No answer: the entry may be stored. The tail tells; if it is not there, its sender tries again.
            await self._cache.reload(sid, cached)
            if cached.causes.get(last.cause) != last.n or cached.digest != last.digest:
                raise
        else:
            self._metrics.append_seconds.observe(time.perf_counter() - started)
            for step in steps:
                self._cache.keep(cached, protocol, step.after, step.entry.commands, step.entry)
            cached.last_seq = seq
        logs_all = _LOGGER.isEnabledFor(logging.DEBUG)
        for step in steps:
            if step.seconds:
                self._metrics.step_seconds.observe(step.seconds)
            if not step.entry.cause.startswith(CAUSE):  # a carried transition was counted before
                count_transition(self._metrics, protocol, step.before, step.after, step.entry)
            if logs_all or step.before is None or step.after.closed:
                _tell(step.after, step.entry)
        if self._checkpoint is not None:
            self._checkpoint("appended", sid)
        if cached.session is not None:
            session = cached.session
        parts = [StepEffects(s.entry.n, s.entry.commands, s.sendings and self._still(session, s)) for s in steps]
        breaks = self._connection.breaks
        errors = await self._effects.carry_out(session, parts)
        cached.carried(entries[0].n, last.n, breaks, not any(errors) and breaks == self._connection.breaks)
        if session.opened.trace:
            await self._spans.write(session, protocol, [part.n for part in parts])
        if self._checkpoint is not None:
            self._checkpoint("effected", sid)
        if session.closed:
            self._cache.retire(sid, cached)
        return errors

    def _still(self, session: Session, step: PendingTransition) -> list[Sending]:
        """The turns of a step, without those that a later step withdrew."""
        if session is step.after:
            return step.sendings
        if all(turn.id in session.turns for sending in step.sendings for turn in sending.work.turns):
            return step.sendings
        return self._build(session, step.entry)

    # -- effects
    async def _again(self, sid: str, cached: CachedSession, n: int, *, timer: bool = True) -> None:
        """Carry the effects of transition `n` out again, marked as re-issued: some may not have got out."""
        if cached.lost:
            await self._effects.lost(sid, cached.lost)
            return
        assert cached.session is not None and cached.protocol is not None
        fork = cached.session.opened.fork
        ns = range(1 if n or fork is msgspec.UNSET else fork.entries + 1)  # an opening has all that it carries
        stored: list[Stored] = []
        if n != cached.last_n or len(ns) > 1:
            beside = (subjects.REFUSED, subjects.ERASED)
            stored = [s for s in await self._log.read(sid) if s.kind not in beside]
        self._metrics.effects_reissued.inc()
        parts = []
        for place in (n + i for i in ns):
            commands = decode(stored[place].data, log.Entry).commands if stored else cached.last
            sendings = self._effects.build(cached.session, place, commands, cached.session.at_ns, reissued=True)
            if not timer:  # these are an entry's last commands: the others keep their places, which are their ids
                commands = tuple(c for c in commands if not isinstance(c, log.SetTimer | log.Ask))  # in sendings
            parts.append(StepEffects(place, commands, sendings))
        errors = await self._effects.carry_out(cached.session, parts, reissued=True)
        await self._spans.write(cached.session, cached.protocol, [part.n for part in parts])
        for error in errors:
            if error is not None:
                raise error

    async def reissue(self, sid: str, cause: str = "", *, timer: bool = True) -> None:
        """Carry the effects of a transition out again: that of `cause`, or without one the last. The process that
        stored it may have died before the effects were out; or a timer fired, and must be set again."""
        cached = await self.look(sid)
        async with cached.lock:
            n = cached.causes.get(cause) if cause else cached.last_n
            if n is not None and (cached.session is not None or cached.lost):
                await self._again(sid, cached, n, timer=timer)

    def is_open(self, sid: str, turns: Iterable[str]) -> bool:
        """Whether any of these turns is open, as far as this process knows."""
        cached = self._cache.sessions().get(sid)
        if cached is None or (cached.session is None and not cached.over):
            return True
        return cached.session is not None and any(turn in cached.session.turns for turn in turns)

    def cached(self) -> Mapping[str, CachedSession]:
        """The sessions that this process holds, by id."""
        return self._cache.sessions()

    async def revive(self, sid: str) -> bool:
        """Send the open turns of an open session again and set its timer, since nothing else would wake it. False: it
        is closed, or waits for nothing. Raises BrokenLog, BusError."""
        cached = await self.look(sid, fresh=True)
        async with cached.lock:
            session = cached.session
            if session is None or session.closed or not (session.timer_ns or session.turns or session.children):
                return False
            for n in sorted({turn_transition(turn) for turn in session.turns} | {cached.last_n}):
                await self._again(sid, cached, n, timer=False)
            await self._effects.rearm(session)
        return True

    # -- for owners
    async def entries(self, sid: str, n: int) -> list[Json]:
        """Entries from transition `n` on, exactly as stored. If the session ended because nobody could run it, that end
        is the last one."""
        entries: list[Json] = []
        for stored in await self._log.read(sid):
            if stored.kind == subjects.ERASED:
                return [*entries, msgspec.Raw(stored.data)][n:] if lost.read_end(stored) is not None else []
            if stored.kind != subjects.REFUSED:
                entries.append(msgspec.Raw(stored.data))
        return entries[n:]

    async def erase(self, sid: str, author: str) -> Receipt:
        """Remove the texts of a closed session: its log but for one message, its turns, its timer, and what was put
        aside of it. A repeat finishes what a killed process began."""
        cached = await self.look(sid, fresh=True)
        async with cached.lock:
            for _ in range(_TRIES):
                if not cached.erased:
                    if cached.session is None and cached.lost is None:
                        return Receipt(False, why=f"there is no session {sid}")
                    if cached.session is not None and not cached.session.closed:
                        return Receipt(False, why=f"session {sid} is open; cancel it first")
                    remains = cached.session or cached.lost
                    assert remains is not None
                    erased = rows.tombstone(remains, author, self._clock.now_ns(), *await self._places(sid))
                    last, row = cached.last_seq, rows.of_erased(sid, erased)
                    try:
                        seq = await self._log.append(sid, subjects.ERASED, encode(erased), last, row)
                    except Conflict:
                        await self._cache.reload(sid, cached, doubt=True)
                        continue
                    cached.last_seq = seq
                    cached.empty()
                await rows.lay_to_rest(self._connection, self._log, self._effects.index, sid, cached.last_seq)
                return Receipt(True)
        raise BusError(f"session {sid}: no append in {_TRIES} tries")

    async def _places(self, sid: str) -> tuple[int, int]:
        """Sequences in LOG of the messages that opened and closed a session; 0: there is none."""
        opened, closed = await self._log.last(sid, subjects.OPENED), await self._log.last(sid, subjects.CLOSED)
        closed = closed or await self._log.last(sid, subjects.ERASED) or opened
        return opened.seq if opened else 0, closed.seq if closed else 0

    async def lose(self, error: BrokenLog) -> bool:
        """End a session that no moderator can run, after something has waited for it too long. False: it is over
        already, and all that comes for it is dropped."""
        sid, cached = error.sid, self._cache.get(error.sid)
        async with cached.lock:
            stored = await self._log.read(sid)
            if any(m.kind == subjects.ERASED for m in stored):
                return True
            if not stored or any(m.kind == subjects.CLOSED for m in stored) or sid in STANDING:
                return False
            entry, row = lost.ending(sid, stored, error, self._clock.now_ns())
            try:
                await self._log.append(sid, subjects.ERASED, encode(entry), stored[-1].seq, row)
            except Conflict:
                return True  # some moderator can run it after all
            _LOGGER.error("ended, as no moderator can run it: %s", error)
            await self._cache.reload(sid, cached)
            if cached.lost:
                await self._effects.lost(sid, cached.lost)
        return True

    async def remove(self, sid: str) -> None:
        """Remove all of a synthetic question, which is asked again every minute."""
        await self._effects.index.erase(sid)
        await self._log.erase(sid)
        await erase_session(self._connection, sid)
        self._cache.drop(sid)

    def forget(self, sid: str) -> None:
        """Drop what this process holds of a session that another process erased."""
        self._cache.drop(sid)


def _kind(steps: list[PendingTransition]) -> str:
    """The kind of the message with these steps. What comes after a session's end has a message of its own."""
    first, last = steps[0], steps[-1]
    if first.before is None:
        return subjects.OPENED
    if first.before.closed:
        return subjects.FEEDBACK
    return subjects.CLOSED if last.after.closed else subjects.STEP


def _tell(session: Session, entry: log.Entry) -> None:
    """Log a transition in one line: the first and the last of a session at INFO, the others at DEBUG."""
    if entry.n == 0:
        o = session.opened
        _LOGGER.info("session opened", extra={"protocol": o.protocol, "seats": len(o.seats), "author": o.author})
    elif isinstance(entry.event, log.FeedbackGiven):
        _LOGGER.info("feedback taken", extra={"author": entry.event.author, "right": entry.event.right})
    elif isinstance(entry.event, log.NotesKept):
        _LOGGER.info("notes kept", extra={"author": entry.event.author, "notes": len(entry.event.notes)})
    elif session.closed and session.stopped is not None:
        _LOGGER.info("session closed", extra={"reason": session.stopped.reason, "transitions": session.n})
    elif _LOGGER.isEnabledFor(logging.DEBUG):
        _LOGGER.debug(
            "transition taken", extra={"n": entry.n, "event": type(entry.event).__name__, "cause": entry.cause}
        )


def _settle(folded: group.Folded, errors: list[Exception | None]) -> None:
    """Tell each submission of an appended group what became of it."""
    failed: dict[int, Exception] = {}
    for (w, step), error in zip(folded.taken, errors, strict=True):
        if error is not None:
            failed[step.entry.n] = error
        w.settle(error or Receipt(True, step.entry.n))
    for w, n in folded.repeated:
        w.settle(failed.get(n) or Receipt(True, n, again=True))
    for w, why in (*folded.refused, *folded.dropped):
        w.settle(Receipt(False, why=why))
    for w, raised in folded.failed:
        w.settle(raised)
