"""Finds open sessions that nothing would wake any more, and logs that lost something. It looks when a moderator starts,
after each reconnect, and every minute.

An open session has a timer that will fire or a turn that is out; where a server lost the end of its log, or of its
timers, it may have neither. Then its turns are sent and its timer is set once more, from what its log says now. What
was folded of a log that lost its end is dropped. Nothing here is exclusive: all of it may happen twice.

Which sessions are open is told by one function, `_known`; what waits in TIMER and WORK costs one request each. Sessions
that are over and whose logs are gone are found by comparing the index with the log (`Comparison`).
"""

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from itertools import islice

from parley.bus import streams, subjects
from parley.bus.clock import Clock
from parley.bus.connection import Connection
from parley.bus.errors import BusError
from parley.bus.log import LOG, Log, waiting
from parley.bus.storage import direct
from parley.bus.storage.index import INDEX, OPEN, OVER, Index
from parley.bus.storage.scan import Scan
from parley.coordinator.sessions.broken import BrokenLog, Unreadable
from parley.coordinator.sessions.store import Sessions
from parley.observability.metrics import Metrics
from parley.schemas.presence import DamagedLog

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
        async with Scan(self._connection, INDEX, [subjects.index.of(state=OVER)]) as scan:
            return scan.count

    async def _endings(self) -> int:
        count = 0
        for kind in _ENDINGS:
            async with Scan(self._connection, LOG, [subjects.log.of(kind=kind)]) as scan:
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
        kinds = [subjects.log.of(kind=kind) for kind in (subjects.OPENED, *_ENDINGS)]
        async with Scan(self._connection, LOG, kinds) as scan:
            while batch := await scan.page():
                for _, subject in batch:
                    sid, kind = subjects.log.parse(subject)
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


_LOGGER = logging.getLogger(__name__)
EVERY_S = 60.0
AGAIN_S = 5.0
"""Seconds until the next sweep if the bus did not answer this one: a session then waits no longer than the bus is
away."""
_PAGE = 1_000
RECENT = 500
"""How many of the sessions that changed last a moderator looks at when it starts, open or not: the log may have lost
their end."""
FIRST_LOOK = 50
"""Pages of open sessions that a moderator looks at when it starts, the last changed first."""
_SEEN_FOR = 10
"""After so many sweeps, open sessions that others run are looked at again."""
_MOST_LOOKS = 2_000
"""Sessions of other moderators that one sweep looks at."""
MOST_TOLD = 1_000
_MOST_KEPT = 100_000
_OVER = (subjects.CLOSED, subjects.FEEDBACK, subjects.ERASED)


class Sweep:
    """The sweep of one moderator."""

    def __init__(
        self,
        connection: Connection,
        sessions: Sessions,
        index: Index,
        unreadable: Unreadable,
        metrics: Metrics,
        every_s: float,
        log_max_age_s: float,
    ) -> None:
        """`every_s`: seconds between two sweeps. `log_max_age_s`: how long the log keeps an entry; 0: for ever."""
        self._connection = connection
        self._sessions = sessions
        self._index = index
        self._unreadable = unreadable
        self._metrics = metrics
        self._every_s = every_s
        self._log = Log(connection)
        self._looked_at: OrderedDict[str, None] = OrderedDict()
        """Sessions that others run, and that were open at the last look."""
        self._sweeps = 0
        self._listed: set[str] = set()
        """Sessions that the index named at the last complete look: the log has them, or lost them."""
        self._comparison = Comparison(connection, index, log_max_age_s)
        self._damaged: OrderedDict[str, DamagedLog] = OrderedDict()
        self._started = False
        self._wake = asyncio.Event()
        metrics.logs_damaged.set_function(lambda: float(len(self._damaged)))

    def damaged(self) -> tuple[DamagedLog, ...]:
        """Sessions whose logs lost something, as far as this process knows: the first thousand."""
        return tuple(islice(self._damaged.values(), MOST_TOLD))

    @property
    def damaged_count(self) -> int:
        """How many such sessions there are altogether."""
        return len(self._damaged)

    def again(self) -> None:
        """Start a complete sweep at once: the server was away."""
        self._started = False
        self._comparison.again()
        self._wake.set()

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            self._wake.clear()
            wait_s = self._every_s
            try:
                await self.once()
            except BusError as error:
                _LOGGER.info("the sweep is left for the next time: %s", error)
                wait_s = min(wait_s, AGAIN_S)
            try:
                async with asyncio.timeout(wait_s):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def once(self) -> None:
        """One sweep. Raises BusError; the next sweep then looks at everything that this one left out."""
        first, self._started = not self._started, True
        try:
            await self._sweep(first)
        except BusError:
            self._started = self._started and not first
            raise

    async def _sweep(self, first: bool) -> None:
        known = await self._known(first)
        timers = await self._waiting(streams.TIMER, subjects.timer.each)
        fired = await self._waiting(streams.TIMER, subjects.fired.each)
        in_work = await waiting(self._connection, streams.WORK, subjects.work.under)
        turns = Counter(subjects.work.parse(subject)[1] for subject in in_work)
        due = timers | turns.keys()
        timed = timers | fired
        self._sweeps += 1
        if first or self._sweeps % _SEEN_FOR == 0:
            self._looked_at.clear()
        others = sorted((due | fired) - known - set(self._looked_at))[:_MOST_LOOKS]
        for sid in [*sorted(known if first else known - due), *others]:
            await self._try(sid, due=sid in due, timers=sid in timed, turns=turns[sid], complete=first)
        for sid, why in (await self._comparison.lost()).items():
            if why == NO_END and sid not in known:  # what is left of it goes on
                await self._try(sid, due=sid in due, timers=sid in timed, turns=turns[sid], complete=first)
            if sid not in self._damaged:
                self._tell(sid, why)

    async def _try(self, sid: str, *, due: bool, timers: bool, turns: int, complete: bool) -> None:
        try:
            await self._look(sid, due=due, timers=timers, turns=turns, complete=complete)
        except BrokenLog as error:
            await self._broken(sid, error)

    async def _known(self, first: bool) -> set[str]:
        """Sessions that are open, as far as is known: those that this process holds, and at its start those of the
        index."""
        known = {sid for sid, cached in self._sessions.cached().items() if cached.session and not cached.session.closed}
        if first:
            # A session of this process may have lost a part of its log.
            known |= {sid for sid, cached in self._sessions.cached().items() if cached.last_seq}
            # A session may be over in the index and open in the log, which lost its end.
            recent = await self._index.page(limit=RECENT)
            listed = [row for row in recent.rows if row.status not in ("erased", "refused")]
            before = None
            for _ in range(FIRST_LOOK):
                page = await self._index.page(state=OPEN, before=before, limit=_PAGE)
                listed += page.rows
                if not page.more:
                    break
                before = page.rows[-1].seq
            clock = self._connection.clock
            self._listed = {row.session for row in listed if not self._comparison.expired(row.opened_ns, clock)}
            known |= self._listed
        return known

    async def _waiting(self, stream: str, only: str) -> set[str]:
        sids = set()
        for subject in await waiting(self._connection, stream, only):
            sids.add(subjects.unescape(subject.rpartition(".")[2]))
        return sids

    async def _look(self, sid: str, *, due: bool, timers: bool, turns: int, complete: bool) -> None:
        """`timers`: TIMER has something of it; `turns`: so many messages of it are in WORK.
        `complete`: this moderator is new, or another one died."""
        last = await self._log.last(sid)
        cached = self._sessions.cached().get(sid)
        folded = cached.last_seq if cached is not None else 0
        if last is None or last.seq < folded:
            if cached is not None:
                if folded and last is not None:
                    self._tell(sid, "the end of its log is gone: it goes on from what is left")
                self._sessions.forget(sid)
            if last is None:
                if due or sid in self._listed:
                    self._tell(sid, GONE)
                await streams.erase_session(self._connection, sid)
                return
        if last.kind in _OVER:
            if timers:
                await streams.purge_timers(self._connection, sid)
            if turns:  # a server that was killed, or lacked room, may keep what was acknowledged
                await streams.purge_turns(self._connection, sid)
            return
        if due and complete:  # some of its turns may have waited for their places at a moderator that died
            session = (await self._sessions.look(sid, fresh=True)).session
            if session is not None and len(session.turns) > turns:
                await self._sessions.revive(sid)
        if not due and not await self._is_due(sid) and await self._sessions.revive(sid):
            if (alone := self._sessions.cached()[sid].session) is not None and alone.timer_ns is None:
                return  # it waits for a session beneath it, and has no timer of its own
            self._metrics.sessions_revived.inc()
            self._tell(sid, "it was open and nothing was due: an end of its log, or its timer, was lost; it goes on")
            return
        self._looked_at[sid] = None
        if len(self._looked_at) > 10 * _MOST_LOOKS:
            self._looked_at.popitem(last=False)

    async def _is_due(self, sid: str) -> bool:
        """Whether its timer will fire, or has and is not handled yet. What it made stays in TIMER after that."""
        if await waiting(self._connection, streams.TIMER, subjects.timer(sid)):
            return True
        fired = await direct.next_at_leader(self._connection, streams.TIMER, subjects.fired(sid), 0)
        if fired is None:
            return False
        handled = await self._connection.api(f"CONSUMER.INFO.{streams.TIMER}.{streams.MODERATORS}")
        return fired.seq > int(handled["ack_floor"]["stream_seq"])

    async def _broken(self, sid: str, error: BrokenLog) -> None:
        """Entries are gone, or cannot be read: a moderator of another release may know better, for a while."""
        self._unreadable.meet(error)
        if error.reason == "gap":
            self._tell(sid, f"a part of its log is gone: {error}")
        if self._unreadable.waited(f"sweep:{sid}"):
            await self._sessions.lose(error)

    def _tell(self, sid: str, why: str) -> None:
        if self._damaged.get(sid) is None:
            _LOGGER.error("session %s: %s", sid, why)
        self._damaged[sid] = DamagedLog(session=sid, why=why)
        if len(self._damaged) > _MOST_KEPT:
            self._damaged.popitem(last=False)
