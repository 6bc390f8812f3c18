"""Who is alive: workers' announcements, as one moderator has heard them."""

import asyncio
import time

import msgspec

from schemas.presence import Announcement

ALIVE_S = 15.0
"""Three announcements missed, and a worker counts as gone."""
MOST_COPIES = 1_000
"""Copies of one queue that are told apart."""


def _merged(one: Announcement, other: Announcement) -> Announcement:
    return msgspec.structs.replace(
        one,
        metered=one.metered or other.metered,
        usd_per_million_input=max(one.usd_per_million_input, other.usd_per_million_input),
        usd_per_million_output=max(one.usd_per_million_output, other.usd_per_million_output),
        room=min(one.room + other.room, 10_000),
        busy=one.busy + other.busy,
    )


class Presence:
    """Announcements by (queue, instance)."""

    def __init__(self) -> None:
        self._heard: dict[tuple[str, str], tuple[Announcement, float]] = {}
        self._changed = asyncio.Event()
        self._since = time.monotonic()

    def hear(self, announcement: Announcement) -> None:
        """Note one. Of one queue the newest `MOST_COPIES` are kept."""
        key = (announcement.queue, announcement.instance)
        self._heard.pop(key, None)
        if not announcement.draining:
            copies = [k for k in self._heard if k[0] == announcement.queue]
            if len(copies) >= MOST_COPIES:
                del self._heard[copies[0]]
            self._heard[key] = (announcement, time.monotonic())
        self._changed.set()
        self._changed = asyncio.Event()

    def alive(self) -> tuple[Announcement, ...]:
        """One announcement a living queue, sorted by queue: its copies' room added up, the dearest of their prices."""
        self._forget()
        by_queue: dict[str, Announcement] = {}
        for (queue, _), (announcement, _at) in sorted(self._heard.items()):
            other = by_queue.get(queue)
            by_queue[queue] = announcement if other is None else _merged(other, announcement)
        return tuple(by_queue.values())

    def _forget(self) -> None:
        now = time.monotonic()
        self._heard = {k: v for k, v in self._heard.items() if now - v[1] < ALIVE_S}

    def everybody(self) -> tuple[Announcement, ...]:
        """Every living worker, copies of one queue apart, sorted by queue and instance."""
        now = time.monotonic()
        return tuple(a for _, (a, at) in sorted(self._heard.items()) if now - at < ALIVE_S)

    def listening_s(self) -> float:
        """Seconds for which announcements have been heard here; a young moderator may not have heard everybody."""
        return time.monotonic() - self._since

    async def change(self, timeout_s: float) -> None:
        """Wait until somebody announces himself, at most so long."""
        event = self._changed
        try:
            await asyncio.wait_for(event.wait(), timeout_s)
        except TimeoutError:
            return
