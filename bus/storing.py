"""Storing a message in a stream: what the stream is told in headers, what it answers, and what one connection has met
of that."""

import time
from collections.abc import Generator, Mapping
from typing import Any

import msgspec

from bus.answers import Answers, Pending
from bus.errors import Conflict, NoStream, RequestTimeout, StoreError
from bus.library import Msg

CONFLICTS = (10071, 10164)
"""err_code of a lost compare-and-swap."""
_NO_ROOM = (10023, 10047, 10077)
"""err_code: the server's store, or the stream, has no room."""
_RECENT_S = 60.0


class PubAck(msgspec.Struct, frozen=True, kw_only=True):
    """A stream has the message."""

    stream: str
    seq: int
    duplicate: bool = False
    """Its id was known: nothing new was stored."""


class _Refusal(msgspec.Struct, frozen=True):
    description: str = ""
    err_code: int = 0


class _Stored(msgspec.Struct, frozen=True):
    stream: str = ""
    seq: int = 0
    duplicate: bool = False
    error: _Refusal | None = None


_stored = msgspec.json.Decoder(_Stored)


class Begun:
    """A message that a stream has yet to acknowledge."""

    __slots__ = ("_answers", "_pending", "_stores", "_token")

    def __init__(self, answers: Answers, token: str, pending: Pending, stores: "Stores") -> None:
        self._answers = answers
        self._token = token
        self._pending = pending
        self._stores = stores

    def __await__(self) -> Generator[Any, None, PubAck]:
        subject = self._pending.subject
        try:
            answer = yield from self._pending.future.__await__()
            if answer.headers and not answer.data and answer.headers.get("Status") == "503":
                raise NoStream(subject)
            ack = acknowledged(subject, answer)
        except (RequestTimeout, StoreError) as error:
            self._stores.met(subject, error)
            raise
        finally:
            self._answers.forget(self._token)
        self._stores.met(subject, None)
        return ack


def fields(
    headers: Mapping[str, str] | None, msg_id: str | None, expected_last: tuple[str, int] | None
) -> dict[str, str]:
    """The headers of a message to a stream."""
    given = dict(headers or {})
    if msg_id is not None:
        given["Nats-Msg-Id"] = msg_id
    if expected_last is not None:
        given["Nats-Expected-Last-Subject-Sequence"] = str(expected_last[1])
        given["Nats-Expected-Last-Subject-Sequence-Subject"] = expected_last[0]
    return given


def acknowledged(subject: str, answer: Msg) -> PubAck:
    """A stream's answer. Raises Conflict, StoreError."""
    try:
        ack = _stored.decode(answer.data)
    except msgspec.DecodeError as error:
        raise StoreError(0, f"not an acknowledgement ({error})", subject) from None
    if ack.error is not None:
        kind = Conflict if ack.error.err_code in CONFLICTS else StoreError
        raise kind(ack.error.err_code, ack.error.description, subject)
    return PubAck(stream=ack.stream, seq=ack.seq, duplicate=ack.duplicate)


def lacks_room(error: BaseException) -> bool:
    """Whether a message was not stored for want of room, as far as can be told: a server whose disk is full says
    nothing at all."""
    return isinstance(error, RequestTimeout) or (isinstance(error, StoreError) and error.err_code in _NO_ROOM)


class Stores:
    """What the streams have not taken lately for want of room."""

    def __init__(self) -> None:
        self._unstored: dict[str, tuple[float, float, str]] = {}
        """Kind of subject -> since when, when last (monotonic), and the last error."""

    def met(self, subject: str, error: BaseException | None) -> None:
        """A message was stored under this subject, or not."""
        if error is None:
            if self._unstored:
                self._unstored.pop(subject.split(".", 2)[1], None)
        elif lacks_room(error):
            kind, now = subject.split(".", 2)[1], time.monotonic()
            self._unstored[kind] = (self._unstored.get(kind, (now,))[0], now, str(error))

    def trouble(self) -> str:
        """What is not stored, since when, and the last error; empty: nothing of the kind in the last minute."""
        now = time.monotonic()
        recent = [found for found in self._unstored.values() if now - found[1] < _RECENT_S]
        if not recent:
            return ""
        since, _, error = min(recent)
        return f"the bus has not stored everything for {now - since:,.0f} s: {error}"
