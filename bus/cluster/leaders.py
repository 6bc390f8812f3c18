"""The leaders of the log's partitions, spread over the servers of a cluster.

JetStream chooses a stream's leader by chance when it is made, and again when its server is lost. It moves none back. So
after a while one server may lead all partitions, and does most of their work. A leader is moved to a server that has
all of the stream. It takes some milliseconds, and nothing that is stored is lost or stored twice by it.
"""

import asyncio
import contextlib
import time
from collections import Counter
from typing import Any

from parley.bus.connection import Connection
from parley.bus.errors import ApiError, BusError, NoAnswer
from parley.bus.storage.partitions import Partition, Partitions

_WITHIN_S = 10.0
_ASK_S = 1.0
_PAUSE_S = 0.1


async def spread(conn: Connection, partitions: Partitions) -> dict[str, str]:
    """Let no server lead two partitions more than another one that has them; stream -> its leader then.

    Partitions on one server are left alone. Repeating it is fine.

    Raises
    ------
    BusError
        The cluster did not answer, or a stream has no leader.
    """
    servers = {part.stream: await _servers(conn, part) for part in partitions.all}
    led = Counter({name: 0 for names in servers.values() for name in names})
    led.update(names[0] for names in servers.values())
    for part in partitions.all:
        leader, *others = servers[part.stream]
        wanted = min(others, key=lambda name: led[name], default=leader)
        if led[leader] - led[wanted] < 2:
            continue
        now = await _move(conn, part, wanted)
        led[leader] -= 1
        led[now] += 1
        servers[part.stream] = [now]
    return {stream: names[0] for stream, names in servers.items()}


async def _servers(conn: Connection, part: Partition) -> list[str]:
    """Those that have all of a stream, its leader first."""
    deadline = time.monotonic() + _WITHIN_S
    while True:
        cluster: dict[str, Any] = {}
        with contextlib.suppress(NoAnswer):  # while a leader is chosen nobody answers
            cluster = (await conn.api(f"STREAM.INFO.{part.stream}", timeout_s=_ASK_S)).get("cluster") or {}
        if leader := cluster.get("leader"):
            others = [r for r in cluster.get("replicas") or () if not r.get("offline")]
            if all(r.get("current") for r in others) or time.monotonic() > deadline:  # one that lags catches up soon
                return [leader, *(r["name"] for r in others if r.get("current"))]
        if time.monotonic() > deadline:
            raise BusError(f"stream {part.stream} has no leader")
        await asyncio.sleep(_PAUSE_S)


async def _move(conn: Connection, part: Partition, wanted: str) -> str:
    """Who leads it afterwards: the wanted server, unless that was not to be had in time."""
    deadline = time.monotonic() + _WITHIN_S
    while (now := (await _servers(conn, part))[0]) != wanted and time.monotonic() < deadline:
        with contextlib.suppress(ApiError, NoAnswer):  # it may be choosing one just now
            body = {"placement": {"preferred": wanted}}
            await conn.api(f"STREAM.LEADER.STEPDOWN.{part.stream}", body, _ASK_S)
        await asyncio.sleep(_PAUSE_S)
    return now
