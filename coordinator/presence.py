"""Who is alive: workers' announcements, as one moderator has heard them."""

import asyncio
import time

from schemas.presence import Announcement

ALIVE_S = 15.0
"""Three announcements missed, and a worker counts as gone."""


class Presence:
    """Announcements by (queue, instance)."""

    def __init__(self) -> None:
        self._heard: dict[tuple[str, str], tuple[Announcement, float]] = {}
        self._changed = asyncio.Event()
        self._since = time.monotonic()

    def hear(self, announcement: Announcement) -> bool:
        """Note one; whether its queue is new here."""
        new = all(queue != announcement.queue for queue, _ in self._heard)
        key = (announcement.queue, announcement.instance)
        if announcement.draining:
            self._heard.pop(key, None)
        else:
            self._heard[key] = (announcement, time.monotonic())
        self._changed.set()
        self._changed = asyncio.Event()
        return new

    def alive(self) -> tuple[Announcement, ...]:
        """One announcement a living queue, sorted by queue; the room of its copies is added up."""
        now = time.monotonic()
        self._heard = {k: v for k, v in self._heard.items() if now - v[1] < ALIVE_S}
        by_queue: dict[str, Announcement] = {}
        for (queue, _), (announcement, _at) in sorted(self._heard.items()):
            by_queue.setdefault(queue, announcement)
        return tuple(by_queue.values())

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
