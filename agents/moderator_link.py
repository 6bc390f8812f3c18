"""A worker's link to the moderators, for turns, documents and artifacts: on the lane whose cache is warm, else on any;
silence and `busy` are retried."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import msgspec

from parley.agents.artifacts import ArtifactError
from parley.bus import artifacts, subjects
from parley.bus.channels import PUBLIC
from parley.bus.connection import Connection
from parley.bus.errors import ArtifactRefused, BusError, Denied, NoModerator
from parley.bus.library import Msg
from parley.bus.pending_requests import RepeatedRequest
from parley.observability import tracing
from parley.observability.metrics import Metrics
from parley.schemas.artifact import Artifact
from parley.schemas.turn import (
    MOST_REPLIES,
    Answers,
    Documents,
    FetchDocuments,
    Replies,
    Reply,
    Retry,
    SessionReply,
    Speak,
    SubmitAnswer,
    Turn,
    TurnStatus,
    TurnStatusRequest,
    Work,
)
from parley.schemas.wire import InvalidValue, SchemaError, decode, encode

_LOGGER = logging.getLogger(__name__)
_PATIENCE_S = 5.0
"""Seconds after its deadline for which a reply is still offered: the moderator that stored it may have died before it
could say so."""
_ANSWER_S = 2.0
_MOST_ANSWER_S = 4.0
"""Seconds without an answer after which a reply is offered again: the first time, and at most."""
_LANE_DEAD_S = 5.0
_TOLD_S = 0.5
"""All moderators tell within this time that one of them is gone."""
_TOGETHER_BYTES = 200_000
"""Bytes of replies that are submitted together; a single larger one goes alone."""
_BUSY = encode(SubmitAnswer(verdict="busy"))


T = TypeVar("T", SubmitAnswer, TurnStatus)


class _Ready(NamedTuple):
    """A reply that waits to be submitted with others."""

    session: str
    data: bytes
    answer: "asyncio.Future[SubmitAnswer | None]"


def _tell(part: list[_Ready], answers: list[SubmitAnswer | None]) -> None:
    for ready, answer in zip(part, answers, strict=True):
        if not ready.answer.done():
            ready.answer.set_result(answer)


class ModeratorLink:
    """The requests of one queue's worker to any moderator that answers."""

    def __init__(self, connection: Connection, queue: str, metrics: Metrics) -> None:
        self._connection = connection
        self._queue = queue
        self._metrics = metrics
        self._dead_lanes: dict[str, float] = {}
        self._ready: dict[tuple[str, str], list[_Ready]] = {}
        """By lane and channel: replies of this turn of the event loop."""
        self._sending: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: set[RepeatedRequest] = set()
        """Questions that are not answered yet."""
        self._asked_again = -_TOLD_S

    async def speak(self, channel: str, session: str, speak: Speak | Retry) -> None:
        """Say something that nobody asked for. After four tries it is given up: a later post may bring it up again, and
        a turn that fails unheard is silent."""
        subject = subjects.say(subjects.ANY, channel, self._queue, session)
        data, headers = encode(speak), tracing.trace_headers()
        for wait in (0.1, 0.2, 0.4, 0.8):
            try:
                answer = decode(
                    (await self._connection.request(subject, data, 2.0, headers or None)).data, SubmitAnswer
                )
                if answer.verdict != "busy":
                    return
            except (NoModerator, TimeoutError, BusError) as error:
                _LOGGER.info("not heard yet: %s", error)
            await asyncio.sleep(wait)

    async def check(self, work: Work, turn: Turn, attempt: str = "") -> TurnStatus:
        """Ask whether this turn is open, and whether the model may be paid for this attempt
        (parley.schemas.turn.TurnStatusRequest).

        Raises BusError when nobody answered until the turn's deadline."""
        asked_ns = self._connection.clock.local()
        data = encode(TurnStatusRequest(turn=turn.id, token=turn.token, attempt=attempt))
        msg = await self._ask(
            lambda lane: subjects.check(lane, work.channel, self._queue, work.session),
            work.lane,
            data,
            turn.deadline_ns,
        )
        return self._timed(decode(msg.data, TurnStatus), asked_ns)

    async def submit(self, work: Work, turn: Turn, reply: Reply) -> SubmitAnswer:
        """Offer a reply until a moderator has taken or refused it. Raises BusError long after its deadline."""
        until_ns = turn.deadline_ns + int(_PATIENCE_S * 1e9)
        asked_ns = self._connection.clock.local()
        data = encode(reply)
        if work.together:
            answer = await self._with_others(work, data)
            if answer is not None and answer.verdict != "busy":
                self._metrics.lane.labels("hit").inc()
                return self._timed(answer, asked_ns)
        msg = await self._ask(
            lambda lane: subjects.say(lane, work.channel, self._queue, work.session), work.lane, data, until_ns
        )
        return self._timed(decode(msg.data, SubmitAnswer), asked_ns)

    def _timed(self, answer: T, asked_ns: int) -> T:
        self._connection.clock.answered(answer.at_ns, asked_ns)
        return answer

    async def _with_others(self, work: Work, data: bytes) -> SubmitAnswer | None:
        """Submit a reply together with the others that are ready in this turn of the event loop. None: it is alone, or
        nobody answered."""
        loop = self._loop = self._loop or asyncio.get_running_loop()
        key = work.lane, work.channel
        ready = _Ready(work.session, data, loop.create_future())
        others = self._ready.get(key)
        if others is None:
            self._ready[key] = [ready]
            loop.call_soon(self._flush, key)
        else:
            others.append(ready)
        return await ready.answer

    def _flush(self, key: tuple[str, str]) -> None:
        ready = self._ready.pop(key)
        while ready:
            part: list[_Ready] = []
            size = 0
            while ready and len(part) < MOST_REPLIES and size < _TOGETHER_BYTES:
                size += len(ready[0].data)
                part.append(ready.pop(0))
            if len(part) == 1 or self._dead_lanes.get(key[0], 0.0) > time.monotonic():
                _tell(part, [None] * len(part))
                continue
            task = asyncio.create_task(self._submit_together(key, part))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _submit_together(self, key: tuple[str, str], part: list["_Ready"]) -> None:
        lane, channel = key
        answers: list[SubmitAnswer | None] = [None] * len(part)
        several = Replies(replies=tuple(SessionReply(session=r.session, reply=msgspec.Raw(r.data)) for r in part))
        try:
            subject = subjects.say(lane, channel, self._queue, part[0].session)
            with self._question() as question:
                msg = await question.ask(subject, encode(several), _ANSWER_S, None)
            received = decode(msg.data, Answers).answers
            if len(received) == len(part):
                answers = list(received)
        except NoModerator:
            self._bury(lane)
        except (BusError, SchemaError):
            pass  # each is offered alone; the answer says why
        finally:
            _tell(part, answers)

    async def documents(self, work: Work, turn: Turn, ids: tuple[str, ...]) -> Documents:
        """Documents by content hash, as many as fit one message. Raises BusError when nobody answered in time."""
        subject = subjects.doc(PUBLIC, work.session)  # where they lie, whatever channel the reply belongs on
        data = encode(FetchDocuments(ids=ids))
        return decode((await self._ask(lambda _: subject, subjects.ANY, data, turn.deadline_ns)).data, Documents)

    async def _ask(self, subject: Callable[[str], str], warm: str, data: bytes, until_ns: int) -> Msg:
        """Request, and try again until somebody answers. Raises BusError: nobody answered until then, or the broker
        refused."""
        with self._question() as question:
            return await self._answer(question, subject, warm, data, until_ns)

    @contextlib.contextmanager
    def _question(self) -> Iterator[RepeatedRequest]:
        with contextlib.closing(self._connection.question()) as question:
            self._open.add(question)
            try:
                yield question
            finally:
                self._open.discard(question)

    def ask_again(self) -> None:
        """A moderator is gone: whatever is not answered yet is asked once more, without waiting for its silence. Each
        of the others says so; the first counts."""
        now = time.monotonic()
        if now - self._asked_again < _TOLD_S:
            return
        self._asked_again = now
        for question in tuple(self._open):
            question.again()

    async def _answer(
        self, question: RepeatedRequest, subject: Callable[[str], str], warm: str, data: bytes, until_ns: int
    ) -> Msg:
        wait, patience_s = 0.05, _ANSWER_S
        while True:
            for lane in dict.fromkeys((warm, subjects.ANY)):
                if self._dead_lanes.get(lane, 0.0) > time.monotonic():
                    continue
                try:
                    msg = await question.ask(subject(lane), data, patience_s, tracing.trace_headers() or None)
                except Denied:
                    raise
                except BusError as error:
                    if lane != subjects.ANY and isinstance(error, NoModerator):
                        self._bury(lane)
                    elif self._connection.clock.now_ns() > until_ns:
                        raise
                    continue
                if msg.data == _BUSY:
                    break
                self._metrics.lane.labels(outcome="miss" if lane == subjects.ANY else "hit").inc()
                return msg
            await asyncio.sleep(wait)
            wait, patience_s = min(0.5, wait * 2), min(_MOST_ANSWER_S, patience_s + wait)

    def _bury(self, lane: str) -> None:
        """Nobody listens on this lane: leave it out for a while."""
        if len(self._dead_lanes) > 1_000:
            self._dead_lanes.clear()
        self._dead_lanes[lane] = time.monotonic() + _LANE_DEAD_S


class TurnArtifacts:
    """The artifacts of a turn's session, over this link."""

    def __init__(self, connection: Connection, work: Work, turn: Turn) -> None:
        self._connection = connection
        self._session = work.session
        self._turn = turn

    async def get(self, id: str) -> bytes:
        """The piece. Raises ArtifactError."""
        try:
            turn = self._turn
            return await artifacts.take(self._connection, self._session, id, turn=turn.id, token=turn.token)
        except (ArtifactRefused, BusError, InvalidValue) as error:
            raise ArtifactError(f"artifact {id}: {error}") from None

    async def put(self, data: bytes) -> Artifact:
        """Store a folder's archive, for the turn while it is open. Raises ArtifactError."""
        turn = self._turn
        try:
            id = await artifacts.put(self._connection, self._session, data, turn=turn.id, token=turn.token)
        except (ArtifactRefused, BusError, InvalidValue) as error:
            raise ArtifactError(f"the folder cannot be stored: {error}") from None
        return Artifact(id=id, size=len(data))
