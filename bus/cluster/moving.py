"""A client that finds the other servers of a cluster, and leaves one that stands alone.

A server tells its clients of every server that it reaches, and tells them again when that changes. So a client knows
when its server lost the others: frozen, dead or cut off, they are gone from the list within some seconds
(`servers.ROUTE_PING_S`). A server alone stores nothing. Its clients then look whether another server of those they know
reaches more of them, and go over to it; if none does, they stay and look again.

| what happens | who notices | within |
|---|---|---|
| the server ends or is killed | the connection breaks | at once |
| it freezes, or the network to it is gone | pings without an answer | PING_S x (PINGS + 1) |
| it is cut off from the other servers | its list of servers | 6 s |
| it is to be stopped (lame duck mode) | it says so | at once |
"""

import asyncio
import json
import logging
import math
import random
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from bus.library import cancelled
from bus.library import client as library

PING_S = 1.5
"""Between two pings of a connection to a cluster, where there are other servers to go to."""
PINGS = 2
"""Unanswered ones after which the connection is given up at the next."""
LOOK_S = 0.5
"""Between two looks for a better server than one that stands alone."""
PROBE_S = 1.0
RECONNECT_WAIT_S = 0.25
SETTLE_S = 30.0
"""So long after servers were away nobody is given up: they choose who leads each stream, and moderators find them."""
_LOGGER = logging.getLogger(__name__)
WAITING = logging.getLogger("bus.waiting")
"""Says what the bus lacks while somebody waits for it."""


class MovingClient(library.Client):
    """A client that moves; of a single server nothing is different from nats-py's."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = 0
        """Servers that the server reaches, itself among them, as it said last; 0: it is no cluster's, or tells nobody
        (`no_advertise`)."""
        self._told = 0
        self._given: frozenset[str] = frozenset()
        self._there: frozenset[str] = frozenset()
        """HOST:PORT of the servers that were named, and of those that the server reaches."""
        self._left = ""
        self._to = ""
        self._asked = ""
        self._silent: set[str] = set()
        """HOST:PORT of the server that is asked just now, and of those that did not answer since the connection was
        lost."""
        self._since = 0.0
        self._back = -math.inf
        self._warned = False
        self.hopeless: Callable[[], str] = str
        """Why servers that are away will not come back, in words; empty: they may. For whoever starts them himself."""
        self._looking: asyncio.Task[None] | None = None

    @property
    def most(self) -> int:
        """How many servers the cluster has: the most that one of it said. Where each of these was named, at least as
        many as were named, made odd: one that was away when this client came is none that was told."""
        named = len(self._given) if self._there <= self._given else 0
        return max(self._told, named - (named + 1) % 2) if self._told > 1 else len(self._given)

    @property
    def known(self) -> list[str]:
        """HOST:PORT of the servers that were named, and of the others that it knows where these are not all."""
        named = sorted(self._given)
        if len(named) >= self.most:
            return named
        return sorted({server.uri.netloc for server in self._server_pool})

    @property
    def alone(self) -> bool:
        """Whether its server reaches fewer than half of the servers that there were: it can store nothing."""
        return 0 < 2 * self.reached <= (self._told if self._told > 1 else len(self._given))

    @property
    def lacking(self) -> str:
        """What the bus lacks, in words; empty: nothing that is known of. Two servers of three that reach each other
        lack nothing that a session needs."""
        most, needed = self.most, self.most // 2 + 1
        if not self.is_connected and most < 2:
            return "the server of the bus does not answer: nothing is stored; sessions wait, and go on once it does"
        if not self.is_connected and self._untried:
            what, back = (
                "the connection to the bus is lost, and its other servers are being asked",
                "one of them answers",
            )
        elif not self.is_connected:
            what, back = f"no connection to any of the {most} servers of the bus, {needed} are needed", "so many answer"
        elif self.alone:
            there = f"{self.reached} of {most} servers {'is' if self.reached == 1 else 'are'} there"
            what, few = f"the bus has no majority: {there}, {needed} are needed", needed - self.reached
            back = "another server is back" if few == 1 else f"{few} more are back"
        else:
            return ""
        return f"{what}. Nothing is stored; sessions wait, and go on by themselves once {back}"

    @property
    def _untried(self) -> bool:
        """Whether there is a server that was not asked since the connection was lost, or did not have its time yet."""
        return any(server.uri.netloc not in self._silent for server in self._server_pool)

    @property
    def unsettled(self) -> bool:
        """Whether servers are away, or were until `SETTLE_S` ago: whoever waits for an answer goes on waiting."""
        return bool(self.lacking) or time.monotonic() - self._back < SETTLE_S

    def warn(self) -> None:
        """Log what the bus lacks, once for each time that it does: somebody waits for it."""
        lacking = self.lacking
        if lacking and not self._warned:
            WAITING.warning("%s", lacking)
        self._warned = bool(lacking)

    async def connect(self, *args: Any, **given: Any) -> None:
        """As nats-py's, with an order of servers of its own when it reconnects."""
        servers = args[0] if args else given.get("servers", ())
        named = [servers] if isinstance(servers, str) else servers
        self._given = frozenset(map(_address, named))
        await super().connect(*args, **{"reconnect_to_server_handler": self._next, **given})

    async def reconnect_no_more(self) -> None:
        """An attempt that is about to succeed drops the client's cancelling, and would connect after the close."""
        for task in (self._looking, self._reconnection_task):
            if task is not None and task is not asyncio.current_task():
                await cancelled(task)

    def _next(self, servers: list[library.Server], _: dict[str, Any]) -> tuple[library.Server | None, float]:
        """The server to try next, and how long to wait before: the one to move to, else one that failed least, and the
        one that was just lost after the others."""
        here = self._current_server.uri.netloc if self._current_server is not None else ""
        if self._status == self.RECONNECTING and not self._left:
            self._left = here
        self._silent |= {self._asked or here} - {""}
        chosen = next((s for s in servers if s.uri.netloc == self._to), None)
        self._to = ""
        if chosen is None:
            random.shuffle(servers)
            chosen = min(servers, key=lambda s: (s.reconnects, s.uri.netloc == self._left))
        self._asked = chosen.uri.netloc
        again = chosen.reconnects > 0 or (len(servers) == 1 and time.monotonic() - self._since < RECONNECT_WAIT_S)
        return chosen, RECONNECT_WAIT_S if again else 0.0

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        was_alone = self.alone
        await super()._process_info(info, initial_connection)
        if initial_connection:
            self._asked = ""
            self._silent.clear()
            if self._since:
                self._back = time.monotonic()
            self._since = time.monotonic()
        if not (info.get("cluster") or self._server_info.get("cluster")):
            return
        if initial_connection:
            self._left = ""
            for server in self._server_pool:
                server.reconnects = 0 if server is self._current_server else min(server.reconnects, 1)
        self._there = frozenset(info.get("connect_urls") or ())
        self.reached = len(self._there)
        self._told = max(self._told, self.reached)
        if was_alone and not self.alone:
            self._back = time.monotonic()
        if (self.alone or info.get("ldm")) and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look(bool(info.get("ldm"))), name="look for a server")

    async def _ping_interval(self) -> None:
        if self._server_info.get("cluster"):
            self.options["ping_interval"], self.options["max_outstanding_pings"] = PING_S, PINGS
        await super()._ping_interval()

    async def _look(self, leave: bool) -> None:
        """Go over to a server that reaches more, as soon as there is one; `leave`: this one is about to stop."""
        here = self._current_server
        while not self.is_closed and self._current_server is here and (leave or self.alone):
            others = [s.uri for s in self._server_pool if here is None or s.uri.netloc != here.uri.netloc]
            reached = await asyncio.gather(*(_reached(uri.hostname or "", uri.port or 4222) for uri in others))
            best = max(zip(reached, others, strict=True), default=(0, None), key=lambda pair: pair[0])
            enough = 2 * best[0] > self.most or (leave and best[0] > 0)
            if best[1] is not None and enough and self.is_connected and self._current_server is here:
                _LOGGER.info(
                    "bus: %s reaches %d servers, this one %d: going over", best[1].netloc, best[0], self.reached
                )
                self._to = best[1].netloc
                await self.force_reconnect()
                return
            await asyncio.sleep(LOOK_S)


def _address(url: str) -> str:
    try:
        parts = urlsplit(url if "//" in url else f"nats://{url}")
        return f"{parts.hostname}:{parts.port or 4222}"
    except ValueError:
        return url  # nats-py says what is wrong with it


async def greeting(host: str, port: int) -> dict[str, Any]:
    """What a server says first, to anybody. Raises OSError (TimeoutError where it says nothing), ValueError."""
    async with asyncio.timeout(PROBE_S):
        reader, writer = await asyncio.open_connection(host, port, limit=1_048_576)
        try:
            line = await reader.readline()
        finally:
            writer.close()
    said: dict[str, Any] = json.loads(line.removeprefix(b"INFO "))
    return said


async def _reached(host: str, port: int) -> int:
    """How many servers the one there reaches, itself among them; 0: it does not answer, or is about to stop."""
    try:
        info = await greeting(host, port)
    except (OSError, ValueError):
        return 0
    return 0 if info.get("ldm") else len(info.get("connect_urls") or ())
