"""Turns that wait for their owner's place on a queue: they survive the moderator that keeps them."""

import asyncio
from pathlib import Path

from parley.bus import subjects
from parley.schemas.session import OpenSession
from parley.schemas.wire import encode
from tests.support.engine import engine, until

SESSIONS = 40


async def test_what_waited_at_a_moderator_that_died_is_sent_by_another(tmp_path: Path) -> None:
    async with engine(tmp_path) as bare:
        moderators = [await bare.moderator(), await bare.moderator()]
        for queue in bare.queues:
            await bare.worker(queue, {"latency_s": 0.02}, room=1)
        alice, opening = await bare.connect("alice"), encode(OpenSession(question="Which?", protocol="consensus"))
        for i in range(SESSIONS):
            await alice.store(subjects.inbox("client", "alice", f"s{i}"), opening)

        async def waiting() -> bool:
            return all(moderator._lanes.waiting().get("alice", 0) > 2 for moderator in moderators)

        await until(waiting)
        dead = moderators[0]
        await dead._connection.close()
        for task in (dead._sweeping, dead._looking):
            task.cancel()

        async def ended() -> bool:
            rows = (await bare.sessions()).rows
            return sum(row.status == "finished" for row in rows) == SESSIONS

        await until(ended, 40.0)
        await asyncio.gather(dead._sweeping, dead._looking, return_exceptions=True)
        assert moderators[1]._lanes.waiting() == {}
