"""Whether a turn is still open, immediately before a request to its model leaves.

A process may be frozen between its question and its request, for as long as it takes another copy to answer. The
monotonic clock goes on meanwhile, so what was known too long ago is asked once more.
"""

import asyncio
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING

from schemas.turn import Turn, Work

if TYPE_CHECKING:
    from agents.moderator_link import ModeratorLink

KNOWN_S = 0.2
"""So long it is taken as known that a turn is open."""
_LOOKS = 3
"""On a machine where even the question takes longer, the last of so many answers is taken."""


class StillOpen:
    """Of one try of one turn, which is known to be open from now on. `late_s`: an answer that takes longer does not
    count."""

    def __init__(self, link: "ModeratorLink", work: Work, turn: Turn, late_s: float) -> None:
        self._link = link
        self._work = work
        self._turn = turn
        self._late_s = late_s
        self._known_at = time.monotonic()

    async def check(self) -> None:
        """Raises asyncio.CancelledError where the turn is closed; BusError where nobody said so until its deadline."""
        looks = 0
        while looks < _LOOKS and time.monotonic() - self._known_at > KNOWN_S:
            asked = time.monotonic()
            if not (await self._link.check(self._work, self._turn)).open:
                raise asyncio.CancelledError("closed")
            if time.monotonic() - asked <= self._late_s:
                self._known_at = asked
                looks += 1


_current: ContextVar[StillOpen | None] = ContextVar("still_open", default=None)


def begin(turn: StillOpen) -> None:
    """The requests that this task makes from now on are for this turn."""
    _current.set(turn)


async def before_request() -> None:
    """Called by whatever is about to ask a model. Raises as StillOpen.check; nothing is asked outside of a turn."""
    turn = _current.get()
    if turn is not None:
        await turn.check()
