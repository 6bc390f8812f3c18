"""Two regions joined by gateways, on one machine, with a simulated delay between them: `python -m
parley_research.benchmarks.regions`.

The near region is a cluster of three servers, which have all streams, with a moderator. The far region is one server
without JetStream. All that goes over a gateway passes a proxy that delays it, 50 ms in each direction. Models take no
time. The same debates (parley_research.benchmarks.protocol) are played one after another. What differs is changed
every few of them, so that what else the machine does falls on all alike:

- with everybody in the near region,
- with the debaters' worker in the far one, and the judge's in the near one,
- with the client in the far one.

Overheads of turns are taken from the log, whose times are the moderator's, so a far agent's contain both ways. What a
client waits is from its request until it hears the end. Every figure is printed beside that of the near region in the
same run.
"""

import argparse
import asyncio
import secrets
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
from nats.aio.msg import Msg
from prometheus_client import CollectorRegistry

from parley.agents.models import make_model
from parley.agents.specs import load
from parley.agents.worker import Worker
from parley.bus import subjects
from parley.bus.accounts import Credentials, mint, publics, table
from parley.bus.channels import CLIENT, CONTROL
from parley.bus.cluster.servers import NAME as NEAR
from parley.bus.connection import Connection, connect
from parley.bus.embedded import EmbeddedServer
from parley.client.client import Client
from parley.coordinator.moderator import Moderator
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.sessions.token_keys import TokenKeys
from parley.observability.metrics import Metrics
from parley.schemas.log import Ask, Entry
from parley.schemas.post import Post
from parley.schemas.session import OpenSession
from parley.schemas.wire import decode, encode
from parley.stack.lease import OWNER
from parley_research.benchmarks.debates import QUESTION, overheads
from parley_research.benchmarks.protocol import DEBATERS_QUEUE, JUDGE_QUEUE, NAME
from parley_research.benchmarks.regions.delay import Delayed
from parley_research.embedded_cluster import HOST, EmbeddedCluster, free_ports

FAR = "far"
_PATIENCE_S = 60.0
_LOOK_S = 0.1
_TIMES = 4


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions of one kind."""

    opened_s: tuple[float, ...]
    """From the client's request until it is stored."""
    whole_s: tuple[float, ...]
    """From the client's request until it hears the end."""
    debater_s: tuple[float, ...]
    """Overheads of the debaters' turns, and of the judge's."""
    judge_s: tuple[float, ...]


class Regions:
    """Both regions, running."""

    def __init__(self, near: str, far: str, keys: dict[str, Credentials]) -> None:
        self._urls = {NEAR: near, FAR: far}
        self._keys = keys

    async def connect(self, user: str, region: str) -> Connection:
        """As a user, to a server of a region."""
        return await connect(self._urls[region], self._keys[user], name=user, retry_first=True)

    @asynccontextmanager
    async def worker(self, queue: str, region: str) -> AsyncIterator[None]:
        """A queue's worker in a region."""
        model = make_model("parley_research.benchmarks.protocol:make", {"latency_s": 0.0})
        spec = load(queue).model_copy(update={"room": 200})
        async with await self.connect(queue, region) as connection:
            async with Worker(connection, spec=spec, model=model, metrics=Metrics(CollectorRegistry())):
                yield

    async def sessions(self, count: int, client: str, debaters: str) -> Played:
        """So many debates one after another, with a client and the debaters' worker in these regions."""
        opened: list[float] = []
        whole: list[float] = []
        of_debaters: list[float] = []
        of_judge: list[float] = []
        async with self.worker(DEBATERS_QUEUE, debaters), await self.connect(OWNER, client) as connection:
            ends: dict[str, asyncio.Future[None]] = {}

            def hear(msg: Msg) -> None:
                sid, _, kind = subjects.post.parse(msg.subject)
                if kind == "closed" and sid in ends and not ends[sid].done():
                    assert decode(msg.data, Post).kind == kind
                    ends[sid].set_result(None)

            await connection.subscribe(subjects.post.of(channel=CONTROL), hear)
            asks = Client(connection, OWNER)
            async with asyncio.timeout(_PATIENCE_S):
                while True:
                    there = {worker.queue for worker in (await asks.workers()).workers}
                    if there == {DEBATERS_QUEUE, JUDGE_QUEUE}:
                        break
                    await asyncio.sleep(_LOOK_S)
            for number in range(count + 1):
                sid = secrets.token_hex(10)
                ends[sid] = asyncio.get_running_loop().create_future()
                request = OpenSession(question=QUESTION, protocol=NAME, seed=1, turn_timeout_s=_PATIENCE_S)
                started = time.perf_counter()
                async with asyncio.timeout(_PATIENCE_S):
                    await connection.store(subjects.inbox(CLIENT, OWNER, sid), encode(request), msg_id=sid)
                    stored = time.perf_counter()
                    await ends[sid]
                if number == 0:
                    continue  # the first one warms caches and routes
                whole.append(time.perf_counter() - started)
                opened.append(stored - started)
                entries = [decode(text.encode(), Entry) for text in await asks.log(sid)]
                asked = {f"{e.n}-{i}": c for e in entries for i, c in enumerate(e.commands) if isinstance(c, Ask)}
                answered = [e.event.turn for e in entries if hasattr(e.event, "turn") and e.event.turn in asked]
                for turn, overhead in zip(answered, overheads(entries), strict=True):
                    (of_judge if asked[turn].seat == "judge" else of_debaters).append(overhead)
        return Played(
            opened_s=tuple(opened), whole_s=tuple(whole), debater_s=tuple(of_debaters), judge_s=tuple(of_judge)
        )


@asynccontextmanager
async def regions(delay_s: float) -> AsyncIterator[Regions]:
    """Both regions, with a moderator and the judge in the near one."""
    users = table({DEBATERS_QUEUE: "panelist", JUDGE_QUEUE: "analyst"})
    keys = mint(users)
    gates = free_ports(4)
    async with AsyncExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="parley-bench-")))
        ways = await exits.enter_async_context(Delayed(gates, delay_s))

        def gateway(name: str, number: int) -> dict[str, object]:
            there = {NEAR: ways.ports[:3], FAR: ways.ports[3:]}
            known = [
                {"name": region, "urls": [f"nats://{HOST}:{port}" for port in ports]} for region, ports in there.items()
            ]
            own = {"name": name, "listen": f"{HOST}:{gates[number]}", "advertise": f"{HOST}:{ways.ports[number]}"}
            return {"gateway": {**own, "gateways": known}}

        near = EmbeddedCluster(folder / "near", users, publics(keys), each=[{**gateway(NEAR, i)} for i in range(3)])
        far = EmbeddedServer(folder / "far", users, publics(keys), extra={**gateway(FAR, 3), "jetstream": False})
        exits.callback(near.stop)
        exits.callback(far.stop)
        await asyncio.to_thread(near.start)
        await asyncio.to_thread(far.start)
        running = Regions(near.url, far.url, keys)
        connection = await exits.enter_async_context(await running.connect("moderator", NEAR))
        await exits.enter_async_context(
            Moderator(
                connection, metrics=Metrics(CollectorRegistry()), protocols=PROTOCOLS, token_keys=TokenKeys(b"k" * 32)
            )
        )
        await exits.enter_async_context(running.worker(JUDGE_QUEUE, NEAR))
        yield running


async def measure(count: int, delay_s: float) -> dict[str, Played]:
    """The three kinds, a few sessions of each at a time."""
    kinds = {"all near": (NEAR, NEAR), "agent far": (NEAR, FAR), "client far": (FAR, NEAR)}
    by_kind: dict[str, list[Played]] = {kind: [] for kind in kinds}
    async with regions(delay_s) as running:
        for _ in range(_TIMES):
            for kind, (client, debaters) in kinds.items():
                by_kind[kind].append(await running.sessions(count // _TIMES, client, debaters))
    return {
        kind: Played(**{f: tuple(x for p in parts for x in getattr(p, f)) for f in Played.__struct_fields__})
        for kind, parts in by_kind.items()
    }


def lines(figures: dict[str, Played], delay_s: float) -> list[str]:
    """The table: medians, and in brackets how many times the near one."""
    first = figures["all near"]
    columns = {
        "debater_s": "debater's turn ms", "judge_s": "judge's turn ms", "opened_s": "request stored ms",
        "whole_s": "until client hears end",
    }  # fmt: skip
    count = len(first.whole_s)
    printed = [f"{count} debates N3R3 a kind, one at a time, models of 0 ms, {delay_s * 1e3:g} ms each way; medians"]
    printed.append(f"  {'':12}" + "".join(f"{title:>26}" for title in columns.values()))
    for kind, played in figures.items():
        cells = []
        for field in columns:
            mine, near = (statistics.median(getattr(p, field)) for p in (played, first))
            cells.append(f"{mine * 1e3:,.1f} ({mine / near:.2f}, +{(mine - near) * 1e3:,.0f})")
        printed.append(f"  {kind:12}" + "".join(f"{cell:>26}" for cell in cells))
    return printed


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(
        prog="python -m parley_research.benchmarks.regions", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--sessions", type=int, default=40, help="of each kind (default: 40)")
    parser.add_argument("--delay-ms", type=float, default=50.0, help="in each direction (default: 50)")
    given = parser.parse_args()
    figures = asyncio.run(measure(given.sessions, given.delay_ms / 1e3))
    print("\n".join(lines(figures, given.delay_ms / 1e3)))


if __name__ == "__main__":
    main()
