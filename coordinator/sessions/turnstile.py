"""A turnstile: only so many submissions are handled at once, and of those that wait, one an author in turn."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turnstile:
    """Lets at most `at_once` inside."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """Author -> who waits; the next author stands first."""

    @asynccontextmanager
    async def passed(self, author: str) -> AsyncIterator[None]:
        """Wait for one's turn, and make room for the next one at the end."""
        if self._free:
            self._free -= 1
        else:
            mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(author, deque()).append(mine)
            try:
                await mine
            except asyncio.CancelledError:
                if mine.done() and not mine.cancelled():
                    self._leave()
                raise
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        while self._waiting:
            author, waiting = self._waiting.popitem(last=False)
            first = waiting.popleft()
            if waiting:
                self._waiting[author] = waiting  # behind the others
            if not first.done():
                first.set_result(None)
                return
        self._free += 1
