"""Sessions that this moderator cannot run: it counts how long they wait for another moderator, and tells who waits."""

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

import msgspec

from parley.coordinator.machine import MachineError
from parley.observability.metrics import UNREADABLE, Metrics
from parley.schemas.presence import UnreadableSession

_RECENT_S = 60.0
"""A session counts that was met within this time."""
_MOST = 10_000
"""Sessions and submissions that are remembered, at most."""
_OPENING_S = 5.0
"""For so long an opening waits for a moderator that knows its protocol."""


class BrokenLog(MachineError):
    """This process cannot fold the log of a session: another moderator may. Nothing was answered, nothing changed.

    Parameters
    ----------
    reason
        protocol: it is not known here · version: it is not stepped here · digest: an entry recomputes to something else
        · entry: one cannot be read, or its event cannot be taken · gap: entries are missing.
    """

    most_pause_s = 5.0
    """The longest pause before another moderator is offered what came for it."""

    def __init__(self, sid: str, reason: str, why: str, protocol: str = "", version: int = 0) -> None:
        self.sid = sid
        self.reason = reason
        self.protocol = protocol
        self.version = version
        super().__init__(f"session {sid}: {why}")


class NotOpened(BrokenLog):
    """This process cannot open a session, whose protocol it does not know: another moderator may have the package."""

    most_pause_s = 0.05  # so many tries in _OPENING_S that chance alone takes it to every moderator


class _Met(msgspec.Struct):
    error: BrokenLog
    last: float


class Unreadable:
    """The sessions that one moderator met and could not run."""

    def __init__(self, metrics: Metrics, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`limit_s`: how long a submission waits for a moderator that can run its session."""
        self._metrics = metrics
        self._limit_s = limit_s
        self._clock = clock
        self._met: OrderedDict[str, _Met] = OrderedDict()
        self._waiting: OrderedDict[str, float] = OrderedDict()
        for reason in UNREADABLE:
            metrics.sessions_unreadable.labels(reason=reason).set_function(partial(self._count, reason))

    def meet(self, error: BrokenLog) -> None:
        """Note that something came for a session, and was left to another moderator."""
        self._metrics.left_to_others.labels(reason=error.reason).inc()
        self._met[error.sid] = _Met(error, self._clock())
        self._met.move_to_end(error.sid)
        if len(self._met) > _MOST:
            self._met.popitem(last=False)

    def drop(self, sid: str) -> None:
        """The session can be run, or is over."""
        self._met.pop(sid, None)

    def waited(self, cause: str, limit_s: float | None = None) -> bool:
        """Whether this submission has waited too long for a moderator that can run its session, as far as this process
        knows. The time in which no moderator ran does not count. `limit_s`: None: as long as any may."""
        since = self._waiting.setdefault(cause, self._clock())
        if len(self._waiting) > _MOST:
            self._waiting.popitem(last=False)
        return self._clock() - since >= (self._limit_s if limit_s is None else limit_s)

    def leave_opening(self, sid: str, cause: str, protocol: str) -> None:
        """Raises NotOpened, until the opening has waited for long enough to be refused."""
        if not self.waited(cause, _OPENING_S):
            raise NotOpened(sid, "protocol", f"protocol {protocol[:80]} is not known here", protocol)
        self.drop(sid)

    def settled(self, cause: str) -> None:
        """The submission waits no more."""
        self._waiting.pop(cause, None)

    def sessions(self) -> tuple[UnreadableSession, ...]:
        """The sessions that were met in the last minute."""
        return tuple(
            UnreadableSession(
                session=m.error.sid,
                protocol=m.error.protocol,
                version=m.error.version,
                reason=m.error.reason,
                why=str(m.error),
            )
            for m in self._recent()
        )

    def _recent(self) -> list[_Met]:
        now = self._clock()
        return [m for m in self._met.values() if now - m.last < _RECENT_S]

    def _count(self, reason: str) -> float:
        return float(sum(m.error.reason == reason for m in self._recent()))
