"""LOG: append by compare-and-swap, and read one session.

One stream for all sessions; one message a transition. The session's last sequence is the version that an append must
name: who has folded less than all of it is refused by the broker, whatever he believes about himself.
"""

import asyncio
import contextlib
import itertools
import json

import msgspec

from bus import subjects
from bus.connection import Connection
from bus.errors import BusError
from bus.library import Msg
from schemas.post import SessionRow
from schemas.wire import decode, encode

STREAM = "LOG"
_GET = f"$JS.API.DIRECT.GET.{STREAM}"
_BATCH = 256
_ROW = "Parley-Row"
"""Header with a SessionRow on the entries that open, refuse, close and erase a session, so that lists read no
payloads."""


class Stored(msgspec.Struct, frozen=True):
    """One message of LOG."""

    seq: int
    kind: str
    data: bytes


class Log:
    """The log of every session, over one connection of a moderator."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ids = itertools.count()

    async def append(self, sid: str, kind: str, data: bytes, last_seq: int, row: SessionRow | None = None) -> int:
        """Append one message; its sequence.

        Raises
        ------
        Conflict
            The session is not at `last_seq` any more (or 0: it exists already).
        BusError
            No answer: it may have been stored, or may yet be; read the tail to know.
        """
        headers = {_ROW: json.dumps(msgspec.to_builtins(row))} if row else None
        ack = await self._connection.store(
            subjects.log(sid, kind), data, headers=headers, expected_last=(subjects.log_of(sid), last_seq)
        )
        return ack.seq

    async def read(self, sid: str, after: int = 0) -> list[Stored]:
        """Everything of one session behind sequence `after`, in order."""
        first = await self._next(sid, after)
        if first is None:
            return []
        found = [first]
        while True:
            page, more = await self._page(sid, found[-1].seq)
            found += page
            if not more:
                return found

    async def purge(self, sid: str, before: int) -> None:
        """Remove what one session has ahead of sequence `before`."""
        await self._connection.api(f"STREAM.PURGE.{STREAM}", {"filter": subjects.log_of(sid), "seq": before})

    async def last(self, sid: str) -> Stored | None:
        """The last message of one session; None: there is none."""
        body = json.dumps({"last_by_subj": subjects.log_of(sid)}).encode()
        return _stored(await self._connection.request(_GET, body, 2.0))

    async def last_rows(self, most: int) -> dict[str, SessionRow]:
        """Session -> row, of the sessions that the last `most` messages of the log open."""
        state = (await self._connection.api(f"STREAM.INFO.{STREAM}"))["state"]
        found: dict[str, SessionRow] = {}
        await self.rows(found, max(0, int(state["last_seq"]) - most))
        return found

    async def _next(self, sid: str, after: int) -> Stored | None:
        body = json.dumps({"seq": after + 1, "next_by_subj": subjects.log_of(sid)}).encode()
        msg = await self._connection.request(_GET, body, 2.0)
        return _stored(msg)

    async def _page(self, sid: str, after: int) -> tuple[list[Stored], bool]:
        """One batch; the server ends it with a status message."""
        inbox = self._connection.nc.new_inbox()
        got: asyncio.Queue[Msg] = asyncio.Queue()

        async def receive(msg: Msg) -> None:
            got.put_nowait(msg)

        sub = await self._connection.nc.subscribe(inbox, cb=receive)
        try:
            body = {"seq": after + 1, "next_by_subj": subjects.log_of(sid), "batch": _BATCH}
            await self._connection.nc.publish(_GET, json.dumps(body).encode(), reply=inbox)
            page: list[Stored] = []
            while True:
                try:
                    msg = await asyncio.wait_for(got.get(), 2.0)
                except TimeoutError:
                    raise BusError("the log did not answer within 2 s") from None
                stored = _stored(msg)
                if stored is None:
                    return page, len(page) >= _BATCH
                page.append(stored)
        finally:
            with contextlib.suppress(Exception):
                await sub.unsubscribe()

    async def rows(self, found: dict[str, SessionRow], after: int) -> int:
        """Bring `found` (session -> row) up to date: what the headers of opening, refusing, closing and erasing entries
        behind sequence `after` say. The sequence of the last one."""
        connection = self._connection
        inbox = connection.nc.new_inbox()
        got: asyncio.Queue[Msg] = asyncio.Queue()

        async def receive(msg: Msg) -> None:
            got.put_nowait(msg)

        sub = await connection.nc.subscribe(inbox, cb=receive, pending_msgs_limit=-1, pending_bytes_limit=-1)
        name = f"rows-{connection.nc.new_inbox().split('.')[-1]}"
        kinds = (subjects.OPENED, subjects.REFUSED, subjects.CLOSED, subjects.ERASED)
        config = {
            "name": name, "deliver_subject": inbox, "deliver_policy": "by_start_sequence", "opt_start_seq": after + 1,
            "ack_policy": "none", "headers_only": True,
            "filter_subjects": [subjects.log_kind(k) for k in kinds], "mem_storage": True, "num_replicas": 1,
            "inactive_threshold": 5_000_000_000,
        }  # fmt: skip
        try:
            made = await connection.api(f"CONSUMER.CREATE.{STREAM}.{name}", {"stream_name": STREAM, "config": config})
            pending = int(made.get("num_pending", 0))
            for _ in range(pending):
                try:
                    msg = await asyncio.wait_for(got.get(), 5.0)
                except TimeoutError:
                    raise BusError("the log did not list its sessions within 5 s") from None
                after = self._row(msg, found)
            return after
        finally:
            with contextlib.suppress(Exception):
                await sub.unsubscribe()
            with contextlib.suppress(BusError):
                await connection.api(f"CONSUMER.DELETE.{STREAM}.{name}", {})

    @staticmethod
    def _row(msg: Msg, found: dict[str, SessionRow]) -> int:
        sid, kind = subjects.parse_log(msg.subject)
        seq = int(msg.reply.split(".")[-4])
        text = (msg.headers or {}).get(_ROW)
        if text is None:
            return seq
        row = decode(text.encode(), SessionRow)
        if kind in (subjects.OPENED, subjects.ERASED):
            found[sid] = msgspec.structs.replace(row, seq=seq)
        elif kind == subjects.REFUSED:
            found.setdefault(sid, msgspec.structs.replace(row, seq=seq))
        elif sid in found:
            found[sid] = msgspec.structs.replace(
                found[sid], status=row.status, reason=row.reason, closed_ns=row.closed_ns
            )
        return seq


async def waiting(connection: Connection, stream: str, only: str) -> list[str]:
    """The subjects under which a stream has messages, of those that match `only`."""
    found: list[str] = []
    while True:
        asked = {"subjects_filter": only, "offset": len(found)}
        answer = await connection.api(f"STREAM.INFO.{stream}", asked)
        page = answer["state"].get("subjects") or {}
        found += page
        if not page or len(found) >= int(answer.get("total", 0)):
            return found


def _stored(msg: Msg) -> Stored | None:
    """A direct-get reply as a stored message; None where the server says that there is none."""
    headers = msg.headers or {}
    status = headers.get("Status", "")
    if status in ("204", "404"):
        return None
    if status:
        raise BusError(f"the log answered {status} {headers.get('Description', '')}".rstrip())
    subject = headers["Nats-Subject"]
    return Stored(int(headers["Nats-Sequence"]), subjects.parse_log(subject)[1], msg.data)


class Asides:
    """Where what could not be handled is put: recorded, listed, never in anyone's way."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def put(self, sid: str, subject: str, cause: str, why: str, payload: bytes, at_ns: int) -> None:
        """Record one message."""
        from schemas.log import Aside

        shown = payload[:4096].decode("utf-8", "backslashreplace")
        record = Aside(subject=subject, cause=cause, why=why[:2000], at_ns=at_ns, payload=shown, size=len(payload))
        await self._connection.store(subjects.aside(sid), encode(record), msg_id=f"aside-{cause}-{sid}")

    async def last(self, sid: str) -> bytes | None:
        """The newest record of a session, if there is one."""
        body = json.dumps({"last_by_subj": subjects.aside(sid)}).encode()
        msg = await self._connection.request("$JS.API.DIRECT.GET.ASIDE", body, 2.0)
        return msg.data if (msg.headers or {}).get("Nats-Subject") else None
