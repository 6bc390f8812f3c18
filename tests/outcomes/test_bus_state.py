"""What the bus says of itself, from a real nats-server and its monitor."""

import socket
from pathlib import Path

from prometheus_client import CollectorRegistry

from parley.bus import streams, subjects
from parley.coordinator.outcomes.bus_state import Ages, BusState
from parley.observability.outcomes import Outcomes
from parley.schemas.result import Totals
from tests.outcomes.played import values
from tests.security.support import Target
from tests.support.engine import Engine

SERVER = ("nats_up", "nats_connections", "nats_slow_consumers", "nats_memory_bytes", "nats_cpu_percent")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def numbers(found: Outcomes, name: str) -> dict[str, float]:
    """By the value of the only label, those that are 0 too."""
    samples = (s for f in found.registry.collect() for s in f.samples if s.name == f"parley_{name}")
    return {"".join(s.labels.values()): s.value for s in samples}


async def test_queues_streams_and_the_store_are_looked_at(stack: Engine) -> None:
    await streams.ensure_queue(await stack.connect("moderator"), "expert_of.all = things")
    waiting = subjects.work("expert_of.all = things", "s1", "1")
    await (await stack.connect("moderator")).store(waiting, b"{}")
    found = Outcomes(CollectorRegistry())
    await BusState(await stack.connect("metrics"), found).look()
    queues = {*stack.queues, "expert_of.all = things"}
    for series in ("queue_pending", "queue_unacknowledged", "queue_redelivered", "queue_oldest_seconds"):
        assert numbers(found, series).keys() == queues
    assert values(found, "queue_pending") == {("expert_of.all = things",): 1}
    assert numbers(found, "stream_messages").keys() == set(streams.STREAMS)
    assert numbers(found, "stream_limit_bytes")["IN"] > 0 == numbers(found, "stream_limit_bytes")["LOG"]
    assert numbers(found, "store_used_bytes")[""] > 0
    assert not [s for s in SERVER if numbers(found, s)], "no monitor was named"
    await stack.open("s1", settings={"panel": 3})
    await stack.closed("s1")
    found.show(Totals(), 0)
    await BusState(await stack.connect("metrics"), found).look()
    assert values(found, "outcomes_lag")[()] == values(found, "stream_messages")[("LOG",)] > 0, "nobody counts"


async def test_what_is_gone_is_not_shown_any_more(stack: Engine) -> None:
    found = Outcomes(CollectorRegistry())
    moderator = await stack.connect("moderator")
    state = BusState(await stack.connect("metrics"), found)
    await state.look()
    await moderator.api(f"CONSUMER.DELETE.WORK.{subjects.consumer('analyst')}", {})
    await state.look()
    assert "analyst" not in numbers(found, "queue_pending")


async def test_the_monitor_says_how_the_server_is(tmp_path: Path) -> None:
    port = free_port()
    async with Target(tmp_path, lambda config: config.update(http=f"127.0.0.1:{port}")) as bare:
        await bare.moderator()
        found = Outcomes(CollectorRegistry())
        state = BusState(await bare.connect("metrics"), found, f"http://127.0.0.1:{port}/")
        await state.look()
        assert numbers(found, "nats_up") == {"": 1}
        assert numbers(found, "nats_connections")[""] >= 3
        assert numbers(found, "nats_memory_bytes")[""] > 0
        assert numbers(found, "store_limit_bytes")[""] > 0
        assert all(numbers(found, s) for s in SERVER)
        bare.server.stop()
        await state.look()
        assert numbers(found, "nats_up") == {"": 0}
        assert not numbers(found, "nats_connections")


def test_the_oldest_turn_is_as_old_as_it_was_seen_to_be() -> None:
    ages = Ages()

    def look(now: float, waiting: int, settled_seq: int, last_seq: int) -> float:
        return ages.look("q", waiting=waiting, settled_seq=settled_seq, last_seq=last_seq, now=now)

    assert look(0, waiting=3, settled_seq=0, last_seq=10) == 0, "how long they are there was not seen"
    assert look(10, waiting=3, settled_seq=0, last_seq=10) == 10
    assert look(20, waiting=4, settled_seq=0, last_seq=12) == 20
    assert look(30, waiting=1, settled_seq=10, last_seq=12) == 20, "what lies behind 10 came after the second look"
    assert look(40, waiting=0, settled_seq=12, last_seq=12) == 0
    assert look(50, waiting=1, settled_seq=12, last_seq=13) == 10, "it came after the look that found none"
    ages_seen = [look(60 + n, waiting=1, settled_seq=12, last_seq=13 + n) for n in range(2_000)]
    assert ages_seen[-1] == 60 + 1_999 - 40
    ages.keep(set())
    assert look(9_999, waiting=1, settled_seq=12, last_seq=13) == 0
