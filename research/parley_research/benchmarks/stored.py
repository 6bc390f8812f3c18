"""What stored sessions cost: lists, an unknown id and `parley ask` beside a store that holds many, and beside one that
holds none.

One session is really run. Its events are stepped once more for every copy, under another id, so that each log is one
that a moderator would have written; the index is rebuilt from them by the command that is for that.
"""

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from parley.bus import subjects
from parley.bus.accounts import load_credentials
from parley.bus.connection import Connection, connect
from parley.client.client import Client, new_sid
from parley.coordinator.machine import Protocol, record, record_opening
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.sessions import rows
from parley.schemas.log import Entry, Opened
from parley.schemas.session import Document, OpenSession
from parley.schemas.wire import decode, encode
from parley.stack.lease import OWNER, Lease, Stack
from parley.stack.rows import rows_of
from parley_research.benchmarks.around import NotMeasured, command
from parley_research.benchmarks.processes import memory

COUNTS = (0, 1_000, 100_000)
QUICK = 1_000
_TIMES = 5
_COMMAND_S = 120.0
_QUESTION, _NOTE = "When does the backup run?", "The backup runs every night at two. It takes four hours.\n"
_AT_ONCE = 200
"""Sessions that are written side by side."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds at the median, bytes of memory, with so many sessions stored."""

    sessions: int
    stored_bytes: int
    """What LOG and INDEX hold."""
    rebuild_s: float
    """`parley sessions rebuild-index`, of all of them."""
    list_s: float
    """`parley sessions list`, the newest 50: a process from its start to its end, as all that follow."""
    unknown_s: float
    """`parley sessions show` of an id that there is not."""
    inbox_s: float
    """`parley inbox`, which looks for open sessions."""
    ask_s: float
    """`parley ask` that starts the stack, with the extractive model."""
    page_s: float
    """A page of 50 rows, asked for in a process that is connected."""
    moderator: tuple[int, int]
    """Memory (USS, else RSS) of a moderator, before the lists and after them."""
    server: tuple[int, int]
    """The same of nats-server."""


def measure(counts: tuple[int, ...] = COUNTS) -> list[Figure]:
    """Every number of sessions in a store of its own. Raises NotMeasured."""
    return [_measure(count) for count in counts]


def _measure(count: int) -> Figure:
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        state = Path(folder) / "state"
        if count:
            asyncio.run(_fill(state, count))
        with Lease(Stack(agents=rows_of("consensus"), log_level="WARNING"), state, wait_ready=True) as lease:
            rebuild_s = _timed(state, "sessions", "rebuild-index", "--json", times=1)
            before = _memory(lease)
            list_s = _timed(state, "sessions", "list", "--json")
            unknown_s = _timed(state, "sessions", "show", "NOSUCH", expected=None)
            inbox_s = _timed(state, "inbox", "--json")
            page_s, stored = asyncio.run(_pages(lease))
            after = _memory(lease)
        ask = ("ask", _QUESTION, "--protocol", "consensus", "--evidence", str(_evidence(folder)))
        ask_s = _timed(state, *ask, "--json")
    return Figure(
        sessions=count, stored_bytes=stored, rebuild_s=rebuild_s, list_s=list_s, unknown_s=unknown_s, inbox_s=inbox_s,
        ask_s=ask_s, page_s=page_s, moderator=(before[0], after[0]), server=(before[1], after[1]),
    )  # fmt: skip


def _evidence(folder: str) -> Path:
    evidence = Path(folder) / "evidence"
    evidence.mkdir(exist_ok=True)
    (evidence / "note.md").write_text(_NOTE)
    return evidence


def _timed(state: Path, *words: str, times: int = _TIMES, expected: int | None = 0) -> float:
    """Seconds of a command, at the median. `expected`: its exit status; None for any. Raises NotMeasured."""
    took = []
    for _ in range(times):
        started = time.perf_counter()
        done = subprocess.run(
            [*command(), *words], capture_output=True, timeout=_COMMAND_S, check=False,
            env={**os.environ, "PARLEY_STATE": str(state)},
        )  # fmt: skip
        took.append(time.perf_counter() - started)
        if expected is not None and done.returncode != expected:
            said = done.stderr.decode(errors="replace").strip()
            raise NotMeasured(f"parley {' '.join(words[:2])} ended with {done.returncode}: {said[-300:]}")
    return statistics.median(took)


def _memory(lease: Lease) -> tuple[int, int]:
    pids = lease.pids()
    memories = [memory(pids[name]) for name in ("moderator-1", "nats")]
    return (memories[0].uss or memories[0].rss, memories[1].uss or memories[1].rss)


async def _pages(lease: Lease) -> tuple[float, int]:
    """Seconds of a page of the newest 50, and the bytes that LOG and INDEX hold."""
    took = []
    async with await connect(lease.url, load_credentials(lease.credentials(OWNER)), name="bench") as connection:
        for _ in range(4 * _TIMES):
            started = time.perf_counter()
            await Client(connection, OWNER).sessions(50)
            took.append(time.perf_counter() - started)
    moderator = load_credentials(lease.credentials("moderator-1"))
    async with await connect(lease.url, moderator, name="bench") as connection:
        held = [(await connection.api(f"STREAM.INFO.{s}"))["state"]["bytes"] for s in ("LOG", "INDEX")]
    return statistics.median(took), sum(held)


# -- filling
async def _fill(state: Path, count: int) -> None:
    """Run one session, and store as many as are missing beside it."""
    async with Lease(Stack(agents=rows_of("consensus"), log_level="WARNING"), state, wait_ready=True) as lease:
        async with await connect(lease.url, load_credentials(lease.credentials(OWNER)), name="bench") as connection:
            client = Client(connection, OWNER)
            note = Document(id=sha256(_NOTE.encode()).hexdigest(), name="note.md", text=_NOTE)
            request = OpenSession(question=_QUESTION, protocol="consensus", documents=(note,))
            sid = await client.open(request)
            await client.result(sid)
            entries = [decode(text.encode(), Entry) for text in await client.log(sid)]
        moderator = load_credentials(lease.credentials("moderator-1"))
        async with await connect(lease.url, moderator, name="bench") as connection:
            for start in range(1, count, _AT_ONCE):
                await asyncio.gather(*(_store(connection, entries) for _ in range(start, min(count, start + _AT_ONCE))))


async def _store(connection: Connection, entries: list[Entry]) -> None:
    """The session once more, under an id of its own."""
    sid, last = new_sid(), 0
    for kind, entry, row in _again(sid, entries):
        expected = (subjects.log_of(sid), last)
        headers = {"Parley-Row": row} if row else None
        subject = subjects.log(sid, kind)
        last = (await connection.store(subject, encode(entry), expected_last=expected, headers=headers)).seq


def _again(sid: str, entries: list[Entry]) -> Iterator[tuple[str, Entry, str]]:
    """(kind, entry, header) of each, as a moderator would append them."""
    opened = entries[0].event
    assert isinstance(opened, Opened)
    protocol: Protocol = PROTOCOLS[opened.protocol]
    session, entry = record_opening(protocol, sid, opened, entries[0].at_ns, entries[0].cause)
    yield subjects.OPENED, entry, encode(rows.of(session)).decode()
    for before in entries[1:]:
        session, entry = record(protocol, session, entry.digest, before.event, before.at_ns, before.cause)
        closed = session.closed
        yield (
            subjects.CLOSED if closed else subjects.STEP, entry, encode(rows.of(session)).decode() if closed else "",
        )  # fmt: skip


def lines(figures: list[Figure]) -> list[str]:
    """The figures beside each other, as text."""

    def row(name: str, values: list[str]) -> str:
        return f"{name:32}" + "".join(f"{value:>16}" for value in values)

    def seconds(name: str) -> list[str]:
        return [f"{getattr(f, name):.3f} s" for f in figures]

    def grown(name: str) -> list[str]:
        return [f"{getattr(f, name)[0] / 1e6:.0f} -> {getattr(f, name)[1] / 1e6:.0f} MB" for f in figures]

    return [
        row("stored sessions", [f"{f.sessions:,}" for f in figures]),
        row("LOG and INDEX", [f"{f.stored_bytes / 1e6:,.0f} MB" for f in figures]),
        row("parley sessions list", seconds("list_s")),
        row("parley sessions show, unknown id", seconds("unknown_s")),
        row("parley inbox", seconds("inbox_s")),
        row("parley ask, cold", seconds("ask_s")),
        row("one page of 50, connected", seconds("page_s")),
        row("parley sessions rebuild-index", seconds("rebuild_s")),
        row("moderator", grown("moderator")),
        row("nats-server", grown("server")),
    ]  # fmt: skip
