"""Faults: processes of a stack killed and frozen by their pids, and what their metrics said before."""

import asyncio
import contextlib
import os
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

import psutil

from parley.client.errors import StackFailed
from parley.stack.lease import Lease, Service
from tests.chaos.harness import pause

NATS, SUPERVISOR, MODERATOR = "nats", "supervisor", "moderator"
PANELIST, ANALYST, DEBATER, JUDGE, HELPER, EXPERT, ANSWERER, CRITIC = AGENTS = (
    "panelist", "analyst", "debater", "judge", "helper", "expert", "answerer", "critic",
)  # fmt: skip
KINDS = (MODERATOR, *AGENTS, NATS, SUPERVISOR)


def kind_of(service: str) -> str:
    """`panelist_2-1` -> `panelist`; a service of no kind that is disturbed is its own."""
    return next((k for k in KINDS if service.startswith(k)), service)


class Faults:
    """Kills and freezes, drawn from a seeded generator and counted by kind."""

    def __init__(self, lease: Lease, rng: Random) -> None:
        self.lease = lease
        self.rng = rng
        self.kills: Counter[str] = Counter()
        self.freezes: Counter[str] = Counter()
        self._frozen: set[str] = set()
        self._seen: dict[tuple[str, int], dict[str, float]] = {}

    def alive(self, kind: str) -> list[tuple[str, int]]:
        """Services of this kind that run just now: name, pid. Only what is a child of the stack's supervisor."""
        try:
            running = self.lease.running()
        except StackFailed:
            return []
        if kind == SUPERVISOR:  # once it is up: who starts it takes its death before that for a failed start
            return [(SUPERVISOR, running.supervisor)] if running.ready and _runs(running.supervisor, None) else []
        return [
            (name, s.pid)
            for name, s in running.services.items()
            if kind_of(name) == kind and name not in self._frozen and _runs(s.pid, running.supervisor)
        ]

    async def recovered(self, timeout_s: float) -> bool:
        """Wait until every process of the stack runs and is ready, or for so long: on a slow machine faults would else
        come faster than processes start, and nothing would ever be done."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            with contextlib.suppress(StackFailed):
                running = self.lease.running()
                if running.ready and NATS in running.services and self.alive(NATS):
                    return True
            await pause(0.05)
        return False

    async def kill(self, kind: str) -> bool:
        """SIGKILL one process of this kind; False if none runs just now."""
        await self.scrape()
        found = self.alive(kind)
        if not found:
            return False
        name, pid = self.rng.choice(found)
        self._kill(name, pid)
        return True

    async def kill_each(
        self, kinds: Sequence[str], asking: Callable[[int], bool], over: Callable[[], bool], pauses: tuple[float, float]
    ) -> None:
        """Kill one of each kind after the other, each after a pause of so many seconds at least and at most; an agent
        while its pid is `asking` a model. Ends early where all is `over`."""
        for kind in kinds:
            await pause(self.rng.uniform(*pauses))
            while not over():
                if self.kill_amid(kind, asking) if kind in AGENTS else await self.kill(kind):
                    break
                await pause(0.005)

    def kill_amid(self, kind: str, amid: Callable[[int], bool]) -> bool:
        """SIGKILL one process of this kind whose pid is `amid` something, and still is once it stands still; False if
        none is just now."""
        for name, pid in self.alive(kind):
            if amid(pid):
                os.kill(pid, signal.SIGSTOP)
                if amid(pid):
                    self._kill(name, pid)
                    return True
                os.kill(pid, signal.SIGCONT)
        return False

    def _kill(self, name: str, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        self.kills[kind_of(name)] += 1

    async def freeze(self, kind: str, seconds: float) -> bool:
        """SIGSTOP one process of this kind, and wake it after so long; False if none runs just now."""
        found = self.alive(kind)
        if not found:
            return False
        name, pid = self.rng.choice(found)
        self._frozen.add(name)
        os.kill(pid, signal.SIGSTOP)
        try:
            self.freezes[kind_of(name)] += 1
            await pause(seconds)
        finally:
            with contextlib.suppress(ProcessLookupError):  # the stack may have ended under it
                os.kill(pid, signal.SIGCONT)
            self._frozen.discard(name)
        return True

    async def scrape(self) -> None:
        """Read every service's metrics: what a killed process counted is gone with it."""
        with contextlib.suppress(StackFailed):
            services = self.lease.running().services
            await asyncio.gather(
                *(self._read(n, s) for n, s in services.items() if s.metrics and n not in self._frozen)
            )

    async def _read(self, name: str, service: Service) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._seen[name, service.pid] = await asyncio.to_thread(read_metrics, service.metrics)

    def total(self, series: str) -> int:
        """A counter over all processes seen; what was counted after the last look at one that died is missing."""
        return int(sum(found.get(series, 0.0) for found in self._seen.values()))


def read_metrics(url: str) -> dict[str, float]:
    """Series, with its labels as written -> value. Raises OSError."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=1.0) as answer:
        text: str = answer.read().decode()
    lines = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def _runs(pid: int, parent: int | None) -> bool:
    try:
        process = psutil.Process(pid)
        return process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD) and parent in (None, process.ppid())
    except psutil.NoSuchProcess:
        return False
