"""The workers that are alive, from the announcements that one moderator has heard.

Of experts there may be hundreds: they are kept apart, without the text of their specifications, and who they are is
worked out only when that changes.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import msgspec

from parley.schemas.expert import Known, expert_of
from parley.schemas.presence import ALIVE_S, RETURN_S, Announcement, ExpertHere
from parley.schemas.session import is_variant

SETTLED_LEAST_S, SETTLED_MOST_S = 0.5, 2.0
"""Seconds after which the list of workers is taken as complete: the first if nobody new was heard for half of it, and
the second in any case."""
MOST_COPIES = 1_000
"""Copies of one queue that are listed separately."""
BACK_S = 2.0
"""Who is here again hears what it missed, and answers, within this time."""
LEAST_LOOK_S = 1.0
"""Until it is looked again for somebody who serves a queue."""

_Key = tuple[str, str]
"""(queue, instance)"""
_ANNOUNCED_S = 1.5
"""A person who takes a seat may be unheard here for so long."""


def _copies(announcement: Announcement) -> int:
    return 1 if announcement.copies is msgspec.UNSET else announcement.copies


def _merged(one: Announcement, other: Announcement) -> Announcement:
    return msgspec.structs.replace(
        one,
        metered=one.metered or other.metered,
        usd_per_million_input=max(one.usd_per_million_input, other.usd_per_million_input),
        usd_per_million_output=max(one.usd_per_million_output, other.usd_per_million_output),
        reasoning_tokens=max(
            (r for r in (one.reasoning_tokens, other.reasoning_tokens) if r is not msgspec.UNSET), default=msgspec.UNSET
        ),
        turn_s=max((s for s in (one.turn_s, other.turn_s) if s is not msgspec.UNSET), default=msgspec.UNSET),
        tools=one.tools or other.tools,
        no_server=one.no_server and other.no_server,
        room=min(one.room + other.room, 10_000),
        copies=_copies(one) + _copies(other),
        busy=one.busy + other.busy,
    )


def _by_queue(announcements: Iterator[tuple[_Key, Announcement]]) -> dict[str, Announcement]:
    """One for each queue, sorted by queue: the room of its copies together, and the highest of their prices."""
    by_queue: dict[str, Announcement] = {}
    for (queue, _), announcement in sorted(announcements, key=lambda item: item[0]):
        other = by_queue.get(queue)
        by_queue[queue] = announcement if other is None else _merged(other, announcement)
    return by_queue


class _Heard:
    """Announcements with the time when each was heard, the oldest first."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._all: dict[_Key, tuple[Announcement, float]] = {}
        self._copies: Counter[str] = Counter()
        self.room: Counter[str] = Counter()
        """Queue -> turns that its workers take at once."""

    def put(self, announcement: Announcement) -> Announcement | None:
        """Note an announcement, or that a worker drains; return the one before. Of one queue the newest `MOST_COPIES`
        are kept."""
        key = (announcement.queue, announcement.instance)
        before = self.drop(key)
        if announcement.draining:
            return before
        if self._copies[announcement.queue] >= MOST_COPIES:
            self.drop(next(k for k in self._all if k[0] == announcement.queue))
        self._all[key] = (announcement, self._clock())
        self._copies[announcement.queue] += 1
        self.room[announcement.queue] += announcement.room
        return before

    def drop(self, key: _Key) -> Announcement | None:
        """Forget one; return it."""
        dropped = self._all.pop(key, None)
        if dropped is None:
            return None
        self._copies[key[0]] -= 1
        self.room[key[0]] -= dropped[0].room
        if not self._copies[key[0]]:
            del self._copies[key[0]], self.room[key[0]]
        return dropped[0]

    def forget(self) -> bool:
        """Forget those that are gone. True: there were any."""
        now = self._clock()
        silent = []
        for key, (_, at) in self._all.items():
            if now - at < ALIVE_S:
                break
            silent.append(key)
        for key in silent:
            self.drop(key)
        return bool(silent)

    def of(self, queue: str) -> Iterator[tuple[_Key, Announcement, float]]:
        """What is known of one queue, and when each was heard."""
        return ((key, announcement, at) for key, (announcement, at) in self._all.items() if key[0] == queue)

    def items(self) -> Iterator[tuple[_Key, Announcement]]:
        """What is known."""
        return ((key, announcement) for key, (announcement, _) in self._all.items())


class Presence:
    """Announcements by (queue, instance)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._workers = _Heard(clock)
        self._experts = _Heard(clock)
        self._specs: dict[str, ExpertHere] = {}
        """Queue -> its last announcement."""
        self._known: tuple[tuple[str, Known], ...] | None = None
        """(queue, expert); None: it changed since it was computed."""
        self._usual: tuple[Known, ...] = ()
        """Those of them that are no variants."""
        self._alive: tuple[Announcement, ...] | None = None
        """None: it changed since it was computed."""
        self._changed = asyncio.Event()
        self._since = self._unbroken = clock()
        self.on_expert: Callable[[str], None] = lambda queue: None
        """Called with the queue of an expert's process that is new, or whose connection broke."""
        self._heard_at: dict[str, float] = {}
        """Queue -> when a worker of it was last heard, or said that it drains."""
        self._left_at: dict[str, float] = {}
        """Queue -> when its last worker was found to be gone."""
        self._came_at: dict[str, float] = {}
        """Queue -> when its first worker was heard again."""

    def hear(self, announcement: Announcement, pin: str = "") -> None:
        """Note one; `pin`: of the expert's specification in it."""
        if not self.serves(announcement.queue):
            self._came_at[announcement.queue] = self._clock()
        self._heard_at[announcement.queue] = self._clock()
        self._left_at.pop(announcement.queue, None)
        spec = announcement.expert
        if spec is None:
            self._alive = None
            self._workers.put(announcement)
        else:
            self._hear_expert(msgspec.structs.replace(announcement, expert=None), ExpertHere.of(spec, pin))
        self._changed.set()
        self._changed = asyncio.Event()

    def _hear_expert(self, announcement: Announcement, here: ExpertHere) -> None:
        queue = announcement.queue
        before = self._specs.get(queue)
        if before != here:
            self._known = None
            self._specs[queue] = here
            if before is not None and before.pin != here.pin:
                # It was enrolled anew: a worker with the older specification no longer counts.
                for key in [k for k, _ in self._experts.items() if k[0] == queue]:
                    self._experts.drop(key)
        was = self._experts.put(announcement)
        if was is None or announcement.draining or known_of(was) != known_of(announcement):
            self._known = None
        missed = was is None or (announcement.breaks or 0) > (was.breaks or 0)
        if missed and not announcement.draining:
            self.on_expert(queue)

    def _forget(self) -> None:
        """Workers that are gone."""
        if self._workers.forget():
            self._alive = None

    def alive(self) -> tuple[Announcement, ...]:
        """One announcement for each living queue, without experts, sorted by queue: the number of its copies, their
        room together, and the highest of their prices."""
        self._forget()
        if self._alive is None:
            living = _by_queue(self._workers.items()).values()
            self._alive = tuple(
                msgspec.structs.replace(a, copies=_copies(a), breaks=msgspec.UNSET, holds=msgspec.UNSET) for a in living
            )
        return self._alive

    def reasoning_tokens(self) -> int | msgspec.UnsetType:
        """The most tokens that a living model may think in one call; UNSET: none says so."""
        everybody = (a for living in (self._workers, self._experts) for _, a in living.items())
        return max(
            (a.reasoning_tokens for a in everybody if a.reasoning_tokens is not msgspec.UNSET), default=msgspec.UNSET
        )

    def known(self, queues: Iterable[str] = ()) -> tuple[Known, ...]:
        """The living experts that a session may have, sorted by id: those of these queues; of none: all that are no
        variants."""
        wanted, living = frozenset(queues), self._living()
        if wanted:
            return tuple(k for q, k in living if q in wanted)
        return self._usual

    def _living(self) -> tuple[tuple[str, Known], ...]:
        """(queue, expert) of all, sorted; the same object until one comes, goes or changes."""
        if self._experts.forget() or self._known is None:
            living = _by_queue(self._experts.items())
            self._specs = {queue: here for queue, here in self._specs.items() if queue in living}
            here = ((q, a, self._specs[q]) for q, a in living.items())
            self._known = tuple((q, known_of(a, spec.pin, spec.general, spec.category)) for q, a, spec in here)
            self._usual = tuple(k for q, k in self._known if not is_variant(q))
        return self._known

    def experts(self) -> tuple[ExpertHere, ...]:
        """The specifications of the living experts, each once, sorted by id."""
        here = {self._specs[queue].id: self._specs[queue] for queue, _ in self._living()}
        return tuple(here.values())

    def everybody(self) -> tuple[Announcement, ...]:
        """Every living worker and expert, copies of one queue listed separately, sorted by queue and instance."""
        self._forget()
        self._living()
        everybody = (*self._workers.items(), *self._experts.items())
        return tuple(a for _, a in sorted(everybody, key=lambda item: item[0]))

    def workers(self) -> dict[str, float]:
        """Queue -> number of its living workers; 0 if it was heard once and is silent now."""
        self._forget()
        if self._experts.forget():
            self._known = None
        counted = Counter(
            queue for announcements in (self._workers, self._experts) for (queue, _), _a in announcements.items()
        )
        return {queue: float(counted[queue]) for queue in self._heard_at}

    def models(self) -> dict[str, float]:
        """Queue -> number of different models of its living workers."""
        living = {(announcement.queue, announcement.model) for announcement in self.everybody()}
        return {queue: float(count) for queue, count in Counter(queue for queue, _ in living).items()}

    def listening_s(self) -> float:
        """Seconds for which this process has heard announcements; a young moderator may not have heard everybody."""
        return self._clock() - self._since

    def unbroken_s(self) -> float:
        """Seconds for which it has heard announcements without a break."""
        return self._clock() - self._unbroken

    def interrupted(self) -> None:
        """Announcements may have been missed until now: who is silent has the full time again."""
        self._unbroken = self._clock()

    def queues(self) -> tuple[str, ...]:
        """Those that were ever heard."""
        return tuple(self._heard_at)

    def settle(self, queue: str, since: float, ended: int) -> tuple[int, ...] | None:
        """Forget the workers of a queue that did not answer a call.

        Parameters
        ----------
        since
            When they were called, on this clock.
        ended
            How many connections of the queue ended before that. If more are silent, one may only be slow.

        Returns
        -------
        What the others have in hand; None: nobody knows yet.
        """
        workers = [w for heard in (self._workers, self._experts) for w in heard.of(queue)]
        silent = [key for key, _, at in workers if at < since]
        if len(silent) > ended:
            return None
        for key in silent:
            self._workers.drop(key)
            self._experts.drop(key)
        if silent:
            self._alive = self._known = None
        if len(silent) == len(workers):
            self._left_at.setdefault(queue, self._clock())
        return tuple(seq for _, worker, at in workers if at >= since for seq in worker.holds or ())

    def serves(self, queue: str) -> bool:
        """Whether a worker of this queue is known."""
        return queue in self._workers.room or queue in self._experts.room

    def room(self, queue: str) -> int:
        """Turns that the known workers of a queue take at once."""
        return self._workers.room[queue] + self._experts.room[queue]

    def now(self) -> float:
        """On its clock."""
        return self._clock()

    def _silent_s(self, queue: str) -> float:
        """Seconds since a worker of this queue was heard, counted only while this process could hear."""
        return self._clock() - max(self._heard_at.get(queue, self._unbroken), self._unbroken)

    def gone(self, queues: Iterable[str]) -> tuple[str, ...]:
        """Which of these queues nobody serves any more, sorted: nobody for `ALIVE_S`, or for `RETURN_S` since the end
        of its last worker's connection."""
        return tuple(sorted(q for q in queues if self._remaining_s(q) <= 0))

    def away(self, queues: Iterable[str]) -> frozenset[str]:
        """Which of these queues nobody serves for now, or only since a moment: they may still say something."""
        since = self._clock() - BACK_S
        if self._unbroken > since:
            return frozenset(queues).difference(self.gone(queues))
        here = (q for q in queues if self.serves(q) and self._came_at.get(q, since) <= since)
        return frozenset(queues).difference(self.gone(queues), here)

    def _remaining_s(self, queue: str) -> float:
        """Until a queue of which nothing is heard counts as gone."""
        remaining_s = ALIVE_S - self._silent_s(queue)
        if queue in self._left_at:
            remaining_s = min(remaining_s, RETURN_S - (self._clock() - self._left_at[queue]))
        return remaining_s

    def look_in_ns(self, queues: Iterable[str]) -> int:
        """Nanoseconds until the first of these queues (at least one) counts as gone if nothing is heard; at least
        `LEAST_LOOK_S`."""
        return int(max(min(map(self._remaining_s, queues)), LEAST_LOOK_S) * 1e9)

    async def settled(self) -> None:
        """Wait while this process is young and experts still answer its call: who opens a task says who was there, and
        nobody else may claim it."""
        before = None
        while (age := self.listening_s()) < SETTLED_MOST_S:
            now = self._living()
            if now is before and age >= SETTLED_LEAST_S:
                return
            before = now
            await asyncio.sleep(SETTLED_LEAST_S / 2)

    async def roles_of(self, queue: str) -> set[str]:
        """Roles that workers of a queue have announced; waits a moment for the first announcement."""
        until = time.monotonic() + _ANNOUNCED_S
        while True:
            roles = {r for a in self.alive() if a.queue == queue for r in a.roles}
            remaining_s = until - time.monotonic()
            if roles or remaining_s <= 0:
                return roles
            await self.change(remaining_s)

    async def change(self, timeout_s: float) -> None:
        """Wait until somebody announces himself, at most so long."""
        event = self._changed
        try:
            async with asyncio.timeout(timeout_s):
                await event.wait()
        except TimeoutError:
            return


def known_of(a: Announcement, pin: str = "", general: bool = False, category: str = "") -> Known:
    """An announced expert as an opening has it."""
    return Known(
        expert_of(a.queue),
        pin,
        a.model,
        a.family,
        a.metered,
        a.usd_per_million_input,
        a.usd_per_million_output,
        general,
        a.tools,
        category,
    )
