"""What three servers cost beside one, and what LOG's leader carries: `python -m parley_research.benchmarks cluster`.

Two looks:

1. The debates of `debates`, on one server, and on three with each stream on all (R3). CPU a call, overhead, sessions a
   second.
2. Appends alone, without an engine: one process appends entries of the size that LOG's have, by compare-and-swap, each
   of many under way to a session of its own, over a connection to each server. Beside each the same as bare publishes.
   CPU is taken of each server, since what a server has of it ends first.

The floor is a bare JetStream publish of the same size to one server (R1).
"""

import asyncio
import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from parley.bus import subjects
from parley.bus.accounts import load_credentials, mint, publics, table
from parley.bus.connection import Connection, connect
from parley.bus.embedded import EmbeddedServer
from parley.bus.errors import BusError, Conflict
from parley.bus.log import LOG
from parley.bus.storage import direct
from parley.bus.streams import stream_configs
from parley_research.benchmarks.debates import Case, bench, stack
from parley_research.embedded_cluster import EmbeddedCluster

SERVERS = 3
SIZE = 3_600
"""Bytes of an entry: about the mean of LOG's at N3R3."""
AT_ONCE = 400
"""Sessions with an append under way."""
_SETTLED_S = 30.0


class Debated(msgspec.Struct, frozen=True, kw_only=True):
    """The debates on one kind of bus."""

    name: str
    cpu_us: float
    """Of all processes, a model call."""
    servers_us: tuple[float, ...]
    """Of that, each nats-server's, the busiest first."""
    overhead_ms: float
    """Of a turn, at the median."""
    sessions_per_s: float
    log_messages: float
    """Messages of LOG a model call."""
    log_bytes: float
    """Of one of them."""


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """Appends, or bare publishes, on one kind of bus."""

    what: str
    """append | publish"""
    servers: int
    replicas: int
    per_s: float
    servers_us: tuple[float, ...]
    """CPU of each server for one, the busiest first."""
    client_us: float

    @property
    def busiest_us(self) -> float:
        return self.servers_us[0]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Everything."""

    debated: list[Debated]
    carried: list[Carried]
    load: float
    """Of the machine, over the last minute."""


async def measure(quick: bool) -> Figures:
    """Both looks."""
    kinds = {"one server": "", "three servers, R3": "parley_research.embedded_cluster:supervised"}
    debated = [await _debated(name, bus, quick=quick) for name, bus in kinds.items()]
    count = 6_000 if quick else 30_000
    carried = []
    for servers, copies in ((1, (1,)), (SERVERS, (1, 3))):
        async with _bus(servers) as bus:
            carried += [
                await bus.carried(what, replicas, count) for replicas in copies for what in ("publish", "append")
            ]
    return Figures(debated=debated, carried=carried, load=os.getloadavg()[0])


# ---------------------------------------------------------------- the debates


async def _debated(name: str, bus: str, *, quick: bool) -> Debated:
    ground = msgspec.structs.replace(stack(0.0), bus=bus)
    case = Case(debaters=3, rounds=3, at_once=100, total=150 if quick else 600, latency_s=0.0)
    async with bench(ground) as running:
        await running.run(msgspec.structs.replace(case, at_once=20, total=40))
        moderator = load_credentials(running.lease.credentials("moderator-1"))
        async with await connect(running.lease.url, moderator, name="bench") as conn:
            before = await _stored(conn)
            run = await running.run(case)
            after = await _stored(conn)
    servers_us = sorted((s / run.calls * 1e6 for who, s in run.cpu_s.items() if who.startswith("nats")), reverse=True)
    messages, size = (now - then for now, then in zip(after, before, strict=True))
    return Debated(
        name=name, cpu_us=run.cpu_us, overhead_ms=statistics.median(run.overheads_s) * 1e3,
        servers_us=tuple(servers_us), sessions_per_s=run.sessions_per_s, log_messages=messages / run.calls,
        log_bytes=size / max(1, messages),
    )  # fmt: skip


async def _stored(conn: Connection) -> tuple[int, int]:
    """Messages and bytes of LOG."""
    state = (await conn.api(f"STREAM.INFO.{LOG}"))["state"]
    return state["messages"], state["bytes"]


# ---------------------------------------------------------------- appends


class Bus:
    """Running servers, and a connection to each."""

    def __init__(self, servers: list[EmbeddedServer], connections: list[Connection]) -> None:
        self._servers = servers
        self._connections = connections
        self._api = connections[0].api

    async def carried(self, what: str, replicas: int, count: int) -> Carried:
        """A fresh stream of this kind, so many messages into it, and what it took."""
        for name in await self._names():
            await self._api(f"STREAM.DELETE.{name}", timeout_s=_SETTLED_S)
        await self._api(f"STREAM.CREATE.{LOG}", stream_configs(replicas=replicas)[LOG], _SETTLED_S)
        swap = what == "append"
        await self._all(count // 10, swap, "warm")
        pids = [server.pid for server in self._servers]
        before, client, started = [_ran_s(pid) for pid in pids], _ran_s(os.getpid()), time.perf_counter()
        await self._all(count, swap, "counted")
        wall = time.perf_counter() - started
        used = [_ran_s(pid) - then for pid, then in zip(pids, before, strict=True)]
        return Carried(
            what=what, servers=len(pids), replicas=replicas, per_s=count / wall,
            servers_us=tuple(sorted((u / count * 1e6 for u in used), reverse=True)),
            client_us=(_ran_s(os.getpid()) - client) / count * 1e6,
        )  # fmt: skip

    async def _names(self) -> list[str]:
        """The streams that are there; servers that have just begun choose their leader first."""
        deadline = time.monotonic() + _SETTLED_S
        while True:
            try:
                return (await self._api("STREAM.NAMES", timeout_s=2.0))["streams"] or []
            except BusError:
                if time.monotonic() > deadline:
                    raise

    async def _all(self, count: int, swap: bool, run: str) -> None:
        """`count` messages of AT_ONCE sessions, each of which has one under way."""
        left = iter(range(count))

        async def keep_busy(number: int) -> None:
            conn, sid, last = self._connections[number % len(self._connections)], f"{run}-{number}", 0
            subject, mine = subjects.log(sid, subjects.STEP), subjects.log_of(sid)
            for _ in left:
                expected = (mine, last) if swap else None
                try:
                    last = (await conn.store(subject, _ENTRY, expected_last=expected, timeout_s=_SETTLED_S)).seq
                except Conflict:  # a server lost its lead meanwhile
                    got = await direct.last(conn, LOG, mine)
                    last = 0 if got is None else got.seq

        await asyncio.gather(*(keep_busy(n) for n in range(AT_ONCE)))


_ENTRY = b"x" * SIZE


@asynccontextmanager
async def _bus(count: int) -> AsyncIterator[Bus]:
    users = table({})
    keys = mint(users)
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        public = publics(keys)
        many = EmbeddedCluster(Path(folder), users, public, size=count) if count > 1 else None
        servers = many.servers if many else [EmbeddedServer(Path(folder), users, public)]
        async with AsyncExitStack() as exits:
            for server in servers:
                exits.callback(server.stop)
                server.begin()
            for server in servers:
                if not server.ready(_SETTLED_S):
                    raise BusError("a server was not ready in time")
            dialled = [await connect(s.url, keys["moderator"], name="bench", retry_first=True) for s in servers]
            for connection in dialled:
                await exits.enter_async_context(connection)
            yield Bus(servers, dialled)


def _ran_s(pid: int) -> float:
    """CPU seconds of a process, to the nanosecond as the scheduler counts them."""
    total = 0
    for task in os.scandir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            total += int(Path(task.path, "schedstat").read_text().split()[0])
    return total / 1e9


# ---------------------------------------------------------------- printed


def lines(figures: Figures) -> list[str]:
    """The tables."""
    first, floor = figures.debated[0], figures.carried[0]
    head = f"a cluster of {SERVERS} servers on this machine, load {figures.load:.0f}; debates N3R3, 100 at once, 0 ms"
    columns = f"{'CPU us/call':>16}{'servers':>9}{'busiest':>9}{'overhead ms':>16}{'sessions/s':>16}{'LOG/call':>10}"
    printed = [head, f"  {'':34}{columns}"]
    for d in figures.debated:
        cpu = f"{d.cpu_us:,.0f} ({d.cpu_us / first.cpu_us:.2f})"
        late = f"{d.overhead_ms:,.1f} ({d.overhead_ms / first.overhead_ms:.2f})"
        rate = f"{d.sessions_per_s:,.0f} ({d.sessions_per_s / first.sessions_per_s:.2f})"
        servers = f"{sum(d.servers_us):9,.0f}{d.servers_us[0]:9,.0f}"
        printed.append(f"  {d.name:34}{cpu:>16}{servers}{late:>16}{rate:>16}{d.log_messages:10.2f}")
    printed += [
        "",
        f"entries of {SIZE:,} bytes, {AT_ONCE} under way; in brackets: times the first line",
    ]
    printed.append(f"  {'':54}{'a second':>18}{'servers us':>18}{'busiest us':>18}")
    for c in figures.carried:
        where = {1: "one server", SERVERS: "three servers"}[c.servers]
        where += f", R{c.replicas}" if c.servers > 1 else ""
        name = f"{c.what}, {where}"
        rate = f"{c.per_s:,.0f} ({c.per_s / floor.per_s:.2f})"
        total = f"{sum(c.servers_us):,.0f} ({sum(c.servers_us) / sum(floor.servers_us):.2f})"
        most = f"{c.busiest_us:,.0f} ({c.busiest_us / floor.busiest_us:.2f})"
        printed.append(f"  {name:54}{rate:>18}{total:>18}{most:>18}")
    return printed


if __name__ == "__main__":
    print("\n".join(lines(asyncio.run(measure(True)))))
