"""The worker: serves the turns of one queue, as many at once as it has room for.

What always holds:

1. A turn outlives this process. Its WORK message stays un-acknowledged until a moderator has accepted or refused the
   reply. A worker that is killed loses nothing: the server delivers the turn again, to this copy or another.
2. No model is paid for a turn that is not known to be open. `still_open.is_open` says when that may be assumed, and
   `still_open.before_request` looks once more just before the request leaves, for a process that was frozen.
3. A second delivery of a running turn starts no second call. It only replaces the subject at which to acknowledge.
4. A reply that is being submitted is not cancelled by a stop. The stop may be what this very reply led to, and only
   its repeat brings the rest of the effects out.

Why a turn's steps have this order (`_turn`): first whatever costs nothing and may end it (deadline, unknown kind,
documents), then the question whether it is open, then the model, then the submission until there is an answer, and the
acknowledgement last. An acknowledgement before the answer would lose the reply with the process.

While a model works, the heartbeat tells the server so every third of `ack_wait`. It never waits for moderators. A post
on `control` cancels the model's call. A post can be missed, so running turns are asked after once in a while and after
each reconnect.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Coroutine
from typing import Any, Self

import msgspec

from parley.agents import turn_span
from parley.agents.context import Shown
from parley.agents.documents import DocumentCache
from parley.agents.equipment import Hands
from parley.agents.expert_registry import ExpertRegistry
from parley.agents.hearing import Hear
from parley.agents.model.base import Completion, LiveEmitter, Model, ModelError
from parley.agents.models.computed import with_computed
from parley.agents.moderator_link import ModeratorLink, TurnArtifacts
from parley.agents.protocols import UnknownKind, kind_of
from parley.agents.show_turn import Bodies, ContextError, show
from parley.agents.specs import AgentSpec
from parley.agents.still_open import StillOpen, begin, is_open
from parley.agents.tools.allow import AllowList
from parley.agents.worker_measures import DEADLINE, RAISED, WorkerMeasures, kind_of_fault
from parley.agents.worker_model import WorkerModel
from parley.bus import subjects
from parley.bus.channels import ACCOUNT_OF_ROLE, CONTROL, MATCHING, speaks_on
from parley.bus.connection import Connection
from parley.bus.errors import BusError, Denied
from parley.bus.library import Msg, Subscription
from parley.bus.work import SILENT_S, Delivery, Pull
from parley.observability import logs, tracing
from parley.observability.metrics import Metrics
from parley.schemas.post import Live, decode_posts
from parley.schemas.presence import Announcement
from parley.schemas.turn import Reply, Retry, Turn, Usage, Work
from parley.schemas.wire import InvalidValue, SchemaError, Undecodable, decode, encode

_LOGGER = logging.getLogger(__name__)
ANNOUNCE_S = 5.0
HANDED_BACK = "handed back"
"""Message with which a model's call is cancelled if its turn goes back to the queue."""
_ENDS = ("stop", "closed")
"""Kinds of posts on `control` after which a session's turns are not wanted any more."""


class _Job:
    """A WORK message that this worker has in hand."""

    __slots__ = ("bodies", "delivery", "open", "submitting", "tasks", "touched", "untold", "work")

    def __init__(self, delivery: Delivery, work: Work) -> None:
        self.delivery = delivery
        self.work = work
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.submitting: set[str] = set()
        """Turns whose model has replied. They are not cancelled: their reply may have led to the stop. The moderator
        that took it may have died before all its effects were out, and only a repeat of the submission brings them
        out."""
        self.bodies: Bodies = {}
        self.untold: list[Turn] = []
        """Turns that began while nobody followed the session."""
        self.open = len(work.turns)
        self.touched = time.monotonic()


class Worker:
    """One worker process's half that touches the bus. An async context manager; closing drains.

    `silent_s`: so long nobody at the bus answers before it counts as not ready.

    Raises parley.agents.specs.NotEnrolled where an expert's specification is not the one that the credentials pin.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        spec: AgentSpec,
        model: Model,
        metrics: Metrics,
        ack_wait_s: float = 8.0,
        drain_s: float = 20.0,
        silent_s: float = SILENT_S,
        hear: Hear | None = None,
        tools: AllowList | None = None,
        hands: Hands | None = None,
        checkpoint: Callable[[str, str], None] | None = None,
    ) -> None:
        spec.check_pin(connection.credentials.pin)
        self._connection = connection
        self._spec = spec
        self._pin = spec.pin
        self.experts = ExpertRegistry() if not MATCHING.isdisjoint(spec.roles) else None
        self._model = WorkerModel(with_computed(model), spec.expert, tools, hands)
        self._ack_wait_s = ack_wait_s
        self._drain_s = drain_s
        self._hear = hear
        self._checkpoint = checkpoint or (lambda _point, _session: None)
        self._instance = secrets.token_hex(6)
        self._link = ModeratorLink(connection, spec.queue, metrics)
        self._documents = DocumentCache(self._link)
        self._account = ACCOUNT_OF_ROLE[spec.roles[0]]
        self._jobs: dict[tuple[str, str], _Job] = {}
        self._of_session: dict[str, set[tuple[str, str]]] = {}
        self._room = asyncio.Semaphore(spec.room)
        self._busy = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._subs: list[Subscription] = []
        self._draining = False
        self._pull = Pull(
            connection,
            "WORK",
            subjects.consumer(spec.queue),
            room=spec.room,
            on_message=self._on_work,
            on_nobody=self._announce,
            silent_s=silent_s,
        )
        self._started = False
        self._measures = WorkerMeasures(metrics, spec.queue, spec.roles[0], model.name, spec.room)

    @property
    def ready(self) -> str | None:
        """None while it serves; else what is missing."""
        if not self._started:
            return "starting"
        if self._draining:
            return "draining"
        if not self._connection.nc.is_connected:
            return "no connection to the bus"
        if self._pull.unanswered:
            return "nobody at the bus answers: no moderator, or no majority"
        return None

    async def __aenter__(self) -> Self:
        await self._model.look()  # before anybody can call for an announcement, which says what was found
        subscribe = self._connection.subscribe
        for kind in _ENDS:
            self._subs.append(await subscribe(subjects.post.of(channel=CONTROL, kind=kind), self._on_control))
        self._subs.append(await subscribe(subjects.CALL, self._on_call))
        if self._hear is not None:
            # Copies of one queue share a group, so that only one of them reacts.
            for name, kind in self._hear.posts:
                subject = subjects.post.of(channel=name, kind=kind)
                self._subs.append(await subscribe(subject, self._on_post, queue=self._spec.queue))
        if self.experts is not None:
            self._subs.append(await self.experts.follow(self._connection))
        self._connection.on_reconnect.append(self._on_reconnect)
        await self._model.prepare()
        await self._announce()
        await self._pull.start()
        for loop in (self._announcing(), self._heartbeat(), self._looking(), self._model.look_at_tools()):
            self._spawn(loop)
        self._measures.started()
        self._started = True
        return self

    async def __aexit__(self, *_: object) -> None:
        """Drain: take no more, finish what is running within `drain_s`, hand the rest back."""
        self._draining = True
        self._measures.stopped()
        await self._pull.stop()
        with contextlib.suppress(BusError):
            await self._announce()
        with contextlib.suppress(ValueError):
            self._connection.on_reconnect.remove(self._on_reconnect)
        running = [t for job in self._jobs.values() for t in job.tasks.values()]
        if running:
            await asyncio.wait(running, timeout=self._drain_s)
        for job in list(self._jobs.values()):
            for task in job.tasks.values():
                _cancel(task, HANDED_BACK)
        unfinished = [t for job in self._jobs.values() for t in job.tasks.values()]
        if unfinished:
            await asyncio.wait(unfinished, timeout=2.0)
        for task in self._tasks:
            task.cancel()
        for sub in self._subs:
            with contextlib.suppress(Exception):
                await sub.unsubscribe()
        await self._model.aclose()
        with contextlib.suppress(Exception):
            await self._connection.nc.flush()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- presence
    async def _announce(self) -> None:
        model = self._model
        speed = model.speed or (msgspec.UNSET, msgspec.UNSET)
        announcement = Announcement(
            instance=self._instance,
            queue=self._spec.queue,
            roles=self._spec.roles,
            model=model.name,
            family=model.family,
            metered=model.metered,
            usd_per_million_input=model.usd_per_million_input,
            usd_per_million_output=model.usd_per_million_output,
            room=self._spec.room,
            busy=self._busy,
            reasoning_tokens=msgspec.UNSET if model.reasoning_tokens is None else model.reasoning_tokens,
            input_s=speed[0],
            output_s=speed[1],
            turn_s=model.turn_s or msgspec.UNSET,
            expertise=self._spec.expertise,
            draining=self._draining,
            expert=self._spec.expert,
            breaks=(self._hear and self._connection.breaks) or msgspec.UNSET,
            holds=tuple(sorted(job.delivery.seq for job in self._jobs.values())) or msgspec.UNSET,
            tools=model.tools,
            no_run=model.no_run[:200] or msgspec.UNSET,
            no_tools=model.no_tools[:200] or msgspec.UNSET,
            no_server=model.no_server[:200] or msgspec.UNSET,
        )
        for role in self._spec.roles:
            await self._connection.publish(subjects.here(role, self._spec.queue, self._pin), encode(announcement))

    async def _say_here(self) -> None:
        with contextlib.suppress(BusError):
            await self._announce()

    async def _announcing(self) -> None:
        while True:
            await asyncio.sleep(ANNOUNCE_S)
            await self._say_here()

    async def _looking(self) -> None:
        """Look for a model's server that was away, until it is there."""
        while True:
            await asyncio.sleep(ANNOUNCE_S)
            if self._model.no_server:
                await self._model.look()
                await self._say_here()
                await self._model.prepare()

    def _on_call(self, msg: Msg) -> None:
        if msg.data == subjects.ASK_AGAIN:
            self._link.ask_again()
        self._spawn(self._say_here())

    # -- taking work
    def _on_work(self, delivery: Delivery) -> None:
        try:
            work = decode(delivery.data, Work)
        except SchemaError as error:
            _LOGGER.error("a turn that cannot be read is dropped: %s", error)
            self._pull.release()
            self._spawn(self._settle(delivery, b"+TERM"))
            return
        key = (work.session, work.turns[0].id)
        running = self._jobs.get(key)
        if running is not None:
            # Delivered again while it runs: only the subject to settle it at is new.
            self._measures.redelivered()
            running.delivery.ack_subject = delivery.ack_subject
            self._pull.release()
            return
        if delivery.delivered > 1:
            self._measures.redelivered()
        job = _Job(delivery, work)
        self._jobs[key] = job
        self._of_session.setdefault(work.session, set()).add(key)
        for turn in work.turns:
            job.tasks[turn.id] = asyncio.create_task(self._serve(key, job, turn))

    async def _settle(self, delivery: Delivery, how: bytes) -> None:
        with contextlib.suppress(BusError):
            await self._pull.settle(delivery, how)

    async def _serve(self, key: tuple[str, str], job: _Job, turn: Turn) -> None:
        outcome, settle = "failed", b"+ACK"
        try:
            async with self._room:
                self._count(1)
                try:
                    with (
                        logs.session(job.work.session),
                        turn_span.around(
                            job.delivery.headers, job.work, turn, self._model.name, self._connection.clock.now_ns()
                        ) as span,
                    ):
                        outcome = await self._turn(job, turn)
                        turn_span.record_turn_end(span, outcome)
                finally:
                    self._count(-1)
        except asyncio.CancelledError as cancelled:
            outcome = "cancelled"
            if HANDED_BACK in cancelled.args:
                settle = b"-NAK"
        except BusError as error:
            _LOGGER.warning("turn %s left to be delivered again: %s", turn.id, error)
            settle = b"" if not isinstance(error, Denied) else b"+TERM"
        except Exception:
            _LOGGER.exception("turn %s", turn.id)
        self._measures.ended(outcome)
        job.open -= 1
        job.tasks.pop(turn.id, None)
        if settle != b"+ACK":
            job.touched = -1.0  # not all of it is done: do not acknowledge it
            if settle == b"-NAK":
                await self._settle(job.delivery, settle)
        if job.open == 0:
            del self._jobs[key]
            self._of_session[job.work.session].discard(key)
            if not self._of_session[job.work.session]:
                del self._of_session[job.work.session]
            self._pull.release()
            if job.touched >= 0:
                await self._settle(job.delivery, b"+ACK")

    def _count(self, by: int) -> None:
        self._busy += by
        self._measures.busy(by)

    async def _turn(self, job: _Job, turn: Turn) -> str:
        """Ask the model, and submit its reply. Returns what became of the turn."""
        work, began = job.work, time.perf_counter()
        clock = self._connection.clock
        if clock.now_ns() >= turn.deadline_ns:
            if not clock.sure:
                await self._link.check(work, turn)  # this machine's clock may be ahead: the answer has the bus's time
            if clock.now_ns() >= turn.deadline_ns:
                return "expired"
        try:
            shown = await self._shown(work, turn, job.bodies)
        except (UnknownKind, ContextError, Undecodable) as fault:  # another version asks: a reply that says so
            return await self._submit(job, turn, None, str(fault), None, 0.0)
        known = StillOpen(self._link, work, turn, self._ack_wait_s / 4)
        if not await is_open(self._connection, self._link, job.delivery, work, turn, self._ack_wait_s):
            self._measures.skipped()
            return "refused"
        if _LOGGER.isEnabledFor(logging.DEBUG):
            _LOGGER.debug("turn begun", extra={"turn": turn.id, "seat": turn.seat, "kind": turn.kind})
        if work.followed:
            await self._live(work, turn, _state(turn))
        else:
            job.untold.append(turn)
        started = time.perf_counter()
        usage, error, completion = None, "", None
        emit = self._emitter(work, turn)
        self._checkpoint("asking", work.session)
        begin(known)
        if known.is_old:
            await known.check()
        self._measures.called()
        try:
            async with asyncio.timeout(max(0.0, (turn.deadline_ns - clock.now_ns()) / 1e9)):
                completion = await self._model.reply(shown, emit, TurnArtifacts(self._connection, work, turn))
        except TimeoutError:
            self._measures.failed(DEADLINE)
            return "expired"  # the session's timer tells everybody
        except ModelError as fault:
            error, usage = fault.why or type(fault).__name__, fault.usage
            self._measures.failed(kind_of_fault(fault))
        except Exception as fault:
            _LOGGER.exception("the model raised")
            detail = f": {fault}" if isinstance(fault, InvalidValue) else ""  # our own words about a field
            error = f"the model raised {type(fault).__name__}{detail}"
            self._measures.failed(RAISED)
        model_s = time.perf_counter() - started
        self._measures.answered(model_s)
        if completion is not None:
            self._model.took(model_s)
        verdict = await self._submit(job, turn, completion, error, usage, model_s)
        if verdict == "accepted" and not error:
            self._measures.added(time.perf_counter() - began - model_s)
        return verdict

    async def _shown(self, work: Work, turn: Turn, bodies: Bodies) -> Shown:
        """What the model is shown. Raises UnknownKind before documents are fetched, ContextError and Undecodable."""
        documents = []
        if turn.documents:
            kind_of(work.protocol, turn.kind)
            documents = await self._documents.of(work, turn)
        shown = show(work, turn, documents, bodies)
        return msgspec.structs.replace(
            shown, experts=self.experts, deadline_ns=self._connection.clock.to_local(shown.deadline_ns)
        )

    async def _submit(
        self, job: _Job, turn: Turn, completion: Completion | None, error: str, usage: Usage | None, model_s: float
    ) -> str:
        """Submit the completion or the error; returns the moderator's verdict."""
        work = job.work
        reply = self._reply(job, turn, completion, error, usage, model_s)
        if error:
            await self._live(work, turn, "failed", error)
        self._checkpoint("replied", work.session)
        job.submitting.add(turn.id)
        answer = await self._link.submit(work, turn, reply)
        if answer.verdict == "accepted" and not error and not _LOGGER.isEnabledFor(logging.INFO):
            return answer.verdict
        fields = {"turn": turn.id, "seat": turn.seat, "kind": turn.kind, "model_s": round(model_s, 3)}
        if answer.verdict == "refused":
            self._measures.late()
        if answer.verdict != "accepted" or error:
            why = error or answer.why
            _LOGGER.warning("turn failed: %s (%s): %s", turn.seat, turn.kind, why, extra={**fields, "why": why})
        else:
            _LOGGER.info("turn answered", extra=fields)
        return answer.verdict

    def _reply(
        self, job: _Job, turn: Turn, completion: Completion | None, error: str, usage: Usage | None, model_s: float
    ) -> Reply:
        fields: dict[str, Any] = {"error": error or "no reply"}
        if completion is not None:
            fields = {"body": completion.json(), "usage": completion.usage, "flags": completion.flags}
            fields |= {"found": completion.found} if completion.found else {}
        elif usage is not None:
            fields["usage"] = usage
        return Reply(
            turn=turn.id,
            token=turn.token,
            model=self._model.name,
            model_s=model_s,
            deliveries=job.delivery.delivered,
            **fields,
        )

    # -- showing
    def _emitter(self, work: Work, turn: Turn) -> Callable[[str], None]:
        """Publishes live text (none in a blind round), and the state `retrying` in every round; tells moderators of the
        first call that failed."""

        def failed(why: str, again_s: float) -> None:
            retry = Retry(turn=turn.id, token=turn.token, why=why[:200], again_s=min(again_s, 86_400.0))
            self._spawn(self._link.speak(work.channel, work.session, retry))

        return LiveEmitter(
            lambda state, text: self._emit(work, turn, state, text), turn.stream, failed, self._measures.retried
        )

    def _emit(self, work: Work, turn: Turn, state: str, text: str) -> None:
        self._spawn(self._live(work, turn, state, text[:4_000]))

    async def _live(self, work: Work, turn: Turn, state: str, text: str = "") -> None:
        live = Live(session=work.session, seat=turn.seat, turn=turn.id, state=state, text=text, attempt=turn.attempt)
        with contextlib.suppress(BusError):
            subject = subjects.live_owned(work.channel, self._spec.queue, work.owner, work.session)
            await self._connection.publish(subject, encode(live))

    async def _tell(self) -> None:
        """Publish the state of the open turns again: somebody may have begun to follow them."""
        for job in list(self._jobs.values()):
            for turn in job.untold:
                if turn.id in job.tasks and turn.id not in job.submitting:
                    await self._live(job.work, turn, _state(turn))

    # -- hearing
    def _on_control(self, msg: Msg) -> None:
        """A stop decision came: cancel the turns of that session that were asked before it."""
        sid, _, _ = subjects.post.parse(msg.subject)
        if sid not in self._of_session:
            return
        post = decode_posts(msg.data)[-1]
        for key in tuple(self._of_session.get(sid, ())):
            job = self._jobs[key]
            for turn, task in tuple(job.tasks.items()):
                if turn not in job.submitting and int(turn.split("-")[0]) < post.transition:
                    _cancel(task, "stopped")

    def _on_post(self, msg: Msg) -> None:
        assert self._hear is not None
        for post in decode_posts(msg.data):
            if (speak := self._hear.react(post)) is not None:
                with tracing.process("post", msg.subject, headers=msg.headers, session=post.session):
                    self._spawn(self._link.speak(speaks_on(self._account), post.session, speak))

    # -- while it works
    def _on_reconnect(self) -> None:
        self._spawn(self._say_here())
        if self.experts is not None:
            self._spawn(self.experts.call(self._connection))
        self._spawn(self._look_again())

    async def _look_again(self) -> None:
        """Check every running turn, and cancel those that are closed: a post on `control` can be lost."""
        for job in list(self._jobs.values()):
            for turn in job.work.turns:
                task = job.tasks.get(turn.id)
                if task is None or turn.id in job.submitting:
                    continue
                with contextlib.suppress(BusError, SchemaError):
                    if not (await self._link.check(job.work, turn)).open:
                        _cancel(task, "closed")

    async def _heartbeat(self) -> None:
        """Every third of ack_wait: tell the server what runs. Every ack_wait: ask whether it is still wanted."""
        beat = self._ack_wait_s / 3
        count = 0
        looking = self._spawn(self._look_again())
        while True:
            await asyncio.sleep(beat)
            count += 1
            now = time.monotonic()
            old = [j for j in self._jobs.values() if now - j.touched >= beat * 0.9 and j.touched >= 0]
            for job in old:
                await self._settle(job.delivery, b"+WPI")
            await self._tell()
            if count % 3 == 0 and any(now - j.touched >= self._ack_wait_s for j in old) and looking.done():
                looking = self._spawn(self._look_again())  # never awaited here: moderators may be silent


def _state(turn: Turn) -> str:
    return "thinking" if turn.attempt == 1 else "retrying"


def _cancel(task: asyncio.Task[None], why: str) -> None:
    """Cancel a turn, but not before its task's first step: else it would never settle its message."""
    asyncio.get_running_loop().call_soon(task.cancel, why)
