"""Proxies that hand on everything later, each direction of each connection by the same time: a long way, with no loss
and no limit of its rate."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Sequence
from functools import partial
from typing import Self

from parley_research.embedded_cluster import HOST

_BYTES = 262_144


class Delayed:
    """A proxy a port, in this event loop; an async context manager. `ports`: where they listen, as `to` has it."""

    def __init__(self, to: Sequence[int], delay_s: float) -> None:
        self._to = tuple(to)
        self.delay_s = delay_s
        self._sockets = [socket.create_server((HOST, 0)) for _ in self._to]
        self.ports = [int(s.getsockname()[1]) for s in self._sockets]
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        for listening, port in zip(self._sockets, self._to, strict=True):
            await asyncio.start_server(partial(self._came, port), sock=listening)
        return self

    async def __aexit__(self, *_: object) -> None:
        for listening in self._sockets:
            listening.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _came(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            try:
                there = await asyncio.open_connection(HOST, port)
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._pass(reader, there[1]))
                    both.create_task(self._pass(there[0], writer))
            finally:
                writer.close()
        self._tasks.discard(task)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def out() -> None:
            while True:
                due, data = await waiting.get()
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                writer.write(data)
                if not data:
                    writer.close()
                    return

        sending = asyncio.create_task(out())
        try:
            while True:
                data = await reader.read(_BYTES)
                waiting.put_nowait((time.monotonic() + self.delay_s, data))
                if not data:
                    break
            await sending
        finally:
            sending.cancel()
