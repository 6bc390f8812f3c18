"""Figures around a session: cold start to the first turn, the help text, memory at rest and of open sessions."""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from parley.bus.accounts import load_credentials
from parley.bus.connection import connect
from parley.bus.streams import STREAMS
from parley.client.client import Client
from parley.schemas.log import Entry, Replied
from parley.schemas.wire import decode
from parley.stack.lease import OWNER, Lease, Stack
from parley.stack.rows import rows_of
from parley_research.benchmarks.debates import Bench, Case, bench, stack
from parley_research.benchmarks.processes import Memory

_HELP_S = 30.0
_ASK_S = 60.0
OPEN = 1_000
"""Sessions that are held open."""


class NotMeasured(Exception):
    """A figure that cannot be had here, and why."""


class FirstTurn(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from the start of the process `parley ask`."""

    asked_s: float
    """To the append of the first turns."""
    called_s: float
    """To the first model call."""
    ended_s: float
    """To the end of the process."""


def command() -> list[str]:
    """How the command line is started."""
    script = Path(sys.executable).with_name("parley")
    return [str(script)] if script.exists() else [sys.executable, "-m", "parley"]


def help_s(times: int) -> float:
    """Seconds of `parley --help`, at the median. Raises NotMeasured."""
    durations = []
    for _ in range(times):
        started = time.perf_counter()
        done = subprocess.run([*command(), "--help"], capture_output=True, timeout=_HELP_S, check=False)
        durations.append(time.perf_counter() - started)
        if done.returncode:
            raise NotMeasured(f"parley --help ended with {done.returncode}: {_last(done.stderr)}")
    return statistics.median(durations)


def _last(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def first_turn(times: int) -> FirstTurn:
    """`parley ask` on a cold start, the median of several. Raises NotMeasured."""
    turns = sorted((_ask_once() for _ in range(times)), key=lambda f: f.asked_s)
    return turns[len(turns) // 2]


def _ask_once() -> FirstTurn:
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        evidence = Path(folder) / "evidence"
        evidence.mkdir()
        (evidence / "note.md").write_text("The backup runs every night at two. It takes four hours.\n")
        state = Path(folder) / "state"
        environment = {**os.environ, "PARLEY_STATE": str(state)}
        started_ns = time.time_ns()
        done = subprocess.run(
            [*command(), "ask", "When does the backup run?", "--protocol", "consensus", "--evidence", str(evidence),
             "--json"],
            capture_output=True, timeout=_ASK_S, check=False, env=environment,
        )  # fmt: skip
        ended_ns = time.time_ns()
        try:
            sid = msgspec.json.decode(done.stdout)["session"]
        except (msgspec.DecodeError, KeyError, TypeError):
            raise NotMeasured(f"parley ask ended with {done.returncode}: {_last(done.stderr)}") from None
        entries = asyncio.run(_log(state, sid))
    reply = next(e for e in entries if isinstance(e.event, Replied))
    assert isinstance(reply.event, Replied)
    return FirstTurn(
        asked_s=(entries[0].at_ns - started_ns) / 1e9,
        called_s=(reply.at_ns - started_ns) / 1e9 - reply.event.model_s,
        ended_s=(ended_ns - started_ns) / 1e9,
    )


async def _log(state: Path, sid: str) -> list[Entry]:
    """The session's entries, from a stack started once more on its state directory."""
    async with Lease(Stack(agents=rows_of("consensus")), state) as lease:
        async with await connect(lease.url, load_credentials(lease.credentials(OWNER)), name="bench") as connection:
            return [decode(text.encode(), Entry) for text in await Client(connection, OWNER).log(sid)]


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """Memory with nothing to do, and with sessions that wait for their models."""

    at_rest: dict[str, Memory]
    with_sessions: dict[str, Memory]
    sessions: int
    stored: dict[str, float]
    """Stream -> bytes on disk that one more open session takes."""

    @property
    def bytes_a_session(self) -> float | None:
        """What one more open session takes in the moderator; None where the system does not tell."""
        before, after = self.at_rest["moderator-1"].uss, self.with_sessions["moderator-1"].uss
        return None if before is None or after is None else (after - before) / self.sessions


async def open_sessions(count: int = OPEN) -> Open:
    """A moderator that holds `count` debates of three whose models are slow."""
    case = Case(debaters=3, rounds=3, at_once=1, total=1, latency_s=3_600.0)
    async with bench(stack(case.latency_s)) as running:
        await _open(running, case, 100)  # what is allocated once
        before, stored = running.memory(), await _stored(running)
        await _open(running, case, count)
        grown = {name: (size - stored[name]) / count for name, size in (await _stored(running)).items()}
        return Open(at_rest=before, with_sessions=running.memory(), sessions=count, stored=grown)


async def _stored(running: Bench) -> dict[str, int]:
    """Bytes in each stream."""
    moderator = load_credentials(running.lease.credentials("moderator-1"))
    async with await connect(running.lease.url, moderator, name="bench") as conn:
        infos = {name: await conn.api(f"STREAM.INFO.{name}") for name in STREAMS}
    return {name: int(info["state"]["bytes"]) for name, info in infos.items()}


async def _open(running: Bench, case: Case, count: int) -> None:
    """Open so many, and wait until the list of sessions has them."""
    client = running.client()
    wanted = len(await client.sessions()) + count
    for start in range(0, count, 50):
        await asyncio.gather(*(running.open(case) for _ in range(start, min(count, start + 50))))
    async with asyncio.timeout(_ASK_S):
        while len(await client.sessions()) < wanted:  # noqa: ASYNC110  what is waited for is another process
            await asyncio.sleep(0.1)
