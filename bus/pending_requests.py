"""The answers that a connection waits for: to its requests, by the last token of their subject, and of streams to
messages that they store.

One timer watches over all of them: a request costs none of its own.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any

import msgspec

from parley.bus.errors import BusError, Conflict, NoModerator, NoStream, RequestTimeout, StoreError
from parley.bus.library import Msg


class PendingRequest(msgspec.Struct, eq=False):
    """An answer that somebody waits for."""

    subject: str
    future: asyncio.Future[Msg]
    reply: str
    timeout_s: float
    due: float
    """When the wait is over, on the loop's clock."""


class PendingRequests:
    """All answers that one connection waits for."""

    def __init__(self) -> None:
        self.pending: dict[str, PendingRequest] = {}
        """The answers that are waited for, by the last token of their subject."""
        self._counter = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        """Read once: each time, the interpreter asks the system for the process's id."""
        self._wake: asyncio.TimerHandle | None = None
        self._wake_at = math.inf

    def expect(self, subject: str, reply: str = "", timeout_s: float = math.inf) -> tuple[str, PendingRequest]:
        """Wait for an answer. Returns the token under which it comes, and the future that it sets. After `timeout_s`
        the future fails with RequestTimeout."""
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        self._counter += 1
        token = str(self._counter)
        due = loop.time() + timeout_s
        pending = self.pending[token] = PendingRequest(subject, loop.create_future(), reply, timeout_s, due)
        if due < self._wake_at:
            self._look_at(due, loop)
        return token, pending

    def again(self, token: str, subject: str, timeout_s: float) -> PendingRequest:
        """Wait again under the same token: the earlier request may still be answered."""
        loop = asyncio.get_running_loop()
        pending = self.pending[token]
        pending.subject, pending.timeout_s, pending.due = subject, timeout_s, loop.time() + timeout_s
        if pending.due < self._wake_at:
            self._look_at(pending.due, loop)
        return pending

    def forget(self, token: str) -> None:
        """Wait for it no more."""
        pending = self.pending.pop(token, None)
        if pending is not None and pending.future.done() and not pending.future.cancelled():
            pending.future.exception()  # seen

    def fail_all(self, make: Callable[[str], BusError]) -> None:
        """No answer will come any more; `make` makes the error from a subject."""
        for pending in self.pending.values():
            if not pending.future.done():
                pending.future.set_exception(make(pending.subject))

    def all(self) -> list[PendingRequest]:
        """All answers that are waited for."""
        return list(self.pending.values())

    def _look_at(self, due: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wake, self._wake_at = loop.call_at(due, self._look), due

    def _look(self) -> None:
        self._wake, self._wake_at = None, math.inf
        loop = asyncio.get_running_loop()
        now = loop.time()
        for pending in self.pending.values():
            if pending.due <= now and not pending.future.done():
                pending.future.set_exception(RequestTimeout(pending.subject, pending.timeout_s))
        next_due = min((p.due for p in self.pending.values() if not p.future.done()), default=math.inf)
        if next_due < math.inf:
            self._look_at(next_due, loop)


class RepeatedRequest:
    """A question that is asked until it is answered. A late answer to an earlier try counts as well, so a slow answerer
    is not asked faster than it answers. Ended by `close`.

    Whoever is slow is asked no faster for it than he answers. Ended by `close`.
    """

    def __init__(self, answers: PendingRequests, inbox: str, send: Callable[..., Awaitable[None]]) -> None:
        self._answers = answers
        self._inbox = inbox
        self._send = send
        self._token, self._pending = answers.expect("")

    async def ask(self, subject: str, payload: bytes, timeout_s: float, headers: Mapping[str, str] | None) -> Msg:
        """Ask, unless an answer has come since the last try. Raises as Connection.request."""
        if self._pending.future.done() and self._pending.future.exception() is not None:
            self._renew()
        try:
            if not self._pending.future.done():
                self._answers.again(self._token, subject, timeout_s)
                await self._send(subject, payload, f"{self._inbox}.{self._token}", headers)
            answer = await self._pending.future
        finally:
            self._renew()
        return answer_of(subject, answer)

    def again(self) -> None:
        """Wait no longer for an answer to this try: whoever had it is gone."""
        if not self._pending.future.done() and self._pending.due < math.inf:
            self._pending.future.set_exception(RequestTimeout(self._pending.subject, 0.0))

    def _renew(self) -> None:
        """Answers that come from now on belong to the next try."""
        if self._pending.future.done() and not self._pending.future.cancelled():
            self._pending.future.exception()  # seen
        self._pending.future, self._pending.due = asyncio.get_running_loop().create_future(), math.inf

    def close(self) -> None:
        """Wait for no answer any more."""
        self._answers.forget(self._token)


def answer_of(subject: str, answer: Msg) -> Msg:
    """The answer to a request. Raises NoModerator if the server said that nobody serves the subject."""
    if answer.headers and not answer.data and answer.headers.get("Status") == "503":
        raise NoModerator(subject)
    return answer


# ---------------------------------------------------------------- streams

CONFLICTS = (10071, 10164)
"""err_code of a lost compare-and-swap."""
_NO_ROOM = (10023, 10047, 10077)
"""err_code: the server's store, or the stream, has no room."""
_RECENT_S = 60.0


def lacks_room(error: BaseException) -> bool:
    """Whether a message was not stored for want of room, as far as can be known: a server whose disk is full says
    nothing."""
    return isinstance(error, RequestTimeout) or (isinstance(error, StoreError) and error.err_code in _NO_ROOM)


class Stores:
    """What the streams have refused lately for want of room."""

    def __init__(self) -> None:
        self.unstored: dict[str, tuple[float, float, str]] = {}
        """Kind of subject -> since when, when last (monotonic), and the last error."""

    def met(self, subject: str, error: BaseException | None) -> None:
        """Note that a message was stored under this subject, or not."""
        if error is None:
            if self.unstored:
                self.unstored.pop(subject.split(".", 2)[1], None)
        elif lacks_room(error):
            kind, now = subject.split(".", 2)[1], time.monotonic()
            self.unstored[kind] = (self.unstored.get(kind, (now,))[0], now, str(error))

    def _first(self) -> tuple[float, str]:
        """Seconds since when something is not stored, and the last error; 0: nothing of the kind in the last minute."""
        now = time.monotonic()
        recent = [failure for failure in self.unstored.values() if now - failure[1] < _RECENT_S]
        if not recent:
            return 0.0, ""
        since, _, error = min(recent)
        return now - since, error

    def failing_s(self) -> float:
        """Seconds for which something has not been stored; 0: nothing of the kind in the last minute."""
        return self._first()[0]

    def trouble(self) -> str:
        """What is not stored, since when, and the last error; empty: nothing of the kind in the last minute."""
        since_s, error = self._first()
        return f"the bus has not stored everything for {since_s:,.0f} s: {error}" if error else ""


class PubAck(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A stream has stored the message."""

    stream: str
    seq: int
    duplicate: bool = False
    """Its id was known: nothing new was stored."""


class _Refusal(msgspec.Struct, frozen=True):
    description: str = ""
    err_code: int = 0


class _Stored(msgspec.Struct, frozen=True, gc=False):
    stream: str = ""
    seq: int = 0
    duplicate: bool = False
    error: _Refusal | None = None


_stored = msgspec.json.Decoder(_Stored)


class Begun(msgspec.Struct, frozen=True, eq=False):
    """A message that a stream has not acknowledged yet."""

    answers: PendingRequests
    token: str
    pending: PendingRequest
    stores: Stores

    def __await__(self) -> Generator[Any, None, PubAck]:
        subject = self.pending.subject
        try:
            answer = yield from self.pending.future.__await__()
            if answer.headers and not answer.data and answer.headers.get("Status") == "503":
                raise NoStream(subject)
            ack = decode_stream_ack(subject, answer)
        except (RequestTimeout, StoreError) as error:
            self.stores.met(subject, error)
            raise
        finally:
            self.answers.pending.pop(self.token, None)
        if self.stores.unstored:
            self.stores.met(subject, None)
        return ack


def decode_stream_ack(subject: str, answer: Msg) -> PubAck:
    """A stream's answer. Raises Conflict, StoreError."""
    try:
        ack = _stored.decode(answer.data)
    except msgspec.DecodeError as error:
        raise StoreError(0, f"not an acknowledgement ({error})", subject) from None
    if ack.error is not None:
        kind = Conflict if ack.error.err_code in CONFLICTS else StoreError
        raise kind(ack.error.err_code, ack.error.description, subject)
    return PubAck(stream=ack.stream, seq=ack.seq, duplicate=ack.duplicate)
