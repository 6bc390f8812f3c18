"""Lanes: each owner's turns wait for the queues of shared seats in a lane of their own.

WORK gives a queue's turns to its workers in the order in which they came. So what is in WORK is kept short, and the
rest waits here, by queue and owner. A turn is sent at once while the queue has fewer turns out than its limit, or its
owner fewer than its share. Else it waits until a turn of the queue ends. Who has least out for its weight is next.

    limit = room of the queue's workers / moderators + turns of the queue that end within `AHEAD_S`
    share = limit * weight / sum of the weights of all owners with turns on the queue, at least 1

An owner alone may have as many more turns out as there is room. Then a worker never waits for the next turn, and the
throughput is that of an endless queue. Another owner's first turn has these before it, and its next ones fewer.

Nothing of this is stored. A turn that waits here is in its session's log, and its session's state says that it is open.
If this process dies, another moderator finds the session without a message in WORK, and sends it
(parley.coordinator.sessions.sweep). Sent twice is as sent once (parley.coordinator.sessions.effects).
"""

import asyncio
import math
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

AHEAD_S = 0.02
"""A turn that ended is followed by the next one within this time, however quick the model is."""
_RATE_S = 0.5
"""So long a rate is measured."""
_SHARED_S = 5.0
"""So long a queue counts as shared after a second owner's turn."""
UNKNOWN_ROOM = 16
"""Room of a queue whose workers have not been heard."""
_Turn = tuple[str, str]
"""(session, turn)"""


class Held(NamedTuple):
    """A message that waits."""

    session: str
    turns: tuple[str, ...]
    send: Callable[[], None]


class _Queue:
    """The lanes of one queue."""

    def __init__(self) -> None:
        self.out: Counter[str] = Counter()
        """Owner -> its turns that were sent and have not ended."""
        self.held: dict[str, deque[Held]] = {}
        """Owner -> what waits; the next one to be served stands first."""
        self.total = 0
        """Turns that are out."""
        self.ended: deque[float] = deque()
        """When turns ended lately."""
        self.shared_at = -math.inf
        """When a turn came while another owner had turns."""


class Lanes:
    """Of one moderator.

    Parameters
    ----------
    room
        Turns that a queue's workers take at once; 0: nobody knows.
    is_open
        Whether any of these turns of a session is still open, as far as this process knows.

    Attributes
    ----------
    weight
        Of an owner, above 0.
    moderators
        How many moderators share the queues.
    """

    def __init__(
        self,
        room: Callable[[str], int],
        is_open: Callable[[str, Iterable[str]], bool],
        clock: Callable[[], float],
    ) -> None:
        self._room = room
        self._is_open = is_open
        self._clock = clock
        self.weight: Callable[[str], float] = lambda owner: 1.0
        self._queues: dict[str, _Queue] = {}
        self._out: dict[_Turn, tuple[str, str, float]] = {}
        """Turn -> queue, owner, and when it was sent or last found open."""
        self._holding: set[_Turn] = set()
        self.moderators = 1

    def send(self, queue: str, owner: str, held: Held) -> bool:
        """Whether a message is to be sent now, which is noted. If not, it waits, and is sent later."""
        first = held.session, held.turns[0]
        if first in self._out:  # it is sent again
            return True
        if first in self._holding:
            return False
        lanes = self._queues.get(queue)
        if lanes is None:
            lanes = self._queues[queue] = _Queue()
        if any(other != owner for owners in (lanes.out, lanes.held) for other in owners):
            lanes.shared_at = self._clock()
        waiting = lanes.held.get(owner)
        if not waiting and self._may_send(queue, lanes, owner):
            self._sent(queue, lanes, owner, held)
            return True
        if waiting is None:
            waiting = lanes.held[owner] = deque()
        waiting.append(held)
        self._holding.add(first)
        return False

    def _sent(self, queue: str, lanes: _Queue, owner: str, held: Held) -> None:
        now = self._clock()
        for turn in held.turns:
            if (held.session, turn) not in self._out:
                lanes.out[owner] += 1
                lanes.total += 1
            self._out[held.session, turn] = queue, owner, now

    def ended(self, session: str, turns: Iterable[str]) -> None:
        """These turns are not open any more."""
        for turn in turns:
            known = self._out.pop((session, turn), None)
            if known is None:
                continue
            queue, owner, _ = known
            lanes = self._queues[queue]
            lanes.out[owner] -= 1
            lanes.total -= 1
            if not lanes.out[owner]:
                del lanes.out[owner]
            lanes.ended.append(self._clock())
            if lanes.held:
                self._serve(queue, lanes)

    def _limit(self, queue: str, lanes: _Queue) -> float:
        now = self._clock()
        while lanes.ended and lanes.ended[0] < now - _RATE_S:
            lanes.ended.popleft()
        room = math.ceil((self._room(queue) or UNKNOWN_ROOM) / self.moderators)
        more = room if now - lanes.shared_at > _SHARED_S else 0
        return room + max(more, len(lanes.ended) * AHEAD_S / _RATE_S)

    def _may_send(self, queue: str, lanes: _Queue, owner: str) -> bool:
        limit = self._limit(queue, lanes)
        if lanes.total < limit:
            return True
        if not (others := (lanes.out.keys() | lanes.held.keys()) - {owner}):
            return False
        mine = self.weight(owner)
        return lanes.out[owner] < max(1.0, limit * mine / (mine + sum(map(self.weight, others))))

    def _serve(self, queue: str, lanes: _Queue) -> None:
        """Send what waits, as far as it may be sent."""
        while lanes.held:
            for owner in sorted(lanes.held, key=lambda o: lanes.out[o] / self.weight(o)):
                waiting = lanes.held[owner]
                while waiting and not self._is_open(waiting[0].session, waiting[0].turns):
                    self._next(waiting)
                if not waiting:
                    del lanes.held[owner]
                    break
                if self._may_send(queue, lanes, owner):
                    held = self._next(waiting)
                    if not waiting:
                        del lanes.held[owner]
                    self._sent(queue, lanes, owner, held)
                    held.send()
                    break
            else:
                return

    def _next(self, waiting: deque[Held]) -> Held:
        held = waiting.popleft()
        self._holding.discard((held.session, held.turns[0]))
        return held

    def look(self, older_than_s: float, most: int) -> list[_Turn]:
        """Serve all queues again: their workers may have changed. Returns turns that were not heard of for so long:
        another moderator may have taken their replies."""
        for queue, lanes in self._queues.items():
            if lanes.held:
                self._serve(queue, lanes)
        if not any(lanes.held for lanes in self._queues.values()):
            return []
        now = self._clock()
        waits = {queue for queue, lanes in self._queues.items() if lanes.held}
        out = ((turn, at) for turn, (queue, _, at) in self._out.items() if queue in waits)
        old = [turn for turn, at in out if now - at > older_than_s][:most]
        for turn in old:
            queue, owner, _ = self._out[turn]
            self._out[turn] = queue, owner, now
        return old

    def waiting(self) -> dict[str, int]:
        """Owner -> its messages that wait, of all queues."""
        counted: Counter[str] = Counter()
        for lanes in self._queues.values():
            for owner, held in lanes.held.items():
                counted[owner] += len(held)
        return dict(counted)


# ---------------------------------------------------------------- the turnstile


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
