"""Routes many tasks in several processes, one for each core. So a long file of prompts waits only for encoders.

A helper process is this module, started with pipes: `python -m parley.routing.many`. It is sent a Set-up, then chunks
of tasks; it answers each with its routes, and ends with its input. A frame is its length in 4 bytes, then JSON.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, BinaryIO

import msgspec

from parley.client.errors import BadInput, ParleyError
from parley.client.setup.expert_choice import Router
from parley.routing.route import chunks, router
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Task
from parley.schemas.wire import decode, encode

WORTH = 150
"""Prompts from which on another process is worth its start."""
_SIZE = 4
_AHEAD = 4
"""Chunks that a process may be ahead of the one whose turn it is to be printed."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The settings with which a process routes."""

    specs: tuple[ExpertSpec, ...]
    keyword: bool = False


class HelperLost(ParleyError):
    """A process that routes ended before its work was done. The environment's fault."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


async def route_many(
    tasks: Sequence[Task], specs: Sequence[ExpertSpec], *, keyword: bool = False, processes: int | None = None
) -> AsyncIterator[bytes]:
    """The routes of tasks as JSON, in their order, each as soon as those before it are there.

    Parameters
    ----------
    processes
        How many at once; None: a core each, where there are tasks enough; 1: this one alone.

    Raises
    ------
    BadInput
        The reader cannot be had here.
    HelperLost
    """
    wanted = min(cores(), len(tasks) // WORTH) if processes is None else processes
    setup = Setup(specs=tuple(specs), keyword=keyword)
    if wanted < 2:
        here = router(specs, keyword=keyword)
        await here.ready()
        for chunk in chunks(tasks):
            for routed in await here.route_all(chunk):
                yield encode(routed)
        return
    async with _helpers(setup, wanted) as helpers:
        async for route in _in_order(list(chunks(tasks)), helpers):
            yield route


async def _in_order(work: Sequence[Sequence[Task]], helpers: Sequence["_Helper"]) -> AsyncIterator[bytes]:
    """Chunks go to whoever is free; what comes back is told in their order."""
    done: list[asyncio.Future[list[bytes]]] = [asyncio.get_running_loop().create_future() for _ in work]
    places = iter(range(len(work)))
    ahead = asyncio.Semaphore(_AHEAD * len(helpers))

    async def keep_busy(helper: "_Helper") -> None:
        while True:
            await ahead.acquire()
            place = next(places, None)
            if place is None:
                return
            try:
                done[place].set_result(await helper.route(work[place]))
            except ParleyError as error:
                done[place].set_exception(error)
                return

    busy = [asyncio.create_task(keep_busy(h)) for h in helpers]
    try:
        for future in done:
            for route in await future:
                yield route
            ahead.release()
    finally:
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
        for future in done:
            future.cancel()


class _Helper:
    """One process that routes, as this one sees it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._to, self._from = process.stdin, process.stdout

    async def send(self, frame: object) -> None:
        data = encode(frame)
        self._to.write(len(data).to_bytes(_SIZE, "big") + data)
        await self._to.drain()

    async def route(self, tasks: Sequence[Task]) -> list[bytes]:
        """Raises HelperLost; BadInput as Router does."""
        try:
            await self.send(tasks)
            size = int.from_bytes(await self._from.readexactly(_SIZE), "big")
            data = await self._from.readexactly(size)
        except (OSError, asyncio.IncompleteReadError) as error:
            code = await self._process.wait()
            raise HelperLost(f"a process that routes ended with {code}") from error
        if data.startswith(b"{"):
            refusal = decode(data, dict[str, str])
            raise BadInput(refusal["field"], refusal["why"])
        return [bytes(r) for r in decode(data, list[msgspec.Raw])]


@asynccontextmanager
async def _helpers(setup: Setup, count: int) -> AsyncIterator[list[_Helper]]:
    """So many processes; none is left. They are not in the terminal's group: Ctrl-C is this process's to handle."""
    started: list[asyncio.subprocess.Process] = []
    try:
        helpers = []
        for _ in range(count):
            started.append(
                await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    __name__,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    start_new_session=True,
                )
            )
            helpers.append(_Helper(started[-1]))
            await helpers[-1].send(setup)
        yield helpers
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
        await asyncio.gather(*(process.wait() for process in started))


# ---------------------------------------------------------------- in the helper process


def _frames(stream: BinaryIO) -> Iterator[bytes]:
    while len(head := stream.read(_SIZE)) == _SIZE:
        yield stream.read(int.from_bytes(head, "big"))


async def _serve(source: BinaryIO, target: BinaryIO) -> None:
    """Answer frames until there are no more. Reading blocks, and nothing else waits here."""
    frames = _frames(source)
    setup = decode(next(frames), Setup)
    here: Router | None = None
    for frame in frames:
        answer: Any
        try:
            if here is None:
                here = router(setup.specs, keyword=setup.keyword)
                await here.ready()
            answer = await here.route_all(decode(frame, list[Task]))
        except BadInput as error:
            answer = {"field": error.field, "why": error.why}
        data = encode(answer)
        target.write(len(data).to_bytes(_SIZE, "big") + data)
        target.flush()


if __name__ == "__main__":
    asyncio.run(_serve(sys.stdin.buffer, sys.stdout.buffer))
