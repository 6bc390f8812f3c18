"""Which experts there are, as a helper's worker has heard them: what a task is matched against.

The broker lets an expert announce only the specification that its row pins, so what is heard here is what was enrolled.
A registry is fed by announcements alone: an expert started anywhere is in it within milliseconds, one that stops leaves
with its last announcement, one that is killed after `ALIVE_S`.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from parley.bus import subjects
from parley.bus.connection import Connection
from parley.bus.errors import BusError
from parley.bus.library import Msg, Subscription
from parley.schemas.expert import ROLE, ExpertSpec
from parley.schemas.presence import ALIVE_S, PinnedAnnouncement, decode_announcement
from parley.schemas.wire import SchemaError

_LOGGER = logging.getLogger(__name__)
ANSWERED_S = 2.0
"""Seconds after a call in which answers may be under way."""


class ExpertRegistry:
    """Specifications of living experts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._specs: dict[str, tuple[ExpertSpec, str]] = {}
        """Queue -> (specification, pin)."""
        self._heard: dict[tuple[str, str], float] = {}
        """(queue, instance) -> when it was heard, the oldest first."""
        self._sorted: tuple[ExpertSpec, ...] | None = ()
        self._changed = asyncio.Event()
        self._called: float | None = None

    async def follow(self, connection: Connection) -> Subscription:
        """Begin to hear experts announce themselves, and ask them to."""
        subscription = await connection.subscribe(subjects.here.of(role=ROLE), self._on_here)
        await self.call(connection)
        return subscription

    async def call(self, connection: Connection) -> None:
        """Ask everybody to announce himself, as far as the bus can be reached."""
        self._called = self._clock()
        with contextlib.suppress(BusError):
            await connection.publish(subjects.CALL, b"")

    def _on_here(self, msg: Msg) -> None:
        try:
            role, queue, pinned = subjects.here.parse(msg.subject)
            self.hear(role, queue, pinned, decode_announcement(msg.data))
        except (SchemaError, subjects.BadSubject) as error:
            _LOGGER.info("an announcement that cannot be read: %s", error)

    def hear(self, role: str, queue: str, pinned: str, message: PinnedAnnouncement) -> bool:
        """Note an announcement from the subject of this role, queue and pin. False: it is not valid."""
        announcement = message.announcement
        spec = announcement.expert
        if announcement.queue != queue or spec is None or not message.is_own_expert(role, queue, pinned):
            return False
        key = (queue, announcement.instance)
        self._heard.pop(key, None)
        before = self._specs.get(queue)
        if before is not None and before[1] != pinned:
            # It was enrolled anew: a worker with the older specification no longer counts.
            self._heard = {k: at for k, at in self._heard.items() if k[0] != queue}
        if announcement.draining:
            self._gone({queue})
            return True
        self._heard[key] = self._clock()
        if before is None or before[1] != pinned:
            self._specs[queue] = (spec, pinned)
            self._changes()
        return True

    def specs(self) -> tuple[ExpertSpec, ...]:
        """Specifications of living experts, sorted by id; the same object until one comes, goes or changes."""
        self._forget()
        if self._sorted is None:
            specs = {spec.id: spec for spec, _ in self._specs.values()}  # its variants are of one specification
            self._sorted = tuple(specs[id] for id in sorted(specs))
        return self._sorted

    async def settled(self, count: int) -> None:
        """Just after a call: wait for so many experts, while their answers may be under way."""
        if self._called is not None:
            await self.wait(count, self._called + ANSWERED_S - self._clock())

    async def wait(self, count: int, timeout_s: float) -> bool:
        """Wait until so many experts are known, at most so long. True: they are known. For a helper that has just
        started: the moderator that asks may have heard more of them."""
        deadline = self._clock() + timeout_s
        while len(self.specs()) < count:
            remaining_s = deadline - self._clock()
            if remaining_s <= 0:
                return False
            event = self._changed
            try:
                async with asyncio.timeout(remaining_s):
                    await event.wait()
            except TimeoutError:
                return len(self.specs()) >= count
        return True

    def _forget(self) -> None:
        now = self._clock()
        gone = []
        for key, at in self._heard.items():
            if now - at < ALIVE_S:
                break
            gone.append(key)
        for key in gone:
            del self._heard[key]
        if gone:
            self._gone({queue for queue, _ in gone})

    def _gone(self, queues: set[str]) -> None:
        """Forget those of these queues that no copy serves any more."""
        living = {queue for queue, _ in self._heard}
        for queue in (queues - living) & self._specs.keys():
            del self._specs[queue]
            self._changes()

    def _changes(self) -> None:
        self._sorted = None
        self._changed.set()
        self._changed = asyncio.Event()
