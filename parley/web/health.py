"""The health that a gateway can show: the report of `parley doctor`, and the lengths of queues.

A look takes seconds and asks models. So it is made in the background, once for all who ask, and kept for a while.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

import msgspec

_LOGGER = logging.getLogger(__name__)
KEPT_S = 15.0
"""A look is made anew for whoever asks after so long."""
FIRST_S = 6.0
"""So long the first one who asks waits; after that the page is shown without."""


class Lack(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that does not work, and the command or variable that mends it."""

    what: str
    mend: str


class ModelHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The model of a queue, as it was found."""

    status: str
    """ok (no language model) | configured | answers | announced | missing"""
    seconds: float | None = None
    """That a tiny question took; None: none was asked."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """One look."""

    models: dict[str, ModelHealth] = {}
    """By queue."""
    waiting: dict[str, int] | None = None
    """Queue -> turns that no worker has yet; None: nobody may look."""
    missing: tuple[Lack, ...] = ()


class Looks:
    """Keeps the last look.

    Parameters
    ----------
    look
        Looks once. None: nobody can look from here.
    """

    def __init__(self, look: Callable[[], Awaitable[Health]] | None) -> None:
        self._look = look
        self._last: Health | None = None
        self._at = 0.0
        self._task: asyncio.Task[None] | None = None

    async def last(self) -> Health | None:
        """What was found last; None: nothing is known yet, or nobody can look."""
        if self._look is None:
            return None
        if self._task is None and (self._last is None or time.monotonic() - self._at > KEPT_S):
            self._task = asyncio.create_task(self._again(self._look))
        if self._last is None and self._task is not None:
            await asyncio.wait((self._task,), timeout=FIRST_S)
        return self._last

    async def _again(self, look: Callable[[], Awaitable[Health]]) -> None:
        try:
            self._last = await look()
        except Exception as error:  # a look asks the bus and models of anybody: what it raises is no fault of the page
            _LOGGER.info("health was not looked at: %s: %s", type(error).__name__, error)
        finally:
            self._at, self._task = time.monotonic(), None

    async def close(self) -> None:
        """End a look that is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
