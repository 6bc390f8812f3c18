"""What is compared with first: the debate as bare JetStream events, without accounts, by plain nats-py.

Every event is stored in one file-backed stream and acknowledged: a round for all debaters, an answer of each, the last
verdict. Each debater and the judge is a process with a durable push consumer, and acknowledges what it took after its
work. Nothing is folded, checked, posted, counted or recovered, and nobody is kept apart.

    python -m parley_research.benchmarks.floors.events URL SEAT        one of these processes; SEAT is `judge`, or a
    debater's number
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, StorageType, StreamConfig

from parley.bus.embedded import find_server
from parley_research.benchmarks.debates import Case, Run
from parley_research.benchmarks.processes import cpu_between, cpu_s
from parley_research.benchmarks.protocol import ANSWER_CHARS

STREAM = "DEBATES"
JUDGE = "judge"
_SUBJECTS = ("start.*", "round.*", "answer.*", "final.*")
_ANSWER = "x" * ANSWER_CHARS
_DEADLINE_S = 60.0
_encode = msgspec.json.encode
_decode = msgspec.json.decode


async def _heard(nc: Client, subject: str, durable: str, take: Any) -> None:
    """Each message of a subject, by a durable consumer with explicit acknowledgements."""
    config = ConsumerConfig(ack_policy=AckPolicy.EXPLICIT, max_ack_pending=20_000, ack_wait=60)
    await nc.jetstream().subscribe(
        subject, stream=STREAM, durable=durable, cb=take, manual_ack=True, config=config, pending_msgs_limit=-1,
        pending_bytes_limit=-1,
    )  # fmt: skip


class _Tasks:
    """Work that runs beside the next message."""

    def __init__(self) -> None:
        self._all: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._all.add(task)
        task.add_done_callback(self._all.discard)


async def _debater(nc: Client, number: int) -> None:
    js, tasks = nc.jetstream(), _Tasks()

    async def answer(msg: Msg) -> None:
        sid, message = msg.subject.partition(".")[2], _decode(msg.data)
        await asyncio.sleep(message["latency_s"])
        await js.publish(f"answer.{sid}", _encode({"round": message["round"], "by": number, "text": _ANSWER}))
        await msg.ack()

    async def take(msg: Msg) -> None:
        tasks.start(answer(msg))

    await _heard(nc, "round.*", f"debater_{number}", take)


async def _judge(nc: Client) -> None:
    js, tasks = nc.jetstream(), _Tasks()
    debates: dict[str, dict[str, Any]] = {}

    async def ask(sid: str, debate: dict[str, Any], last: list[str], verdict: str) -> None:
        debate["answers"], debate["messages"] = {}, []
        message = {"round": debate["round"], "last": last, "verdict": verdict, "latency_s": debate["latency_s"]}
        await js.publish(f"round.{sid}", _encode(message))

    async def begin(msg: Msg) -> None:
        sid = msg.subject.partition(".")[2]
        debates[sid] = {**_decode(msg.data), "round": 0}
        await ask(sid, debates[sid], [], "")
        await msg.ack()

    async def judge(sid: str, debate: dict[str, Any], messages: list[Msg]) -> None:
        last = [debate["answers"][i] for i in range(debate["debaters"])]
        await asyncio.sleep(debate["latency_s"])
        debate["round"] += 1
        if debate["round"] < debate["rounds"]:
            await ask(sid, debate, last, _ANSWER)
        else:
            del debates[sid]
            await asyncio.sleep(debate["latency_s"])
            await js.publish(f"final.{sid}", _encode({"text": _ANSWER}))
        for msg in messages:
            await msg.ack()

    async def on_start(msg: Msg) -> None:
        tasks.start(begin(msg))

    async def on_answer(msg: Msg) -> None:
        sid, message = msg.subject.partition(".")[2], _decode(msg.data)
        debate = debates[sid]
        debate["answers"][message["by"]] = message["text"]
        debate["messages"].append(msg)
        if len(debate["answers"]) == debate["debaters"]:
            tasks.start(judge(sid, debate, debate["messages"]))

    await _heard(nc, "start.*", "starts", on_start)
    await _heard(nc, "answer.*", "answers", on_answer)


async def serve(url: str, seat: str) -> None:
    """One seat's process, until its standard input ends."""
    nc = await nats.connect(url)
    await (_judge(nc) if seat == JUDGE else _debater(nc, int(seat)))
    await nc.flush()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    os._exit(0)


class Events:
    """The debates' asking end, and its processes."""

    def __init__(self, nc: Client, pids: dict[str, int]) -> None:
        self._nc = nc
        self._js = nc.jetstream()
        self._pids = pids
        self._over: dict[str, asyncio.Future[None]] = {}
        self._count = 0

    async def listen(self) -> None:
        """Hear of the ends."""

        async def final(msg: Msg) -> None:
            self._over.pop(msg.subject.partition(".")[2]).set_result(None)
            await msg.ack()

        await _heard(self._nc, "final.*", "finals", final)

    async def _debate(self, case: Case) -> None:
        self._count += 1
        sid = f"s{self._count}"
        over = self._over[sid] = asyncio.get_running_loop().create_future()
        message = {"debaters": case.debaters, "rounds": case.rounds, "latency_s": case.latency_s}
        await self._js.publish(f"start.{sid}", _encode(message))
        async with asyncio.timeout(_DEADLINE_S):
            await over

    async def run(self, case: Case) -> Run:
        """The debates of `case`."""
        left = iter(range(case.total))

        async def keep_busy() -> None:
            for _ in left:
                await self._debate(case)

        before, started = cpu_s(self._pids), time.perf_counter()
        await asyncio.gather(*(keep_busy() for _ in range(case.at_once)))
        wall = time.perf_counter() - started
        return Run(case=case, wall_s=wall, cpu_s=cpu_between(before, cpu_s(self._pids)), overheads_s=[])


async def _started(process: "subprocess.Popen[bytes]", folder: Path) -> str:
    """The server's address, once it listens."""
    async with asyncio.timeout(10.0):
        while True:
            for file in folder.glob(f"*_{process.pid}.ports"):
                with contextlib.suppress(ValueError, KeyError, IndexError):  # half written
                    return str(json.loads(file.read_bytes())["nats"][0])
            await asyncio.sleep(0.01)


def _end(process: "subprocess.Popen[bytes]") -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@asynccontextmanager
async def events(folder: Path, debaters: int) -> AsyncIterator[Events]:
    """A server without accounts, so many debaters and a judge."""
    command = [find_server(), "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", str(folder), "-js", "-sd", str(folder)]
    quiet = subprocess.DEVNULL
    processes = [subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)]  # noqa: ASYNC220  nothing else is under way
    try:
        url = await _started(processes[0], folder)
        nc = await nats.connect(url)
        try:
            config = StreamConfig(name=STREAM, subjects=list(_SUBJECTS), storage=StorageType.FILE, max_bytes=2 << 30)
            await nc.jetstream().add_stream(config)
            pids = {"nats": processes[0].pid, "asker": os.getpid()}
            for seat in (*map(str, range(debaters)), JUDGE):
                child = subprocess.Popen(  # noqa: ASYNC220  nothing else is under way
                    [sys.executable, "-m", "parley_research.benchmarks.floors.events", url, seat],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                )  # fmt: skip
                processes.append(child)
                pids[seat] = child.pid
                assert child.stdout is not None
                await asyncio.to_thread(child.stdout.readline)
            listener = Events(nc, pids)
            await listener.listen()
            yield listener
        finally:
            await nc.close()
    finally:
        for process in reversed(processes):
            _end(process)


async def floor(cases: list[Case]) -> list[Run]:
    """Each case on processes of its own, after some debates that do not count."""
    runs = []
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="parley-events-") as folder:
            async with events(Path(folder), case.debaters) as running:
                await running.run(msgspec.structs.replace(case, at_once=20, total=40))
                runs.append(await running.run(case))
    return runs


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2]))
