"""One connection to the bus for each principal, made when it is first needed and kept while the gateway runs."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

from parley.bus.connection import Connection
from parley.bus.errors import BusError, WrongCredentials
from parley.client.api import connected
from parley.client.client import Client, Serve
from parley.client.errors import Unreachable
from parley.observability.metrics import Metrics
from parley.web.principals import Principal

PATIENCE_S = 10.0
"""A moderator is waited for so long: a page would rather read that none answers."""


class Connections:
    """Connections by principal.

    Parameters
    ----------
    url
        Of the bus.
    metrics
        Say whether all of them stand.
    patience_s
        How long a moderator is waited for.
    serve
        As Client has it.
    """

    def __init__(
        self, url: str, metrics: Metrics, *, patience_s: float = PATIENCE_S, serve: Serve | None = None
    ) -> None:
        self.url = url
        self._serve = serve
        self._metrics, self._patience_s = metrics, patience_s
        metrics.bus_connected.set(1)
        self._open: dict[tuple[str, str], Connection] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}
        self.stopped = False
        """The gateway is being stopped: sessions of whoever waits go on."""

    async def connection(self, principal: Principal) -> Connection:
        """The principal's connection. Raises Unreachable."""
        key = (principal.name, principal.credentials.public)
        async with self._locks.setdefault(key, asyncio.Lock()):
            connection = self._open.get(key)
            if connection is None or connection.nc.is_closed:
                try:
                    own = principal.credentials
                    connection = await connected(self.url, own, f"gateway:{own.user}")
                except Unreachable as error:
                    if not isinstance(error.__cause__, WrongCredentials):  # that is this principal's trouble alone
                        self._metrics.bus_connected.set(0)
                    raise
                self._open[key] = connection
                self._watch(connection)
            return connection

    def _watch(self, connection: Connection) -> None:
        def back() -> None:
            self._metrics.bus_reconnects.inc()
            self._shows()

        connection.on_reconnect.append(back)
        connection.on_disconnect.append(lambda: self._metrics.bus_connected.set(0))
        connection.on_denied.append(self._metrics.bus_denied.inc)
        self._shows()

    def _shows(self) -> None:
        standing = all(connection.nc.is_connected for connection in self._open.values() if not connection.nc.is_closed)
        self._metrics.bus_connected.set(float(standing))

    async def client(self, principal: Principal) -> Client:
        """What the principal does on the bus, in its own name. Raises Unreachable."""
        connection = await self.connection(principal)
        client = Client(connection, principal.credentials.user, url=connection.url, patience_s=self._patience_s)
        client.serve = self._serve
        client.is_stopped = lambda: self.stopped
        return client

    async def close(self) -> None:
        """End all connections."""
        for connection in self._open.values():
            with contextlib.suppress(BusError):
                await connection.close()
        self._open.clear()

    def states(self) -> Mapping[str, bool]:
        """Principal -> whether its connection is up now."""
        return {name: connection.nc.is_connected for (name, _), connection in self._open.items()}


@contextlib.asynccontextmanager
async def connections(
    url: str, metrics: Metrics, *, patience_s: float = PATIENCE_S, serve: Serve | None = None
) -> AsyncIterator[Connections]:
    """Connections that end with the block."""
    pool = Connections(url, metrics, patience_s=patience_s, serve=serve)
    try:
        yield pool
    finally:
        await pool.close()
