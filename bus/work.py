"""Taking work: a continuous pull loop over one durable consumer, as many messages at once as there is room for.

Used by workers for their queue and by moderators for IN. A pull asks for what there is room for and expires after a
while; the server says how much of it was left unserved, so that the loop always knows what is still owed to it. A
server that was restarted owes nothing: every reconnect and every silence starts the count afresh.
"""

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Awaitable, Callable

from parley.bus.connection import Connection
from parley.bus.errors import BusError
from parley.bus.library import Msg, Subscription, cancelled

_LOGGER = logging.getLogger(__name__)
_EXPIRES_S = 2.0
_GRACE_S = 1.0
_NOBODY_S = 0.2
SILENT_S = 10.0
"""Seconds without an answer after which the log says so, and the puller no longer counts as ready."""
INBOX_S = 10.0
PULLS_AN_INBOX = 1_000
"""Across accounts the server keeps about 0.7 kB a pull while its inbox is subscribed: a new inbox frees that."""


class Delivery:
    """One message that was taken, and the subject at which it is settled (a redelivery replaces it)."""

    __slots__ = ("ack_subject", "data", "delivered", "headers", "seq", "stored_ns", "subject")

    def __init__(self, msg: Msg) -> None:
        self.data = msg.data
        self.subject = msg.subject
        self.headers: dict[str, str] = dict(msg.headers or {})
        self.ack_subject = msg.reply
        tokens = msg.reply.split(".")
        # $JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>; or with two more in
        # front
        base = 2 if len(tokens) == 9 else 4
        self.delivered = int(tokens[base + 2])
        self.seq = int(tokens[base + 3])
        self.stored_ns = int(tokens[base + 5])


def ack_subject(stream: str, consumer: str, seq: int) -> str:
    """Where a message is settled by its sequence alone, for whoever did not take it. The server looks at the sequence,
    and that the number of the delivery was given."""
    return f"$JS.ACK.{stream}.{consumer}.1.{seq}.1.1.0"


class Pull:
    """The loop.

    Parameters
    ----------
    stream, consumer
        What is pulled from.
    room
        How many messages may be held at once.
    on_message
        Called as each arrives; must not block.
    on_nobody
        Called while nobody answers the pull.
    silent_s
        So long nobody answers before the log says so and `unanswered` is true.
    inbox_pulls, inbox_s
        An inbox is left for a new one after so many pulls, and not before it is so old.
    """

    def __init__(
        self,
        connection: Connection,
        stream: str,
        consumer: str,
        *,
        room: int,
        on_message: Callable[[Delivery], None],
        on_nobody: Callable[[], Awaitable[None]] | None = None,
        silent_s: float = SILENT_S,
        inbox_pulls: int = PULLS_AN_INBOX,
        inbox_s: float = INBOX_S,
    ) -> None:
        self._connection = connection
        self._subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._room = room
        self._silent_s = silent_s
        self._inbox_pulls = inbox_pulls
        self._inbox_s = inbox_s
        self._in_hand = 0
        self._owed = 0
        self._pulls = 0
        self._inbox = ""
        self._inbox_since = 0.0
        self._subs: list[Subscription] = []
        self._asked_at = 0.0
        self._on_message = on_message
        self._on_nobody = on_nobody
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._nobody = False
        self._unheard_since = 0.0
        self._warned = False
        self._stopping = False

    async def start(self) -> None:
        """Begin to pull."""
        await self._new_inbox()
        self._connection.on_reconnect.append(self._on_reconnect)
        self._task = asyncio.create_task(self._loop(), name=f"pull {self._subject}")

    async def stop(self) -> None:
        """Ask for no more. Messages that were taken stay with their taker; the server hands back what it still owed."""
        if self._task is None:
            return
        self._stopping = True
        await cancelled(self._task)
        self._task = None
        self._connection.on_reconnect.remove(self._on_reconnect)
        for sub in self._subs:
            with contextlib.suppress(Exception):
                await sub.unsubscribe()

    async def _new_inbox(self) -> None:
        """Pull through a new inbox. Nothing more is owed to the inbox before the last one."""
        self._inbox = self._connection.nc.new_inbox()
        self._subs.append(await self._connection.nc.hear(self._inbox, "", self._receive))
        self._pulls = 0
        self._inbox_since = time.monotonic()
        if len(self._subs) > 2:
            with contextlib.suppress(Exception):
                await self._subs.pop(0).unsubscribe()

    @property
    def alive(self) -> bool:
        """Whether the loop runs."""
        return self._task is not None and not self._task.done()

    @property
    def unanswered(self) -> bool:
        """Whether nobody has answered for `silent_s`, although the connection stands."""
        return self._warned

    @property
    def in_hand(self) -> int:
        """Messages that were taken and are not settled yet."""
        return self._in_hand

    def release(self) -> None:
        """A message is settled: there is room for one more."""
        self._in_hand -= 1
        if self._room - self._in_hand - self._owed >= max(1, self._room // 4) or self._owed == 0:
            self._wake.set()

    async def settle(self, delivery: Delivery, how: bytes = b"+ACK") -> None:
        """Tell the server: `+ACK`, `+TERM`, `+WPI` (still working) or `-NAK`."""
        if not self._connection.put(delivery.ack_subject, how):
            await self._connection.publish(delivery.ack_subject, how)

    def _on_reconnect(self) -> None:
        self._owed = 0
        self._wake.set()

    async def _loop(self) -> None:
        while not self._stopping:
            free = self._room - self._in_hand - self._owed
            if free > 0:
                if self._pulls >= self._inbox_pulls and time.monotonic() - self._inbox_since > self._inbox_s:
                    with contextlib.suppress(Exception):  # the old inbox will do until the next time
                        await self._new_inbox()
                self._pulls += 1
                self._asked_at = time.monotonic()
                self._look()
                self._owed += free
                body = json.dumps({"batch": free, "expires": int(_EXPIRES_S * 1e9)}).encode()
                with contextlib.suppress(Exception):
                    await self._connection.nc.publish(self._subject, body, reply=self._inbox)
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EXPIRES_S):
                    await self._wake.wait()
            if self._nobody:
                self._nobody = False
                if self._on_nobody is not None:
                    try:
                        await self._on_nobody()
                    except BusError as error:
                        _LOGGER.warning("nobody to pull from yet: %s", error)
                await asyncio.sleep(_NOBODY_S)
            if time.monotonic() - self._asked_at > _EXPIRES_S + _GRACE_S:
                self._owed = 0

    def _look(self) -> None:
        """Warn once that nobody answers: the connection stands even without a moderator or a majority."""
        self._unheard_since = self._unheard_since or self._asked_at
        if not self._warned and self._connection.connected and self._asked_at - self._unheard_since > self._silent_s:
            self._warned = True
            _LOGGER.warning(
                "nobody answers at %s: the bus has no moderator yet, or no majority. "
                "It goes on by itself; parley doctor, at the bus, says what is there",
                self._subject,
            )

    def _heard(self) -> None:
        self._unheard_since = 0.0
        if self._warned:
            self._warned = False
            _LOGGER.warning("%s is answered again", self._subject)

    def _receive(self, msg: Msg) -> None:
        if not msg.reply:
            self._status(msg)
            return
        self._heard()
        self._owed = max(0, self._owed - 1)
        self._in_hand += 1
        delivery = Delivery(msg)
        self._connection.clock.stored(delivery.stored_ns)
        self._on_message(delivery)
        if self._owed == 0:
            self._wake.set()

    def _status(self, msg: Msg) -> None:
        headers = msg.headers or {}
        status = headers.get("Status", "")
        if status == "100":
            return
        if status == "503":
            self._owed = 0
            self._nobody = True
        else:
            self._heard()
            self._owed = max(0, self._owed - int(headers.get("Nats-Pending-Messages", "0") or 0))
        self._wake.set()
