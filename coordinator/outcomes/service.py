"""`parley metrics`: one copy of the service, over one connection of an observer."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Self

from parley.bus.connection import Connection
from parley.coordinator.outcomes.bus_state import BusState
from parley.coordinator.outcomes.counting import Checkpoint, Counting
from parley.coordinator.outcomes.synthetic_question import EVERY_S, Asking
from parley.coordinator.table import Protocol
from parley.observability.outcomes import Outcomes
from parley.schemas.result import Totals


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
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._counting)
        await self._stack.enter_async_context(self._bus)
        await self._stack.enter_async_context(self._asking)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def ready(self) -> str | None:
        """None while it counts, else why not."""
        return self._counting.ready

    async def once(self) -> Totals:
        """Count what LOG has now, write it, and look at the bus once; in place of `async with`. Raises BusError."""
        totals = await self._counting.catch_up()
        await self._bus.look()
        return totals
