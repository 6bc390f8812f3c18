"""INDEX: one small message a session, so that lists and look-ups read no log.

A row stands under the session's state and owner, `subjects.index`. There is one row a session: who writes a later one
names the last that it knows (compare-and-swap over all states), and removes what it replaces. What the log says of a
session only ever goes forward: refused, open, over, erased. So of two rows the one that is further along wins, whoever
writes last and however late. Writing a row again is fine.

A row that is written moves to the stream's end. Its sequence is what lists are ordered by and paged with: the sessions
that changed last come first.

A row is written first, and what it replaces is overwritten and removed then. In between the stream holds both, and a
server of a cluster that lags behind shows both for longer. A list takes the newer one, which stands nearer to the end.
"""

from collections import OrderedDict
from typing import Any

import msgspec

from parley.bus import subjects
from parley.bus.connection import Connection
from parley.bus.errors import BusError, Conflict
from parley.bus.storage import direct
from parley.bus.storage.direct import erase, remove
from parley.schemas.post import SessionRow
from parley.schemas.session import is_synthetic
from parley.schemas.wire import decode, encode

INDEX = "INDEX"
WHOLE = {"parley-index": "whole"}
"""Metadata of INDEX: it has a row of every session that LOG has."""
REFUSED, OPEN, OVER = "refused", "open", "over"
STATES = (REFUSED, OPEN, OVER)
"""States in the order in which a session takes them; an erased session stays among those that are over."""
_ERASED = "erased"
_TRIES = 50
_KEPT = 10_000
"""Open sessions whose row's sequence this process remembers: it saves a request at their end."""
_READ_AT_ONCE = 1_024
_FIRST_WINDOW = 2
_WIDER = 4


class Page(msgspec.Struct, frozen=True):
    """Some rows, the last changed first."""

    rows: tuple[SessionRow, ...]
    more: bool
    whole: bool
    """Whether every session of the log has a row in the index."""


class Index:
    """The rows of all sessions, over one connection of a moderator."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._written: OrderedDict[str, int] = OrderedDict()

    async def put(self, row: SessionRow) -> None:
        """Let this be the session's row, unless it has one that is as far along. Raises BusError: it is not known
        whether it is: put it again."""
        state = _state(row)
        # An id that was refused to somebody else is one session all the same.
        family = subjects.index.of(session=row.session)
        last, before = 0, None
        if state == OVER:
            last = self._written.pop(row.session, 0)
            if not last:
                last, before = await self._last(family)
        for _ in range(_TRIES):
            if before is not None and _along(before) >= _along(row):
                await self.erase_older(row.session)  # whoever wrote that may have been killed before it did so
                return
            try:
                subject = subjects.index(state, row.owner, row.session)
                ack = await self._connection.store(subject, encode(row), expected_last=(family, last))
            except Conflict:
                last, before = await self._last(family)
                continue
            if state == OPEN:
                self._remember(row.session, ack.seq)
            break
        else:
            raise BusError(f"session {row.session}: no row written in {_TRIES} tries")
        if state == OVER and last:
            await remove(self._connection, INDEX, last)
        elif state == OPEN and before is not None:  # a refused id may have a row of each who was refused it
            await erase(self._connection, INDEX, subjects.index.of(state=REFUSED, session=row.session))

    async def erase_older(self, sid: str) -> None:
        """Leave nothing of a session but its last row."""
        seq, _ = await self._last(subjects.index.of(session=sid))
        await self.erase(sid, seq)

    async def erase(self, sid: str, before: int | None = None) -> None:
        """Overwrite and remove a session's rows: all, or those before sequence `before`. A repeat is harmless."""
        await erase(self._connection, INDEX, subjects.index.of(session=sid), before)

    def _remember(self, sid: str, seq: int) -> None:
        self._written[sid] = seq
        if len(self._written) > _KEPT:
            self._written.popitem(last=False)

    async def _last(self, family: str) -> tuple[int, SessionRow | None]:
        message = await direct.last(self._connection, INDEX, family)
        return (0, None) if message is None else (message.seq, decode(message.data, SessionRow))

    async def find(self, sid: str, owner: str | None = None) -> SessionRow | None:
        """The row of a session of this owner, or of anybody (None); None if there is none."""
        seq, row = await self._last(subjects.index.of(owner=owner, session=sid))
        return None if row is None else msgspec.structs.replace(row, seq=seq)

    async def page(self, *, owner: str | None = None, state: str = "", before: int | None = None, limit: int) -> Page:
        """The newest `limit` rows ahead of sequence `before`, read backwards in windows that widen where rows are few.

        Parameters
        ----------
        owner
            Whose; None: of all.
        state
            One of STATES, or empty for all.
        """
        info = await self._connection.api(f"STREAM.INFO.{INDEX}")
        first, high = int(info["state"]["first_seq"]), int(info["state"]["last_seq"])
        high = high if before is None else min(high, before - 1)
        wanted = subjects.index.of(state=state or None, owner=owner)
        width = _FIRST_WINDOW * (limit + 1)
        rows: dict[str, SessionRow] = {}
        while high >= max(1, first) and len(rows) <= limit:
            low = max(1, first, high - width + 1)
            window = await self._between(wanted, low, high)
            if window is None:
                width //= _WIDER
                continue
            for row in reversed(window):
                if not is_synthetic(row.session):
                    rows.setdefault(row.session, row)
            high, width = low - 1, width * _WIDER
        return Page(tuple(rows.values())[:limit], len(rows) > limit, is_whole(info))

    async def _between(self, wanted: str, low: int, high: int) -> list[SessionRow] | None:
        """The rows from one sequence to another; None if they are too many to be read at once."""
        most = min(high - low + 1, _READ_AT_ONCE)
        messages = await direct.batch(self._connection, INDEX, wanted, low - 1, most, exact=False)
        if high - low + 1 > most == len(messages) and messages[-1].seq < high:
            return None
        return [msgspec.structs.replace(decode(g.data, SessionRow), seq=g.seq) for g in messages if g.seq <= high]

    async def fill(self) -> None:
        """Note that every session of the log has a row in the index."""
        config: dict[str, Any] = (await self._connection.api(f"STREAM.INFO.{INDEX}"))["config"]
        await self._connection.api(f"STREAM.UPDATE.{INDEX}", {**config, "metadata": dict(WHOLE)})


def is_whole(info: dict[str, Any]) -> bool:
    """Whether the stream, as JetStream describes it, says that no session is missing."""
    metadata = info["config"].get("metadata") or {}
    return all(metadata.get(key) == value for key, value in WHOLE.items())


def _state(row: SessionRow) -> str:
    return row.status if row.status in (REFUSED, OPEN) else OVER


def _along(row: SessionRow) -> tuple[int, int, int]:
    """How far the session is. Sessions of the moderators' own may be opened anew; a person may say something of one
    that is over."""
    state = len(STATES) if row.status == _ERASED else STATES.index(_state(row))
    return state, row.opened_ns, row.changed_ns
