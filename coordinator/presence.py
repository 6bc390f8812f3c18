"""Who is alive: workers' announcements, as one moderator has heard them. Experts stand apart: there may be hundreds,
and they are known by what they announced, not seated one by one."""

import asyncio
import time

import msgspec

from schemas.expert import Known, pin
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


def _unlike(one: Announcement, other: Announcement) -> bool:
    """Whether they say something else about the expert: room and load do not."""
    same = msgspec.structs.replace(one, room=other.room, busy=other.busy)
    return other.draining or same != other


def _known(a: Announcement, other: Known | None) -> Known:
    assert a.expert is not None
    return Known(
        id=a.expert.id, pin=pin(a.expert), model=a.model, family=a.family,
        metered=a.metered or (other is not None and other.metered),
        usd_per_million_input=max(a.usd_per_million_input, other.usd_per_million_input if other else 0.0),
        usd_per_million_output=max(a.usd_per_million_output, other.usd_per_million_output if other else 0.0),
        general=a.expert.general,
    )  # fmt: skip


class Presence:
    """Announcements by (queue, instance)."""

    def __init__(self) -> None:
        self._heard: dict[tuple[str, str], tuple[Announcement, float]] = {}
        self._experts: dict[tuple[str, str], tuple[Announcement, float]] = {}
        self._known: tuple[Known, ...] | None = None
        self._known_until = 0.0
        self._changed = asyncio.Event()
        self._since = time.monotonic()

    def hear(self, announcement: Announcement) -> None:
        """Note one. Of one queue the newest `MOST_COPIES` are kept."""
        key = (announcement.queue, announcement.instance)
        heard = self._heard if announcement.expert is None else self._experts
        before = heard.pop(key, None)
        if not announcement.draining:
            if before is None:
                copies = [k for k in heard if k[0] == announcement.queue]
                if len(copies) >= MOST_COPIES:
                    del heard[copies[0]]
            heard[key] = (announcement, time.monotonic())
        if announcement.expert is not None and (before is None or _unlike(before[0], announcement)):
            self._known = None
        self._changed.set()
        self._changed = asyncio.Event()

    def alive(self) -> tuple[Announcement, ...]:
        """One announcement a living queue but for experts', sorted by queue: its copies' room added up, the dearest of
        their prices."""
        self._forget()
        by_queue: dict[str, Announcement] = {}
        for (queue, _), (announcement, _at) in sorted(self._heard.items()):
            other = by_queue.get(queue)
            by_queue[queue] = announcement if other is None else _merged(other, announcement)
        return tuple(by_queue.values())

    def known(self) -> tuple[Known, ...]:
        """The living experts by id, of each the dearest price of its copies. Made anew only when one came, changed or
        went."""
        now = time.monotonic()
        if self._known is None or now >= self._known_until:
            self._experts = {k: v for k, v in self._experts.items() if now - v[1] < ALIVE_S}
            self._known_until = min((at for _, at in self._experts.values()), default=now) + ALIVE_S
            found: dict[str, Known] = {}
            for a, _at in self._experts.values():  # who was heard last has the last word
                assert a.expert is not None
                found[a.expert.id] = _known(a, found.get(a.expert.id))
            self._known = tuple(found[id] for id in sorted(found))
        return self._known

    def _forget(self) -> None:
        now = time.monotonic()
        self._heard = {k: v for k, v in self._heard.items() if now - v[1] < ALIVE_S}

    def everybody(self) -> tuple[Announcement, ...]:
        """Every living worker, copies of one queue apart, sorted by queue and instance."""
        now = time.monotonic()
        heard = sorted([*self._heard.items(), *self._experts.items()], key=lambda item: item[0])
        return tuple(a for _, (a, at) in heard if now - at < ALIVE_S)

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
