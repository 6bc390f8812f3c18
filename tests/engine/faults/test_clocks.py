"""Machines whose clocks are ten minutes apart: nothing is refused, and nothing stalls."""

import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from parley.bus.clock import Clock
from parley.bus.connection import connect
from parley.client.client import Client
from parley.client.errors import Refusal
from parley.schemas.session import OpenSession
from tests.support.engine import Engine, counted

SKEW_NS = 600 * 10**9


class Apart(Engine):
    """An engine whose users are on machines with clocks of their own; `off_ns`: user -> ns ahead."""

    def __init__(self, folder: Path, off_ns: Mapping[str, int]) -> None:
        super().__init__(folder)
        self.off_ns = dict(off_ns)

    def clock_of(self, user: str) -> Clock:
        off_ns = self.off_ns.get(user, 0)
        return Clock(lambda: time.time_ns() + off_ns)

    async def client(self) -> Client:
        connection = await connect(
            self.server.url, self.credentials["alice"], name="alice", clock=self.clock_of("alice")
        )
        self._stack.push_async_callback(connection.close)
        return Client(connection, "alice", patience_s=10.0)


@pytest.mark.parametrize("ahead", [1, -1], ids=["ahead", "behind"])
@pytest.mark.parametrize(
    "who", [("moderator",), ("panelist_1", "panelist_2", "panelist_3", "analyst"), ("panelist_2",)], ids="-".join
)
async def test_a_session_runs_on_machines_whose_clocks_are_apart(
    who: tuple[str, ...], ahead: int, tmp_path: Path
) -> None:
    async with Apart(tmp_path, dict.fromkeys(who, ahead * SKEW_NS)) as bare:
        moderator = await bare.moderator()
        workers = await bare.workers()
        began = time.time_ns()
        await (await bare.client()).open(OpenSession(question="?", protocol="consensus"), "s1")
        closed = await bare.closed("s1")
        entries = await bare.entries("s1")
        assert all(began <= entry.at_ns + 10**9 and entry.at_ns <= time.time_ns() + 10**9 for entry in entries)
        assert b'"reason":"threshold"' in bytes(closed.body).replace(b" ", b"")
        assert moderator._connection.clock.sure
        for worker in workers:
            off_ns = bare.off_ns.get(worker._spec.queue, 0)
            assert abs(worker._connection.clock.ahead_ns + off_ns) < 10**9


@pytest.mark.parametrize("ahead", [1, -1], ids=["ahead", "behind"])
async def test_a_client_whose_clock_is_off_is_not_late(ahead: int, tmp_path: Path) -> None:
    async with Apart(tmp_path, {"alice": ahead * SKEW_NS}) as bare:
        await bare.moderator()
        await bare.workers()
        client = await bare.client()
        request = OpenSession(question="?", protocol="consensus")
        await client.open(msgspec.structs.replace(request, expires_s=10.0), "s1")
        with pytest.raises(Refusal, match="the asker has given up"):
            await client.open(msgspec.structs.replace(request, expires_s=-0.1), "s2")


async def test_a_deadline_passes_by_the_servers_clock(tmp_path: Path) -> None:
    """A moderator that is ahead misses no turn early, one that is behind none late."""
    for ahead in (1, -1):
        async with Apart(tmp_path / str(ahead), {"moderator": ahead * SKEW_NS}) as bare:
            await bare.moderator()
            await bare.workers({"latency_s": 30.0})
            began = time.monotonic()
            await bare.play("s1", turn_timeout_s=1.0)
            assert 1.0 <= time.monotonic() - began < 10.0


def test_a_clock_moves_no_further_than_answers_ask() -> None:
    local = [1_000]
    clock = Clock(lambda: local[0])
    clock.answered(1_005, 990)  # it was read between 990 and 1,000 here: at least 5 ahead, at most 15
    assert (clock.ahead_ns, clock.now_ns(), clock.sure) == (5, 1_005, True)
    local[0] = 9_000
    clock.answered(2_000, 1_100)  # frozen before it came: between -7,000 and 900
    assert clock.ahead_ns == 5
    clock.answered(8_000, 8_900)
    assert clock.ahead_ns == -900
    clock.stored(9_050)
    assert clock.now_ns() == 9_050 and clock.to_local(9_050) == 9_000
    clock.answered(0, 0)
    assert clock.now_ns() == 9_050


async def test_a_worker_asks_before_its_first_turn_what_time_it_is(tmp_path: Path) -> None:
    """One that is behind has heard no time but that at which the turn was stored: by that the turn is young, and was
    decided after the worker came, however long it waited."""
    async with Apart(tmp_path, {"analyst": -SKEW_NS}) as bare:
        moderator = await bare.moderator()
        workers = await bare.workers()
        assert not any(worker._connection.clock.sure for worker in workers)
        await bare.play("s1")
        assert all(worker._connection.clock.sure for worker in workers)
        assert counted(moderator._metrics.checks.labels(open="yes")) == len(workers), (
            "each asked once, before its first"
        )
