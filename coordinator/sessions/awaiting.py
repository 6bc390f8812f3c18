"""Whom open sessions wait for: what presence says of them, and what is done when somebody comes or is gone, or when a
time is over.

A session's timer is a message. It may be lost, lie where nobody is handed it, or be in the hand of a moderator that
hangs. So every moderator looks at the sessions that it knows, and takes the timer of one whose time is long over.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from itertools import islice
from typing import Any

from parley.bus.clock import Clock
from parley.bus.errors import BusError, LocalFault
from parley.coordinator.machine import Protocol, Session
from parley.coordinator.presence import Presence
from parley.coordinator.sessions.broken import BrokenLog
from parley.coordinator.sessions.effects import Effects
from parley.coordinator.sessions.store import Sessions
from parley.schemas import log
from parley.schemas.presence import RETURN_S

_LOGGER = logging.getLogger(__name__)
_GATHER_S = 0.1
"""Experts that come within this time are handled together: after an outage all of them come at once."""
_LATE_S, _REPEATED_S = 2.0, 5.0
"""A timer that is so late waits so long: a reply that nobody answered is offered again after at most 4.5 s."""
_OVERDUE_S, _MOST_LOOKS = 5.0, 64
"""A session is looked at whose time is over for so long, while the bus was there; so many of them at once."""


class Awaiting:
    """Of one moderator."""

    def __init__(
        self,
        sessions: Sessions,
        presence: Presence,
        effects: Effects,
        clock: Clock,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._sessions = sessions
        self._presence = presence
        self._effects = effects
        self._clock = clock
        self._spawn = spawn
        self._came: set[str] = set()
        """Queues of experts that must hear again what they may have missed."""
        self._taking: set[str] = set()
        """Sessions whose timers are being taken, since nobody else took them."""
        presence.on_expert = self._on_expert

    def _on_expert(self, queue: str) -> None:
        self._came.add(queue)
        if len(self._came) == 1:
            self._spawn(self._tell_again())

    async def _tell_again(self) -> None:
        """Publish again what new experts must answer. They may replace experts that died while a window was open, or be
        connected again. Experts that come together are told together."""
        await asyncio.sleep(_GATHER_S)
        newcomers, self._came = self._came, set()
        for cached in list(self._sessions.cached().values()):
            session, protocol = cached.session, cached.protocol
            if session is None or protocol is None or session.closed or not session.windows:
                continue
            if not newcomers.isdisjoint(protocol.unheard(session)):
                with contextlib.suppress(BusError):
                    await self._effects.say_again(session)

    def on_gone(self, queue: str) -> None:
        """The last worker of a queue is gone."""
        self._spawn(self._go_on_without(queue))

    async def _go_on_without(self, queue: str) -> None:
        """Take a timer early in the sessions that wait for this queue, once it counts as gone."""
        await asyncio.sleep(RETURN_S)
        if not self._presence.gone((queue,)):
            return
        for sid, cached in list(self._sessions.cached().items()):
            session, protocol = cached.session, cached.protocol
            if session is None or protocol is None or session.closed or queue not in protocol.watched(session):
                continue
            with contextlib.suppress(BusError, BrokenLog):
                await self._sessions.take(sid, f"gone:{queue}:{session.n}", self.look(protocol, session))

    async def timer(self, sid: str, cause: str) -> bool:
        """A timer fired: whether that was taken. The effects of the last transition are carried out again; then the
        event is taken, with the queues that are gone. If a grace may end, and nobody served when it was due, or another
        moderator may have died just before, replies come first: workers repeat them."""
        cached = await self._sessions.find(sid)
        if cached is not None and cached.session is not None and cached.session.timer_ns is not None:
            late_s = (self._clock.now_ns() - cached.session.timer_ns) / 1e9
            away = late_s > _LATE_S or (late_s >= 0 and self._presence.listening_s() < _REPEATED_S)
            if away and cached.session.quorum_ns:
                await asyncio.sleep(_REPEATED_S)
                cached = await self._sessions.find(sid)
        if cached is None or cached.session is None or cached.protocol is None or cached.session.closed:
            if cached is not None and cached.lost:
                await self._sessions.reissue(sid)
            return False
        event = self.look(cached.protocol, cached.session)
        with contextlib.suppress(LocalFault):  # what can never be sent must not keep the deadline from passing
            await self._sessions.reissue(sid, timer=False)
        return (await self._sessions.take(sid, cause, event)).accepted

    def take_overdue(self) -> None:
        """Take the timers that nobody took. Of a session that another moderator runs this process may know an old
        state: then its log says more."""
        if self._presence.unbroken_s() < _OVERDUE_S:
            return
        before_ns = self._before_ns()
        overdue = (sid for sid, cached in self._sessions.cached().items() if _is_over(cached.session, before_ns))
        for sid in islice((sid for sid in overdue if sid not in self._taking), _MOST_LOOKS):
            self._taking.add(sid)
            self._spawn(self._take(sid))

    async def _take(self, sid: str) -> None:
        try:
            with contextlib.suppress(BusError, BrokenLog):
                session = (await self._sessions.look(sid, fresh=True)).session
                if session is not None and _is_over(session, self._before_ns()):
                    _LOGGER.warning("session %s: nobody took its timer: it is taken now", sid)
                    await self.timer(sid, f"overdue:{session.n}")
        finally:
            self._taking.discard(sid)

    def _before_ns(self) -> int:
        return self._clock.now_ns() - int(_OVERDUE_S * 1e9)

    def look(self, protocol: Protocol, session: Session) -> log.TimerFired:
        """Which queues are gone, and which windows whose end has come still wait for somebody."""
        unheard, now_ns = protocol.unheard(session), self._clock.now_ns()
        gone, away = self._presence.gone(unheard), self._presence.away(unheard)
        stay = tuple(
            name
            for name, end_ns in session.windows.items()
            if end_ns <= now_ns and protocol.awaited(session, name).is_open(gone, away)
        )
        return log.TimerFired(gone=self._presence.gone(protocol.watched(session)), stay=stay)


def _is_over(session: Session | None, before_ns: int) -> bool:
    """Whether an open session's time was over before that."""
    return session is not None and not session.closed and session.timer_ns is not None and session.timer_ns < before_ns
