"""Processes of two releases on one bus, exchanged one after another while sessions of every protocol go on."""

import asyncio
import base64
import io
import os
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import pytest

from parley.agents.specs import load
from parley.bus import accounts
from parley.bus.connection import Connection, connect
from parley.bus.embedded import EmbeddedServer
from parley.client import records, what_if
from parley.client.api import Parley
from parley.client.client import Client
from parley.client.opened_session import Session
from parley.coordinator.protocols import PROTOCOLS, STANDING
from parley.observability.metrics import Metrics
from parley.schemas.log import Aside
from parley.schemas.stops import STOPS, VERSION_LOST
from parley.schemas.wire import decode
from parley.stack import keys, services
from tests.support.engine import until

ROOT = Path(__file__).parents[2]
BEFORE = "1faa0eb5b82b27fc3a36a9ef871cee115645af6e"
"""An early release: the last commit in which a client's subjects have no owner."""
NEAR = "6455ef08"
"""A near release, to which one may go back: all protocols but one have the version of today. Where none has it any
more, take a later commit."""
LATENCY_S = 0.25
EXPERTS = ("expert_sre", "expert_security-architect", "expert_systems-architect", "expert_generalist")
QUEUES = (
    "panelist_1", "panelist_2", "panelist_3", "analyst", "answerer", "critic", "judge", "helper", "debater_1",
    "debater_2", "pro_1", "con_1", "audience_1", *EXPERTS,
)  # fmt: skip
HALVES = QUEUES[::2], QUEUES[1::2]
EXAMPLES = ROOT / "examples"
TRIED = ("competition", "consensus", "critic", "madp", "maci")
"""Those that are over soon come last. One call of `single` is over before anything is exchanged."""
FORMAT = ROOT / "tests" / "old_logs" / "092e006" / "short_format.yaml"


def asked(protocol: str) -> dict[str, Any]:
    """What is asked in each protocol."""
    if protocol == "madp":
        return {"question": "add JWT authentication to the API"}
    name = {"consensus": "unresolved", "critic": "critic-archive", "maci": "diagnosis", "competition": "competition"}
    folder = EXAMPLES / name[protocol]
    settings: dict[str, Any] = {"round_limit": 1 if protocol == "maci" else 2}
    if protocol == "maci":
        settings["outcomes"] = (folder / "outcomes.txt").read_text().splitlines()
    if protocol == "competition":
        settings = {"format": str(FORMAT)}
    question = (folder / "question.txt").read_text().strip()
    return {"question": question, "evidence": folder / "evidence", "settings": settings}


@pytest.fixture(scope="module")
def before(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a release before: of BEFORE, or of the commit that the test names."""
    commit = getattr(request, "param", BEFORE)
    folder = tmp_path_factory.mktemp("before")
    archived = subprocess.run(["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=False)
    if archived.returncode:
        pytest.skip(f"NOT CHECKED: an upgrade from {commit}, which this clone does not have (a shallow one?)")
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as tar:
        tar.extractall(folder, filter="data")
    return folder


def version(release: Path, protocol: str) -> str:
    """Of a protocol's sessions that a release opens."""
    text = (release / "coordinator" / "protocols" / protocol / "protocol.py").read_text()
    found = re.search(r"^    version=(\d+),$", text, re.M)
    assert found is not None, protocol
    return found[1]


class Stack:
    """A bus with this tree's configuration, and processes of both releases on it."""

    def __init__(self, folder: Path, before: Path) -> None:
        """Experts stay enrolled as the release `before` had them: one that is changed is enrolled again."""
        self.folder = folder
        self.experts = {q: before / "agents" / "experts" / f"{q.removeprefix('expert_')}.yaml" for q in EXPERTS}
        self.keys = folder / "keys"
        roles = {queue: load(queue).roles[0] for queue in QUEUES}
        pins = {queue: load(str(path)).pin for queue, path in self.experts.items()}
        users = accounts.table(roles, moderators=("moderator-1", "moderator-2"), pins=pins)
        self.credentials, _ = keys.ensure(self.keys, users)
        self.server = EmbeddedServer(folder / "bus", users, accounts.publics(self.credentials))
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        self.server.stop()

    def _start(self, release: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PARLEY", "LLM_", "PYTHONPATH"))}
        with (self.folder / f"{name}-{len(self._processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, *arguments], cwd=release, env={**kept, "PYTHONPATH": str(release)},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        process.__dict__["log"] = Path(log.name)
        self._processes.append(process)
        return process

    def moderator(self, release: Path, name: str) -> subprocess.Popen[bytes]:
        """One more of a release."""
        return self._start(
            release, name, "-m", "parley", "moderator", "--nats", self.server.url, "--creds",
            str(self.keys / f"{name}.json"), "--token-key", str(self.keys / keys.TOKEN_KEY),
        )  # fmt: skip

    def agents(self, release: Path, queues: tuple[str, ...]) -> subprocess.Popen[bytes]:
        """One more copy of these queues' workers, of a release."""
        script = (Path(__file__).parent / "hosts.py").read_text()
        return self._start(release, "agents", "-c", script, self.server.url, str(self.keys), str(LATENCY_S),
                           *(str(self.experts.get(q, q)) for q in queues))  # fmt: skip

    async def ready(self, agents: subprocess.Popen[bytes], release: Path) -> None:
        """Wait until they serve, as that release."""

        async def said() -> str:
            text = agents.__dict__["log"].read_text()
            assert agents.poll() is None, text
            return next((line for line in text.splitlines() if line.startswith("ready ")), "")

        assert await until(said, 20.0) == f"ready {release}"


@asynccontextmanager
async def owner(stack: Stack) -> AsyncIterator[Client]:
    async with await connect(stack.server.url, stack.credentials["owner"], name="owner") as connection:
        yield Client(connection, "owner")


@pytest.fixture
def stack(tmp_path: Path, before: Path) -> Iterator[Stack]:
    with Stack(tmp_path, before) as started:
        yield started


async def opened(client: Client, protocols: list[str]) -> list[Session]:
    parley = Parley(client)
    return [await parley.start(protocol=p, seed=7, **asked(p)) for p in protocols]


async def under_way(client: Client, sessions: list[Session], entries: int) -> None:
    """Wait until each of them has come so far."""

    async def there() -> bool:
        return all([len(await client.log(s.sid)) >= entries for s in sessions])

    await until(there, 20.0)


async def folded(connection: Connection, sids: list[str]) -> list[str]:
    """The stop reasons that a moderator of this tree comes to."""
    make = services.moderator(token_key=b"k" * 32, ack_wait_s=1.0)
    found = []
    async with make(connection, Metrics()) as moderator:
        for sid in sids:
            held = await moderator.sessions.look(sid, fresh=True)  # type: ignore[attr-defined]  # raises BrokenLog
            assert held.session is not None and held.session.stopped is not None
            found.append(held.session.stopped.reason)
    return found


async def put_aside(connection: Connection) -> list[str]:
    """Why messages were put aside, one by one."""
    state = (await connection.api("STREAM.INFO.ASIDE"))["state"]
    found = []
    for seq in range(state["first_seq"], state["last_seq"] + 1) if state["messages"] else ():
        message = (await connection.api("STREAM.MSG.GET.ASIDE", {"seq": seq}))["message"]
        found.append(decode(base64.b64decode(message["data"]), Aside).why)
    return found


@pytest.mark.serial
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("before", "back"),
    [(BEFORE, False), (NEAR, True)],
    indirect=["before"],
    ids=["to this release", "back to the one before"],
)
async def test_sessions_go_on_while_processes_are_exchanged(stack: Stack, before: Path, back: bool) -> None:
    first, then = (ROOT, before) if back else (before, ROOT)
    assert set(PROTOCOLS) - {p.name for p in STANDING.values()} == {*TRIED, "single"}
    protocols = list(TRIED)
    if back:  # of a newer version the release before can step none (docs/compatibility.md)
        protocols = [p for p in protocols if version(before, p) == version(ROOT, p)]
        assert protocols, f"every protocol has a newer version than {NEAR}: take a later commit in its place"
    moderator = stack.moderator(first, "moderator-1")
    old = [stack.agents(first, half) for half in HALVES]
    for agents in old:
        await stack.ready(agents, first)
    async with owner(stack) as client:

        async def gathered() -> bool:
            return {w.queue for w in (await client.everybody(20.0)).workers} >= set(QUEUES) - set(EXPERTS)

        await until(gathered, 20.0)
        sessions = await opened(client, protocols)
        other = stack.moderator(then, "moderator-2")
        new = [stack.agents(then, half) for half in HALVES]
        await under_way(client, sessions, 2)
        await stack.ready(new[0], then)
        sessions += await opened(client, protocols)
        exchanged = [time.time_ns()]
        moderator.kill()
        sessions += await opened(client, protocols)
        exchanged.append(time.time_ns())
        old[0].terminate()
        await asyncio.to_thread(old[0].wait, 10)
        await stack.ready(new[1], then)
        sessions += await opened(client, protocols)
        exchanged.append(time.time_ns())
        old[1].terminate()
        await asyncio.to_thread(old[1].wait, 10)
        results = await asyncio.wait_for(asyncio.gather(*(s.result() for s in sessions)), 60)
        assert other.poll() is None
        rows = [r for r in await client.sessions() if r.closed_ns]
        under = {r.protocol for r in rows for at in exchanged if r.opened_ns < at < (r.closed_ns or 0)}
        assert under == set(protocols), "sessions of some protocol were over before anything was exchanged"
        reasons = [r.stop.reason for r in results]
        assert all(r.status == "finished" and r.outcome for r in results), reasons
        assert VERSION_LOST not in reasons and set(reasons) <= set(STOPS)
        for session in sessions:
            record = records.Record(sid=session.sid, entries=tuple(await client.log(session.sid)))
            assert what_if.verify(record)["closed"]
    async with await connect(stack.server.url, stack.credentials["moderator-1"], name="m") as connection:
        assert await folded(connection, [s.sid for s in sessions]) == reasons
        # The release before puts aside what it is asked of a session that is of a newer version.
        assert [
            w for w in await put_aside(connection) if not re.search(r"BrokenLog: .*, this moderator has \d", w)
        ] == []
