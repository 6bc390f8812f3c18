"""What is compared with: the same debate with nothing around it, and single operations of the bus.
The debate as bare JetStream events is `parley_research.benchmarks.floors.events`.

- `in_process`: tasks and queues in one process, nothing stored.
- `Durable`: plain nats-py on the server that the engine has too (accounts on, file storage). A round is one stored WORK
  message; each answer is a core request, stored in LOG before it is answered; then the WORK message is acknowledged.
  Nothing is folded, checked, posted, counted or traced.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from nats.aio.client import Client
from nats.aio.msg import Msg

from parley.bus import subjects
from parley.bus.accounts import Credentials, mint, publics, table
from parley.bus.connection import connect
from parley.bus.embedded import EmbeddedServer
from parley.bus.streams import ensure_queue, ensure_streams
from parley_research.benchmarks.debates import Case, Run
from parley_research.benchmarks.processes import cpu_between, cpu_s
from parley_research.benchmarks.protocol import ANSWER_CHARS, DEBATERS_QUEUE

LANE = "bare"
ANSWER = b"x" * ANSWER_CHARS
_QUESTION = b"q" * 250
_DEADLINE_S = 60.0


# ---------------------------------------------------------------- one process


async def in_process(case: Case) -> Run:
    """The debate with tasks and queues in this process."""
    before, started = cpu_s({"all": os.getpid()}), time.perf_counter()
    left = iter(range(case.total))
    asked: asyncio.Queue[tuple[list[str], asyncio.Future[str]]] = asyncio.Queue()
    tasks: set[asyncio.Task[None]] = set()

    async def answer(future: asyncio.Future[str]) -> None:
        if case.latency_s:
            await asyncio.sleep(case.latency_s)
        future.set_result("x" * ANSWER_CHARS)

    async def serve() -> None:
        while True:
            _, future = await asked.get()
            task = asyncio.create_task(answer(future))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    def ask(shown: list[str]) -> asyncio.Future[str]:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        asked.put_nowait((shown, future))
        return future

    async def debate() -> None:
        answers, verdict = [""] * case.debaters, ""
        for _ in range(case.rounds):
            others = [[verdict, *answers[:i], *answers[i + 1 :]] for i in range(case.debaters)]
            answers = list(await asyncio.gather(*map(ask, others)))
            verdict = await ask(answers)
        await ask(answers)

    async def keep_busy() -> None:
        for _ in left:
            await debate()

    server = asyncio.create_task(serve())
    await asyncio.gather(*(keep_busy() for _ in range(case.at_once)))
    wall = time.perf_counter() - started
    used = cpu_between(before, cpu_s({"all": os.getpid()}))
    server.cancel()
    return Run(case=case, wall_s=wall, cpu_s=used, overheads_s=[])


# ---------------------------------------------------------------- durable


class _Turn:
    """Answers wanted of one WORK message."""

    __slots__ = ("asked", "done", "left")

    def __init__(self, left: int) -> None:
        self.left = left
        self.asked = time.perf_counter()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class Durable:
    """The bare loop's asking half, in this process; the answering half is a child."""

    def __init__(self, server: EmbeddedServer, worker: "subprocess.Popen[bytes]", nc: Client) -> None:
        self._server = server
        self._worker = worker
        self._nc = nc
        self._js = nc.jetstream()
        self._turns: dict[str, _Turn] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._count = 0
        self._times: list[float] = []

    async def start(self) -> Self:
        """Listen for answers, and for questions that are only sent back."""

        async def echo(msg: Msg) -> None:
            await msg.respond(b"+OK")

        await self._nc.subscribe(subjects.check.of(lane=LANE), cb=echo)
        await self._nc.subscribe(subjects.say.of(lane=LANE), cb=self._receive)
        await self._nc.flush()  # the server knows of them before the worker asks
        return self

    async def _receive(self, msg: Msg) -> None:
        task = asyncio.create_task(self._accept(msg))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, msg: Msg) -> None:
        sid = subjects.say.parse(msg.subject)[3]
        await self._js.publish(subjects.log(sid, subjects.STEP), msg.data)
        turn = self._turns[sid]
        self._times.append(time.perf_counter() - turn.asked - float(msg.data[ANSWER_CHARS:]))
        turn.left -= 1
        if not turn.left:
            del self._turns[sid]
            turn.done.set_result(None)
        await msg.respond(b"+OK")

    async def ask(self, answers: int, shown: int) -> None:
        """One WORK message for so many answers, showing so many texts; returns when all are stored."""
        self._count += 1
        sid = f"s{self._count}"
        turn = self._turns[sid] = _Turn(answers)
        body = b"%d\n" % answers + _QUESTION + ANSWER * shown
        await self._js.publish(subjects.work(DEBATERS_QUEUE, sid, "0"), body)
        async with asyncio.timeout(_DEADLINE_S):
            await turn.done

    async def run(self, case: Case) -> Run:
        """The debates of `case`."""
        left = iter(range(case.total))
        pids = {"nats": self._server.pid, "worker": self._worker.pid, "asker": os.getpid()}
        self._times = []
        before, started = cpu_s(pids), time.perf_counter()

        async def keep_busy() -> None:
            for _ in left:
                shown = 0
                for _ in range(case.rounds):
                    await self.ask(case.debaters, shown)
                    shown = case.debaters + 1
                    await self.ask(1, case.debaters)
                await self.ask(1, case.debaters)

        await asyncio.gather(*(keep_busy() for _ in range(case.at_once)))
        wall = time.perf_counter() - started
        return Run(case=case, wall_s=wall, cpu_s=cpu_between(before, cpu_s(pids)), overheads_s=self._times)

    async def publishes(self, count: int, at_once: int) -> tuple[float, list[float]]:
        """Publish and acknowledge, `at_once` under way: (us of wall time for one, seconds of each)."""
        times: list[float] = []
        left = iter(range(count))

        async def keep_busy() -> None:
            for i in left:
                started = time.perf_counter()
                await self._js.publish(subjects.log(f"p{i % 100}", subjects.STEP), ANSWER)
                times.append(time.perf_counter() - started)

        started = time.perf_counter()
        await asyncio.gather(*(keep_busy() for _ in range(at_once)))
        return (time.perf_counter() - started) / count * 1e6, times

    async def appends(self, count: int, at_once: int) -> float:
        """Append and acknowledge by compare-and-swap, each of `at_once` to a session of its own: us of wall time for
        one."""
        left = iter(range(count))

        async def keep_busy(sid: str) -> None:
            last = 0
            for _ in left:
                headers = {
                    "Nats-Expected-Last-Subject-Sequence": str(last),
                    "Nats-Expected-Last-Subject-Sequence-Subject": subjects.log_of(sid),
                }
                last = (await self._js.publish(subjects.log(sid, subjects.STEP), ANSWER, headers=headers)).seq

        started = time.perf_counter()
        await asyncio.gather(*(keep_busy(f"a{n}") for n in range(at_once)))
        return (time.perf_counter() - started) / count * 1e6

    async def requests(self, count: int) -> float:
        """Core requests of the worker, one after another, answered here at once: seconds at the median."""
        pipes = self._worker
        assert pipes.stdin is not None and pipes.stdout is not None
        pipes.stdin.write(b"%d\n" % count)
        pipes.stdin.flush()
        return float(await asyncio.to_thread(pipes.stdout.readline))


async def _client(url: str, credentials: Credentials) -> Client:
    nc = Client()
    await nc.connect(url, nkeys_seed_str=credentials.seed, inbox_prefix=credentials.inbox_prefix.encode())
    return nc


@asynccontextmanager
async def durable(folder: Path, latency_s: float = 0.0) -> AsyncIterator[Durable]:
    """A server as the engine has it, one asker and one worker process."""
    users = table({DEBATERS_QUEUE: "panelist"})
    keys = mint(users)
    server = EmbeddedServer(folder, users, publics(keys)).start()
    asking = next(u.name for u in users if u.kind == "moderator")
    worker = None
    try:
        async with await connect(server.url, keys[asking], name="set-up") as connection:
            await ensure_streams(connection)
            await ensure_queue(connection, DEBATERS_QUEUE)
        path = folder / "worker.json"
        keys[DEBATERS_QUEUE].save(path)
        worker = subprocess.Popen(  # noqa: ASYNC220  nothing else is under way
            [sys.executable, "-m", f"{__package__}.bare_worker", server.url, str(path), str(latency_s)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert worker.stdout is not None
        await asyncio.to_thread(worker.stdout.readline)
        nc = await _client(server.url, keys[asking])
        try:
            yield await Durable(server, worker, nc).start()
        finally:
            await nc.close()
    finally:
        if worker is not None:
            worker.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.wait(5)
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    pipe.close()
        server.stop()
