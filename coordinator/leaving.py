"""Hands back the turns of workers whose connections ended, without waiting for WORK's silence (`ack_wait`).

The server says in CORE that a connection of an account ended (`subjects.ENDED`). Every moderator hears it, and calls
all workers: each answers with what it has in hand. Who does not answer, and whose connection ended, is gone. What is
out on its queue and in nobody's hand goes back to it at once. If more workers are silent than connections ended, one of
them may only be slow, so they are asked again; what stays unclear is left to `ack_wait`.

A worker whose connection broke, and came back, answers with what it still has. What was on its way to it goes back.
After a break of a moderator's own connection the same is done for all queues: a server that ended says nothing of the
connections that ended with it.

Presence is each moderator's own. A turn is to go back once: moderators tell one another which queues they would see to,
and of each queue the one with the smallest name does it.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from parley.bus import streams, subjects
from parley.bus.connection import Connection
from parley.bus.errors import ApiError, BusError
from parley.bus.library import Msg
from parley.bus.storage import direct
from parley.bus.work import ack_subject
from parley.coordinator.presence import Presence
from parley.observability.metrics import Metrics
from parley.schemas.presence import ALIVE_S

_LOGGER = logging.getLogger(__name__)
GATHER_S = 0.5
"""A worker whose connection broke has this long to come back. What ends within it is handled together."""
ANSWER_S = 0.4
"""All living workers answer a call within this time, or are called again."""
_TRIES = 6


class Leaving:
    """The part of one moderator."""

    def __init__(
        self,
        connection: Connection,
        presence: Presence,
        metrics: Metrics,
        lane: str,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._connection = connection
        self._presence = presence
        self._metrics = metrics
        self._lane = lane
        self._spawn = spawn
        self._ended: Counter[str] = Counter()
        """Queue -> how many of its connections ended since the last look; 0: only a moderator's own broke."""
        self._claims: dict[str, set[str]] = {}
        """Queue -> moderators that would hand back its turns; empty name: all queues."""
        self._looking = False
        self._moderators: dict[str, float] = {}
        """Lane -> when the moderator was heard."""
        self.on_moderator_gone: Callable[[], None] = lambda: None
        """Called when another moderator's connection ended."""
        self.on_gone: Callable[[str], None] = lambda queue: None
        """Called with a queue that nobody serves any more."""

    def on_left(self, msg: Msg) -> None:
        """A connection ended, a moderator is there, or it would see to a queue."""
        if msg.subject == subjects.BEAT:
            self._moderators[msg.data.decode()] = self._presence.now()
            return
        if msg.subject == subjects.CORE_LEFT:
            self.on_moderator_gone()
            return
        if msg.subject == subjects.CLAIMED:
            lane, _, queue = msg.data.decode().partition(" ")
            self._claims.setdefault(queue, set()).add(lane)
            if not queue:
                self._note(dict.fromkeys(self._presence.queues(), 0))
            return
        queue = subjects.parse_left(msg.subject)
        if queue in self._presence.queues():
            if not self._ended[queue]:
                self._spawn(self.claim(queue))
            self._note({queue: 1})

    async def claim(self, queue: str = "") -> None:
        """Tell all moderators that this one would see to a queue; to all of them, as its own connection broke."""
        with contextlib.suppress(BusError):
            await self._connection.publish(subjects.CLAIMED, f"{self._lane} {queue}".encode())

    async def beat(self) -> int:
        """Tell all moderators that this one is there; how many there are."""
        with contextlib.suppress(BusError):
            await self._connection.publish(subjects.BEAT, self._lane.encode())
        since = self._presence.now() - ALIVE_S
        self._moderators = {lane: at for lane, at in self._moderators.items() if at > since} | {
            self._lane: self._presence.now()
        }
        return len(self._moderators)

    def _note(self, ended: Mapping[str, int]) -> None:
        self._ended.update(ended)
        if not self._looking:
            self._looking = True
            self._spawn(self._see())

    async def _see(self) -> None:
        tries: Counter[str] = Counter()
        mine: set[str] = set()
        try:
            while self._ended:
                await asyncio.sleep(GATHER_S)
                ended, self._ended = self._ended, Counter()
                claims, self._claims = self._claims, {}
                for queue in ended:
                    claimed = claims.get(queue, set()) | claims.get("", set())
                    if claimed and min(claimed) == self._lane:
                        mine.add(queue)
                try:
                    unclear = await self._once(ended, mine)
                except BusError as error:
                    _LOGGER.info("who is gone is not known yet: %s", error)
                    unclear = list(ended)
                mine &= set(unclear)
                for queue in unclear:
                    tries[queue] += 1
                    if tries[queue] < _TRIES:
                        self._ended[queue] += ended[queue]
        finally:
            self._looking = False

    async def _once(self, ended: Counter[str], mine: set[str]) -> list[str]:
        """Call all workers, and settle these queues. Returns those of which it is not clear yet who serves them."""
        out = {queue: await self._delivered(queue) for queue in ended if queue in mine}
        called_at = self._presence.now()
        await self._connection.publish(subjects.CALL, b"")
        await asyncio.sleep(ANSWER_S)
        unclear = []
        for queue, ends in ended.items():
            held = self._presence.settle(queue, called_at, ends)
            if held is None:
                unclear.append(queue)
                continue
            if not self._presence.serves(queue):
                self.on_gone(queue)
            if out.get(queue):
                await self._hand_back(queue, out[queue], set(held))
        return unclear

    async def _delivered(self, queue: str) -> int:
        """Up to which sequence of WORK the queue's turns were delivered; 0: none is out."""
        try:
            info = await self._connection.api(f"CONSUMER.INFO.{streams.WORK}.{subjects.consumer(queue)}")
        except ApiError:
            return 0
        return int(info["delivered"]["stream_seq"]) if info["num_ack_pending"] else 0

    async def _hand_back(self, queue: str, delivered: int, held: set[int]) -> None:
        """Put back what was delivered, is not acknowledged, and is in nobody's hand."""
        after = count = 0
        of_queue, consumer = subjects.work.of(queue=queue), subjects.consumer(queue)
        while after < delivered:
            message = await direct.next_at_leader(self._connection, streams.WORK, of_queue, after)
            if message is None or message.seq > delivered:
                break
            after = message.seq
            if after not in held:
                await self._connection.publish(ack_subject(streams.WORK, consumer, after), b"-NAK")
                count += 1
        if count:
            self._metrics.turns_handed_back.inc(count)
            _LOGGER.info("queue %s: handed back, as its worker is gone: %d turns", queue, count)
