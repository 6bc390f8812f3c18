"""A worker whose connection ends: its turns go back to their queue at once, and nobody else's do."""

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

from prometheus_client import generate_latest

from parley.agents.worker import Worker
from parley.bus.errors import BusError
from parley.coordinator.moderator import Moderator
from tests.support.engine import Engine, engine, until

SILENCE_S = 30.0
"""What the server would wait for."""


async def busy(workers: Iterable[Worker], many: int) -> None:
    """Wait until so many of them have a turn in hand."""

    async def look() -> bool:
        return sum(bool(worker._jobs) for worker in workers) == many

    await until(look)


def handed_back(*moderators: Moderator) -> float:
    return sum(moderator._metrics.turns_handed_back.labels().value for moderator in moderators)


async def test_what_a_dead_worker_had_goes_to_a_new_one_in_seconds(tmp_path: Path) -> None:
    async with engine(tmp_path, ack_wait_s=SILENCE_S) as bare:
        moderators = await bare.moderator(), await bare.moderator()
        dead = await bare.workers({"latency_s": 60}, drain_s=0.1)
        await bare.open("s1")
        await busy(dead, 3)
        ended_at = time.monotonic()
        for worker in dead:
            await worker._connection.close()
        await bare.workers()
        await bare.closed("s1")
        assert time.monotonic() - ended_at < 4.0
        assert handed_back(*moderators) == 3, "each once, by one of the moderators"


async def test_what_a_living_copy_has_stays_in_its_hand(tmp_path: Path) -> None:
    async with engine(tmp_path, ack_wait_s=SILENCE_S) as bare:
        moderators = await bare.moderator(), await bare.moderator()
        for queue in ("panelist_2", "panelist_3", "analyst"):
            await bare.worker(queue)
        copies = [await bare.worker("panelist_1", {"latency_s": 60}, room=1, drain_s=0.1) for _ in range(2)]
        for sid in ("s1", "s2"):
            await bare.open(sid)
        await busy(copies, 2)
        dead, living = copies
        had = next(iter(living._jobs.values())).delivery
        where = had.ack_subject
        (lost,) = dead._of_session
        await dead._connection.close()
        await bare.worker("panelist_1")
        await bare.closed(lost)
        assert (handed_back(*moderators), had.ack_subject) == (1, where)


async def test_what_was_on_its_way_when_the_server_ended_goes_back(tmp_path: Path) -> None:
    """The worker's process goes on, and has not seen the turn."""
    async with engine(tmp_path, ack_wait_s=SILENCE_S) as bare:
        moderators = await bare.moderator(), await bare.moderator()
        workers = await bare.workers({"latency_s": 0.2})
        for worker in workers:
            worker._pull._on_message = lambda delivery: None  # it never arrived
        await bare.open("s1")

        async def out() -> bool:
            return all(worker._pull.in_hand for worker in workers if worker._spec.queue != "analyst")

        await until(out)
        for worker in workers:
            worker._pull._on_message = worker._on_work
        bare.server.kill()
        bare.server.restart()
        await until(lambda: closed(bare, "s1"), 6.0)
        assert handed_back(*moderators) == 3
        assert b"parley_turns_handed_back_total" in generate_latest(moderators[0]._metrics.registry)


async def closed(bare: Engine, sid: str) -> bool:
    with contextlib.suppress(BusError):  # the connection breaks with the server, and moderators come back after it
        return any(p.kind == "closed" for p in await bare.posts(sid, "control"))
    return False
