"""A moderator refuses no session for want of a worker that it may only not have heard yet."""

import asyncio

from tests.support.engine import Engine, until

OLD = 60.0


async def test_an_opening_that_the_bus_was_away_for_waits_for_the_workers(bare: Engine) -> None:
    """The moderator's clock stands still where it does not say otherwise, so that no slow machine makes it old."""
    now = [0.0]
    moderator = await bare.moderator(clock=lambda: now[0])
    now[0] = OLD
    early = await bare.open("early")
    assert (early.fate, early.field) == ("refused", "seats"), "it heard nobody for long"
    bare.server.kill()
    bare.server.restart()

    async def back() -> bool:
        return moderator.presence.unbroken_s() == 0.0

    await until(back)
    opening = asyncio.create_task(bare.open("waits"))
    moderators = await bare.connect("moderator")

    async def in_hand() -> bool:
        waiting = int((await moderators.api("CONSUMER.INFO.IN.moderators"))["num_ack_pending"])
        return waiting == 1

    await until(in_hand, 30.0)
    assert not opening.done()
    await bare.workers()
    assert (await opening).fate == "taken"
