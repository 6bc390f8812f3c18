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
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

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
from parley.coordinator.sessions.group import Receipt
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


_WHAT: dict[type, str] = {
    CancelSession: "cancel", AnswerNow: "answer_now", DecideItem: "decide", GiveFeedback: "feedback", KeepNotes: "notes"
}  # fmt: skip
"""What a refusal calls a submission; any other is an opening."""


def _addressed(subject: str) -> tuple[str, ...]:
    """(channel, author, session) of a message on IN, INNER or TIMER."""
    with contextlib.suppress(subjects.BadSubject):
        return TIMER, TIMER, *subjects.fired.parse(subject)
    with contextlib.suppress(subjects.BadSubject):
        return SESSION, *subjects.inner.parse(subject)
    return subjects.inbox.parse(subject)


T = TypeVar("T")


class _Asked(NamedTuple):
    """Who asks what: a submission, and where it came from."""

    channel: str
    author: str
    sid: str
    cause: str
    what: str
    """open | cancel | answer_now | decide | feedback | notes"""
    delivery: Delivery

    def is_own(self, opened: log.Opened) -> bool:
        """Whether the session is the asker's: a client's own, or any session where an owner asks on a channel of his
        own."""
        return self.channel != CLIENT or opened.author == self.author


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
            Pull(
                connection, stream, streams.MODERATORS, room=_ROOM, on_message=partial(self._take, place),
                on_nobody=ensure_streams,
            )
            for place, stream in enumerate((streams.IN, streams.INNER, streams.TIMER))
        ]  # fmt: skip

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

    def _take(self, place: int, delivery: Delivery) -> None:
        """Handle a submission. One that is already in hand, since this process is slow, gets a new subject to ack."""
        pull, cause = self._pulls[place], f"{('in', 'inner', 'timer')[place]}:{delivery.seq}"
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
                what = _WHAT.get(type(submission), "open")
                asked = _Asked(channel, author, sid, cause, what, delivery)
                accepted = await self._submitted(asked, submission)
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

    async def _submitted(self, asked: _Asked, submission: Submission) -> bool:
        """Whether it was taken."""
        author, sid, cause = asked.author, asked.sid, asked.cause
        if not may_submit(asked.channel, submission):
            why = f"channel {asked.channel} takes no {type(submission).__name__}"
            return await self._refused(asked._replace(what="open"), why)
        match submission:
            case OpenSession():
                if asked.channel != SESSION:
                    self._metrics.openings.labels(owner=self._metrics.owner(author)).inc()
                return await self._open(asked, submission)
            case ForkSession():
                return await self._fork(asked, submission)
            case CancelSession():
                return await self._end(asked, log.Cancelled(author=author, reason=submission.reason[:500]))
            case AnswerNow():
                return await self._end(asked, log.Hurried(author=author))
            case TimerDue():
                return await self._awaited.timer(sid, cause)
            case DecideItem():
                return await self._decide(asked, submission)
            case GiveFeedback():
                given = log.FeedbackGiven(
                    author=author, right=submission.right, answer=submission.answer, note=submission.note
                )
                return await self._afterwards(asked, given)
            case KeepNotes():
                return await self._afterwards(asked, log.NotesKept(author=author, notes=submission.notes))
            case TellSession():
                event = log.Told(sender=author, kind=submission.kind, body=submission.body)
                return await self._take_unasked(sid, f"tell:{author}:{submission.place}", event)
            case SessionEnded():
                return await self._take_unasked(
                    sid, f"ended:{author}", log.ChildEnded(session=author, ended=submission)
                )

    async def _refused(
        self, asked: _Asked, why: str, field: str = "", *, protocol: str = "unknown", reason: str = "input",
        retry_s: float | msgspec.UnsetType = msgspec.UNSET,
    ) -> bool:  # fmt: skip
        """Record the refusal. If an earlier delivery was taken, carry its effects out again; it counts as taken.

        `protocol`, `reason`: of an opening, as it is counted (parley.observability.metrics.REFUSALS)."""
        refused = log.Refused(
            cause=asked.cause, what=asked.what, why=why, field=field, author=asked.author, at_ns=self._clock.now_ns(),
            retry_s=retry_s,
        )  # fmt: skip
        if await self._sessions.refuse(asked.sid, refused):
            if asked.what == "open":
                self._metrics.sessions_refused.labels(protocol=protocol, reason=reason).inc()
            _LOGGER.info("refused: %s", why)
            return False
        await self._sessions.reissue(asked.sid, asked.cause)
        return True

    async def _settled(self, asked: _Asked, event: log.Event, field: str = "") -> bool:
        """Take an event, or record why it is refused."""
        receipt = await self._sessions.take(asked.sid, asked.cause, event)
        return receipt.accepted or await self._refused(asked, receipt.why, field)

    async def _end(self, asked: _Asked, event: log.Cancelled | log.Hurried) -> bool:
        """End a session before its protocol does."""
        sid, cached = asked.sid, await self._sessions.look(asked.sid)
        opened = None if cached.session is None else cached.session.opened
        if asked.channel == SESSION and opened is not None:
            if opened.parent != asked.author:
                return False
            # where it is over already, nobody waits for an answer
            return (await self._sessions.take(sid, asked.cause, event)).accepted
        if opened is not None and not asked.is_own(opened):
            return await self._refused(asked, f"session {sid} was opened by somebody else")
        if opened is not None and asked.channel == CLIENT and opened.parent:
            why = f"session {sid} runs beneath session {opened.parent}; end that one"
            return await self._refused(asked, why, "session")
        if opened is None and cached.refused and (asked.channel != CLIENT or cached.is_of(asked.author)):
            return await self._refused(asked, f"session {sid} was refused: {cached.refused}", "session")
        return await self._settled(asked, event)

    async def _decide(self, asked: _Asked, message: DecideItem) -> bool:
        """Answer an item."""
        cached = await self._sessions.look(asked.sid)
        if cached.session is not None and not asked.is_own(cached.session.opened):
            return await self._refused(asked, f"session {asked.sid} was opened by somebody else")
        try:
            seat = await self._joining(cached, message.choice)
        except Inadmissible as error:
            return await self._refused(asked, str(error), error.field)
        event = log.Decided(item=message.item, choice=message.choice, note=message.note, author=asked.author, seat=seat)
        return await self._settled(asked, event, "item")

    async def _joining(self, cached: CachedSession, choice: str) -> Seat | msgspec.UnsetType:
        """The seat of a member that is to join a session, as who serves it announces it; UNSET: nobody is. Raises
        Inadmissible."""
        session, protocol = cached.session, cached.protocol
        act, _, name = choice.strip().partition(" ")
        if session is None or protocol is None or protocol.joining is None or session.closed or act != "add":
            return msgspec.UNSET
        queues = session.opened.queues or {}

        async def seated() -> Seat:
            alive = self._presence.alive()
            there = {w.queue: w for w in taking_part({}, alive)} | {w.queue: w for w in taking_part(queues, alive)}
            workers = tuple(there.values())
            assert protocol.joining is not None
            seat = protocol.joining(session.opened, session.settings, name.strip(), workers)
            return described(seat, workers, protocol)

        seat = await self._once_heard(seated)
        return msgspec.structs.replace(seat, queue=queues.get(seat.queue, seat.queue))

    async def _once_heard(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What it comes to: again and again, while a worker for whose want it is refused may still announce itself."""
        while True:
            try:
                return await attempt()
            except Inadmissible as error:
                remaining_s = self._unheard_s()
                if remaining_s <= 0 or not error.worker:
                    raise
                await self._presence.change(remaining_s)

    async def _afterwards(self, asked: _Asked, event: log.FeedbackGiven | log.NotesKept) -> bool:
        """Record what a person says of a closed session. An open session takes none. This is checked first, so that it
        is never appended together with the end."""
        session = (await self._sessions.look(asked.sid, fresh=True)).session
        if session is not None and not asked.is_own(session.opened):
            return await self._refused(asked, f"session {asked.sid} was opened by somebody else")
        if session is not None and not session.closed:
            why = f"session {asked.sid} is open: feedback is on what it came to"
            return await self._refused(asked, why, "session")
        return await self._settled(asked, event, "session")

    async def _take_unasked(self, sid: str, cause: str, event: log.Event) -> bool:
        """Take what another session says: its moderator vouches for it, and nobody asks what became of it. A standing
        session that does not exist yet is opened first."""
        if sid in STANDING and (await self._sessions.look(sid)).session is None:
            request = OpenSession(question=f"The moderators' own session {sid}.", protocol=STANDING[sid].name)
            await self._sessions.open(sid, "standing", admit(STANDING[sid], request, (), 0, ""))
        receipt = await self._sessions.take(sid, cause, event)
        if not receipt.accepted:
            _LOGGER.info("not taken: %s", receipt.why, extra={"cause": cause})
        return receipt.accepted

    async def _open(self, asked: _Asked, request: OpenSession) -> bool:
        """Open a session. Only for a child is it asked first whether it exists: for others the append would be
        refused."""
        if asked.channel == SESSION:
            cached = await self._sessions.look(asked.sid, fresh=True)
            if asked.cause in cached.causes:
                await self._sessions.reissue(asked.sid, asked.cause)
                return True
            return await self._open_child(asked, request, cached)
        if request.parent:
            why = f"parent: got {request.parent!r}, but sessions beneath others are opened by moderators"
            return await self._refused(asked, why, "parent")
        if is_synthetic(request.continues) and asked.author == METRICS:
            await self._sessions.remove(request.continues)
        protocol = request.protocol if request.protocol in self._protocols else "unknown"
        if (taken := await self._not_now(asked, request.expires_s, protocol)) is not None:
            return taken
        return not await self._opened(asked, request, asked.author)

    async def _not_now(
        self, asked: _Asked, expires_s: float | msgspec.UnsetType, protocol: str = "unknown"
    ) -> bool | None:
        """Refuse what a client may not open under this id, or not any more, as `_refused` does. None: it may."""
        sid, why, reason = asked.sid, "", "input"
        late_s = (self._clock.now_ns() - asked.delivery.stored_ns) / 1e9 - (expires_s or 0.0)  # by the server's clock
        if is_child_id(sid):
            why = f"session: got {sid!r}, but ids that end in -c and a number are of sessions beneath others"
        elif is_synthetic(sid) != (asked.author == METRICS):
            why = f"session: got {sid!r}, but ids that begin with {METRICS}- are of `parley metrics` alone"
        elif expires_s is not msgspec.UNSET and late_s > 0:
            why = f"the asker has given up: nobody has waited for this session since {late_s:,.1f} s"
            reason = "late"
        return await self._refused(asked, why, "session", protocol=protocol, reason=reason) if why else None

    def _unheard_s(self) -> float:
        """Seconds in which a missing worker may still announce itself; 0 or less: it is not there."""
        return _YOUNG_S - self._presence.unbroken_s()

    async def _fork(self, asked: _Asked, request: ForkSession) -> bool:
        """Open a session that carries on the record of another session of the same client."""
        sid, cause = asked.sid, asked.cause
        if (taken := await self._not_now(asked, request.expires_s)) is not None:
            return taken
        if cause in (await self._sessions.look(sid, fresh=True)).causes:
            await self._sessions.reissue(sid, cause)
            return True

        async def attempt() -> Receipt:
            trace = partial(tracing.begin, sid, asked.delivery.headers)
            wanted = await self._forks.wanted(sid, asked.author, request, trace)
            return await self._sessions.open(sid, cause, wanted.opened, wanted)

        try:
            receipt = await self._once_heard(attempt)
        except PayloadTooLarge as error:
            why = f"round: the record up to the end of the round does not fit one message: {error}"
            return await self._refused(asked, why, "round")
        except (Inadmissible, briefing.Leak, LocalFault, InvalidValue) as error:
            return await self._refused(asked, str(error), getattr(error, "field", ""), reason=_reason(error))
        return receipt.accepted or await self._refused(asked, receipt.why, "session")

    async def _open_child(self, asked: _Asked, request: OpenSession, cached: CachedSession) -> bool:
        """Open a child of a session that still waits for it: in its opener's name, and with its documents if it says
        so. A child that can never be opened, or is over without a trace, ends at once."""
        sid, parent = asked.sid, asked.author
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
        request = msgspec.structs.replace(request, queues=above.opened.queues or {})
        why = cached.refused_by(parent, "open") or await self._opened(asked, request, above.opened.author)
        if why:
            ended = SessionEnded(protocol=request.protocol, status="refused", why=why)
            await self._effects.tell_ended(sid, parent, ended)
        return not why

    async def _opened(self, asked: _Asked, request: OpenSession, author: str) -> str:
        """Open it in the name of this author. Empty, or why it was refused, which is recorded."""
        sid = asked.sid
        protocol = self._protocols.get(request.protocol)
        if sid in STANDING:
            why = f"session {sid} is the moderators' own"
            await self._refused(asked, why, "session")
            return why
        if protocol is None:
            self._unreadable.leave_opening(sid, asked.cause, request.protocol)
        if protocol is None or protocol.standing:
            known = ", ".join(sorted(name for name, p in self._protocols.items() if not p.standing))
            why = f"protocol: got {request.protocol[:80]!r}, known are {known}"
            await self._refused(asked, why, "protocol")
            return why
        if asked.author != author:
            return await self._granted(asked, protocol, request, author)
        over = await self._admission.over(author)
        if over is not None:
            await self._refused(
                asked, over.why, over.limit, protocol=protocol.name, reason=over.limit, retry_s=over.retry_s
            )
            return over.why
        why = "it was not stored"
        try:
            why = await self._granted(asked, protocol, request, author)
        finally:
            self._admission.left(author, opened=not why)
        return why

    async def _granted(self, asked: _Asked, protocol: Protocol, request: OpenSession, author: str) -> str:
        """Open what is within all limits. Empty, or why it was refused, which is recorded."""
        seed = request.seed if request.seed is not None else secrets.randbits(53)
        trace = tracing.begin(asked.sid, asked.delivery.headers)

        async def attempt() -> Receipt:
            opened = await self._admitted(protocol, request, seed, author, trace)
            return await self._sessions.open(asked.sid, asked.cause, opened)

        field, reason = "session", "input"
        try:
            why = (await self._once_heard(attempt)).why
        except (Inadmissible, briefing.Leak, LocalFault) as error:
            why, field, reason = str(error), getattr(error, "field", ""), _reason(error)
        except (BusError, BrokenLog):
            raise
        except Exception as error:
            _LOGGER.exception("protocol %s failed as it opened", protocol.name)
            why, field, reason = f"the code of protocol {protocol.name} failed: {where(error)}", "protocol", "fault"
        if why:
            await self._refused(asked, why, field, protocol=protocol.name, reason=reason)
        return why

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
