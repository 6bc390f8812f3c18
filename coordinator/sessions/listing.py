"""Lists of sessions, from the index. And the index, rebuilt from the log: nothing else reads the log as a whole."""

import asyncio
import time
from collections.abc import Iterable

from parley.bus import subjects
from parley.bus.connection import Connection
from parley.bus.log import LOG, Log
from parley.bus.storage.index import OPEN, Index
from parley.bus.storage.scan import Scan
from parley.coordinator.sessions import rows
from parley.schemas.post import IndexRebuilt, ListSessions, RebuildIndex, SessionRow, SessionRows

_MOST_ROWS = 1_000
_PIECE_S = 1.0
"""Seconds that a moderator works on one piece before it answers."""
_AT_ONCE = 32
_KINDS = (subjects.OPENED, subjects.REFUSED, subjects.ERASED)
"""Kinds of the entries that begin a session's log, or remain of it."""


class Listing:
    """Answers questions about many sessions, over one connection of a moderator."""

    def __init__(self, connection: Connection, index: Index) -> None:
        self._connection = connection
        self._index = index
        self._log = Log(connection)

    async def page(self, request: ListSessions, owner: str | None = None) -> SessionRows:
        """A page of the sessions of this owner, or of all (None). Or the row of the one session that is asked for; if
        the index has none, its log is read."""
        if request.session:
            row = await self._index.find(request.session, owner) or await self._of_log(request.session, owner)
            return SessionRows(rows=() if row is None else (row,))
        limit = max(1, min(request.limit, _MOST_ROWS))
        page = await self._index.page(
            owner=owner, state=OPEN if request.open else "", before=request.before_seq, limit=limit
        )
        return SessionRows(rows=page.rows, more=page.more, whole=page.whole)

    async def _of_log(self, sid: str, owner: str | None) -> SessionRow | None:
        row = await rows.of_log(self._log, sid)
        return row if row is not None and owner in (None, row.owner) else None

    async def rebuild(self, request: RebuildIndex) -> IndexRebuilt:
        """Enter sessions in the index, from one place of the log on, for as long as a request may take. Repeating a
        piece is fine, and so is leaving off: only the last piece says that the index is whole."""
        until = time.monotonic() + _PIECE_S
        end = int((await self._connection.api(f"STREAM.INFO.{LOG}"))["state"]["last_seq"])
        place, looked, unreadable, done = request.after_seq, 0, list[str](), False
        async with Scan(self._connection, LOG, [subjects.log_kind(k) for k in _KINDS], place) as scan:
            while not done and time.monotonic() < until:
                page = await scan.page()
                count, lost = await self._enter([subjects.parse_log(subject) for _, subject in page])
                looked, unreadable = looked + count, unreadable + lost
                done = not page
                place = end if done else page[-1][0]
        if done:
            await self._index.fill()
        return IndexRebuilt(seq=place, last_seq=end, sessions=looked, unreadable=tuple(unreadable), done=done)

    async def _enter(self, entries: Iterable[tuple[str, str]]) -> tuple[int, list[str]]:
        """Put the rows of these entries' sessions in the index. (How many, the sessions whose log gives no row)."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def enter_row(sid: str) -> SessionRow | None:
            async with gate:
                row = await rows.of_log(self._log, sid)
                if row is not None:
                    await self._index.put(row)
                return row

        first = {sid: kind for sid, kind in reversed(list(entries))}
        results = await asyncio.gather(*map(enter_row, first))
        unreadable, counted = list[str](), 0
        for (sid, kind), row in zip(first.items(), results, strict=True):
            if row is None and kind != subjects.REFUSED:
                unreadable.append(sid)
            elif (row is not None and row.status == kind) or kind == subjects.OPENED:
                counted += 1  # not for what lies beside the opening
        return counted, unreadable
