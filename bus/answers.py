"""What a connection waits for: answers to its requests, by the last token of the subject that they come under.

One timer watches over all of them: a request costs none of its own.
"""

import asyncio
import math
from collections.abc import Callable

import msgspec

from bus.errors import BusError, RequestTimeout
from bus.library import Msg


class Pending(msgspec.Struct, eq=False):
    """One answer that is waited for."""

    subject: str
    future: asyncio.Future[Msg]
    reply: str
    timeout_s: float
    due: float
    """When it has waited for too long, on the loop's clock."""


class Answers:
    """All of one connection."""

    def __init__(self) -> None:
        self._pending: dict[str, Pending] = {}
        self._counter = 0
        self._wake: asyncio.TimerHandle | None = None
        self._wake_at = math.inf

    def expect(self, subject: str, reply: str = "", timeout_s: float = math.inf) -> tuple[str, Pending]:
        """Wait for one: the token under which it comes, and what is filled when it does. After `timeout_s` it fails
        with RequestTimeout."""
        loop = asyncio.get_running_loop()
        self._counter += 1
        token = str(self._counter)
        due = loop.time() + timeout_s
        pending = self._pending[token] = Pending(subject, loop.create_future(), reply, timeout_s, due)
        if due < self._wake_at:
            self._look_at(due, loop)
        return token, pending

    def forget(self, token: str) -> None:
        """Wait for it no more."""
        pending = self._pending.pop(token, None)
        if pending is not None and pending.future.done() and not pending.future.cancelled():
            pending.future.exception()  # seen

    def came(self, token: str, msg: Msg) -> None:
        """An answer came; nothing where nobody waits for it any more."""
        pending = self._pending.get(token)
        if pending is not None and not pending.future.done():
            pending.future.set_result(msg)

    def fail_all(self, make: Callable[[str], BusError]) -> None:
        """Nothing that is waited for will come; `make` makes the error from a subject."""
        for pending in self._pending.values():
            if not pending.future.done():
                pending.future.set_exception(make(pending.subject))

    def all(self) -> list[Pending]:
        """Everything that is waited for."""
        return list(self._pending.values())

    def _look_at(self, due: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wake, self._wake_at = loop.call_at(due, self._look), due

    def _look(self) -> None:
        self._wake, self._wake_at = None, math.inf
        loop = asyncio.get_running_loop()
        now = loop.time()
        for pending in self._pending.values():
            if pending.due <= now and not pending.future.done():
                pending.future.set_exception(RequestTimeout(pending.subject, pending.timeout_s))
        left = min((p.due for p in self._pending.values() if not p.future.done()), default=math.inf)
        if left < math.inf:
            self._look_at(left, loop)
