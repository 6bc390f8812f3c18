"""Whom open sessions wait for: what presence says of them, and what is done when somebody comes or is gone."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from parley.bus.clock import Clock
from parley.bus.errors import BusError
from parley.coordinator.machine import Protocol, Session
from parley.coordinator.presence import Presence
from parley.coordinator.sessions.broken import BrokenLog
from parley.coordinator.sessions.effects import Effects
from parley.coordinator.sessions.store import Sessions
from parley.schemas import log
from parley.schemas.presence import RETURN_S

_GATHER_S = 0.1
"""Experts that come within this time are handled together: after an outage all of them come at once."""


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
