"""When to try again, and how many at once: per endpoint, for all models of a process that use it."""

import asyncio
import math
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from weakref import WeakValueDictionary

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 20.0
REJECTIONS = 8
"""So often one turn is asked to come again before it gives up, whatever time is left."""
FAILURES = 5
"""So often by a server that fails, or is not there. The pauses of both attempts of a turn come to half a minute."""


def backoff_s(rejections: int, dice: Callable[[], float] = random.random) -> float:
    """The pause after the n-th rejection (from 1): doubled each time up to a limit, between half and all of it by
    lot."""
    longest = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (rejections - 1))
    return longest * (0.5 + 0.5 * dice())


def retry_after_s(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """What a server asks for: `retry-after-ms`, `Retry-After` in seconds or as a date; None: nothing usable."""
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if not text:
            continue
        try:
            seconds = float(text) * scale
        except ValueError:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - now()
            except (ValueError, TypeError, OverflowError):
                continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


class Gate:
    """How many requests are under way at one endpoint, and until when it wants none."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._places = asyncio.Semaphore(room)
        self._closed_until = 0.0

    def close_for(self, seconds: float) -> None:
        """The server asked everybody to wait."""
        self._closed_until = max(self._closed_until, time.monotonic() + seconds)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place for one request, once the endpoint takes any."""
        async with self._places:
            if (wait := self._closed_until - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            yield


_GATES: WeakValueDictionary[tuple[int, str], Gate] = WeakValueDictionary()


def gate(base_url: str, room: int) -> Gate:
    """The running event loop's gate of an endpoint; the first to come sets its room."""
    key = (id(asyncio.get_running_loop()), base_url)
    gate = _GATES.get(key)
    if gate is None:
        gate = _GATES[key] = Gate(room)
    return gate
