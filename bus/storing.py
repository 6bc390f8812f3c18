"""What the server says of a message that was to be stored, and what one connection has met of it."""

import time

import msgspec

from bus.errors import Conflict, RequestTimeout, StoreError

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


def acknowledged(answer: bytes, subject: str) -> PubAck:
    """The server's acknowledgement. Raises Conflict, StoreError."""
    try:
        ack = _stored.decode(answer)
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
        kind = subject.split(".", 2)[1]
        if error is None:
            self._unstored.pop(kind, None)
        elif lacks_room(error):
            now = time.monotonic()
            self._unstored[kind] = (self._unstored.get(kind, (now,))[0], now, str(error))

    def trouble(self) -> str:
        """What is not stored, since when, and the last error; empty: nothing of the kind in the last minute."""
        now = time.monotonic()
        recent = [found for found in self._unstored.values() if now - found[1] < _RECENT_S]
        if not recent:
            return ""
        since, _, error = min(recent)
        return f"the bus has not stored everything for {now - since:,.0f} s: {error}"
