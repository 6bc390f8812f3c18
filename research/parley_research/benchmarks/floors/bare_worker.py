"""The answering half of the bare durable loop: a process with plain nats-py.

python -m parley_research.benchmarks.floors.bare_worker URL CREDENTIALS LATENCY_S
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from nats.aio.client import Client
from nats.aio.msg import Msg

from parley.bus import subjects
from parley.bus.accounts import load_credentials
from parley.bus.channels import PUBLIC
from parley.bus.subjects import next_turns
from parley_research.benchmarks.protocol import ANSWER_CHARS, DEBATERS_QUEUE

_BATCH = 1_000
_ANSWER = b"x" * ANSWER_CHARS


async def serve(url: str, credentials_path: str, latency_s: float) -> None:
    """Answer until the standard input ends; a number on it is that many core requests, whose median is printed."""
    credentials = load_credentials(Path(credentials_path))
    nc = Client()
    await nc.connect(url, nkeys_seed_str=credentials.seed, inbox_prefix=credentials.inbox_prefix.encode())
    inbox = nc.new_inbox()
    pull = json.dumps({"batch": _BATCH, "expires": 600_000_000_000}).encode()
    tasks: set[asyncio.Task[None]] = set()
    owed = _BATCH

    async def answer(sid: str) -> None:
        started = time.perf_counter()
        if latency_s:
            await asyncio.sleep(latency_s)
        model_s = time.perf_counter() - started
        subject = subjects.say("bare", PUBLIC, DEBATERS_QUEUE, sid)
        await nc.request(subject, _ANSWER + f"{model_s:.9f}".encode(), timeout=60)

    async def work(msg: Msg) -> None:
        sid = subjects.work.parse(msg.subject)[1]
        await asyncio.gather(*(answer(sid) for _ in range(int(msg.data[: msg.data.index(b"\n")]))))
        await nc.publish(msg.reply, b"+ACK")

    async def receive(msg: Msg) -> None:
        nonlocal owed
        if not msg.reply:
            return
        owed -= 1
        if owed <= _BATCH // 2:
            owed += _BATCH
            await nc.publish(next_turns(DEBATERS_QUEUE), pull, reply=inbox)
        task = asyncio.create_task(work(msg))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    await nc.subscribe(inbox, cb=receive, pending_msgs_limit=-1, pending_bytes_limit=-1)
    await nc.publish(next_turns(DEBATERS_QUEUE), pull, reply=inbox)
    await nc.flush()
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(await _requests(nc, int(line)), flush=True)


async def _requests(nc: Client, count: int) -> float:
    """Core requests one after another: seconds of one, at the median."""
    subject = subjects.check("bare", PUBLIC, DEBATERS_QUEUE, "s0")
    times = []
    for _ in range(count):
        started = time.perf_counter()
        await nc.request(subject, _ANSWER, timeout=10)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The loop that services run on: uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serve(sys.argv[1], sys.argv[2], float(sys.argv[3])))
