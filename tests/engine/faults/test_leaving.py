"""Somebody leaves and does not come back: its turns go to others, its round ends soon, its role is done without."""

import asyncio
import contextlib
import dataclasses
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from parley.agents.worker import Worker
from parley.bus.errors import BusError
from parley.coordinator.machine import Protocol
from parley.coordinator.moderator import Moderator
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.coordinator.signals.grace import Grace
from parley.schemas import log
from parley.schemas.result import Result
from parley.schemas.wire import decode
from tests.llm.server import fails, goes_silent, model_server
from tests.llm.support import model
from tests.support.engine import Engine, counted, engine, until

SILENCE_S = 30.0
"""What the server would wait for."""


async def busy(workers: Iterable[Worker], many: int) -> None:
    """Wait until so many of them have a turn in hand."""
    await until(lambda: sum(bool(worker._jobs) for worker in workers) == many)


def handed_back(*moderators: Moderator) -> float:
    return sum(counted(moderator._metrics.turns_handed_back) for moderator in moderators)


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
        await until(lambda: all(worker._pull.in_hand for worker in workers if worker._spec.queue != "analyst"))
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


SHORT = Grace(least_s=1.0, unknown_s=1.5, silent_s=1.0, gone_s=1.0)
SOON: Mapping[str, Protocol] = {
    **PROTOCOLS, "consensus": dataclasses.replace(PROTOCOLS["consensus"], grace=SHORT)
}  # fmt: skip
OTHERS = ("panelist_1", "panelist_2", "analyst")
LOST = "panelist_3"
STEPS = {
    "429": (fails(429, "slow down"), "HTTP 429, slow down"),
    "500": (fails(500, "overloaded"), "HTTP 500, overloaded"),
    "never": (goes_silent(), ""),
}


async def graced(engine: Engine, timeout_s: float = 40.0) -> tuple[Result, list[log.Entry]]:
    """The result, and the log of it, which leads to the same again."""
    result = decode((await engine.closed("s1", timeout_s)).body, Result)
    stored = [entry.encode() for entry in await engine.log("s1")]
    return result, list(replay(SOON.get, "s1", stored).entries)


def why(result: Result) -> str:
    """Why the seat is missing in the first round."""
    return str(result.rounds[0]["why_missing"][LOST])


@pytest.mark.parametrize("fault", STEPS)
async def test_a_member_whose_endpoint_fails_is_not_waited_for(fault: str, bare: Engine) -> None:
    step, words = STEPS[fault]
    missing = rf"failing for \d+ s: {words}" if words else r"no reply for \d+ s"
    async with model_server(step, look=fails(404)) as server, model(server.url) as made:
        await bare.worker(LOST, model=made)
        await bare.moderator(SOON)  # it calls all who are there
        for queue in OTHERS:
            await bare.worker(queue, {"agree_from": 1})
        began = time.monotonic()
        await bare.open("s1", turn_timeout_s=120.0)
        result, entries = await graced(bare)
    assert time.monotonic() - began < 60, "its deadline is 120 s"
    assert result.stop.reason == "threshold" and re.fullmatch(missing, why(result))
    told = [e.event for e in entries if isinstance(e.event, log.Retrying)]
    assert [t.why for t in told] == [words] * (fault != "never")


async def test_a_reply_that_came_while_no_moderator_served_is_in_time(bare: Engine, tmp_path: Path) -> None:
    """The moderator goes before the grace ends, and one that comes long after that hears the reply first."""
    first = await bare.moderator(SOON)
    for queue in OTHERS:
        await bare.worker(queue, {"agree_from": 1})
    await bare.worker(LOST, {"agree_from": 1, "latency_s": 1.5})
    await bare.open("s1", turn_timeout_s=120.0)

    async def waits() -> bool:
        return sum(isinstance(e.event, log.Replied) for e in await bare.entries("s1")) == 2

    await until(waits)
    await first.__aexit__(None, None, None)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 2.5)  # its reply and the end of its grace pass meanwhile
    await bare.moderator(SOON)
    result, _ = await graced(bare)
    assert result.rounds[0]["missing"] == [] and LOST in result.rounds[0]["positions"]
