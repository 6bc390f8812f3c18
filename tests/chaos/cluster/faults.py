"""What is done to the servers of a cluster, one at a time or two: killed, frozen, cut off, emptied, slowed."""

import asyncio
import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterator, Sequence

import msgspec

from parley.bus.accounts import load_credentials
from parley.bus.connection import connect
from parley.bus.errors import BusError
from parley_research.embedded_cluster import FOLDER
from tests.chaos.cluster.rig import SERVERS, ClusterRig
from tests.chaos.harness import pause
from tests.support.engine import until
from tests.support.links import Links

KILL, FREEZE, CUT, EMPTY, SLOW = "killed", "frozen", "cut off", "disk emptied", "slowed"
DRAIN = "drained and started anew"
LOG, WORK, META = "leader of LOG", "leader of WORK", "meta leader"
FROZEN_S, CUT_S, AWAY_S, SLOW_S = 20.0, 15.0, 8.0, 10.0
DELAY_S = 0.2
SETTLED_S = 90.0


class Case(msgspec.Struct, frozen=True):
    """One deed."""

    what: str
    who: tuple[str, ...]
    """`server 2`, or a leader; two at once leave no majority."""

    def __str__(self) -> str:
        return f"{' and '.join(self.who)} {self.what}"


def every() -> list[Case]:
    """Each server and each leader, each deed; then two at once; then slow routes; then every server in turn, as an
    upgrade of them goes."""
    ones = [f"server {i + 1}" for i in range(SERVERS)] + [LOG, WORK, META]
    cases = [Case(what, (who,)) for what in (KILL, CUT, EMPTY, FREEZE) for who in ones]
    cases += [Case(what, (LOG, "another")) for what in (KILL, CUT, FREEZE)]
    return [*cases, Case(SLOW, ("all routes",)), *(Case(DRAIN, (f"server {i + 1}",)) for i in range(SERVERS))]


class ClusterFaults:
    """Does cases, and waits until all is as before."""

    def __init__(self, rig: ClusterRig, links: Links) -> None:
        self.rig = rig
        self.links = links

    async def do(self, case: Case) -> tuple[float, float]:
        """One case, until the servers have settled: from when to when (monotonic)."""
        servers = await self._servers(case.who)
        began = time.monotonic()
        match case.what:
            case "killed":
                await self._kill(servers)
            case "frozen":
                with self._stopped([self.rig.server_pids()[i] for i in servers]):
                    await pause(FROZEN_S)
            case "cut off":
                self.links.cut(*servers)
                try:
                    await pause(CUT_S)
                finally:
                    self.links.heal(*servers)
            case "disk emptied":
                self._empty(servers[0])
            case "drained and started anew":
                await self._drain(servers[0])
            case "slowed":
                self.links.delay_s = DELAY_S
                try:
                    await pause(SLOW_S)
                finally:
                    self.links.delay_s = 0.0
            case _:
                raise AssertionError(case.what)
        await until(self.settled, SETTLED_S, f"{case}: the cluster did not settle")
        return began, time.monotonic()

    async def _servers(self, who: Sequence[str]) -> list[int]:
        found: list[int] = []
        for name in who:
            match name:
                case "leader of LOG" | "leader of WORK":
                    found.append(await self._leads(name.rpartition(" ")[2]))
                case "meta leader":
                    found.append(await self._meta())
                case "another":
                    found.append((found[0] + 1) % SERVERS)
                case "all routes":
                    found += range(SERVERS)
                case _:
                    found.append(int(name.rpartition(" ")[2]) - 1)
        return found

    async def _leads(self, stream: str) -> int:
        async def leader() -> str:
            with contextlib.suppress(BusError):
                return str((await self.rig.bus.api(f"STREAM.INFO.{stream}"))["cluster"].get("leader", ""))
            return ""

        return _number(await until(leader, SETTLED_S, f"{stream} has no leader"))

    async def _meta(self) -> int:
        """Only an operator may ask who leads the servers."""
        credentials = load_credentials(self.rig.lease.credentials("operator"))
        async with await connect(self.rig.lease.url, credentials, name="chaos-operator", retry_first=True) as conn:

            async def leader() -> str:
                with contextlib.suppress(BusError):
                    said = await conn.request("$SYS.REQ.SERVER.PING.JSZ", b"{}", 2.0)
                    data = msgspec.json.decode(said.data).get("data") or {}
                    return str((data.get("meta_cluster") or {}).get("leader", ""))
                return ""

            return _number(await until(leader, SETTLED_S, "there is no meta leader"))

    async def _kill(self, servers: list[int]) -> None:
        """One is started again at once; of two the supervisor hears only after a while."""
        pids = [self.rig.server_pids()[i] for i in servers]
        supervisor = [self.rig.lease.running().supervisor] if len(servers) > 1 else []
        with self._stopped(supervisor):
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            if supervisor:
                await pause(AWAY_S)

    async def _drain(self, server: int) -> None:
        """Lame duck mode: it ends by itself once its clients have gone."""
        pid = self.rig.server_pids()[server]
        os.kill(pid, signal.SIGUSR2)

        async def anew() -> bool:
            return self.rig.server_pids()[server] not in (0, pid)

        await until(anew, SETTLED_S, f"server {server + 1} did not end")

    def _empty(self, server: int) -> None:
        """It stands still while its store goes, so that it can write none of it again."""
        pid = self.rig.server_pids()[server]
        with self._stopped([pid]):
            shutil.rmtree(self.rig.lease.state / FOLDER / f"server-{server + 1}" / "jetstream")
            os.kill(pid, signal.SIGKILL)

    @contextlib.contextmanager
    def _stopped(self, pids: Sequence[int]) -> Iterator[None]:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    async def settled(self) -> bool:
        """Whether every server runs, every stream has a leader and all of its copies are whole."""
        if not all(self.rig.server_pids()):
            return False
        try:
            async with asyncio.timeout(5.0):
                names = (await self.rig.bus.api("STREAM.NAMES"))["streams"]
                for name in names:
                    cluster = (await self.rig.bus.api(f"STREAM.INFO.{name}"))["cluster"]
                    others = cluster.get("replicas") or []
                    whole = [r for r in others if r.get("current") and not r.get("offline")]
                    if not cluster.get("leader") or len(whole) < SERVERS - 1:
                        return False
        except (BusError, TimeoutError):
            return False
        return True


def _number(leader: str) -> int:
    return int(leader.rpartition("-")[2]) - 1
