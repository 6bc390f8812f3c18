"""The service that counts: LOG from its checkpoint on, in order, into totals that outlive every process.

The checkpoint is the last message of OUTCOMES: totals, and the place of LOG up to which they go. It is written by
compare-and-swap, and only what was written is shown. So every checkpoint comes from the one before it, whichever copy
wrote it: copies show the same and count nothing twice, and a copy that is killed takes nothing with it.

A message of LOG is counted when its place is passed: an opening as it stands there, a closing with the session's whole
log. Where an erased session's messages are gone, its tombstone, which lies further on, names their places, and is
counted there (docs/decisions/0037)."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from typing import Self

import msgspec

from parley.bus import subjects
from parley.bus.connection import Connection
from parley.bus.errors import BusError, Conflict
from parley.bus.library import cancelled
from parley.bus.log import LOG, Log, Stored
from parley.bus.storage import direct
from parley.bus.storage.packs import unpack
from parley.bus.streams import OUTCOMES
from parley.coordinator.outcomes import message
from parley.coordinator.outcomes import session as sessions
from parley.coordinator.outcomes.bus_state import BusState
from parley.coordinator.outcomes.fold import Fold, day_of
from parley.coordinator.outcomes.synthetic_question import EVERY_S, Asking
from parley.coordinator.protocols import STANDING
from parley.coordinator.sessions import lost
from parley.coordinator.table import Protocol, Sample
from parley.observability.outcomes import Outcomes
from parley.schemas import log
from parley.schemas.result import Totals
from parley.schemas.wire import SchemaError, decode, encode

_LOGGER = logging.getLogger(__name__)
_AT_ONCE = 64
_IDLE_S = 0.25
_COMMIT_S = 1.0
_RETRY_S = 1.0
FORM = 1
"""Of the totals, the newest that is read (parley.schemas.result.Totals.v)."""
Checkpoint = Callable[[str, str], None]
"""Called at named points (point, session): where tests kill the process."""


class _Tombstone(msgspec.Struct, frozen=True):
    sid: str
    erased: log.Erased


class Counting:
    """One copy of the service's counting half."""

    def __init__(
        self,
        connection: Connection,
        *,
        outcomes: Outcomes,
        protocols: Mapping[str, Protocol],
        tenant: str = "default",
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._connection = connection
        self._log = Log(connection)
        self._outcomes = outcomes
        self._protocols = protocols
        self._tenant = tenant
        self._checkpoint = checkpoint
        self._fold: Fold | None = None
        self._stored_seq = 0
        self._stored = Totals()
        self._committed_at = 0.0
        self._tombstones: dict[int, _Tombstone] = {}
        """Place of an erased session's opening or closing -> what is left of it."""
        self._tombstones_to = 0
        self._why = "it has not read its checkpoint yet"

    # -- life
    @property
    def ready(self) -> str | None:
        """None while it counts, else why not."""
        return self._why or None

    @property
    def totals(self) -> Totals:
        """As they were written last."""
        return self._stored

    async def catch_up(self) -> Totals:
        """Count what LOG has now, and write it."""
        if self._fold is None:
            await self._adopt()
        while True:
            assert self._fold is not None
            if await self._count_next():
                await self._commit(within_s=_COMMIT_S)
                continue
            if self._stored.position == self._fold.position:
                return self._stored
            await self._commit()

    async def run(self) -> None:
        """Count until cancelled."""
        while True:
            try:
                if self._fold is None:
                    await self._adopt()
                more = await self._count_next()
                await self._commit(within_s=_COMMIT_S)
                self._why = ""
            except Exception as error:  # whatever the client raises while the bus is away
                if not isinstance(error, BusError):
                    self._fold = None  # what was counted since the checkpoint may be counted in part
                if not self._why:
                    _LOGGER.warning("outcomes are not counted: %s: %s", type(error).__name__, error)
                self._why, more = str(error) or type(error).__name__, False
                await asyncio.sleep(_RETRY_S)
            if not more:
                await asyncio.sleep(_IDLE_S)

    # -- the checkpoint
    async def _adopt(self) -> None:
        """Go on from what is written, whoever wrote it."""
        stored = await direct.last(self._connection, OUTCOMES, subjects.OUTCOMES, exact=False)
        if stored is None:
            totals, self._stored_seq = Totals(since_ns=self._connection.clock.now_ns()), 0
        else:
            totals, self._stored_seq = decode(stored.data, Totals), stored.seq
            if totals.v > FORM:
                raise BusError(f"the totals are of form {totals.v}, this release reads form {FORM}")
        last = int((await self._connection.api(f"STREAM.INFO.{LOG}"))["state"]["last_seq"])
        if totals.position > last:
            _LOGGER.warning(
                "LOG ends at %d, and %d was counted: it is another one; counting goes on from its end",
                last,
                totals.position,
            )
            totals = msgspec.structs.replace(totals, position=last)
        self._fold = Fold(totals, self._tenant)
        self._tombstones, self._tombstones_to = {}, totals.position
        self._show(totals)

    async def _commit(self, within_s: float = 0.0) -> None:
        """Write the totals, unless that was done within so many seconds. Another copy that was faster is followed."""
        fold = self._fold
        assert fold is not None
        if fold.position == self._stored.position and self._stored_seq:
            self._show(self._stored)  # a day may have begun
            return
        if time.monotonic() - self._committed_at < within_s:
            return
        totals = fold.totals()
        try:
            ack = await self._connection.store(
                subjects.OUTCOMES, encode(totals), expected_last=(subjects.OUTCOMES, self._stored_seq)
            )
        except Conflict:
            await self._adopt()
            return
        except BusError:
            self._fold = None  # it may be stored: what is written is read again
            raise
        self._committed_at = time.monotonic()
        self._stored_seq = ack.seq
        self._point("stored", OUTCOMES)
        self._show(totals)

    def _show(self, totals: Totals) -> None:
        self._stored = totals
        self._outcomes.show(totals, day_of(self._connection.clock.now_ns()))

    def _point(self, name: str, sid: str) -> None:
        if self._checkpoint is not None:
            self._checkpoint(name, sid)

    # -- reading
    async def _count_next(self) -> bool:
        """Count the next messages; whether there may be more at once."""
        fold = self._fold
        assert fold is not None
        page = await direct.batch(self._connection, LOG, subjects.log.under, fold.position, _AT_ONCE, exact=False)
        for stored in page:
            if stored.seq > fold.position + 1:
                await self._pass_gap(fold, stored.seq - 1)
            await self._message(fold, stored)
            fold.position = stored.seq
        return len(page) == _AT_ONCE

    async def _message(self, fold: Fold, stored: direct.StoredMessage) -> None:
        """Count one message. Nothing is awaited once counting began, so that it is counted whole or not at all."""
        sid, kind = subjects.log.parse(stored.subject)
        entries = unpack(stored.data)
        history: list[bytes] = []
        over = kind == subjects.CLOSED or (kind == subjects.OPENED and any(map(sessions.ends, entries)))
        if kind == subjects.ERASED:
            over = lost.read_end(Stored(stored.seq, kind, stored.data)) is not None
            if not over:  # what is left of an erased session counts in the places of its messages
                return
        if (over or kind == subjects.FEEDBACK) and sid not in STANDING:
            history = [s.data for s in await self._log.read(sid) if s.kind != subjects.REFUSED and s.seq <= stored.seq]
            if over and not (history and sessions.ends(history[-1])):
                history = entries  # it is being erased
        try:
            message.count(fold, self._protocols, sid, kind, entries, history)
        except Exception:
            _LOGGER.exception("message %d of session %s is counted in part only", stored.seq, sid)
        self._point("counted", sid)

    # -- what was erased
    async def _pass_gap(self, fold: Fold, last: int) -> None:
        """Go past places whose messages are gone. What erased sessions had there is counted from their tombstones."""
        await self._read_tombstones(fold)
        for seq in sorted(s for s in self._tombstones if s <= last):
            tombstone = self._tombstones.pop(seq)
            if seq <= fold.position:
                continue
            if seq == tombstone.erased.opened_seq:
                self._opening(fold, tombstone.erased)
            if seq == tombstone.erased.closed_seq:
                self._closing(fold, tombstone.sid, tombstone.erased)
        fold.position = last

    async def _read_tombstones(self, fold: Fold) -> None:
        """Those that were written since they were read last."""
        counted, erasures = fold.position, subjects.log.of(kind=subjects.ERASED)
        after = max(self._tombstones_to, counted)
        while True:
            page = await direct.batch(self._connection, LOG, erasures, after, _AT_ONCE, exact=False)
            for stored in page:
                with contextlib.suppress(SchemaError):  # an end that no machine took
                    erased = decode(stored.data, log.Erased)
                    stone = _Tombstone(subjects.log.parse(stored.subject)[0], erased)
                    for seq in (erased.opened_seq, erased.closed_seq):
                        if isinstance(seq, int) and seq > counted:
                            self._tombstones[seq] = stone
                after = stored.seq
            if len(page) < _AT_ONCE:
                self._tombstones_to = after
                return

    @staticmethod
    def _opening(fold: Fold, erased: log.Erased) -> None:
        fold.add([Sample("sessions_opened_total", {"protocol": erased.protocol})])

    @staticmethod
    def _closing(fold: Fold, sid: str, erased: log.Erased) -> None:
        _LOGGER.info("session %s was erased before it was counted: its tombstone is counted", sid)
        sessions.count_erased(fold, sid, erased)


# ---------------------------------------------------------------- the service


class MetricsService:
    """Counts sessions and looks at the bus, from `async with` to its end.

    Parameters
    ----------
    outcomes
        The series that show what was found.
    protocols
        By which sessions are replayed.
    monitor
        Address of nats-server's monitor; empty: it is not asked.
    asks
        Whether synthetic questions are asked.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        outcomes: Outcomes,
        protocols: Mapping[str, Protocol],
        tenant: str = "default",
        monitor: str = "",
        checkpoint: Checkpoint | None = None,
        asks: bool = False,
    ) -> None:
        self._counting = Counting(
            connection, outcomes=outcomes, protocols=protocols, tenant=tenant, checkpoint=checkpoint
        )
        self._bus = BusState(connection, outcomes, monitor)
        self._asking = Asking(connection, outcomes, protocols, EVERY_S if asks else 0.0)
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(part.run()) for part in (self._counting, self._bus, self._asking)]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            await cancelled(task)

    @property
    def ready(self) -> str | None:
        """None while it counts, else why not."""
        return self._counting.ready

    async def once(self) -> Totals:
        """Count what LOG has now, write it, and look at the bus once; in place of `async with`. Raises BusError."""
        totals = await self._counting.catch_up()
        await self._bus.look()
        return totals
