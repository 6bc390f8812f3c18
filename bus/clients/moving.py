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

from parley.bus.library import cancelled
from parley.bus.library import client as library

PING_S = 1.5
"""Seconds between two pings of a connection to a cluster, if there are other servers to go to."""
PINGS = 2
"""After so many unanswered pings the connection is given up at the next."""
LOOK_S = 0.5
"""Seconds between two looks for a better server than one that stands alone."""
PROBE_S = 1.0
RECONNECT_WAIT_S = 0.25
SETTLE_S = 30.0
"""For so many seconds after servers were away nobody is given up: they choose a leader for each stream, and moderators
find them."""
_LOGGER = logging.getLogger(__name__)
WAITING = logging.getLogger("bus.waiting")
"""Says what the bus lacks while somebody waits for it."""


class MovingClient(library.Client):
    """A client that moves to another server. With a single server it does nothing that nats-py does not."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = 0
        """Servers that this server reaches, itself among them, as it last said; 0: it is in no cluster, or does not
        tell (`no_advertise`)."""
        self._most_reached = 0
        self._named_servers: frozenset[str] = frozenset()
        self._reached_urls: frozenset[str] = frozenset()
        """HOST:PORT of the servers that were named, and of those that the server reaches."""
        self._lost_server = ""
        self._to = ""
        self._tried_server = ""
        self._silent: set[str] = set()
        """HOST:PORT of the server that is being tried, and of those that did not answer since the connection was
        lost."""
        self._since = 0.0
        self._back = -math.inf
        self._warned = False
        self.hopeless: Callable[[], str] = str
        """Why servers that are away will not come back, in words; empty: they may. For a process that starts the
        servers itself."""
        self._looking: asyncio.Task[None] | None = None

    @property
    def most(self) -> int:
        """Servers of the cluster: the most that one server named. If each of these was named to this client, at least
        the number that was named, made odd: a server that was away when this client came is not among them."""
        named = len(self._named_servers) if self._reached_urls <= self._named_servers else 0
        return max(self._most_reached, named - (named + 1) % 2) if self._most_reached > 1 else len(self._named_servers)

    @property
    def known(self) -> list[str]:
        """HOST:PORT of the servers that were named to it, and of others that it knows, if those are not all."""
        named = sorted(self._named_servers)
        if len(named) >= self.most:
            return named
        return sorted({server.uri.netloc for server in self._server_pool})

    @property
    def alone(self) -> bool:
        """Whether its server reaches fewer than half of the servers: it can store nothing then."""
        return 0 < 2 * self.reached <= (self._most_reached if self._most_reached > 1 else len(self._named_servers))

    @property
    def lacking(self) -> str:
        """What the bus lacks, in words; empty: nothing that is known. Two servers of three that reach each other are
        enough for every session."""
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
            count_words = f"{self.reached} of {most} servers {'is' if self.reached == 1 else 'are'} there"
            what, few = f"the bus has no majority: {count_words}, {needed} are needed", needed - self.reached
            back = "another server is back" if few == 1 else f"{few} more are back"
        else:
            return ""
        return f"{what}. Nothing is stored; sessions wait, and go on by themselves once {back}"

    @property
    def _untried(self) -> bool:
        """Whether a server was not tried since the connection was lost, or still has time to answer."""
        return any(server.uri.netloc not in self._silent for server in self._server_pool)

    @property
    def unsettled(self) -> bool:
        """Whether servers are away, or were until `SETTLE_S` ago: whoever waits for an answer then goes on waiting."""
        return bool(self.lacking) or time.monotonic() - self._back < SETTLE_S

    def warn(self) -> None:
        """Log what the bus lacks, once each time: somebody waits for it."""
        lacking = self.lacking
        if lacking and not self._warned:
            WAITING.warning("%s", lacking)
        self._warned = bool(lacking)

    async def connect(self, *args: Any, **options: Any) -> None:
        """As nats-py's, with its own order of servers for reconnects."""
        servers = args[0] if args else options.get("servers", ())
        named = [servers] if isinstance(servers, str) else servers
        self._named_servers = frozenset(map(_address, named))
        await super().connect(*args, **{"reconnect_to_server_handler": self._next, **options})

    async def reconnect_no_more(self) -> None:
        """A try that is about to succeed swallows the client's cancelling, and would connect after the close."""
        for task in (self._looking, self._reconnection_task):
            if task is not None and task is not asyncio.current_task():
                await cancelled(task)

    def _next(self, servers: list[library.Server], _: dict[str, Any]) -> tuple[library.Server | None, float]:
        """The server to try next, and the seconds to wait before: the one to move to; else the one that failed least.
        The server that was just lost comes after the others."""
        here = self._current_server.uri.netloc if self._current_server is not None else ""
        if self._status == self.RECONNECTING and not self._lost_server:
            self._lost_server = here
        self._silent |= {self._tried_server or here} - {""}
        chosen = next((s for s in servers if s.uri.netloc == self._to), None)
        self._to = ""
        if chosen is None:
            random.shuffle(servers)
            chosen = min(servers, key=lambda s: (s.reconnects, s.uri.netloc == self._lost_server))
        self._tried_server = chosen.uri.netloc
        again = chosen.reconnects > 0 or (len(servers) == 1 and time.monotonic() - self._since < RECONNECT_WAIT_S)
        return chosen, RECONNECT_WAIT_S if again else 0.0

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        was_alone = self.alone
        await super()._process_info(info, initial_connection)
        if initial_connection:
            self._tried_server = ""
            self._silent.clear()
            if self._since:
                self._back = time.monotonic()
            self._since = time.monotonic()
        if not (info.get("cluster") or self._server_info.get("cluster")):
            return
        if initial_connection:
            self._lost_server = ""
            for server in self._server_pool:
                server.reconnects = 0 if server is self._current_server else min(server.reconnects, 1)
        self._reached_urls = frozenset(info.get("connect_urls") or ())
        self.reached = len(self._reached_urls)
        self._most_reached = max(self._most_reached, self.reached)
        if was_alone and not self.alone:
            self._back = time.monotonic()
        if (self.alone or info.get("ldm")) and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look(bool(info.get("ldm"))), name="look for a server")

    async def _ping_interval(self) -> None:
        if self._server_info.get("cluster"):
            self.options["ping_interval"], self.options["max_outstanding_pings"] = PING_S, PINGS
        await super()._ping_interval()

    async def _look(self, leave: bool) -> None:
        """Go over to a server that reaches more, as soon as there is one. `leave`: this server is about to stop."""
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
        return url  # nats-py logs what is wrong with it


async def greeting(host: str, port: int) -> dict[str, Any]:
    """The first line that a server sends to anybody. Raises OSError (TimeoutError if it sends nothing), ValueError."""
    async with asyncio.timeout(PROBE_S):
        reader, writer = await asyncio.open_connection(host, port, limit=1_048_576)
        try:
            line = await reader.readline()
        finally:
            writer.close()
    info: dict[str, Any] = json.loads(line.removeprefix(b"INFO "))
    return info


async def _reached(host: str, port: int) -> int:
    """How many servers this one reaches, itself among them; 0: it does not answer, or is about to stop."""
    try:
        info = await greeting(host, port)
    except (OSError, ValueError):
        return 0
    return 0 if info.get("ldm") else len(info.get("connect_urls") or ())
