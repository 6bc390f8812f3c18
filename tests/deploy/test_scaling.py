"""What a scaler reads and does: the lag of a queue in nats-server's own figures, and copies that are taken away."""

import asyncio
import json
import os
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
from parley_research.embedded_cluster import free_ports
from tests.support.engine import Engine, engine, until
from tests.support.model import read_journal

ROOT = Path(__file__).parents[2]
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

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (port,) = free_ports(1)
        where = f"127.0.0.1:{port}"
        self.server = EmbeddedServer(folder, self.users, publics(self.credentials), extra={"http": where})
        self.monitor = f"http://{where}"


async def test_the_lag_of_a_busy_queue_is_more_than_its_copies_take(tmp_path: Path) -> None:
    """So a scaler adds copies for as long as turns wait, though most of them wait at the moderators."""
    async with Monitored(tmp_path) as stack:
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

    await until(there, 20.0)


async def lags(stack: Monitored, wanted: int) -> None:
    async def there() -> bool:
        return lag(await jsz(stack.monitor), "panelist_1") == wanted

    await until(there)


async def test_a_service_goes_on_with_its_turn_for_as_long_as_it_is_told(tmp_path: Path) -> None:
    """`parley agent --drain`: SIGTERM ends one whose turn takes longer than that, and the turn goes to another copy."""
    journal = tmp_path / "journal"
    spec = {"queue": "panelist_1", "roles": ["panelist"], "model": "tests.support.model:make", "room": ROOM}
    (tmp_path / "slow.yaml").write_text(json.dumps({**spec, "options": {"latency_s": 60, "journal": str(journal)}}))
    async with engine(tmp_path / "bus") as stack:
        await stack.moderator()
        for queue in set(stack.queues) - {"panelist_1"}:
            await stack.worker(queue)
        stack.credentials["panelist_1"].save(tmp_path / "panelist_1.json")
        command = [sys.executable, "-m", "parley", "agent", "slow.yaml", "--nats", stack.server.url, "--drain", "0.2"]
        process = await asyncio.create_subprocess_exec(
            *command, "--creds", "panelist_1.json", cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        try:
            await heard_of(stack, ROOM)
            assert (await stack.open("s", turn_timeout_s=60)).fate == "taken"
            await until(lambda: read_journal(journal))
            process.terminate()
            await asyncio.wait_for(process.wait(), 12)  # without the option it would go on for 20 s
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        await stack.worker("panelist_1")
        result = decode((await stack.closed("s", 30.0)).body, Result)
        assert result.status == "finished" and result.usage.turns == 10
