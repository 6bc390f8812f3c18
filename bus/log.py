"""LOG: append by compare-and-swap, and read one session.

What was appended together is one message: a transition, or several (parley.bus.storage.packs).
The session's last sequence is the version that an append must name: who has folded less than all of it is refused by
the broker, whatever he believes about himself.
"""

import json

import msgspec

from parley.bus import subjects
from parley.bus.connection import Connection
from parley.bus.storage import direct
from parley.bus.storage.direct import erase
from parley.bus.storage.packs import unpack
from parley.schemas.post import SessionRow
from parley.schemas.wire import encode

LOG = "LOG"
"""The stream."""
_BATCH = 256
_ROW = "Parley-Row"
"""Header with a SessionRow on the entries that open, refuse, close and erase a session: moderators of the previous
release list sessions by it."""


class Stored(msgspec.Struct, frozen=True):
    """One entry of LOG, or a message beside the entries."""

    seq: int
    """Sequence of its message: entries that were appended together have the same."""
    kind: str
    data: bytes


class Log:
    """The log of every session, over one connection of a moderator."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def breaks(self) -> int:
        """How often the connection broke."""
        return self._connection.breaks

    async def append(self, sid: str, kind: str, data: bytes, last_seq: int, row: SessionRow | None = None) -> int:
        """Append one message; its sequence.

        Raises
        ------
        Conflict
            The session is not at `last_seq` any more (or 0: it exists already).
        BusError
            No answer: it may have been stored, or may yet be; read the tail to know.
        """
        headers = {_ROW: _one_line(row)} if row else None
        ack = await self._connection.store(
            subjects.log(sid, kind), data, headers=headers, expected_last=(subjects.log_of(sid), last_seq)
        )
        return ack.seq

    async def read(self, sid: str, after: int = 0, *, kind: str = "") -> list[Stored]:
        """Everything of one session, or what is of one kind, behind sequence `after`, in order."""
        of_session = subjects.log.of(session=sid, kind=kind or None)
        first = _stored(await direct.following(self._connection, LOG, of_session, after))
        if first is None:
            return []
        stored = [first]
        while True:
            page = await direct.batch(self._connection, LOG, of_session, stored[-1].seq, _BATCH)
            stored += [Stored(message.seq, subjects.log.parse(message.subject)[1], message.data) for message in page]
            if len(page) < _BATCH:
                return [Stored(s.seq, s.kind, entry) for s in stored for entry in unpack(s.data)]

    async def opening(self, sid: str) -> Stored | None:
        """The entry that opened a session; None if its message is gone."""
        stored = await self._last(sid, subjects.OPENED)
        return None if stored is None else Stored(stored.seq, stored.kind, unpack(stored.data)[0])

    async def erase(self, sid: str, before: int | None = None) -> None:
        """Overwrite and remove a session's messages: all, or those before sequence `before`."""
        await erase(self._connection, LOG, subjects.log_of(sid), before)

    async def last(self, sid: str, kind: str | None = None) -> Stored | None:
        """The last entry of a session's last message, of one kind if one is named; None if there is none."""
        stored = await self._last(sid, kind)
        return None if stored is None else Stored(stored.seq, stored.kind, unpack(stored.data)[-1])

    async def _last(self, sid: str, kind: str | None) -> Stored | None:
        """The last message of a session, packed as it is stored."""
        return _stored(await direct.last(self._connection, LOG, subjects.log.of(session=sid, kind=kind)))


async def waiting(connection: Connection, stream: str, only: str) -> list[str]:
    """The subjects under which a stream has messages, if they match `only`."""
    names: list[str] = []
    while True:
        query = {"subjects_filter": only, "offset": len(names)}
        answer = await connection.api(f"STREAM.INFO.{stream}", query)
        page = answer["state"].get("subjects") or {}
        names += page
        if not page or len(names) >= int(answer.get("total", 0)):
            return names


def _one_line(row: SessionRow) -> str:
    """The row as a header may carry it: ASCII."""
    data = encode(row)
    return data.decode() if data.isascii() else json.dumps(msgspec.to_builtins(row))


def _stored(message: direct.StoredMessage | None) -> Stored | None:
    return None if message is None else Stored(message.seq, subjects.log.parse(message.subject)[1], message.data)


class Asides:
    """Where messages are put that could not be handled: recorded, listed, and never in the way."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def put(self, sid: str, subject: str, cause: str, why: str, payload: bytes, at_ns: int) -> None:
        """Record one message."""
        from parley.schemas.log import Aside

        shown = payload[:4096].decode("utf-8", "backslashreplace")
        record = Aside(subject=subject, cause=cause, why=why[:2000], at_ns=at_ns, payload=shown, size=len(payload))
        await self._connection.store(subjects.aside(sid), encode(record), msg_id=f"aside-{cause}-{sid}")

    async def last(self, sid: str) -> bytes | None:
        """The newest record of a session, if there is one."""
        message = await direct.last(self._connection, "ASIDE", subjects.aside(sid))
        return None if message is None else message.data
