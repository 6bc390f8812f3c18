"""Sessions that are over and whose logs are gone: found by comparing the index with the log.

A row of the index that says that a session is over is written after the entry that closed it, so there are never more
such rows than endings in the log. Both are counted at each sweep, whatever is stored, by six requests. Only where rows
are too many is every row looked for in the log. What the log's age limit removed is no loss.
"""

import time

from parley.bus import subjects
from parley.bus.clock import Clock
from parley.bus.connection import Connection
from parley.bus.log import LOG
from parley.bus.storage.index import INDEX, OVER, Index
from parley.bus.storage.scan import Scan

_PAGE = 1_000
_AGAIN_S = 600.0
"""Seconds between two comparisons of every row, if rows are too many for another reason: a rebuilt index keeps rows
longer than the log keeps entries."""
_EXPIRING_S = 3_600.0
"""So long before an entry expires, its session is not looked for any more."""
_ENDINGS = (subjects.CLOSED, subjects.ERASED)
GONE = "its log is gone as a whole: nothing is left that could be shown"
NO_END = "the end of its log is gone"
NO_BEGINNING = "the beginning of its log is gone: what is left cannot be shown"


class Comparison:
    """One moderator's comparison of the index with the log.

    Parameters
    ----------
    max_age_s
        How long the log keeps an entry; 0: for ever.
    """

    def __init__(self, connection: Connection, index: Index, max_age_s: float) -> None:
        self._connection = connection
        self._index = index
        self._max_age_s = max_age_s
        self._missing = 0
        self._looked_at = float("-inf")

    def again(self) -> None:
        """Compare again, whatever was found before: the server was away."""
        self._missing, self._looked_at = 0, float("-inf")

    def expired(self, at_ns: int, clock: Clock) -> bool:
        """Whether the log may have removed, for its age, what was stored at this time."""
        return bool(self._max_age_s) and at_ns < clock.now_ns() - (self._max_age_s - _EXPIRING_S) * 1e9

    async def lost(self) -> dict[str, str]:
        """Session -> what of its log is gone. Empty: nothing is gone, or nothing more than at the last comparison.
        Raises BusError."""
        missing = await self._rows() - await self._endings()  # in this order: what ends meanwhile is in the log
        if missing <= self._missing or time.monotonic() - self._looked_at < _AGAIN_S:
            self._missing = max(0, min(missing, self._missing))
            return {}
        lost = await self._compare()
        self._missing, self._looked_at = missing, time.monotonic()
        return lost

    async def _rows(self) -> int:
        async with Scan(self._connection, INDEX, [subjects.index(OVER, "*", "*")]) as scan:
            return scan.count

    async def _endings(self) -> int:
        count = 0
        for kind in _ENDINGS:
            async with Scan(self._connection, LOG, [subjects.log_kind(kind)]) as scan:
                count += scan.count
        return count

    async def _compare(self) -> dict[str, str]:
        no_end: set[str] = set()
        before = None
        while True:
            page = await self._index.page(state=OVER, before=before, limit=_PAGE)
            no_end |= {row.session for row in page.rows if not self.expired(row.opened_ns, self._connection.clock)}
            if not page.more:
                break
            before = page.rows[-1].seq
        no_beginning = set(no_end)
        kinds = [subjects.log_kind(kind) for kind in (subjects.OPENED, *_ENDINGS)]
        async with Scan(self._connection, LOG, kinds) as scan:
            while batch := await scan.page():
                for _, subject in batch:
                    sid, kind = subjects.parse_log(subject)
                    if kind != subjects.CLOSED:  # an erased session has nothing else left
                        no_beginning.discard(sid)
                    if kind != subjects.OPENED:
                        no_end.discard(sid)
        neither = no_end & no_beginning
        return (
            dict.fromkeys(sorted(neither), GONE)
            | dict.fromkeys(sorted(no_end - neither), NO_END)
            | dict.fromkeys(sorted(no_beginning - neither), NO_BEGINNING)
        )
