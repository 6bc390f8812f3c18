"""The gateway with 200 viewers on one session: events a second, time from append to page, memory; beside bare Starlette
that sends the same bytes to as many."""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from parley_research.benchmarks.around import command
from parley_research.benchmarks.processes import memory

VIEWERS = 200
_TIMES = 3
_REST_S = 5.0
"""Between 200 requests and the next: one principal sends so many at once, and no more (parley/web/guard.py)."""
_WAIT_S = 60.0
_AT = re.compile(rb'"at_ms":(\d+)')


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured; rates at the median of several runs."""

    viewers: int
    events: int
    """Of one stream, from its beginning to its end."""
    events_per_s: float
    """To all viewers together, of a session that is over, from the first connection to the last byte."""
    floor_per_s: float
    """The same of bare Starlette."""
    lag_p50_ms: float
    """From the time of a post to its bytes at a viewer who was there before, of sessions that run."""
    lag_p95_ms: float
    lags: int
    memory: tuple[int, int]
    """Bytes of the gateway, at rest and after all of it."""
    load: float
    """Of the machine, over the last minute."""


async def measure(quick: bool) -> Figure:
    """Everything."""
    times = 1 if quick else _TIMES
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        child = subprocess.Popen(  # noqa: ASYNC220  nothing else runs here yet
            [*command(), "serve", "--json", "--set", "protocol=consensus"],
            stdout=subprocess.PIPE,
            env={**os.environ, "PARLEY_STATE": str(Path(folder) / "state")},
        )
        try:
            return await _measure(child, times)
        finally:
            child.terminate()
            await asyncio.to_thread(child.communicate)


async def _measure(child: "subprocess.Popen[bytes]", times: int) -> Figure:
    assert child.stdout is not None
    where = json.loads(await asyncio.to_thread(child.stdout.readline))
    host = where["url"].removeprefix("http://")
    headers = {"Authorization": f"Bearer {where['token']}"}
    before = memory(child.pid).rss
    lags: list[float] = []
    rates, floors = [], []
    whole: list[Any] = []
    async with httpx2.AsyncClient(base_url=where["url"], headers=headers, timeout=_WAIT_S) as http:
        for _ in range(times):
            await asyncio.sleep(_REST_S)
            sid = await _begun(http)
            path = f"/api/sessions/{sid}/events"
            watched = await asyncio.gather(*(_watch(host, path, where["token"]) for _ in range(VIEWERS)))
            lags += [lag for _, sample in watched for lag in sample]
            await asyncio.sleep(_REST_S)
            started = time.perf_counter()
            whole = await asyncio.gather(*(_watch(host, path, where["token"]) for _ in range(VIEWERS)))
            rates.append(sum(len(events) for events, _ in whole) / (time.perf_counter() - started))
            floors.append(await _floor(whole[0][0]))
    lags.sort()
    return Figure(
        viewers=VIEWERS, events=len(whole[0][0]), events_per_s=sorted(rates)[len(rates) // 2],
        floor_per_s=sorted(floors)[len(floors) // 2], lag_p50_ms=lags[len(lags) // 2],
        lag_p95_ms=lags[int(len(lags) * 0.95)], lags=len(lags), memory=(before, memory(child.pid).rss),
        load=os.getloadavg()[0],
    )  # fmt: skip


async def _begun(http: httpx2.AsyncClient) -> str:
    wanted = {"question": "When does the backup run?", "protocol": "consensus", "settings": {"round_limit": 5}}
    note = b"The backup runs every night at two. It takes four hours.\n"
    parts: list[Any] = [("evidence", ("note.md", note))]
    answer = await http.post("/api/sessions", data={"request": json.dumps(wanted)}, files=parts)
    return str(answer.json()["session"])


async def _watch(host: str, path: str, token: str = "", there: "asyncio.Event | None" = None) -> Any:
    """(events of a stream to its end, milliseconds from each post's time to its coming where it came later than us)."""
    address, _, port = host.partition(":")
    reader, writer = await asyncio.open_connection(address, int(port), limit=2**22)
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    writer.write(head.encode())
    await reader.readuntil(b"\n\n")
    since = time.time() * 1e3
    if there is not None:
        there.set()
    left, events, lags = b"", [], []
    while data := await reader.read(2**20):
        now = time.time() * 1e3
        *whole, left = (left + data).split(b"\n\n")
        for event in whole:
            match = _AT.search(event) if b"event: post" in event else None
            if match and int(match[1]) >= since:
                lags.append(now - int(match[1]))
        events += whole
    writer.close()
    return events, lags


async def _floor(events: list[bytes]) -> float:
    """Events a second of bare Starlette with these."""
    with socket.create_server(("127.0.0.1", 0), backlog=2_048) as listening:
        listening.set_inheritable(True)
        host = f"127.0.0.1:{listening.getsockname()[1]}"
        arguments = [sys.executable, "-m", "parley_research.benchmarks.floors.sse", str(listening.fileno())]
        child = subprocess.Popen(arguments, pass_fds=(listening.fileno(),))  # noqa: ASYNC220  nothing else runs here
        try:
            async with httpx2.AsyncClient(base_url=f"http://{host}", timeout=_WAIT_S) as http:
                await http.post("/tell", content=b"")  # it answers
                started = time.perf_counter()
                there = [asyncio.Event() for _ in range(VIEWERS)]
                watching = [asyncio.ensure_future(_watch(host, "/events", there=event)) for event in there]
                await asyncio.gather(*(event.wait() for event in there))
                await http.post("/tell", content=b"\0".join(event + b"\n\n" for event in events))
                samples = await asyncio.gather(*watching)
                return sum(len(sample) for sample, _ in samples) / (time.perf_counter() - started)
        finally:
            child.terminate()
            child.wait()


def lines(f: Figure) -> list[str]:
    """For people."""
    return [
        f"gateway, {f.viewers} viewers of one session, load {f.load:.1f}",
        f"  events a second to all      {f.events_per_s:9,.0f}  {f.events_per_s / f.floor_per_s:5.2f}x bare Starlette "
        f"({f.floor_per_s:,.0f})",
        f"  from append to page         p50 {f.lag_p50_ms:.0f} ms, p95 {f.lag_p95_ms:.0f} ms ({f.lags:,} posts)",
        f"  memory                      {f.memory[0] / 1e6:.0f} MB at rest, {f.memory[1] / 1e6:.0f} MB afterwards",
    ]
