"""MADP on the bus: from a task's submission to who leads, with 12 experts running and with 500 registered.

    python -m parley_research.benchmarks routing

A whole stack, accounts on, each expert its own process and credential; claims as specifications declare them; durable:
every step is appended before the next. Measured is what the client sees, from sending its opening until it hears the
post `consensus`, which comes with the lead's turn; the session is cancelled then. Prompts are of the golden set, each
asked once, so that nothing of it is remembered, and are taken by what they come to in one process
(parley.client.protocols.madp.routing_preview): those of a depth all of whose candidates run. The floors are a bare core
request and a bare publish to the log, each acknowledged, in the same run.

The other 488 are enrolled and announced, with credentials of their own, by one process
(parley_research.benchmarks.crowd), and own what no prompt is about. What a candidate costs that is announced and says
nothing is measured with one that is stopped.

Beside it, how many prompts of a file `parley route` takes a second, start included; its floor is the embedded encoder
alone, on as many threads as there are cores, over the same texts.
"""

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from nats.aio.msg import Msg

from parley.agents.context import Shown
from parley.agents.experts import builtin
from parley.agents.model.base import Completion, Emit
from parley.bus import subjects
from parley.bus.accounts import load_credentials
from parley.bus.channels import CLIENT, CONTROL, PUBLIC
from parley.bus.connection import Connection, connect
from parley.bus_admin import enrol as enrolment
from parley.client.client import Client
from parley.routing import router
from parley.schemas.expert import Deliberation, Domain, ExpertSpec, Triggers, queue_of
from parley.schemas.log import Entry, Replied
from parley.schemas.post import Post
from parley.schemas.routing import DEPTHS, Task
from parley.schemas.session import CancelSession, OpenSession
from parley.schemas.wire import decode, encode
from parley.stack.lease import OWNER, Lease, Stack
from parley.stack.rows import AgentRow
from parley_research.benchmarks.floors import bare
from parley_research.benchmarks.processes import cpu_between, cpu_s
from parley_research.routing import Case
from parley_research.routing_data import golden

RUNNING, REGISTERED = 12, 500
DEAD = "a candidate that is silent"
_PATIENCE_S = 60.0
_SAMPLED = 25
"""Sessions whose logs are read."""
_WARM = 3
"""Tasks of a depth that come before those that are measured: what is allocated once, and the helper's encoder."""
_CRAFTS = (
    "beekeeping", "weaving", "brewing", "falconry", "pottery", "forestry", "baking", "sailing", "thatching", "tanning",
    "quarrying", "gilding", "angling", "tailoring", "ploughing", "fencing", "piping", "grafting", "smithing", "milling",
)  # fmt: skip
_TOWNS = (
    "Kaunas", "Tartu", "Riga", "Turku", "Bergen", "Visby", "Aarhus", "Lund", "Umea", "Narva", "Ghent", "Bruges",
    "Leuven", "Breda", "Delft", "Zwolle", "Essen", "Trier", "Mainz", "Ulm", "Linz", "Graz", "Bern", "Chur", "Sion",
)  # fmt: skip


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One depth, among so many registered experts."""

    depth: str
    registered: int
    tasks: int
    median_ms: float
    """From the submission to the consensus, as the client sees it."""
    p95_ms: float
    taken_ms: float
    """Of that: from the submission to a moderator's step that opens the session; this and the next three as medians."""
    match_ms: float
    """From there to the step that takes the helper's reply."""
    claims_ms: float
    """From there to the step with the consensus."""
    told_ms: float
    """From there to the client: that step's append, and its post."""
    cpu_ms: dict[str, float]
    """Process (experts together) -> CPU of one task."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    figures: tuple[Figure, ...]
    request_ms: float
    """The bare core request."""
    publish_ms: float
    """The bare publish to a file-backed stream, acknowledged."""
    missing: tuple[str, ...] = ()


class SilentModel:
    """Answers nothing: what is measured is over when it is asked."""

    name = "stub"
    family = "stub"
    metered = False
    usd_per_million_input = 0.0
    usd_per_million_output = 0.0

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Until it is cancelled."""
        await asyncio.get_running_loop().create_future()
        raise AssertionError("nobody answers it")


def make(options: Mapping[str, Any]) -> SilentModel:
    """For `model: parley_research.benchmarks.routing:make`."""
    return SilentModel()


def running() -> tuple[ExpertSpec, ...]:
    """The shipped experts that run."""
    return builtin()[:RUNNING]


def crowd(count: int) -> list[ExpertSpec]:
    """Experts that no task of ours is about."""
    specs = []
    for i in range(count):
        craft, town = _CRAFTS[i % len(_CRAFTS)], _TOWNS[i // len(_CRAFTS) % len(_TOWNS)]
        phrases = [f"{what} of {craft} in {town}" for what in ("history", "masters", "guild", "fair", "songs")]
        specs.append(
            ExpertSpec(
                id=f"{craft}-{town.lower()}-{i}", name=f"{craft} of {town}", priority=90,
                triggers=Triggers(primary=(f"{craft} in {town}",), examples=tuple(f"Tell me the {p}" for p in phrases)),
                domain=Domain(owns=tuple(phrases)),
                deliberation=Deliberation(claim=f"I know all about {craft} in {town}."),
            )
        )  # fmt: skip
    return specs


def _cases() -> tuple[Case, ...]:
    return (*golden("dev", builtin()).cases, *golden("test", builtin()).cases)


async def prompts(specs: Sequence[ExpertSpec]) -> dict[str, list[Task]]:
    """Depth -> tasks of it among these experts, whose candidates and claimants all run."""
    here = {s.id for s in running()}
    tasks = [Task(prompt=c.prompt, files_mentioned=c.files) for c in _cases()]
    by_depth: dict[str, list[Task]] = {depth: [] for depth in DEPTHS}
    for task, route in zip(tasks, await router(specs).route_all(tasks), strict=True):
        named = {c.expert for c in route.candidates} | {x.expert for x in route.excluded}
        if route.lead and named <= here:
            by_depth[route.depth].append(task)
    return by_depth


class Bench:
    """A running stack, and a client that hears what is said in public."""

    def __init__(self, lease: Lease, connection: Connection) -> None:
        self.lease = lease
        self._connection = connection
        self._heard: dict[tuple[str, str], asyncio.Future[int]] = {}

    async def listen(self) -> None:
        """Hear posts."""
        for channel in (PUBLIC, CONTROL):
            await self._connection.subscribe(subjects.post.of(channel=channel), self._hear)

    async def _hear(self, msg: Msg) -> None:
        now = time.time_ns()
        sid, _, _ = subjects.post.parse(msg.subject)
        post = decode(msg.data, Post)
        waiting = self._heard.get((sid, post.kind))
        if waiting is not None and not waiting.done():
            waiting.set_result(now)

    async def assigned(self, task: Task) -> tuple[str, int, int]:
        """One task up to its consensus: (session, Unix time of the submission, of the consensus as heard, ns). Then it
        is cancelled, and its end waited for."""
        sid = secrets.token_hex(10)
        loop = asyncio.get_running_loop()
        consensus, closed = (
            self._heard.setdefault((sid, kind), loop.create_future()) for kind in ("consensus", "closed")
        )
        settings = {"files_mentioned": list(task.files_mentioned)}
        request = OpenSession(question=task.prompt, protocol="madp", settings=settings, seed=1, turn_timeout_s=600.0)
        started = time.time_ns()
        subject = subjects.inbox(CLIENT, OWNER, sid)
        await self._connection.store(subject, encode(request), msg_id=sid, timeout_s=_PATIENCE_S)
        async with asyncio.timeout(_PATIENCE_S):
            heard = await consensus
            await self._connection.store(
                subject, encode(CancelSession()), msg_id=f"{sid}-cancel", timeout_s=_PATIENCE_S
            )
            await closed
        del self._heard[sid, "consensus"], self._heard[sid, "closed"]
        return sid, started, heard

    async def figure(self, depth: str, tasks: Sequence[Task], registered: int) -> Figure:
        """These tasks, one after another."""
        pids = {**self.lease.pids(), "client": os.getpid()}
        before = cpu_s(pids)
        done = [await self.assigned(task) for task in tasks]
        used = cpu_between(before, cpu_s(pids))
        by: dict[str, float] = {}
        for name, seconds in used.items():
            kind = "experts" if name.startswith(queue_of("")) else name
            by[kind] = by.get(kind, 0.0) + seconds / len(tasks) * 1e3
        client = Client(self._connection, OWNER)
        parts = []
        for sid, sent, heard in done[:: max(1, len(done) // _SAMPLED)]:
            parts.append(_parts([decode(t.encode(), Entry) for t in await client.log(sid)], sent, heard))
        taken, match, claims, told = (median(column) for column in zip(*parts, strict=True))
        times = sorted((heard - sent) / 1e6 for _, sent, heard in done)
        return Figure(
            depth=depth, registered=registered, tasks=len(done), median_ms=median(times), cpu_ms=by,
            p95_ms=times[min(len(times) - 1, int(0.95 * len(times)))], taken_ms=taken, match_ms=match, claims_ms=claims,
            told_ms=told,
        )  # fmt: skip


def _parts(entries: Sequence[Entry], sent: int, heard: int) -> tuple[float, ...]:
    """ms between: submission, opening, match, consensus, the client's hearing of it."""
    matched = next(e for e in entries if isinstance(e.event, Replied))
    agreed = next(e for e in entries if any(getattr(c, "kind", "") == "consensus" for c in e.commands))
    times = (sent, entries[0].at_ns, matched.at_ns, agreed.at_ns, heard)
    return tuple((b - a) / 1e6 for a, b in pairwise(times))


def stack() -> Stack:
    """One moderator, the helper, and the experts with a model that says nothing."""
    rows = [AgentRow(queue="helper")]
    rows += [AgentRow(queue=queue_of(s.id), model="parley_research.benchmarks.routing:make", room=8) for s in running()]
    return Stack(agents=tuple(rows), log_level="WARNING")


@asynccontextmanager
async def bench(others: Sequence[ExpertSpec]) -> AsyncIterator[Bench]:
    """The stack in a temporary folder, every expert announced; gone at the end."""
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        state = Path(folder) / "state"
        files = [_written(Path(folder), spec) for spec in others]
        enrolled = enrolment.enroll(state / "keys", files)["enrolled"] if files else []
        lease = await asyncio.to_thread(Lease(stack(), state, wait_ready=True).__enter__)
        announcing: subprocess.Popen[bytes] | None = None
        try:
            async with await connect(lease.url, load_credentials(lease.credentials(OWNER)), name="bench") as connection:
                if enrolled:
                    announcing = _announcing(
                        lease.url, [(f, e["credentials"]) for f, e in zip(files, enrolled, strict=True)]
                    )
                await _all_there(Client(connection, OWNER), RUNNING + len(others))
                running = Bench(lease, connection)
                await running.listen()
                yield running
        finally:
            if announcing is not None:
                announcing.kill()
                announcing.wait()
            await asyncio.to_thread(lease.close)


def _written(folder: Path, spec: ExpertSpec) -> Path:
    path = folder / f"{spec.id}.yaml"
    path.write_bytes(encode({"agent": spec}))
    return path


def _announcing(url: str, who: list[tuple[Path, str]]) -> "subprocess.Popen[bytes]":
    child = subprocess.Popen([sys.executable, "-m", "parley_research.benchmarks.crowd", url], stdin=subprocess.PIPE)
    assert child.stdin is not None
    child.stdin.write(encode([(str(path), credentials) for path, credentials in who]) + b"\n")
    child.stdin.flush()
    return child


async def _all_there(client: Client, count: int) -> None:
    """Wait until moderators have heard of so many experts."""
    async with asyncio.timeout(_PATIENCE_S):
        while len((await client.workers()).experts) < count:  # noqa: ASYNC110  what is waited for is other processes
            await asyncio.sleep(0.1)


async def measure(quick: bool = False) -> Measured:
    """Each depth with 12 and with 500 registered; the silent candidate; the floors."""
    count = 20 if quick else 60
    figures: list[Figure] = []
    missing: list[str] = []
    for registered in (RUNNING, REGISTERED):
        others = crowd(registered - RUNNING)
        by_depth = await prompts((*running(), *others))
        async with bench(others) as there:
            for tasks in by_depth.values():
                for task in tasks[:_WARM]:
                    await there.assigned(task)
            for depth, tasks in by_depth.items():
                if tasks[_WARM:]:
                    figures.append(await there.figure(depth, tasks[_WARM:][:count], registered))
                else:
                    missing.append(f"{depth}, {registered} registered: hardly a prompt of the set comes to it")
            if registered == RUNNING and by_depth["quick"]:
                figures.append(await _dead(there, by_depth["quick"][0], 3 if quick else 5))
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        async with bare.durable(Path(folder)) as loop:
            request = await loop.requests(500)
            publish = median((await loop.publishes(500, 1))[1])
    return Measured(
        figures=tuple(figures), request_ms=request * 1e3, publish_ms=publish * 1e3, missing=tuple(missing),
    )  # fmt: skip


async def _dead(there: Bench, task: Task, count: int) -> Figure:
    """A task whose most confident candidate is stopped in its tracks: announced, and silent."""
    route = (await router(running()).route_all((task,)))[0]
    pid = there.lease.pids()[f"{queue_of(route.candidates[0].expert)}-1"]
    os.kill(pid, signal.SIGSTOP)
    try:
        return await there.figure(DEAD, (task,) * count, RUNNING)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


TARGETS_MS = {"instant": 10.0, "quick": 10.0, "standard": 25.0, "extended": 25.0}
"""At the median."""


def lines(m: Measured | None) -> list[str]:
    """For people."""
    if m is None:
        return []
    floor = m.request_ms + m.publish_ms
    head = (
        f"madp, submission to assignment (bare request {m.request_ms:.2f} ms, bare publish {m.publish_ms:.2f} ms; "
        "x: to both together)"
    )
    printed = [
        head,
        f"  {'':<42} {'median':>9} {'':>7} {'p95':>9} {'taken':>6} {'match':>6} {'claims':>6} {'told':>6}   "
        "CPU ms of a task",
    ]
    for f in m.figures:
        parts = ", ".join(f"{name} {ms:.1f}" for name, ms in sorted(f.cpu_ms.items()) if ms >= 0.05)
        name = f"  {f.depth}, {f.registered} registered, {f.tasks} tasks"
        printed.append(
            f"{name:<44} {f.median_ms:>6.1f} ms {f.median_ms / floor:>6.1f}x {f.p95_ms:>6.1f} ms "
            f"{f.taken_ms:>6.1f} {f.match_ms:>6.1f} {f.claims_ms:>6.1f} {f.told_ms:>6.1f}   {parts}"
        )
    return [*printed, *(f"  not measured: {text}" for text in m.missing)]
