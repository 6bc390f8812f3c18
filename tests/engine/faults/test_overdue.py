"""A timer that fired and that nobody takes: its message is in the hand of a moderator that hangs, or lies where nobody
is handed it."""

import asyncio
import contextlib

from parley.bus import streams
from parley.bus.work import Delivery, Pull
from tests.support.engine import Engine, until


async def test_a_session_whose_timer_nobody_takes_goes_on(bare: Engine) -> None:
    """A moderator has taken the timer, says again and again that it works on it, and never does."""
    first = await bare.moderator()
    await bare.workers({"latency_s": 60.0})
    await bare.open("s1", turn_timeout_s=3.0)
    await first.__aexit__()
    taken: list[Delivery] = []
    hangs = await bare.connect("moderator")
    pull = Pull(hangs, streams.TIMER, streams.MODERATORS, room=1, on_message=taken.append)
    await pull.start()
    await until(lambda: taken)
    working = asyncio.create_task(_works_on(pull, taken[0], bare.ack_wait_s / 10))
    try:
        await bare.moderator()
        await bare.closed("s1", 30.0)
        assert not any(e.cause == f"timer:{taken[0].seq}" for e in await bare.entries("s1"))
    finally:
        working.cancel()
        await pull.stop()


async def _works_on(pull: Pull, delivery: Delivery, every_s: float) -> None:
    while True:
        await pull.settle(delivery, b"+WPI")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), every_s)
