"""Storing a message in a stream: what the stream is told in headers, and what it answers."""

from collections.abc import Generator, Mapping
from typing import Any

import msgspec

from bus.answers import Answers, Pending
from bus.errors import Conflict, NoStream, StoreError
from bus.library import Msg

CONFLICTS = (10071, 10164)
"""err_code of a lost compare-and-swap."""


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

    __slots__ = ("_answers", "_pending", "_token")

    def __init__(self, answers: Answers, token: str, pending: Pending) -> None:
        self._answers = answers
        self._token = token
        self._pending = pending

    def __await__(self) -> Generator[Any, None, PubAck]:
        try:
            answer = yield from self._pending.future.__await__()
        finally:
            self._answers.forget(self._token)
        if answer.headers and not answer.data and answer.headers.get("Status") == "503":
            raise NoStream(self._pending.subject)
        return acknowledged(self._pending.subject, answer)


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
