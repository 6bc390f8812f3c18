"""Reads the state of the bus: queues, streams and the store by JetStream's API, nats-server by its monitor."""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from parley.bus import streams, subjects
from parley.bus.connection import Connection
from parley.bus.errors import ApiError, BusError
from parley.bus.log import LOG
from parley.observability.outcomes import Outcomes

_LOGGER = logging.getLogger(__name__)
EVERY_S = 2.0
_MONITOR_S = 2.0
_SEEN = 512
"""Looks at a queue that are remembered."""
Found = dict[str, dict[tuple[str, ...], float]]


class Ages:
    """How long the oldest turn of each queue is there: JetStream does not say it, so it is told by looking often.

    A queue that is looked at while it is empty has nothing that is older than this look. Later, what lies behind the
    place up to which everything is settled came after the last look at which the stream did not go further than that.
    """

    def __init__(self) -> None:
        self._looks: dict[str, deque[tuple[float, int]]] = {}

    def look(self, queue: str, *, waiting: int, settled_seq: int, last_seq: int, now: float) -> float:
        """Seconds.

        Parameters
        ----------
        waiting
            Turns that are not settled.
        settled_seq, last_seq
            Places in the stream: up to which everything of the queue is settled, and of its last message.
        """
        looks = self._looks.setdefault(queue, deque())
        if not waiting or not looks:
            looks.clear()
            looks.append((now, last_seq))
            return 0.0
        while len(looks) > 1 and looks[1][1] <= settled_seq:
            looks.popleft()
        age = now - looks[0][0]
        if len(looks) >= _SEEN:
            del looks[-1]  # the oldest ones matter
        looks.append((now, last_seq))
        return age

    def keep(self, queues: set[str]) -> None:
        """Forget all others."""
        self._looks = {queue: looks for queue, looks in self._looks.items() if queue in queues}


class BusState:
    """Looks at the bus again and again, and exposes what it says."""

    def __init__(self, connection: Connection, outcomes: Outcomes, monitor: str = "") -> None:
        self._connection = connection
        self._outcomes = outcomes
        self._monitor = monitor.rstrip("/")
        self._ages = Ages()

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.look()
            except Exception as error:  # whatever the client raises while the bus is away
                _LOGGER.info("the bus was not looked at: %s: %s", type(error).__name__, error)
            await asyncio.sleep(EVERY_S)

    async def look(self) -> None:
        """Look once. What does not answer is not exposed any more."""
        state: Found = {}
        with contextlib.suppress(BusError):
            await self._streams(state)
            await self._queues(state)
            await self._store(state)
        if self._monitor:
            await self._server(state)
        self._outcomes.bus(state)

    async def _streams(self, values: Found) -> None:
        last_of_log: int | None = None
        for name in streams.STREAMS:
            try:
                info = await self._connection.api(f"STREAM.INFO.{name}")
            except ApiError:
                continue  # no moderator has made it yet
            state = info["state"]
            _put(values, "stream_messages", state["messages"], name)
            _put(values, "stream_bytes", state["bytes"], name)
            _put(values, "stream_limit_bytes", max(0, info["config"].get("max_bytes", 0)), name)
            if name == LOG:
                last_of_log = state["last_seq"]
        if last_of_log is not None:
            self._outcomes.lag = max(0, last_of_log - self._outcomes.counted_to)

    async def _queues(self, state: Found) -> None:
        last_seq = int((await self._connection.api(f"STREAM.INFO.{streams.WORK}"))["state"]["last_seq"])
        queues: set[str] = set()
        async for consumer in _consumers(self._connection):
            queue = subjects.queue_of(consumer["name"])
            queues.add(queue)
            pending, unacknowledged = consumer["num_pending"], consumer["num_ack_pending"]
            _put(state, "queue_pending", pending, queue)
            _put(state, "queue_unacknowledged", unacknowledged, queue)
            _put(state, "queue_redelivered", consumer["num_redelivered"], queue)
            settled = int((consumer.get("ack_floor") or {}).get("stream_seq", 0))
            age = self._ages.look(
                queue, waiting=pending + unacknowledged, settled_seq=settled, last_seq=last_seq, now=time.monotonic()
            )
            _put(state, "queue_oldest_seconds", age, queue)
        self._ages.keep(queues)

    async def _store(self, state: Found) -> None:
        """Of the account, unless the monitor says it of the whole server."""
        info = await self._connection.api("INFO")
        _put(state, "store_used_bytes", info.get("storage", 0))
        _put(state, "store_limit_bytes", max(0, (info.get("limits") or {}).get("max_storage", 0)))

    async def _server(self, state: Found) -> None:
        try:
            server, jetstream, health = await asyncio.to_thread(_pages, self._monitor)
        except (OSError, ValueError) as error:
            _LOGGER.info("the monitor %s does not answer: %s", self._monitor, error)
            _put(state, "nats_up", 0)
            return
        _put(state, "nats_up", 1)
        _put(state, "nats_stores", "write error" not in str(health.get("error", "")))
        for name, field in (
            ("nats_connections", "connections"),
            ("nats_slow_consumers", "slow_consumers"),
            ("nats_memory_bytes", "mem"),
            ("nats_cpu_percent", "cpu"),
        ):
            _put(state, name, float(server.get(field, 0)))
        shown = (page.get("tls_cert_not_after") for page in (server, server.get("cluster", {})))
        if ends := [datetime.fromisoformat(text).timestamp() for text in shown if text]:
            _put(state, "nats_certificate_ends_seconds", min(ends))
        _put(state, "store_used_bytes", jetstream.get("storage", 0))
        _put(state, "store_limit_bytes", max(0, (jetstream.get("config") or {}).get("max_storage", 0)))


async def _consumers(connection: Connection) -> AsyncIterator[Mapping[str, Any]]:
    """What the server says of each queue. Raises BusError."""
    count = 0
    while True:
        page = await connection.api(f"CONSUMER.LIST.{streams.WORK}", {"offset": count})
        consumers = page.get("consumers") or []
        for consumer in consumers:
            count += 1
            yield consumer
        if not consumers or count >= int(page.get("total", 0)):
            return


async def depths(connection: Connection) -> dict[str, int]:
    """Queue -> turns that no worker has yet. Raises BusError; ApiError where no moderator has made the queues yet."""
    return {subjects.queue_of(c["name"]): int(c["num_pending"]) async for c in _consumers(connection)}


def _pages(monitor: str) -> list[Mapping[str, Any]]:
    """What nats-server says of itself, of JetStream, and of its health. Raises OSError, ValueError."""
    import json
    import urllib.error
    import urllib.request

    open_ = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
    pages: list[Mapping[str, Any]] = []
    for page in ("varz", "jsz", "healthz"):
        try:
            answer = open_(f"{monitor}/{page}", timeout=_MONITOR_S)
        except urllib.error.HTTPError as error:
            answer = error  # 503: what is wrong stands in the page
        with answer:
            content = json.loads(answer.read())
        if not isinstance(content, dict):
            raise ValueError(f"/{page} is no JSON object")
        pages.append(content)
    return pages


def _put(state: Found, series: str, value: float, *labels: str) -> None:
    state.setdefault(series, {})[labels] = float(value)
