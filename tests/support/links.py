"""Proxies in front of the routes of a cluster, which know from which server each connection comes: a server can be cut
off from its peers while its clients still reach it, or its routes be slow."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Self

import psutil

from parley_research.embedded_cluster import HOST

_BYTES = 65_536


class Links:
    """A proxy a server, in a thread of its own; a context manager. `ports`: for `EmbeddedCluster(reached_at=...)`."""

    def __init__(self, size: int = 3) -> None:
        self._sockets = [socket.create_server((HOST, 0)) for _ in range(size)]
        self.ports = [int(s.getsockname()[1]) for s in self._sockets]
        self.delay_s = 0.0
        """Added to all that goes over a route."""
        self._cut: set[int] = set()
        self._open: dict[asyncio.Task[None], tuple[int, int]] = {}
        self._to: Callable[[], list[int]] = list
        self._pids: Callable[[], list[int]] = list
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="links", daemon=True)

    def lead_to(self, ports: Callable[[], list[int]], pids: Callable[[], list[int]]) -> None:
        """Their own ports for routes, and their processes, as they are when they are asked for."""
        self._to, self._pids = ports, pids

    def cut(self, *servers: int) -> None:
        """Let nothing through between these servers and any other: what is on its way is swallowed, and connections
        are not closed, as when a network drops packets. They end when a server gives them up."""
        self._loop.call_soon_threadsafe(self._cut.update, servers)

    def heal(self, *servers: int) -> None:
        """Let everything through again; connections that lost something are closed, since they cannot go on."""

        def now() -> None:
            for task, ends in self._open.items():
                if self._cut.intersection(ends):
                    task.cancel()
            self._cut.difference_update(servers)

        self._loop.call_soon_threadsafe(now)

    def __enter__(self) -> Self:
        self._thread.start()
        for i, listening in enumerate(self._sockets):
            asyncio.run_coroutine_threadsafe(self._listen(i, listening), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        async def end() -> None:
            tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
        for listening in self._sockets:
            listening.close()

    # -- inside
    async def _listen(self, to: int, listening: socket.socket) -> None:
        async def came(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            with contextlib.suppress(OSError, asyncio.CancelledError, psutil.Error):
                try:
                    source = await asyncio.to_thread(self._source, writer.get_extra_info("peername")[1])
                    self._open[task] = (source, to)
                    if self._cut.intersection((source, to)):
                        return
                    there = await asyncio.open_connection(HOST, self._to()[to])
                    try:
                        await asyncio.gather(
                            self._pass(reader, there[1], source, to), self._pass(there[0], writer, source, to)
                        )
                    finally:
                        there[1].close()
                finally:
                    writer.close()
                    self._open.pop(task, None)

        self._server = await asyncio.start_server(came, sock=listening)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *ends: int) -> None:
        while data := await reader.read(_BYTES):
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            if not self._cut.intersection(ends):
                writer.write(data)
                await writer.drain()
        raise ConnectionResetError("the other end closed it")

    def _source(self, port: int) -> int:
        """Which server's process has this port of its own."""
        for i, pid in enumerate(self._pids()):
            with contextlib.suppress(psutil.Error):
                if pid and any(c.laddr.port == port for c in psutil.Process(pid).net_connections("tcp")):
                    return i
        return -1
