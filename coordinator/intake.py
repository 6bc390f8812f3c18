"""What IN carries (openings, cancellations, answers), INNER (what sessions tell each other), TIMER (what fired). What
is asked ends in its session's log, taken or refused; what comes from a timer or a session and has no place any more is
dropped. Clients write to IN alone, so that no message id of theirs meets one of the moderators'.

A submission is acknowledged only after that is stored and the effects are out. What cannot be decoded, what can never
be stored, and what raises is recorded in ASIDE and terminated; what met trouble on the bus is left for another try.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple

import msgspec

from parley.bus import streams, subjects
from parley.bus.channels import CLIENT, SESSION, TIMER, may_submit
from parley.bus.connection import Connection
from parley.bus.errors import BusError, LocalFault, PayloadTooLarge
from parley.bus.library import cancelled
from parley.bus.log import Asides
from parley.bus.work import Delivery, Pull
from parley.coordinator import briefing, estimate
from parley.coordinator.admission import admit, check_future_child, check_language_models, described, taking_part, where
from parley.coordinator.machine import Inadmissible, Protocol, outcome
from parley.coordinator.packages.stop_rules import with_rule
from parley.coordinator.presence import Presence
from parley.coordinator.protocols import STANDING
from parley.coordinator.sessions.awaiting import Awaiting
from parley.coordinator.sessions.broken import BrokenLog, Unreadable
from parley.coordinator.sessions.cache import CachedSession
from parley.coordinator.sessions.effects import Effects
from parley.coordinator.sessions.forking import Forks
from parley.coordinator.sessions.lanes import Turnstile
from parley.coordinator.sessions.limits import Admission
from parley.coordinator.sessions.store import Sessions
from parley.observability import logs, tracing
from parley.observability.metrics import REFUSALS, Metrics
from parley.schemas import log
from parley.schemas.session import (
    METRICS,
    SESSION_ID,
    AnswerNow,
    CancelSession,
    DecideItem,
    ForkSession,
    GiveFeedback,
    KeepNotes,
    OpenSession,
    Seat,
    SessionEnded,
    Submission,
    TellSession,
    TimerDue,
    is_child_id,
    is_synthetic,
)
from parley.schemas.wire import InvalidValue, SchemaError, decode

_LOGGER = logging.getLogger(__name__)
IN_ACK_WAIT_S = 1.5
"""A submission whose moderator died waits this long before another moderator has it."""
_ROOM = 2_048
"""Submissions in hand: of more, none is seen, whoever sent it."""
_AT_ONCE = 48
"""Submissions that are handled at once: enough to keep the bus busy, and few enough for a short wait."""
_RECENT_S = 0.25
"""How old the knowledge of a standing session may be when a session opens, if another moderator has moved it."""
_PAUSE_S = 0.1
"""Pause before a submission that was handed back comes again: it grows with each try, up to a limit."""
_YOUNG_S = 3.0
"""After its start, or after the bus was away, a moderator waits this long for announcements before it refuses a session
for want of a worker."""


def _addressed(subject: str) -> tuple[str, str, str]:
    """(channel, author, session) of a message on IN, INNER or TIMER."""
    with contextlib.suppress(subjects.BadSubject):
        return TIMER, TIMER, subjects.parse_fired(subject)
    with contextlib.suppress(subjects.BadSubject):
        return SESSION, *subjects.parse_inner(subject)
    return subjects.parse_inbox(subject)


class _Why(NamedTuple):
    """Why an opening is refused."""

    text: str
    reason: str = "input"
    """As it is counted."""


class BadSessionId(SchemaError):
    """A session id that no subject and no message id can carry. The peer's fault."""

    def __init__(self, sid: str) -> None:
        shown = sid if len(sid) <= 80 else sid[:77] + "..."
        super().__init__(f"session: got {shown!r}, allowed are 1 to 64 letters, digits, - and _")


class Intake:
    """Pulls from IN, and handles each submission to its end."""

    def __init__(
        self,
        connection: Connection,
        *,
        sessions: Sessions,
        asides: Asides,
        presence: Presence,
        protocols: Mapping[str, Protocol],
        effects: Effects,
        metrics: Metrics,
        unreadable: Unreadable,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        ensure_streams: Callable[[], Coroutine[Any, Any, None]],
        ack_wait_s: float,
        admission: Admission,
        awaited: Awaiting,
    ) -> None:
        """`ack_wait_s`: that of the streams it pulls from."""
        self._admission = admission
        self._awaited = awaited
        self._ack_wait_s = ack_wait_s
        self._clock = connection.clock
        self._in_hand: dict[str, tuple[Pull, Delivery, float]] = {}
        self._sessions = sessions
        self._asides = asides
        self._presence = presence
        self._protocols = protocols
        self._effects = effects
        self._metrics = metrics
        self._unreadable = unreadable
        self._forks = Forks(connection, sessions, presence, protocols)
        self._spawn = spawn
        for protocol in ("unknown", *protocols):
            for reason in REFUSALS:
                metrics.sessions_refused.labels(protocol=protocol, reason=reason)
        self._turnstile = Turnstile(_AT_ONCE)
        self._pulls = [
            Pull(connection, stream, streams.MODERATORS, room=_ROOM, on_message=on_message, on_nobody=ensure_streams)
            for stream, on_message in (
                (streams.IN, self._on_submission),
                (streams.INNER, self._on_word),
                (streams.TIMER, self._on_fired),
            )
        ]

    async def start(self) -> None:
        """Begin to pull."""
        await self._effects.open()
        self._presence.interrupted()
        self._beating = asyncio.create_task(self._working(), name="intake heartbeat")
        for pull in self._pulls:
            await pull.start()

    async def stop(self) -> None:
        """Pull no more; handle what is in hand to its end."""
        await cancelled(self._beating)
        for pull in self._pulls:
            await pull.stop()

    @property
    def alive(self) -> bool:
        """Whether the loops that pull still run."""
        return all(pull.alive for pull in self._pulls)

    def _on_submission(self, delivery: Delivery) -> None:
        self._take(self._pulls[0], delivery, f"in:{delivery.seq}")

    def _on_word(self, delivery: Delivery) -> None:
        self._take(self._pulls[1], delivery, f"inner:{delivery.seq}")

    def _on_fired(self, delivery: Delivery) -> None:
        self._take(self._pulls[2], delivery, f"timer:{delivery.seq}")

    def _take(self, pull: Pull, delivery: Delivery, cause: str) -> None:
        """Handle a submission. One that is already in hand, since this process is slow, gets a new subject to ack."""
        if (in_hand := self._in_hand.get(cause)) is not None:
            in_hand[1].ack_subject = delivery.ack_subject
            pull.release()
            return
        self._in_hand[cause] = (pull, delivery, time.monotonic())
        self._spawn(self._see_through(pull, delivery, cause))

    async def _working(self) -> None:
        """Tell the server that longer work is still in progress: else it hands the message out again."""
        beat = self._ack_wait_s / 3
        while True:
            await asyncio.sleep(beat)
            now = time.monotonic()
            for pull, delivery, taken_at in list(self._in_hand.values()):
                if now - taken_at >= beat * 0.9:
                    with contextlib.suppress(BusError):
                        await pull.settle(delivery, b"+WPI")

    async def _see_through(self, pull: Pull, delivery: Delivery, cause: str) -> None:
        try:
            async with self._turnstile.passed(delivery.subject.rpartition(".")[0]):
                why = await self._handled(delivery, cause)
            if why:
                await self._aside(delivery, cause, why)
            await pull.settle(delivery, b"+TERM" if why else b"+ACK")
            self._unreadable.settled(cause)
        except BrokenLog as error:
            await self._leave(pull, delivery, cause, error)
        except BusError as error:
            _LOGGER.warning("submission left for another try: %s", error, extra={"subject": delivery.subject})
        finally:
            del self._in_hand[cause]
            pull.release()

    async def _handled(self, delivery: Delivery, cause: str) -> str:
        """Empty if it was taken or refused; else why it is put aside. Raises BusError if another try may help."""
        try:
            channel, author, sid = _addressed(delivery.subject)
            if not SESSION_ID.fullmatch(sid):
                raise BadSessionId(sid)
            submission: Submission = decode(delivery.data, Submission)  # type: ignore[arg-type]
            with logs.session(sid), tracing.process("in", delivery.subject, headers=delivery.headers, session=sid):
                accepted = await self._submitted(channel, author, sid, cause, submission, delivery)
        except (SchemaError, subjects.BadSubject) as error:
            return f"undecodable: {error}"
        except LocalFault as error:
            return f"raised: {error}"  # another try would not help
        except (BusError, BrokenLog):
            raise
        except Exception as error:
            _LOGGER.exception("handling raised", extra={"subject": delivery.subject})
            return f"raised: {type(error).__name__}: {error}"
        verdict = "accepted" if accepted else "refused"
        kind = str(type(submission).__struct_config__.tag)
        self._metrics.submissions.labels(kind=kind, verdict=verdict).inc()
        return ""

    async def _leave(self, pull: Pull, delivery: Delivery, cause: str, error: BrokenLog) -> None:
        """Hand a submission back, with a pause, for a moderator that can run its session. After too long the session
        ends."""
        self._unreadable.meet(error)
        _LOGGER.info("left to another moderator: %s", error, extra={"subject": delivery.subject})
        try:
            if self._unreadable.waited(cause) and not await self._sessions.lose(error):
                await self._aside(delivery, cause, f"nobody can run its session, which is over: {error}")
                await pull.settle(delivery, b"+TERM")
                self._unreadable.settled(cause)
                return
            pause_s = min(_PAUSE_S * delivery.delivered, error.most_pause_s)
            await pull.settle(delivery, b'-NAK {"delay": %d}' % round(pause_s * 1e9))
        except BusError as fault:
            _LOGGER.warning("submission left for another try: %s", fault, extra={"subject": delivery.subject})

    async def _aside(self, delivery: Delivery, cause: str, why: str) -> None:
        self._metrics.aside.labels(kind="undecodable" if why.startswith("undecodable") else "raised").inc()
        _LOGGER.warning("put aside: %s", why, extra={"subject": delivery.subject[:200]})
        with contextlib.suppress(subjects.BadSubject):
            sid = _addressed(delivery.subject)[2]
            if SESSION_ID.fullmatch(sid):
                await self._asides.put(sid, delivery.subject, cause, why, delivery.data, time.time_ns())
                return
        await self._asides.put("", delivery.subject[:200], cause, why, delivery.data, time.time_ns())

    async def _submitted(
        self, channel: str, author: str, sid: str, cause: str, submission: Submission, delivery: Delivery
    ) -> bool:
        """Whether it was taken."""
        if not may_submit(channel, submission):
            return await self._refused(
                sid, cause, "open", author, "", f"channel {channel} takes no {type(submission).__name__}"
            )
        match submission:
            case OpenSession():
                if channel != SESSION:
                    self._metrics.openings.labels(owner=self._metrics.owner(author)).inc()
                return await self._open(channel, author, sid, cause, submission, delivery)
            case ForkSession():
                return await self._fork(author, sid, cause, submission, delivery)
            case CancelSession():
                cancelled_by = log.Cancelled(author=author, reason=submission.reason[:500])
                return await self._end(channel, author, sid, cause, "cancel", cancelled_by)
            case AnswerNow():
                return await self._end(channel, author, sid, cause, "answer_now", log.Hurried(author=author))
            case TimerDue():
                return await self._awaited.timer(sid, cause)
            case DecideItem():
                return await self._decide(channel, author, sid, cause, submission)
            case GiveFeedback():
                given = log.FeedbackGiven(
                    author=author, right=submission.right, answer=submission.answer, note=submission.note
                )
                return await self._afterwards(channel, author, sid, cause, "feedback", given)
            case KeepNotes():
                kept = log.NotesKept(author=author, notes=submission.notes)
                return await self._afterwards(channel, author, sid, cause, "notes", kept)
            case TellSession():
                event = log.Told(sender=author, kind=submission.kind, body=submission.body)
                return await self._take_unasked(sid, f"tell:{author}:{submission.place}", event)
            case SessionEnded():
                return await self._take_unasked(
                    sid, f"ended:{author}", log.ChildEnded(session=author, ended=submission)
                )

    async def _refused(
        self, sid: str, cause: str, what: str, author: str, field: str, why: str, *, protocol: str = "unknown",
        reason: str = "input", retry_s: float | msgspec.UnsetType = msgspec.UNSET,
    ) -> bool:  # fmt: skip
        """Record the refusal. If an earlier delivery was taken, carry its effects out again; it counts as taken.

        `protocol`, `reason`: of an opening, as it is counted (parley.observability.metrics.REFUSALS)."""
        refused = log.Refused(
            cause=cause, what=what, why=why, field=field, author=author, at_ns=self._clock.now_ns(), retry_s=retry_s
        )
        if await self._sessions.refuse(sid, refused):
            if what == "open":
                self._metrics.sessions_refused.labels(protocol=protocol, reason=reason).inc()
            _LOGGER.info("refused: %s", why)
            return False
        await self._sessions.reissue(sid, cause)
        return True

    async def _end(
        self, channel: str, author: str, sid: str, cause: str, what: str, event: log.Cancelled | log.Hurried
    ) -> bool:
        """End a session before its protocol does. A client ends what it opened; an owner, on a channel of its own, any
        session."""
        cached = await self._sessions.look(sid)
        if channel == SESSION and cached.session is not None and cached.session.opened.parent != author:
            return False
        if channel == CLIENT and cached.session is not None:
            opened = cached.session.opened
            if opened.author != author:
                why = f"session {sid} was opened by somebody else"
                return await self._refused(sid, cause, what, author, "", why)
            if opened.parent:
                why = f"session {sid} runs beneath session {opened.parent}; end that one"
                return await self._refused(sid, cause, what, author, "session", why)
        if cached.session is None and cached.refused and (channel != CLIENT or cached.is_of(author)):
            why = f"session {sid} was refused: {cached.refused}"
            return await self._refused(sid, cause, what, author, "session", why)
        receipt = await self._sessions.take(sid, cause, event)
        if channel == SESSION and cached.session is not None:
            return receipt.accepted  # it is over already, and nobody waits for an answer
        return receipt.accepted or await self._refused(sid, cause, what, author, "", receipt.why)

    async def _decide(self, channel: str, author: str, sid: str, cause: str, message: DecideItem) -> bool:
        """Answer an item. A client may do so in what it opened; an owner, on a channel of its own, in any session."""
        cached = await self._sessions.look(sid)
        if channel == CLIENT and cached.session is not None and cached.session.opened.author != author:
            return await self._refused(sid, cause, "decide", author, "", f"session {sid} was opened by somebody else")
        try:
            seat = await self._joining(cached, message.choice)
        except Inadmissible as error:
            return await self._refused(sid, cause, "decide", author, error.field, str(error))
        event = log.Decided(item=message.item, choice=message.choice, note=message.note, author=author, seat=seat)
        receipt = await self._sessions.take(sid, cause, event)
        return receipt.accepted or await self._refused(sid, cause, "decide", author, "item", receipt.why)

    async def _joining(self, cached: CachedSession, choice: str) -> Seat | msgspec.UnsetType:
        """The seat of a member that is to join a session, as who serves it announces it; UNSET: nobody is. A member
        that may still announce itself is waited for. Raises Inadmissible."""
        session, protocol = cached.session, cached.protocol
        act, _, name = choice.strip().partition(" ")
        if session is None or protocol is None or protocol.joining is None or session.closed or act != "add":
            return msgspec.UNSET
        queues = session.opened.queues or {}
        while True:
            alive = self._presence.alive()
            there = {w.queue: w for w in taking_part({}, alive)} | {w.queue: w for w in taking_part(queues, alive)}
            workers = tuple(there.values())
            try:
                seat = protocol.joining(session.opened, session.settings, name.strip(), workers)
                break
            except Inadmissible:
                remaining_s = self._unheard_s()
                if remaining_s <= 0:
                    raise
                await self._presence.change(remaining_s)
        seat = described(seat, workers, protocol)
        return msgspec.structs.replace(seat, queue=queues.get(seat.queue, seat.queue))

    async def _afterwards(
        self, channel: str, author: str, sid: str, cause: str, what: str, event: log.FeedbackGiven | log.NotesKept
    ) -> bool:
        """Record what a person says of a closed session. A client says it of what it opened; an owner, on a channel of
        its own, of any session. An open session takes none. This is checked first, so that it is never appended
        together with the end."""
        cached = await self._sessions.look(sid, fresh=True)
        session = cached.session
        if channel == CLIENT and session is not None and session.opened.author != author:
            return await self._refused(sid, cause, what, author, "", f"session {sid} was opened by somebody else")
        if session is not None and not session.closed:
            why = f"session {sid} is open: feedback is on what it came to"
            return await self._refused(sid, cause, what, author, "session", why)
        receipt = await self._sessions.take(sid, cause, event)
        return receipt.accepted or await self._refused(sid, cause, what, author, "session", receipt.why)

    async def _take_unasked(self, sid: str, cause: str, event: log.Event) -> bool:
        """Take what another session says: its moderator vouches for it, and nobody asks what became of it. A standing
        session that does not exist yet is opened first."""
        if sid in STANDING and (await self._sessions.look(sid)).session is None:
            await self._sessions.open(sid, "standing", admit(STANDING[sid], _standing(sid), (), 0, ""))
        receipt = await self._sessions.take(sid, cause, event)
        if not receipt.accepted:
            _LOGGER.info("not taken: %s", receipt.why, extra={"cause": cause})
        return receipt.accepted

    async def _open(
        self, channel: str, author: str, sid: str, cause: str, request: OpenSession, delivery: Delivery
    ) -> bool:
        """Open a session. Only for a child is it asked first whether it exists: for others the append would be
        refused."""
        if channel == SESSION:
            cached = await self._sessions.look(sid, fresh=True)
            if cause in cached.causes:
                await self._sessions.reissue(sid, cause)
                return True
            return await self._open_child(author, sid, cause, request, cached, delivery.headers)
        if request.parent:
            why = f"parent: got {request.parent!r}, but sessions beneath others are opened by moderators"
            return await self._refused(sid, cause, "open", author, "parent", why)
        if is_synthetic(request.continues) and author == METRICS:
            await self._sessions.remove(request.continues)
        if not_now := self._not_now(sid, author, request.expires_s, delivery):
            protocol = request.protocol if request.protocol in self._protocols else "unknown"
            return await self._refused(
                sid, cause, "open", author, "session", not_now.text, protocol=protocol, reason=not_now.reason
            )
        return not await self._opened(sid, cause, request, author, author, delivery.headers)

    def _not_now(self, sid: str, author: str, expires_s: float | msgspec.UnsetType, delivery: Delivery) -> _Why | None:
        """Why a client may not open a session under this id, or not any more; None: it may."""
        if is_child_id(sid):
            return _Why(f"session: got {sid!r}, but ids that end in -c and a number are of sessions beneath others")
        if is_synthetic(sid) != (author == METRICS):
            return _Why(f"session: got {sid!r}, but ids that begin with {METRICS}- are of `parley metrics` alone")
        if expires_s is msgspec.UNSET:
            return None
        late_s = (self._clock.now_ns() - delivery.stored_ns) / 1e9 - expires_s  # by the server's clock alone
        if late_s <= 0:
            return None
        return _Why(f"the asker has given up: nobody has waited for this session since {late_s:,.1f} s", "late")

    def _unheard_s(self) -> float:
        """Seconds in which a missing worker may still announce itself; 0 or less: it is not there."""
        return _YOUNG_S - self._presence.unbroken_s()

    async def _fork(self, author: str, sid: str, cause: str, request: ForkSession, delivery: Delivery) -> bool:
        """Open a session that carries on the record of another session of the same client."""
        if not_now := self._not_now(sid, author, request.expires_s, delivery):
            return await self._refused(sid, cause, "open", author, "session", not_now.text, reason=not_now.reason)
        if cause in (await self._sessions.look(sid, fresh=True)).causes:
            await self._sessions.reissue(sid, cause)
            return True
        while True:
            try:
                wanted = await self._forks.wanted(sid, author, request, lambda: tracing.begin(sid, delivery.headers))
                receipt = await self._sessions.open(sid, cause, wanted.opened, wanted)
            except PayloadTooLarge as error:
                why = f"round: the record up to the end of the round does not fit one message: {error}"
                return await self._refused(sid, cause, "open", author, "round", why)
            except (Inadmissible, briefing.Leak, LocalFault, InvalidValue) as error:
                remaining_s = self._unheard_s()
                if remaining_s > 0 and isinstance(error, Inadmissible) and error.worker:
                    await self._presence.change(remaining_s)
                    continue
                return await self._refused(
                    sid, cause, "open", author, getattr(error, "field", ""), str(error), reason=_reason(error)
                )
            return receipt.accepted or await self._refused(sid, cause, "open", author, "session", receipt.why)

    async def _open_child(
        self, parent: str, sid: str, cause: str, request: OpenSession, cached: CachedSession, headers: Mapping[str, str]
    ) -> bool:
        """Open a child of a session that still waits for it: in its opener's name, and with its documents if it says
        so. A child that can never be opened, or is over without a trace, ends at once."""
        above = (await self._sessions.look(parent, fresh=True)).session
        if above is None or sid not in above.children:
            return False
        if cached.session is not None and cached.session.opened.parent == parent:
            return True  # a repeat
        if cached.over:
            await self._effects.tell_ended(sid, parent, SessionEnded(protocol=request.protocol, status="erased"))
            return False
        if request.inherits:
            only = request.only or [d.name for d in above.opened.documents]
            wanted = (d for d in above.opened.documents if d.name in only or d.background is True)
            documents = tuple(msgspec.structs.replace(d, holders=()) for d in wanted)
            request = msgspec.structs.replace(request, documents=(*documents, *request.documents))
        request, owner = msgspec.structs.replace(request, queues=above.opened.queues or {}), above.opened.author
        why = cached.refused_by(parent, "open") or await self._opened(sid, cause, request, parent, owner, headers)
        if why:
            ended = SessionEnded(protocol=request.protocol, status="refused", why=why)
            await self._effects.tell_ended(sid, parent, ended)
        return not why

    async def _opened(
        self, sid: str, cause: str, request: OpenSession, asker: str, author: str, headers: Mapping[str, str]
    ) -> str:
        """Open it. Empty, or why it was refused, which is recorded.

        Parameters
        ----------
        asker, author
            Who hears of a refusal; whose session it is.
        headers
            Of the request, with the asker's trace.
        """
        protocol = self._protocols.get(request.protocol)
        if protocol is None and sid not in STANDING:
            self._unreadable.leave_opening(sid, cause, request.protocol)
        if protocol is None or protocol.standing or sid in STANDING:
            known = ", ".join(sorted(name for name, p in self._protocols.items() if not p.standing))
            why = f"protocol: got {request.protocol[:80]!r}, known are {known}"
            if sid in STANDING:
                why = f"session {sid} is the moderators' own"
            field = "session" if sid in STANDING else "protocol"
            await self._refused(sid, cause, "open", asker, field, why, protocol="unknown")
            return why
        if asker != author:
            return await self._granted(sid, cause, protocol, request, asker, author, headers)
        over = await self._admission.over(author)
        if over is not None:
            await self._refused(
                sid, cause, "open", asker, over.limit, over.why, protocol=protocol.name, reason=over.limit,
                retry_s=over.retry_s,
            )  # fmt: skip
            return over.why
        why = "it was not stored"
        try:
            why = await self._granted(sid, cause, protocol, request, asker, author, headers)
        finally:
            self._admission.left(author, opened=not why)
        return why

    async def _granted(
        self, sid: str, cause: str, protocol: Protocol, request: OpenSession, asker: str, author: str,
        headers: Mapping[str, str],
    ) -> str:  # fmt: skip
        """Open what is within all limits. Empty, or why it was refused, which is recorded."""
        seed = request.seed if request.seed is not None else secrets.randbits(53)
        trace = tracing.begin(sid, headers)
        while True:
            try:
                opened = await self._admitted(protocol, request, seed, author, trace)
                receipt = await self._sessions.open(sid, cause, opened)
            except (Inadmissible, briefing.Leak, LocalFault) as error:
                remaining_s = self._unheard_s()
                if remaining_s > 0 and isinstance(error, Inadmissible) and error.worker:
                    await self._presence.change(remaining_s)
                    continue
                await self._refused(
                    sid, cause, "open", asker, getattr(error, "field", ""), str(error), protocol=protocol.name,
                    reason=_reason(error),
                )  # fmt: skip
                return str(error)
            except (BusError, BrokenLog):
                raise
            except Exception as error:
                _LOGGER.exception("protocol %s failed as it opened", protocol.name)
                why = f"the code of protocol {protocol.name} failed: {where(error)}"
                await self._refused(sid, cause, "open", asker, "protocol", why, protocol=protocol.name, reason="fault")
                return why
            if not receipt.accepted:
                await self._refused(sid, cause, "open", asker, "session", receipt.why, protocol=protocol.name)
            return receipt.why

    async def _admitted(
        self, protocol: Protocol, request: OpenSession, seed: int, author: str, trace: str
    ) -> log.Opened:
        """The opening event, with what its protocol wants to know. Raises Inadmissible."""
        known: dict[str, Any] = {}
        for sid in protocol.reads:
            cached = await self._sessions.recent(sid, _RECENT_S)
            if cached.session is not None and cached.protocol is not None:
                known |= outcome(cached.protocol, cached.session)
        if protocol.experts:
            await self._presence.settled()
            there = taking_part(request.queues, self._presence.everybody())
            check_language_models(protocol, there)  # experts take no seat yet
        experts = self._presence.known(request.queues.values()) if protocol.experts else ()
        workers = self._presence.alive()
        opened = admit(
            protocol, request, workers, seed, author, experts=experts, known=known,
            reasoning_tokens=self._presence.reasoning_tokens(), fits=True, trace=trace, heard=self._unheard_s() <= 0,
        )  # fmt: skip
        check_future_child(self._protocols, protocol, request, workers)
        estimate.check(protocol, opened)
        return with_rule(opened, protocol)


def _reason(error: Exception) -> str:
    """Why an opening is refused, as it is counted: nobody can answer it, or it is not in order."""
    return "worker" if isinstance(error, Inadmissible) and (error.worker or error.field == "seats") else "input"


def _standing(sid: str) -> OpenSession:
    return OpenSession(question=f"The moderators' own session {sid}.", protocol=STANDING[sid].name)
