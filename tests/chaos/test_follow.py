"""A follower whose questions are answered late still sees everything."""

from pathlib import Path

from parley.bus.channels import CONTROL, PUBLIC
from parley.bus.posts import Reader
from parley.schemas.post import Posts
from tests.support.engine import Engine, engine


class Delayed(Reader):
    """Asks for `control` only once the session is closed, as where that question met a frozen moderator."""

    bus: Engine

    async def _page(self, sid: str, channel: str, k: int, *, waits: bool) -> Posts:
        if channel == CONTROL:
            await self.bus.closed(sid)
        return await super()._page(sid, channel, k, waits=waits)


async def test_what_is_said_between_two_questions_is_not_missed(tmp_path: Path) -> None:
    async with engine(tmp_path) as bus:
        await bus.moderator()
        await bus.workers({"latency_s": 0.05})
        await bus.open("s1")
        reader = Delayed(bus.owner)
        reader.bus = bus
        seen = [post async for post in reader.follow("s1", (PUBLIC, CONTROL))]
        public = await bus.posts("s1", PUBLIC)
        assert len(public) > 0
        assert [p for p in seen if p.channel == PUBLIC] == list(public)
        assert seen[-1].kind == "closed"
