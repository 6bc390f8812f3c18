"""The moderator: takes submissions, lets the sessions take their steps, answers. It owns nothing and calls no model.

Any number run at once. Submissions to IN come by pulling; replies, words from the floor and questions are core
requests, on this process's lane or on the one that all moderators share. Each author is served through a bounded queue
and told `busy` beyond it. What cannot be decoded, or whose handling raises, is recorded and put aside.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

import msgspec

from parley.bus import streams, subjects
from parley.bus.artifacts import Artifacts
from parley.bus.channels import may_submit
from parley.bus.connection import Connection
from parley.bus.errors import BusError, PayloadTooLarge
from parley.bus.library import Msg, Subscription, cancelled
from parley.bus.log import Asides
from parley.bus.rights import asker
from parley.bus.storage.index import Index
from parley.coordinator import briefing
from parley.coordinator.artifact_store import ArtifactService
from parley.coordinator.budget import pays_for_tries
from parley.coordinator.intake import IN_ACK_WAIT_S, BadSessionId, Intake
from parley.coordinator.leaving import Leaving
from parley.coordinator.machine import Protocol, Session
from parley.coordinator.presence import Presence
from parley.coordinator.queries import QueryService
from parley.coordinator.sessions.awaiting import Awaiting
from parley.coordinator.sessions.broken import BrokenLog, Unreadable
from parley.coordinator.sessions.cache import CachedSession
from parley.coordinator.sessions.effects import Effects
from parley.coordinator.sessions.group import Outcome, PendingSubmission, Receipt, Tell
from parley.coordinator.sessions.limits import Admission
from parley.coordinator.sessions.rows import Listing
from parley.coordinator.sessions.store import Sessions
from parley.coordinator.sessions.sweep import EVERY_S, Sweep
from parley.coordinator.sessions.token_keys import TokenKeys
from parley.observability import logs, tracing
from parley.observability.metrics import Metrics
from parley.schemas import log
from parley.schemas.presence import Announcement, decode_announcement
from parley.schemas.session import SESSION_ID, human_queue
from parley.schemas.turn import (
    HANDLING_RAISED,
    MOST_REPLIES,
    Answers,
    Replies,
    Reply,
    Retry,
    Say,
    Sit,
    Speak,
    SubmitAnswer,
    TurnStatus,
    TurnStatusRequest,
)
from parley.schemas.wire import SchemaError, compact, decode, encode

_LOGGER = logging.getLogger(__name__)
_PER_AUTHOR = 512
_ALL = 8_192
_SEVERAL = b'{"t":"replies"'
_UNSTORED_S = 5.0
"""A bus that has not stored something for so long takes no work."""
_BUSY = SubmitAnswer(verdict="busy")
_LOOK_S, _LOOKS = 0.5, 10
"""Every so often turns that wait are looked at; so many looks lie between two beats."""
_OLD_S, _MOST_LOOKS = 5.0, 16
_LATE_S = 1.5
"""Replies that came in one message wait this long for each other's answers."""


class Moderator:
    """One moderator process: the half that touches the bus. An async context manager; closing drains it."""

    def __init__(
        self,
        connection: Connection,
        *,
        token_keys: TokenKeys,
        metrics: Metrics,
        protocols: Mapping[str, Protocol],
        lane: str | None = None,
        in_ack_wait_s: float = IN_ACK_WAIT_S,
        work_ack_wait_s: float = 8.0,
        turns_per_message: int = 0,
        log_max_age_s: float = streams.LOG_MAX_AGE_S,
        unreadable_s: float = 3_600.0,
        queues: Iterable[str] = (),
        sweep_s: float = EVERY_S,
        clock: Callable[[], float] = time.monotonic,
        checkpoint: Callable[[str, str], None] | None = None,
        limits: Path | None = None,
    ) -> None:
        """`limits`: the file with the limits of owners (parley.coordinator.sessions.limits); None: there are none.
        `unreadable_s`: so long what comes for a session waits for a moderator that can run it.
        `queues`: ready before anybody announces them. `sweep_s`: between two looks for sessions that nothing would
        bring back."""
        self._connection = connection
        self._make_streams = partial(
            streams.ensure_streams,
            connection,
            ack_wait_s=in_ack_wait_s,
            log_max_age_s=log_max_age_s,
        )
        self._keys = token_keys
        self._metrics = metrics
        self._protocols = protocols
        self._lane = lane or secrets.token_hex(6)
        self._work_ack_wait_s = work_ack_wait_s
        self._checkpoint = checkpoint
        self.presence = Presence(clock)
        metrics.queue_workers.read = self.presence.workers
        metrics.moderator.read = lambda: {"ready": float(self.ready is None)}
        metrics.queue_models.read = self.presence.models
        metrics.turns_held.read = self._held
        self._unreadable = Unreadable(metrics, unreadable_s)
        index = Index(connection)
        effects = Effects(
            connection,
            protocols=protocols,
            presence=self.presence,
            keys=token_keys,
            lane=self._lane,
            index=index,
            turns_per_message=turns_per_message,
            is_open=lambda sid, turns: self.sessions.is_open(sid, turns),
        )
        self._lanes = effects.lanes
        admission = Admission(connection, index, limits, lambda: self._lanes.moderators)
        self._lanes.weight = admission.weight
        self.sessions = Sessions(
            connection,
            protocols=protocols,
            effects=effects,
            metrics=metrics,
            unreadable=self._unreadable,
            checkpoint=checkpoint,
        )
        self._asides = Asides(connection)
        sweep_settings = (self._unreadable, metrics, sweep_s, log_max_age_s)
        self._sweep = Sweep(connection, self.sessions, index, *sweep_settings)
        self._desk = QueryService(
            self.sessions, self._asides, self.presence, self._unreadable, Listing(connection, index),
            self._lane, connection.stores, self._sweep, admission,
        )  # fmt: skip
        self._shelf = ArtifactService(Artifacts(connection), self.sessions, token_keys)
        self._queues = set(queues)
        self._serving: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._subs: list[Subscription] = []
        self._started = 0.0
        self._leaving = Leaving(connection, self.presence, metrics, self._lane, self._spawn)
        self._awaited = Awaiting(self.sessions, self.presence, effects, connection.clock, self._spawn)
        self._intake = Intake(
            connection, sessions=self.sessions, asides=self._asides, presence=self.presence, protocols=protocols,
            effects=effects, metrics=metrics, unreadable=self._unreadable, spawn=self._spawn,
            ensure_streams=self._ensure_streams, ack_wait_s=in_ack_wait_s, admission=admission, awaited=self._awaited,
        )  # fmt: skip
        self._leaving.on_moderator_gone = self._without_a_moderator
        self._leaving.on_gone = self._awaited.on_gone

    @property
    def ready(self) -> str | None:
        """None while it serves; else what is missing."""
        if not self._started:
            return "starting"
        if not self._intake.alive:
            return "it takes no submissions any more"
        if not self._connection.nc.is_connected:
            return "no connection to the bus"
        stores = self._connection.stores
        return stores.trouble() if stores.failing_s() > _UNSTORED_S else None

    async def __aenter__(self) -> Self:
        await self._ensure_streams()
        shared = "moderators"
        serve = self._serve
        any_ = subjects.ANY
        for subject, queue, handler in (
            (subjects.say.of(lane=self._lane), "", serve(subjects.say.parse, self._on_say, now=self._on_reply)),
            (subjects.say.of(lane=any_), shared, serve(subjects.say.parse, self._on_say, now=self._on_reply)),
            (subjects.check.of(lane=self._lane), "", serve(subjects.check.parse, self._on_check)),
            (subjects.check.of(lane=any_), shared, serve(subjects.check.parse, self._on_check)),
            (subjects.put.each, shared, serve(subjects.put.parse, self._shelf.put)),
            (subjects.take.each, shared, serve(subjects.take.parse, self._shelf.take, "artifact")),
            (subjects.fate.each, shared, serve(subjects.fate.parse, self._desk.fate, "fate")),
            (subjects.own.each, shared, serve(subjects.own.parse, self._desk.own, "own")),
            (subjects.here.each, "", self._on_here),
            (subjects.LEFT_ALL, "", self._leaving.on_left),
            (subjects.log.of(kind=subjects.ERASED), "", self._on_erased),
        ):
            self._subs.append(await self._connection.subscribe(subject, handler, queue=queue))
        # one for those who see all sessions, one for those who read a single owner's
        for subject, parse, answer, what in (
            (subjects.read.each, subjects.read.parse, self._desk.read, "read"),
            (subjects.doc.each, subjects.doc.parse, self._desk.documents, "doc"),
            (subjects.get.each, subjects.get.parse, self._shelf.get, "artifact"),
        ):
            for of in (False, True):
                pattern = subjects.owned(None, subject) if of else subject
                handler = serve(parse, answer, what, owned=of)
                self._subs.append(await self._connection.subscribe(pattern, handler, queue=shared))
        await self._connection.publish(subjects.CALL, b"")
        await self._connection.nc.flush()
        await self._intake.start()
        self._connection.on_reconnect.append(self._after_reconnect)
        self._started = time.monotonic()
        self._sweeping = asyncio.create_task(self._sweep.run(), name="sweep")
        self._looking = asyncio.create_task(self._look_at_lanes(), name="lanes")
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancelled(self._sweeping)
        await cancelled(self._looking)
        await self._intake.stop()
        with contextlib.suppress(ValueError):
            self._connection.on_reconnect.remove(self._after_reconnect)
        for sub in self._subs:
            with contextlib.suppress(Exception):
                await sub.unsubscribe()
        await self.sessions.settled(5.0)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5.0)
        for task in self._tasks:
            task.cancel()

    async def _look_at_lanes(self) -> None:
        """Tell the other moderators of this one; look for turns that they took the replies of."""
        while True:
            self._lanes.moderators = await self._leaving.beat()
            self._awaited.take_overdue()
            for _ in range(_LOOKS):
                await asyncio.sleep(_LOOK_S)
                for sid, turn in self._lanes.look(_OLD_S, _MOST_LOOKS):
                    with contextlib.suppress(BusError, BrokenLog):
                        await self.sessions.look(sid, fresh=True)
                        if not self.sessions.is_open(sid, (turn,)):
                            self._lanes.ended(sid, (turn,))

    async def _ensure_streams(self) -> None:
        await self._make_streams()
        for queue in self._queues:
            await streams.ensure_queue(self._connection, queue, ack_wait_s=self._work_ack_wait_s)

    def _after_reconnect(self) -> None:
        self.presence.interrupted()
        self._sweep.again()
        self._spawn(self._leaving.claim())
        self._spawn(self._call())

    def _without_a_moderator(self) -> None:
        self._sweep.again()
        self._spawn(self._call(subjects.ASK_AGAIN))

    async def _call(self, what: bytes = b"") -> None:
        with contextlib.suppress(BusError):
            await self._connection.publish(subjects.CALL, what)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- requests
    def _serve(
        self,
        parse: Callable[[str], tuple[str, ...]],
        handler: Callable[..., Awaitable[object]],
        read: str = "",
        *,
        owned: bool = False,
        now: Callable[[Msg, tuple[str, ...], str], bool] | None = None,
    ) -> Callable[[Msg], None]:
        """A handler of requests. It is bounded for each author, runs each request in its own task, and always answers.

        `owned`: the subject names whose sessions the asker reads, which the handler is told last. `now`: takes a
        request without a task, and sees to its answer; what it leaves (False) is handled as all others.
        """

        def receive(msg: Msg) -> None:
            try:
                of, subject = subjects.parse_owned(msg.subject) if owned else (None, msg.subject)
                parts = parse(subject)
            except subjects.BadSubject as error:
                self._answer(msg, SubmitAnswer(verdict="refused", why=str(error)))
                return
            # The author if the subject names one; else the account, which the server adds to the request.
            who = ("" if owned else ".".join(parts[1:-1])) or asker(msg.headers) or parts[0]
            if parts[-1] and not SESSION_ID.fullmatch(parts[-1]):
                self._answer(msg, SubmitAnswer(verdict="refused", why=str(BadSessionId(parts[-1]))))
                return
            if self._serving[who] >= _PER_AUTHOR or self._serving.total() >= _ALL:
                self._metrics.submissions.labels(kind="request", verdict="busy").inc()
                self._answer(msg, SubmitAnswer(verdict="busy"))
                return
            self._serving[who] += 1
            if now is None or not now(msg, parts, who):
                self._spawn(handle(msg, parts, who, of))

        async def handle(msg: Msg, parts: tuple[str, ...], who: str, of: str | None) -> None:
            if read:
                self._metrics.reads.labels(kind=read).inc()
            try:
                self._answer(msg, await (handler(msg, *parts) if of is None else handler(msg, *parts, of)))
            except Exception as error:
                await self._fault(msg, parts, error)
            finally:
                self._served(who)

        return receive

    async def _fault(self, msg: Msg, parts: tuple[str, ...], error: Exception) -> None:
        """Answer a request whose handling raised, or stay silent: the asker then tries again."""
        if isinstance(error, PayloadTooLarge):
            why, reason = f"raised: {error}", str(error)
        elif isinstance(error, BrokenLog):
            self._unreadable.meet(error)
            _LOGGER.info("left to another moderator: %s", error, extra={"subject": msg.subject})
            # Who asked this moderator alone takes silence for its end and asks any other; who asked all asks again.
            if parts[0] != self._lane:
                self._answer(msg, _BUSY)
            return
        elif isinstance(error, BusError):
            _LOGGER.warning("not answered: %s", error, extra={"subject": msg.subject})
            return
        elif isinstance(error, SchemaError):
            why, reason = f"undecodable: {error}", str(error)
        else:
            _LOGGER.error("handling raised", extra={"subject": msg.subject}, exc_info=error)
            why, reason = f"raised: {type(error).__name__}: {error}", HANDLING_RAISED
        await self._put_aside(msg.subject, parts[-1], f"request-{time.time_ns()}", why, msg.data)
        self._answer(msg, SubmitAnswer(verdict="refused", why=reason))

    def _answer(self, msg: Msg, answer: object) -> None:
        if not msg.reply:
            return
        data = encode(answer)
        if not self._connection.put(msg.reply, data):
            self._spawn(self._answered(msg.reply, data))

    async def _answered(self, reply: str, data: bytes) -> None:
        try:
            await self._connection.publish(reply, data)
        except BusError as error:
            _LOGGER.warning("answer not sent: %s", error)

    async def _put_aside(self, subject: str, sid: str, cause: str, why: str, payload: bytes) -> None:
        self._metrics.aside.labels(kind="undecodable" if why.startswith("undecodable") else "raised").inc()
        _LOGGER.warning("put aside: %s", why, extra={"subject": subject})
        with contextlib.suppress(BusError):
            await self._asides.put(sid, subject, cause, why, payload, time.time_ns())

    def _on_reply(self, msg: Msg, parts: tuple[str, ...], who: str) -> bool:
        """Let a reply to a turn wait for the next append of its session, together with the others."""
        _lane, channel, author, sid = parts
        if msg.data.startswith(_SEVERAL):
            return self._on_replies(msg, channel, author, who)

        def tell(outcome: Outcome) -> None:
            self._served(who)
            if isinstance(outcome, Receipt):
                self._answer(msg, self._verdict("reply", outcome))
            else:
                self._spawn(self._fault(msg, parts, outcome))

        return self._waits(msg.data, (channel, author, sid), tell, msg.headers)

    def _on_replies(self, msg: Msg, channel: str, author: str, who: str) -> bool:
        """Several replies in one message: each waits for its own session and has its own answer. One that cannot wait
        is told `busy`. Its author then submits it alone, and hears why."""
        try:
            several = decode(msg.data, Replies).replies
        except SchemaError:
            return False
        if not several or len(several) > MOST_REPLIES:
            return False
        open_answers, sent = len(several), False
        answers = [_BUSY] * open_answers

        def answer_all() -> None:
            nonlocal sent
            if not sent:
                sent = True
                late.cancel()
                self._answer(msg, Answers(answers=tuple(answers)))

        def answer_one(place: int, answer: SubmitAnswer) -> None:
            nonlocal open_answers
            answers[place] = answer
            open_answers -= 1
            self._served(who)
            if not open_answers:
                answer_all()

        # If one session is slow, the others' answers wait for it this long at most.
        late = asyncio.get_running_loop().call_later(_LATE_S, answer_all)

        self._serving[who] += open_answers - 1
        full = self._serving[who] > _PER_AUTHOR or self._serving.total() > _ALL
        for place, submission in enumerate(several):

            def tell(outcome: Outcome, place: int = place) -> None:
                if not isinstance(outcome, Receipt):
                    _LOGGER.info("left to be submitted alone: %s", outcome, extra={"subject": msg.subject})
                answer_one(place, self._verdict("reply", outcome) if isinstance(outcome, Receipt) else _BUSY)

            if (
                full
                or not SESSION_ID.fullmatch(submission.session)
                or not self._waits(bytes(submission.reply), (channel, author, submission.session), tell)
            ):
                answer_one(place, _BUSY)
        return True

    def _waits(self, data: bytes, to: tuple[str, str, str], tell: Tell, headers: dict[str, str] | None = None) -> bool:
        """Let a reply wait for its session. False: it cannot be read, or it is no reply. `to`: channel, author,
        session."""
        channel, author, sid = to
        try:
            reply: Say = decode(data, Say)  # type: ignore[arg-type]
            if not isinstance(reply, Reply) or not may_submit(channel, reply):
                return False
            event = log.Replied(
                turn=reply.turn,
                body=compact(reply.body),
                error=reply.error,
                usage=reply.usage,
                model=reply.model,
                model_s=reply.model_s,
                deliveries=reply.deliveries,
                flags=reply.flags,
                found=reply.found,
            )
        except SchemaError:
            return False
        turn, token = reply.turn, reply.token

        def check(session: Session | None) -> str:
            return briefing.not_its_turn(session, self._keys.fit, channel, author, sid, turn, token)

        asked_by = briefing.turn_transition(turn)
        self.sessions.submit(
            sid, PendingSubmission(f"turn:{turn}", event, tell, check=check, asked_by=asked_by, headers=headers)
        )
        return True

    def _served(self, who: str) -> None:
        """One request of this asker is done."""
        self._serving[who] -= 1
        if not self._serving[who]:
            del self._serving[who]

    def _held(self) -> dict[str, float]:
        held: Counter[str] = Counter()
        for owner, waiting in self._lanes.waiting().items():
            held[self._metrics.owner(owner)] += waiting
        return dict(held)

    def _verdict(self, kind: str, receipt: Receipt) -> SubmitAnswer:
        verdict = "accepted" if receipt.accepted else "refused"
        self._metrics.submissions.labels(kind, verdict).inc()
        return SubmitAnswer(verdict=verdict, why=receipt.why, n=receipt.n)

    async def _on_say(self, msg: Msg, _lane: str, channel: str, author: str, sid: str) -> SubmitAnswer:
        message: Say = decode(msg.data, Say)  # type: ignore[arg-type]
        if not may_submit(channel, message):
            return SubmitAnswer(verdict="refused", why=f"channel {channel} takes no {type(message).__name__.lower()}")
        with logs.session(sid), tracing.process("say", msg.subject, headers=msg.headers, session=sid):
            if isinstance(message, Sit):
                receipt = await self._sit(author, sid, message)
            elif isinstance(message, Retry):
                receipt = await self._retry(channel, author, sid, message)
            elif isinstance(message, Speak):
                receipt = await self._speak(channel, author, sid, message)
            else:
                compact(message.body)  # raises the error that kept it from the fast path
                raise AssertionError("a reply that can be read is taken at once")
        return self._verdict(type(message).__name__.lower(), receipt)

    async def _retry(self, channel: str, author: str, sid: str, retry: Retry) -> Receipt:
        """A worker makes a call again, for an open turn of its own."""
        turn = await self.sessions.open_turn(sid, channel, author, retry, self._keys)
        if isinstance(turn, str):
            return Receipt(False, why=turn)
        event = log.Retrying(turn=retry.turn, why=retry.why, again_s=retry.again_s)
        return await self.sessions.take(sid, f"retry:{retry.turn}", event)

    async def _speak(self, channel: str, author: str, sid: str, speak: Speak) -> Receipt:
        event = log.Spoke(
            author=author, channel=channel, window=speak.window, kind=speak.kind, body=compact(speak.body)
        )
        return await self.sessions.take(sid, f"say:{author}:{speak.window}", event)

    async def _sit(self, author: str, sid: str, sit: Sit) -> Receipt:
        """A person takes a seat, or leaves it. The name must be the one that the seat's person has, and the role the
        seat's: whoever opened the session chose the seats' names, and the broker vouches only for roles."""
        queue = human_queue(sit.seat)
        if author != queue:
            return Receipt(False, why=f"seat {sit.seat} is for {queue} to take, not for {author}")
        cached = await self.sessions.look(sid)
        if cached.session is None:
            cached = await self.sessions.look(sid, fresh=True)
        opened = cached.session.opened if cached.session is not None else None
        role = next((s.role for s in opened.seats if s.seat == sit.seat), "") if opened else ""
        roles = await self.presence.roles_of(queue) if role else set()
        if role and role not in roles:
            presence = f"{queue} is here as {', '.join(sorted(roles))}" if roles else f"{queue} is not here"
            return Receipt(False, why=f"seat {sit.seat} is a {role}'s in session {sid}, and {presence}")
        event = log.Sat(seat=sit.seat, queue=queue, seconds=sit.seconds, then=sit.then, left=sit.leave)
        return await self.sessions.take(sid, f"sit:{author}:{sit.id}", event)

    async def _on_check(self, msg: Msg, _lane: str, channel: str, author: str, sid: str) -> TurnStatus:
        check = decode(msg.data, TurnStatusRequest)
        cached = await self.sessions.look(sid, fresh=True)
        fault = briefing.not_its_turn(cached.session, self._keys.fit, channel, author, sid, check.turn, check.token)
        if not fault and cached.session is not None and check.turn in cached.session.turns:
            fault = await self._pay_for(sid, check, cached)
            if not fault and check.turn in cached.session.turns:
                self._metrics.checks.labels(open="yes").inc()
                return TurnStatus(open=True, at_ns=self._connection.clock.now_ns())
        self._metrics.checks.labels(open="no").inc()
        if f"turn:{check.turn}" in cached.causes:
            # The process that stored its reply may have died before the effects were out.
            await self.sessions.reissue(sid, f"turn:{check.turn}")
        return TurnStatus(
            open=False, why=fault or f"turn {check.turn} is not open", at_ns=self._connection.clock.now_ns()
        )

    async def _pay_for(self, sid: str, check: TurnStatusRequest, cached: CachedSession) -> str:
        """Store that a try of an open turn begins, before its worker pays for it; why that cannot be, or empty."""
        session, cause = cached.session, f"try:{check.turn}:{check.attempt}"
        assert session is not None
        if not check.attempt or cause in cached.causes:
            return ""
        ask = session.turns[check.turn].ask
        seat = next(s for s in session.opened.seats if s.seat == ask.seat)
        if ask.queue or not pays_for_tries(seat, session.opened.budget):
            return ""
        return (await self.sessions.take(sid, cause, log.Begun(turn=check.turn))).why

    def _on_erased(self, msg: Msg) -> None:
        self.sessions.forget(subjects.log.parse(msg.subject)[0])

    def _on_here(self, msg: Msg) -> None:
        """Note an announcement. The broker pins queue, role and specification in the subject; a payload that differs is
        ignored."""
        try:
            role, queue, pinned = subjects.here.parse(msg.subject)
            message = decode_announcement(msg.data)
        except (SchemaError, subjects.BadSubject) as error:
            self._metrics.aside.labels(kind="undecodable").inc()
            _LOGGER.info("an announcement that cannot be read: %s", error)
            return
        announcement = message.announcement
        if announcement.queue != queue or role not in announcement.roles:
            return
        if not message.is_own_expert(role, queue, pinned):
            _LOGGER.info("an announcement with another specification than is enrolled", extra={"queue": queue})
            return
        announcement = msgspec.structs.replace(announcement, roles=(role,))
        if queue not in self._queues:
            self._queues.add(queue)
            self._spawn(self._ensure_queue(announcement, pinned))
        else:
            self.presence.hear(announcement, pinned)

    async def _ensure_queue(self, announcement: Announcement, pinned: str) -> None:
        try:
            await streams.ensure_queue(self._connection, announcement.queue, ack_wait_s=self._work_ack_wait_s)
        except BusError as error:
            self._queues.discard(announcement.queue)
            _LOGGER.warning("no consumer for queue %s: %s", announcement.queue, error)
            return
        self.presence.hear(announcement, pinned)
