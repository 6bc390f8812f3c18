"""debate-N-R over the real engine: an embedded stack with accounts on, and a client that keeps sessions under way."""

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from nats.aio.msg import Msg

from parley.bus import subjects
from parley.bus.accounts import load_credentials
from parley.bus.channels import CLIENT, CONTROL
from parley.bus.connection import Connection, connect
from parley.client.client import Client
from parley.schemas.log import Entry, Replied
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.session import OpenSession
from parley.schemas.wire import decode, encode
from parley.stack.lease import OWNER, Lease, Stack
from parley.stack.rows import AgentRow
from parley_research.benchmarks.processes import Memory, cpu_between, cpu_s, memory
from parley_research.benchmarks.protocol import DEBATERS_QUEUE, JUDGE_QUEUE, NAME

QUESTION = "Should a small company run its own message bus, or rent one? " * 4
ROOM = 2_000
_PATIENCE_S = 120.0
"""Without a step of a session. How long a whole session takes is what is measured."""
_SAMPLED = 40
"""Sessions whose logs are read for turn overheads."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One run: size of the debates, sessions at once, the model's latency."""

    debaters: int
    rounds: int
    at_once: int
    total: int
    latency_s: float
    together: bool = True
    """All turns of a round in one WORK message."""

    @property
    def calls(self) -> int:
        """Model calls of one session."""
        return self.rounds * (self.debaters + 1) + 1

    @property
    def ideal_s(self) -> float:
        """Shortest time of one session: debaters of a round answer at once, the judge after them."""
        return (2 * self.rounds + 1) * self.latency_s

    @property
    def name(self) -> str:
        """As it is printed."""
        return f"N{self.debaters}R{self.rounds}, {self.at_once} at once, {self.latency_s * 1e3:.0f} ms"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What one run came to."""

    case: Case
    wall_s: float
    cpu_s: dict[str, float]
    """Process -> CPU seconds."""
    overheads_s: list[float]
    """Of single turns: from the append that asks to the append that answers, less the model's time."""

    @property
    def calls(self) -> int:
        """Model calls of the run."""
        return self.case.calls * self.case.total

    @property
    def cpu_us(self) -> float:
        """CPU of all processes for one model call, us."""
        return sum(self.cpu_s.values()) / self.calls * 1e6

    @property
    def sessions_per_s(self) -> float:
        """Sessions finished in one second."""
        return self.case.total / self.wall_s

    @property
    def share_of_ideal(self) -> float:
        """Rate over the rate at which nothing but the model takes time, 0 to 1."""
        return self.case.ideal_s * self.case.total / self.case.at_once / self.wall_s


def stack(latency_s: float, turns_per_message: int = 0, agents: int = 1) -> Stack:
    """One moderator, one queue of debaters, one judge, with the stub model."""
    options = {"latency_s": latency_s}
    model = "parley_research.benchmarks.protocol:make"
    return Stack(
        agents=(
            AgentRow(queue=DEBATERS_QUEUE, copies=agents, model=model, options=options, room=ROOM),
            AgentRow(queue=JUDGE_QUEUE, model=model, options=options, room=ROOM),
        ),
        turns_per_message=turns_per_message,
        imports=("parley_research.benchmarks.protocol",),
        log_level="WARNING",
    )


class Bench:
    """A running stack and one client of it."""

    def __init__(self, lease: Lease, connection: Connection) -> None:
        self.lease = lease
        self._connection = connection
        self._closed: dict[str, asyncio.Future[Post]] = {}

    async def _hear(self, msg: Msg) -> None:
        sid, _, _ = subjects.post.parse(msg.subject)
        waiting = self._closed.get(sid)
        if waiting is None or waiting.done():
            return
        post = decode(msg.data, Post)
        if post.kind == "closed":
            waiting.set_result(post)

    async def listen(self) -> None:
        """Hear how sessions end."""
        await self._connection.subscribe(subjects.post.of(channel=CONTROL), self._hear)

    def pids(self) -> dict[str, int]:
        """Process -> id, the client's own included; the supervisor only sleeps, and is there too."""
        return {**self.lease.pids(), "client": os.getpid()}

    def memory(self) -> dict[str, Memory]:
        """Memory of each process of the stack."""
        return {name: memory(pid) for name, pid in self.lease.pids().items()}

    def client(self) -> Client:
        """The owner's client."""
        return Client(self._connection, OWNER)

    async def open(self, case: Case) -> str:
        """Open one session; its id."""
        return await self._ask(
            OpenSession(
                question=QUESTION, protocol=NAME, settings={"debaters": case.debaters, "rounds": case.rounds}, seed=1,
                turn_timeout_s=600.0,
            )
        )  # fmt: skip

    async def _ask(self, request: OpenSession) -> str:
        sid = secrets.token_hex(10)
        self._closed[sid] = asyncio.get_running_loop().create_future()
        subject = subjects.inbox(CLIENT, OWNER, sid)
        await self._connection.store(subject, encode(request), msg_id=sid, timeout_s=_PATIENCE_S)
        return sid

    async def _end(self, sid: str) -> Result:
        ended, length = self._closed[sid], 0
        while not ended.done():
            await asyncio.wait((ended,), timeout=_PATIENCE_S)
            before, length = length, 0 if ended.done() else len(await self.client().log(sid))
            if not ended.done() and length == before:
                raise RuntimeError(f"session {sid} has {length} entries, and no further one for {_PATIENCE_S:g} s")
        post = ended.result()
        del self._closed[sid]
        return decode(post.body, Result)

    async def play(self, request: OpenSession) -> tuple[str, Result]:
        """A session of any protocol from its opening to its end: its id and its result."""
        sid = await self._ask(request)
        return sid, await self._end(sid)

    async def session(self, case: Case) -> str:
        """One session from its opening to its end; its id."""
        sid = await self.open(case)
        result = await self._end(sid)
        if result.usage.turns != case.calls:
            raise RuntimeError(
                f"session {sid} ended by {result.stop.reason} after {result.usage.turns} of {case.calls} turns"
            )
        return sid

    async def run(self, case: Case) -> Run:
        """`case.total` sessions, `case.at_once` of them under way."""
        left = iter(range(case.total))
        done: list[str] = []

        async def keep_busy() -> None:
            for _ in left:
                done.append(await self.session(case))

        before, started = cpu_s(self.pids()), time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(case.at_once):
                group.create_task(keep_busy())
        wall = time.perf_counter() - started
        used = cpu_between(before, cpu_s(self.pids()))
        return Run(case=case, wall_s=wall, cpu_s=used, overheads_s=await self._overheads(done))

    async def _overheads(self, sids: list[str]) -> list[float]:
        step = max(1, len(sids) // _SAMPLED)
        client = self.client()
        times: list[float] = []
        for sid in sids[::step]:
            times += overheads([decode(text.encode(), Entry) for text in await client.log(sid)])
        return times


def overheads(entries: list[Entry]) -> list[float]:
    """Of one session's turns: seconds from the asking entry to the answering one, less the model's."""
    return [
        (e.at_ns - entries[int(e.event.turn.split("-")[0])].at_ns) / 1e9 - e.event.model_s
        for e in entries
        if isinstance(e.event, Replied)
    ]


@asynccontextmanager
async def bench(stack: Stack) -> AsyncIterator[Bench]:
    """A stack in a temporary folder, every service ready; gone at the end."""
    lease = await asyncio.to_thread(Lease(stack, None, wait_ready=True).__enter__)
    try:
        connection = await connect(lease.url, load_credentials(lease.credentials(OWNER)), name="bench")
        async with connection:
            running = Bench(lease, connection)
            await running.listen()
            yield running
    finally:
        await asyncio.to_thread(lease.close)
