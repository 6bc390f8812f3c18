"""A game day: what alerts tell of is brought about on a real bus, and a real Prometheus with the hurried rules says it.

Each trouble raises its own alert and no other; where it is mended, the alert ends.
"""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from deploy.watching.alerts import BUDGET
from deploy.watching.boards import outcomes
from deploy.watching.rules import groups, hurried, render
from parley.agents.model.base import Completion, Emit, ModelUnavailable
from parley.coordinator.moderator import Moderator
from parley.coordinator.outcomes.known import children
from parley.coordinator.outcomes.service import MetricsService
from parley.coordinator.protocols import PROTOCOLS
from parley.observability.health import HealthServer
from parley.observability.metrics import Metrics
from parley.observability.outcomes import Outcomes
from tests.outcomes.prometheus import MISSING, PROMETHEUS, query, start
from tests.outcomes.test_bus_state import free_port
from tests.support.engine import Engine, engine, until
from tests.support.model import StubModel

TIMES = 30.0
"""Rules wait so many times shorter: two minutes are four seconds."""
TENANT, BUDGET_USD = "acme", 1.0

pytestmark = [
    pytest.mark.slow,
    pytest.mark.serial,
    pytest.mark.alone,
    pytest.mark.timeout(300),
    pytest.mark.skipif(PROMETHEUS is None, reason=MISSING),
]


class Failing(StubModel):
    """Its endpoint is down, as long as it is told so."""

    name = "failing"
    down = True

    async def reply(self, shown: Any, emit: Emit) -> Completion:
        """Nothing, or as the stub."""
        if self.down:
            raise ModelUnavailable("the server says 500")
        return await super().reply(shown, emit)


class Dear(StubModel):
    """A fifth of a dollar a turn, as its endpoint's prices say."""

    name = "dear"

    async def reply(self, shown: Any, emit: Emit) -> Completion:
        """As the stub, and what it cost."""
        done = await super().reply(shown, emit)
        return msgspec.structs.replace(done, usage=msgspec.structs.replace(done.usage, cost_usd=0.2))


class Day:
    """A stack that Prometheus scrapes."""

    def __init__(self, bus: Engine, base: str) -> None:
        self.bus = bus
        self._base = base
        self.opened = 0

    async def firing(self) -> set[str]:
        """Names of the alerts that are on; about the objectives' own budgets nothing is asked here."""
        found = await asyncio.to_thread(query, self._base, 'ALERTS{alertstate="firing"}')
        return {f["metric"]["alertname"] for f in found if f["metric"]["depth"] != str(BUDGET)}

    async def wait(self, *alerts: str, within_s: float = 60.0) -> None:
        """Until these are on, and no other."""

        async def so() -> bool:
            return await self.firing() == set(alerts)

        try:
            await until(so, within_s)
        except AssertionError:
            raise AssertionError(f"{await self.firing()} are on, wanted are {set(alerts)}") from None

    async def ask(self, count: int = 1, **settings: Any) -> list[str]:
        """Open so many sessions; their ids."""
        sids = []
        for _ in range(count):
            sids.append(f"s{self.opened}")
            self.opened += 1
            assert (await self.bus.open(sids[-1], turn_timeout_s=600.0, **settings)).fate == "taken"
        return sids


@asynccontextmanager
async def worker_apart(bus: Engine, folder: Path, queue: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker in a process of its own, as it is shipped."""
    bus.credentials[queue].save(folder / f"{queue}.json")
    words = ["agent", queue, "--room", "4", "--nats", bus.server.url, "--creds", str(folder / f"{queue}.json")]
    with (folder / "apart.log").open("wb") as log:
        child = await asyncio.create_subprocess_exec(sys.executable, "-m", "parley", *words, stdout=log, stderr=log)

    async def here() -> bool:
        return "serving" in (folder / "apart.log").read_text()

    try:
        await until(here, 30.0)
        yield child
    finally:
        with suppress(ProcessLookupError):  # it was killed
            child.terminate()
        await child.wait()


@asynccontextmanager
async def watched(folder: Path, bus: Engine, own: Sequence[Metrics]) -> AsyncIterator[Day]:
    """The service that counts, and Prometheus, which scrapes it and these."""
    async with AsyncExitStack() as held:
        counted = Outcomes(CollectorRegistry(), children(PROTOCOLS), tenant=TENANT, budget_usd=BUDGET_USD)
        service = MetricsService(
            await bus.connect("metrics"), outcomes=counted, protocols=dict(PROTOCOLS), tenant=TENANT
        )
        await held.enter_async_context(service)
        for metrics in own:
            metrics.bus_connected.set(1)  # as a service does that watches its connection (parley.stack.services)
        registries = [counted.registry, *(metrics.registry for metrics in own)]
        servers = [await held.enter_async_context(HealthServer(r, lambda: None)) for r in registries]
        port = free_port()
        targets = [s.url.removeprefix("http://") for s in servers]
        child = start(folder, port, targets, hurried(render(groups(outcomes())), TIMES))

        async def end() -> None:
            child.terminate()
            await asyncio.to_thread(child.wait, 20)

        held.push_async_callback(end)
        yield Day(bus, f"http://127.0.0.1:{port}")


@asynccontextmanager
async def day(
    folder: Path, models: dict[str, Any], apart: str = ""
) -> AsyncIterator[tuple[Day, "asyncio.subprocess.Process | None"]]:
    """A panel that is watched, and nothing is wrong with it; the process of the worker `apart`."""
    async with AsyncExitStack() as held:
        bus = await held.enter_async_context(engine(folder))
        moderator: Moderator = await bus.moderator()
        workers = [await bus.worker(q, model=models.get(q), drain_s=0.1) for q in bus.queues if q != apart]
        process = await held.enter_async_context(worker_apart(bus, folder, apart)) if apart else None
        own = [moderator._metrics, *(w._link._metrics for w in workers)]
        found = await held.enter_async_context(watched(folder, bus, own))
        await found.ask()
        await bus.closed("s0", 30.0)
        await found.wait()
        yield found, process


async def test_a_frozen_specialist_and_its_full_queue_are_told_of(tmp_path: Path) -> None:
    async with day(tmp_path, {}, apart="panelist_1") as (found, frozen):
        assert frozen is not None
        frozen.send_signal(signal.SIGSTOP)
        try:
            await found.ask(205)
            await found.wait("ParleyQueueWithoutWorker", "ParleyQueueFull", within_s=90.0)
        finally:
            frozen.send_signal(signal.SIGCONT)
        await found.wait(within_s=90.0)


async def test_an_endpoint_that_fails_is_told_of_until_it_is_mended(tmp_path: Path) -> None:
    model = Failing({})
    model.down = False
    async with day(tmp_path, {"panelist_2": model}) as (found, _):
        model.down = True
        stopped = False

        async def load() -> None:
            while not stopped:
                for sid in await found.ask():
                    await found.bus.closed(sid, 60.0)

        loading = asyncio.create_task(load())
        try:
            await found.wait("ParleyEndpointFailing")
            model.down = False
            await found.wait()
        finally:
            stopped = True
            await loading


async def test_money_that_runs_out_is_told_of(tmp_path: Path) -> None:
    dear = Dear({"metered": True, "usd_in": 100.0, "usd_out": 100.0, "tokens": 1_000})
    async with day(tmp_path, {"panelist_3": dear}) as (found, _):
        for sid in await found.ask(3):
            await found.bus.closed(sid, 30.0)
        await found.wait("ParleySpendNearBudget")
