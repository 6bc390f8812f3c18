"""A process that calls endpoints and tells what that did to it: `python -m tests.security.endpoint_victim TIMES`.

It holds what a worker of a stack holds. Standard input is JSON, a list of [name, URL, call, seconds]; of each, a first
call is no part of what is told, which is JSON too: the errors, the most memory so far, the longest that the event loop
was blocked (by the clock, and in CPU time of its thread, which a busy machine does not lengthen).
"""

import asyncio
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import parley.stack.services  # noqa: F401
from parley.agents.endpoint.endpoint import Failure
from parley.agents.models import ModelError
from parley.agents.openai.model import OpenAIModel
from parley.schemas.turn import Caps
from tests.llm.support import asked, model, silent

MOST_BYTES = 8_000_000_000
"""Of address space: so much harm is enough to show it."""
TICK_S = 0.002


async def call(kind: str, made: OpenAIModel, seconds: float) -> str:
    """One call; the error that it ended with."""
    try:
        if kind == "models":
            async with asyncio.timeout(seconds):
                return f"{len(await made.open()[0].fetch('/models'))} bytes"
        shown = asked(seconds=seconds, stream=kind == "stream", caps=Caps(calls=1))
        return f"{await made.reply(shown, silent)}"
    except (ModelError, Failure) as error:
        return error.why


async def ticks(found: dict[str, Any]) -> None:
    """Notes the longest that the loop did not come back to it."""
    while True:
        clock, cpu = time.perf_counter(), time.thread_time()
        await asyncio.sleep(TICK_S)
        found["blocked_s"] = max(found["blocked_s"], time.perf_counter() - clock - TICK_S)
        found["blocked_cpu_s"] = max(found["blocked_cpu_s"], time.thread_time() - cpu)


def peak_mb() -> float:
    """The most memory that this process held, in MB."""
    try:
        text = Path("/proc/self/status").read_text().partition("VmHWM:")[2]
        return int(text.split()[0]) * 1024 / 1e6
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


async def suffer(url: str, kind: str, times: int, seconds: float) -> dict[str, Any]:
    async with model(url, concurrency=64) as made:
        await call(kind, made, seconds)  # what is set up once is not the endpoint's doing
        found: dict[str, Any] = {"blocked_s": 0.0, "blocked_cpu_s": 0.0, "base_mb": peak_mb()}
        ticking = asyncio.create_task(ticks(found))
        started = time.perf_counter()
        ends = await asyncio.gather(*(call(kind, made, seconds) for _ in range(times)), return_exceptions=True)
        found["seconds"] = time.perf_counter() - started
        await asyncio.sleep(2 * TICK_S)  # what was blocked at the very end counts
        ticking.cancel()
    found["errors"] = [
        f"{type(end).__name__} raised: {end}"[:300] if isinstance(end, BaseException) else end[:600] for end in ends
    ]
    return found | {"peak_mb": peak_mb()}


async def main(calls: list[tuple[str, str, str, float]], times: int) -> None:
    for name, url, kind, seconds in calls:
        print(json.dumps({"name": name, **await suffer(url, kind, times, seconds)}), flush=True)


if __name__ == "__main__":
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    asyncio.run(main(json.load(sys.stdin), int(sys.argv[1])))
