"""Whether a turn is still open: when its worker takes it, and immediately before a request to its model leaves.

A process may be frozen between its question and its request, for as long as it takes another copy to answer. The
monotonic clock goes on meanwhile, so what was known too long ago is asked once more.
"""

import asyncio
import secrets
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING

from parley.schemas.turn import Turn, Work

if TYPE_CHECKING:
    from parley.agents.moderator_link import ModeratorLink
    from parley.bus.connection import Connection
    from parley.bus.work import Delivery

KNOWN_S = 0.2
"""Seconds for which it is taken as known that a turn is open."""
_LOOKS = 3
"""On a machine where even the question takes longer, the last of so many answers counts."""

_AFTER_RECONNECT_S = 2.0
_SECOND_LOOK_S = 0.4


async def is_open(
    connection: "Connection", link: "ModeratorLink", delivery: "Delivery", work: Work, turn: Turn, ack_wait_s: float
) -> bool:
    """Whether the turn is open, known well enough to pay for a model call.

    It may be assumed only of a first delivery, not re-issued, younger than half of ack_wait, stored within a quarter of
    it after it was decided, and decided after this connection was made: by the server's time, asked for first. What a
    moderator sends later, since it was frozen between the two, others may have sent again meanwhile, and it may be
    answered. Else a moderator reads the log's tail; an answer that took more than a quarter of ack_wait does not count,
    and just after a reconnect there is a second look. Where tries are booked, it is always asked: it stores that this
    one begins, and with it that an earlier one was lost; if no other fits the budget, it closes the turn.
    """
    if not connection.clock.sure and not (await link.check(work, turn)).open:
        return False
    fresh = is_fresh(connection, delivery, work, ack_wait_s)
    if fresh and not turn.booked:
        return True
    attempt = secrets.token_hex(8)
    while True:
        asked_at = time.monotonic()
        checked = await link.check(work, turn, attempt)
        if time.monotonic() - asked_at > ack_wait_s / 4:
            continue
        if not checked.open:
            return False
        since = (connection.clock.now_ns() - connection.connected_at_ns) / 1e9
        if fresh or since > _AFTER_RECONNECT_S + _SECOND_LOOK_S:
            return True
        await asyncio.sleep(_SECOND_LOOK_S)
        asked_at = time.monotonic()
        checked = await link.check(work, turn, attempt)
        if not checked.open:
            return False
        if time.monotonic() - asked_at <= ack_wait_s / 4:
            return True


def is_fresh(connection: "Connection", delivery: "Delivery", work: Work, ack_wait_s: float) -> bool:
    """Whether it is a young first delivery of what was decided while this connection stood, and sent at once."""
    return (
        delivery.delivered == 1
        and not work.reissued
        and (connection.clock.now_ns() - delivery.stored_ns) / 1e9 < ack_wait_s / 2
        and (delivery.stored_ns - work.decided_ns) / 1e9 < ack_wait_s / 4
        and work.decided_ns > connection.connected_at_ns
        and connection.connected
    )


class StillOpen:
    """Whether one try of a turn is still open; it is known to be open now. `late_s`: a slower answer does not count."""

    def __init__(self, link: "ModeratorLink", work: Work, turn: Turn, late_s: float) -> None:
        self._link = link
        self._work = work
        self._turn = turn
        self._late_s = late_s
        self._known_at = time.monotonic()

    @property
    def is_old(self) -> bool:
        """Whether the last answer is too old."""
        return time.monotonic() - self._known_at > KNOWN_S

    async def check(self) -> None:
        """Check again. Raises asyncio.CancelledError if the turn is closed; BusError if nobody answered until its
        deadline."""
        looks = 0
        while looks < _LOOKS and time.monotonic() - self._known_at > KNOWN_S:
            asked_at = time.monotonic()
            if not (await self._link.check(self._work, self._turn)).open:
                raise asyncio.CancelledError("closed")
            if time.monotonic() - asked_at <= self._late_s:
                self._known_at = asked_at
                looks += 1


_current: ContextVar[StillOpen | None] = ContextVar("still_open", default=None)


def begin(turn: StillOpen) -> None:
    """Count the requests that this task makes from now on as those of this turn."""
    _current.set(turn)


async def before_request() -> None:
    """Called before every request to a model. Raises as StillOpen.check. Outside of a turn nothing is asked."""
    turn = _current.get()
    if turn is not None:
        await turn.check()
