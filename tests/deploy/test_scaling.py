"""What a scaler reads and does: the lag of a queue in nats-server's own figures, and copies that are taken away."""

import asyncio
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from parley.bus import subjects
from parley.bus.accounts import publics
from parley.bus.embedded import EmbeddedServer
from parley.schemas.presence import AskWorkers, Workers
from parley.schemas.result import Result
from parley.schemas.wire import decode, encode
from tests.support.engine import Engine, engine, until
from tests.support.model import read_journal

ROOT = Path(__file__).parents[2]
COPIES = 3
SESSIONS = 12
ROOM = 2


async def jsz(url: str) -> Any:
    """nats-server's figures of streams and consumers, as a scaler asks for them."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def read() -> Any:
        with opener.open(f"{url}/jsz?acc=CORE&consumers=true&config=true", timeout=5) as answer:
            return json.load(answer)

    return await asyncio.to_thread(read)


def consumer(figures: Any, queue: str) -> Any:
    """One queue's consumer; None where there is none."""
    for account in figures["account_details"]:
        for stream in account.get("stream_detail") or ():
            if stream["name"] == "WORK":
                return next((c for c in stream.get("consumer_detail") or () if c["name"] == queue), None)
    return None


def lag(figures: Any, queue: str) -> int:
    """As KEDA's scaler of JetStream computes it: what waits, and what was taken and is not acknowledged."""
    found = consumer(figures, queue)
    return int(found["num_pending"]) + int(found["num_ack_pending"])


class Monitored(Engine):
    """An engine whose server shows its figures."""

    def __init__(self, folder: Path, monitor: int) -> None:
        super().__init__(folder)
        self.server = EmbeddedServer(
            folder, self.users, publics(self.credentials), extra={"http": f"127.0.0.1:{monitor}"}
        )
        self.monitor = f"http://127.0.0.1:{monitor}"


def free_port() -> int:
    import socket

    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


async def test_a_named_queue_has_a_consumer_before_a_worker_comes(tmp_path: Path) -> None:
    async with Monitored(tmp_path, free_port()) as stack:
        await stack.moderator(queues=["analyst"])
        figures = await jsz(stack.monitor)
        assert lag(figures, "analyst") == 0
        assert consumer(figures, "panelist_1") is None, "nobody named it"


async def test_the_lag_of_a_busy_queue_is_more_than_its_copies_take(tmp_path: Path) -> None:
    """So a scaler adds copies for as long as turns wait, though most of them wait at the moderators."""
    async with Monitored(tmp_path, free_port()) as stack:
        await stack.moderator(turns_per_message=1)
        gate = {"latency_s": 60.0}
        for queue in stack.queues:
            await stack.worker(queue, gate if queue == "panelist_1" else None, room=ROOM, drain_s=0.1)
        await heard_of(stack, ROOM)
        for n in range(SESSIONS):
            assert (await stack.open(f"s{n}")).fate == "taken"
        await lags(stack, 2 * ROOM)
        served = consumer(await jsz(stack.monitor), "panelist_1")["num_ack_pending"]
        assert served <= ROOM, "no more than its room is taken"
        await stack.worker("panelist_1", gate, room=ROOM, drain_s=0.1)
        await lags(stack, 4 * ROOM)


async def heard_of(stack: Engine, room: int) -> None:
    async def there() -> bool:
        ask = await stack.owner.request(subjects.own("workers", "owner", ""), encode(AskWorkers()), 5.0)
        return sum(w.room for w in decode(ask.data, Workers).workers if w.queue == "panelist_1") == room

    await until(there)


async def lags(stack: Monitored, wanted: int) -> None:
    async def there() -> bool:
        return lag(await jsz(stack.monitor), "panelist_1") == wanted

    await until(there)


async def test_copies_that_are_taken_away_finish_or_give_back(tmp_path: Path) -> None:
    """A scaler ends copies at will: no session fails, and none waits for a deadline."""
    async with engine(tmp_path) as stack:
        await stack.moderator()
        await stack.workers({"latency_s": 0.05})
        copies = [await stack.worker("panelist_2", {"latency_s": 0.05}, drain_s=0.02) for _ in range(COPIES)]
        for n in range(SESSIONS):
            assert (await stack.open(f"s{n}", turn_timeout_s=60)).fate == "taken"
        for copy in copies:
            await copy.__aexit__()  # as at SIGTERM: it takes no more, and hands back what it cannot finish
        for n in range(SESSIONS):
            result = decode((await stack.closed(f"s{n}", 30.0)).body, Result)
            assert result.status == "finished" and result.stop.reason == "threshold"
            assert result.usage.turns == 10, "no turn was missed"


def _agent(folder: Path, url: str, *options: str) -> "subprocess.Popen[bytes]":
    """`parley agent slow.yaml` as a process of its own."""
    command = [sys.executable, "-m", "parley", "agent", "slow.yaml", "--nats", url, "--creds", "panelist_1.json"]
    return subprocess.Popen(
        [*command, *options], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL
    )


async def test_a_service_goes_on_with_its_turn_for_as_long_as_it_is_told(tmp_path: Path) -> None:
    """`parley agent --drain`: SIGTERM ends one whose turn takes longer than that, and the turn goes to another copy."""
    journal = tmp_path / "journal"
    spec = {"queue": "panelist_1", "roles": ["panelist"], "model": "tests.support.model:make"}
    (tmp_path / "slow.yaml").write_text(json.dumps({**spec, "options": {"latency_s": 60, "journal": str(journal)}}))
    async with engine(tmp_path / "bus") as stack:
        await stack.moderator()
        for queue in set(stack.queues) - {"panelist_1"}:
            await stack.worker(queue)
        stack.credentials["panelist_1"].save(tmp_path / "panelist_1.json")
        process = _agent(tmp_path, stack.server.url, "--drain", "0.2")
        try:

            async def heard() -> bool:
                workers = await stack.ask("parley.own.workers.owner.=", AskWorkers(), Workers)
                return {w.queue for w in workers.workers} >= set(stack.queues)

            await until(heard, 20.0)
            assert (await stack.open("s", turn_timeout_s=60)).fate == "taken"

            async def begun() -> bool:
                return bool(read_journal(journal))

            await until(begun)
            process.terminate()
            await asyncio.to_thread(process.wait, 12)  # without the option it would go on for 20 s
        finally:
            process.kill()
            process.wait()
        await stack.worker("panelist_1")
        result = decode((await stack.closed("s", 30.0)).body, Result)
        assert result.status == "finished" and result.usage.turns == 10
