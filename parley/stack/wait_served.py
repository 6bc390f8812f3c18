"""Waits for a stack that is still starting. A session that is refused for lack of a worker is opened again when the
worker is there. A request that no moderator takes yet is repeated.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from parley.client.errors import Refusal, StackFailed, Unreachable
from parley.client.protocols import setup_of
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas.presence import Announcement
from parley.schemas.session import OpenSession
from parley.stack.lease import Lease

T = TypeVar("T")

READY_S = 60.0
"""So long a stack may take to start on a busy machine."""
_HEARD_S = 8.0
"""A worker that is up announces itself in less."""
_AGAIN_S = 0.5
_LOOK_S = 0.1
_ADVICE = re.compile(r"[;,] start\b.*parley agent.*", re.DOTALL)
"""What a moderator advises where a worker is missing: to start it by hand, which is not how a stack gets one."""


def unserved(opening: OpenSession, workers: Iterable[Announcement]) -> str:
    """A line that says who is missing for the session that this one may start; empty: nobody."""
    beneath = setup_of(opening.protocol).beneath(opening.settings)
    protocol = PROTOCOLS.get(beneath.protocol) if beneath else None
    if beneath is None or protocol is None:
        return ""
    queues: dict[str, set[str]] = {}
    for worker in workers:
        for role in worker.roles:
            queues.setdefault(role, set()).add(worker.queue)
    few = [role.name for role in protocol.roles if len(queues.get(role.name, ())) < role.least]
    if not few:
        return ""
    what = f"{beneath.setting}={protocol.name}: too few workers are alive for role {', '.join(few)}"
    return f"parley: {what}; {beneath.otherwise}"


async def when_served(lease: Lease | None, once: Callable[[], Awaitable[T]]) -> T:
    """Open a session, again while the lease's stack starts. `lease`: None on a bus that runs elsewhere.

    Raises
    ------
    Refusal
        A moderator refused it for another reason, or its workers were not there in time.
    """
    deadline = time.monotonic() + READY_S
    until = None
    while True:
        try:
            return await once()
        except Refusal as refusal:
            if lease is None or not _unserved(refusal):
                raise
            await _until_ready(lease, deadline)
            now = time.monotonic()
            until = until or min(now + _HEARD_S, deadline)
            if now > until:
                why = _ADVICE.sub("", refusal.why)
                reason = f"{why}; the stack in {lease.state} does not have it; its logs and parley doctor say why"
                raise Refusal(refusal.field, reason) from refusal
        await asyncio.sleep(_AGAIN_S)


async def when_up(lease: Lease | None, once: Callable[[], Awaitable[T]]) -> T:
    """Do what needs a moderator, again while the lease's stack starts. `lease`: None on a bus that runs elsewhere.

    Raises
    ------
    Unreachable
        No moderator did it in time.
    """
    deadline = time.monotonic() + READY_S
    while True:
        try:
            return await once()
        except Unreachable:
            if lease is None or time.monotonic() > deadline:
                raise
        await asyncio.sleep(_AGAIN_S)


def _unserved(refusal: Refusal) -> bool:
    return refusal.field.partition(".")[0] == "seats" and bool(_ADVICE.search(refusal.why))


async def _until_ready(lease: Lease, deadline: float) -> None:
    while time.monotonic() < deadline:
        with contextlib.suppress(StackFailed):  # a supervisor that died is replaced
            if lease.running().ready:
                return
        await asyncio.sleep(_LOOK_S)
