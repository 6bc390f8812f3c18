"""Twelve faults on a deployment that is watched as shipped: each is told once, within two minutes, by its cause."""

import asyncio
import os
import re
import secrets
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from parley.bus import subjects
from parley.bus.log import Log
from parley.schemas.session import OpenSession
from parley.schemas.wire import encode
from tests.outcomes.prometheus import PROMETHEUS
from tests.outcomes.staged import ALERTMANAGER, MODERATORS, Deployment, repeated
from tests.protocols.madp.play import SRE, Play, blocked
from tests.support.engine import until
from tests.support.small_disk import SmallDisk, small_disk

WITHIN_S = 120.0

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        PROMETHEUS is None or ALERTMANAGER is None,
        reason="NOT CHECKED: prometheus and alertmanager are not installed (.ci/nightly installs them)",
    ),
]

Stage = Callable[[Deployment, AsyncExitStack, SmallDisk], Awaitable[None]]


async def _open(there: Deployment) -> Callable[[], Awaitable[None]]:
    client = await there.connect("client")

    async def open_one() -> None:
        request = OpenSession(question="What is the check phrase?", protocol="single", expires_s=30.0)
        await client.store(subjects.inbox("client", "client", secrets.token_hex(8)), encode(request))

    return open_one


def _signals(number: signal.Signals, *names: str) -> Stage:
    async def stage(there: Deployment, stack: AsyncExitStack, disk: SmallDisk) -> None:
        there.signal(number, *names)

    return stage


async def _disk(there: Deployment, stack: AsyncExitStack, disk: SmallDisk) -> None:
    await stack.enter_async_context(repeated(await _open(there), 3.0))
    disk.fill()


async def _nats(there: Deployment, stack: AsyncExitStack, disk: SmallDisk) -> None:
    os.kill(there.server.pid, signal.SIGSTOP)


async def _key(there: Deployment, stack: AsyncExitStack, disk: SmallDisk) -> None:
    """A worker that is restarted with another queue's key ends at once."""
    there.signal(signal.SIGTERM, "analyst")
    there.processes["analyst"].wait(30)
    there.start("analyst", "agent", "analyst", key="helper")
    assert there.processes["analyst"].wait(60) == 2


async def _endpoint(there: Deployment, stack: AsyncExitStack, disk: SmallDisk) -> None:
    await stack.enter_async_context(repeated(await _open(there), 3.0))
    there.endpoint.broken = True


async def _poison(there: Deployment, stack: AsyncExitStack, disk: SmallDisk) -> None:
    client = await there.connect("client")
    for _ in range(500):
        await client.store(subjects.inbox("client", "client", secrets.token_hex(8)), b"\x00 nothing of ours")


async def _damaged(there: Deployment, stack: AsyncExitStack, disk: SmallDisk) -> None:
    await (await _open(there))()
    moderator = await there.connect("moderator-1")

    async def over() -> bool:
        rows = await moderator.api("STREAM.INFO.INDEX", {"subjects_filter": subjects.index.of(owner="client")})
        return any(".over." in subject for subject in rows["state"].get("subjects") or {})

    await until(over, 30.0)
    rows = await moderator.api("STREAM.INFO.INDEX", {"subjects_filter": subjects.index.of(owner="client")})
    (subject,) = rows["state"]["subjects"]
    await Log(moderator).erase(subjects.unescape(subject.rpartition(".")[2]))


async def _stuck(there: Deployment, stack: AsyncExitStack, disk: SmallDisk) -> None:
    """A task as it was played, as if it were played now. Its log is put where moderators put logs."""
    play = Play({"item_s": 300.0}).working()
    play.reply(SRE, blocked())
    log, last, later_ns = Log(await there.connect("moderator-1")), 0, time.time_ns() - play.now_ns
    for n, entry in enumerate(play.entries):
        data = re.sub(rb"\b17\d{17}\b", lambda at: b"%d" % (int(at[0]) + later_ns), encode(entry))
        last = await log.append("stuck", subjects.STEP if n else subjects.OPENED, data, last)


async def _runaway(there: Deployment, stack: AsyncExitStack, disk: SmallDisk) -> None:
    there.endpoint.seconds = 5.0
    open_one = await _open(there)
    for _ in range(20):
        await asyncio.gather(*(open_one() for _ in range(100)))


NO_WORKER = "ParleyQueueWithoutWorker: No worker of the queue"
FAULTS: dict[str, tuple[Stage, str]] = {
    "analyst dead": (_signals(signal.SIGKILL, "analyst"), f"{NO_WORKER} analyst"),
    "helper frozen": (_signals(signal.SIGSTOP, "helper"), f"{NO_WORKER} helper"),
    "helper dead": (_signals(signal.SIGKILL, "helper"), f"{NO_WORKER} helper"),
    "moderators dead": (_signals(signal.SIGKILL, *MODERATORS), "ParleyModeratorsGone: No moderator is there"),
    "disk full": (_disk, "ParleyBusStoresNothing: The bus does not store"),
    "nats frozen": (_nats, "ParleyNatsDown: The monitor of nats-server"),
    "wrong key": (_key, f"{NO_WORKER} analyst"),
    "endpoint at 500": (_endpoint, "ParleyEndpointFailing: "),
    "poison": (_poison, "ParleyPoison: "),
    "damaged log": (_damaged, "ParleyLogsDamaged: The logs of 1 sessions"),
    "stuck question": (_stuck, "ParleyItemsWait: A question waits for a person"),
    "runaway client": (_runaway, "ParleyClientRunsAway: client has opened"),
}
"""Each fault, and how its one notification begins."""


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_is_told_once_within_two_minutes_by_its_cause(name: str, tmp_path: Path) -> None:
    stage, told = FAULTS[name]
    (tmp_path / "there").mkdir()
    with small_disk(tmp_path / "small", 400) as disk:
        async with AsyncExitStack() as stack:
            there = await stack.enter_async_context(Deployment(tmp_path / "there", disk.path / "bus"))
            await stage(there, stack, disk)
            heard = await there.told_within(WITHIN_S)
            assert len(heard) == 1 and heard[0].startswith(told), heard
