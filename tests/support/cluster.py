"""A real cluster of nats-servers for tests: three children on 127.0.0.1."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from parley.bus import accounts, streams
from parley.bus.accounts import Credentials, User
from parley.bus.connection import Connection, connect
from parley_research.embedded_cluster import EmbeddedCluster

QUEUES = {"panel_1": "panelist", "panel_2": "panelist", "panel_3": "panelist", "analyst": "analyst"}


class Cluster:
    """Three servers with one table of users: `moderator`, `client`, `bob`, `owner`, `operator`, and QUEUES.

    A context manager. `reached_at`: ports of proxies in front of each server's routes.
    """

    def __init__(
        self,
        folder: Path,
        users: tuple[User, ...] = (),
        reached_at: Sequence[int] | None = None,
    ) -> None:
        self.users = users or accounts.table(QUEUES, clients=("client", "bob"))
        self.keys: dict[str, Credentials] = accounts.mint(self.users)
        self.nats = EmbeddedCluster(folder, self.users, accounts.publics(self.keys), reached_at=reached_at)

    @property
    def url(self) -> str:
        """Of all three, with commas between."""
        return self.nats.url

    def __enter__(self) -> "Cluster":
        self.nats.start()
        asyncio.run(self._set_up())
        return self

    def __exit__(self, *_: object) -> None:
        self.nats.stop()

    async def _set_up(self) -> None:
        async with await self.dial("moderator") as conn:
            await streams.ensure_streams(conn, ack_wait_s=1.0)
            for queue in QUEUES:
                await streams.ensure_queue(conn, queue, ack_wait_s=1.0)

    async def dial(self, user: str, server: int | None = None) -> Connection:
        """Connect as a user: to all servers, or with the address of one alone."""
        url = self.url if server is None else self.nats.servers[server].url
        return await connect(url, self.keys[user], name=f"test-{user}", retry_first=True)
