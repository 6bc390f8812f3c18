"""Seats that join and leave a panel on a real server: who serves them, and moderators that die meanwhile."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.post import Fate
from parley.schemas.session import DecideItem, ForkSession, Seat
from parley.schemas.wire import encode
from tests.engine.test_children import once
from tests.support.engine import QUEUES, Engine, engine, until

FOUR = {**QUEUES, "panelist_4": "panelist"}
SLOW = {"latency_s": 0.7}


async def decide(bare: Engine, choice: str, sid: str = "s1") -> Fate:
    return await bare.submit(sid, encode(DecideItem(item="seat", choice=choice)))


async def opens(bare: Engine) -> None:
    """A session of three whose first round takes a moment, with a member that has no seat."""
    for queue in FOUR:
        await bare.worker(queue, SLOW if queue == "panelist_3" else None)
    seats = tuple(Seat(seat=seat, role=role, queue=seat) for seat, role in QUEUES.items())

    async def taken() -> bool:
        return (await bare.open("s1", settings={"round_limit": 3}, seats=seats)).fate == "taken"

    await until(taken)


def invited(entries: Sequence[log.Entry]) -> list[str]:
    return [c.seat.seat for e in entries for c in e.commands if isinstance(c, log.Invite)]


@pytest.mark.parametrize("point", ["appended", "effected"])
async def test_a_member_joins_once_though_a_moderator_dies_on_the_way(tmp_path: Path, point: str) -> None:
    """In the step that takes the decision. What is stored is carried out by another moderator, and recomputes."""
    async with engine(tmp_path, queues=FOUR) as bare:
        due: list[tuple[str, str]] = []
        for _ in range(2):
            await bare.moderator(checkpoint=once(due))
        await opens(bare)
        due.append((point, "s1"))
        assert (await decide(bare, "add panelist_4")).fate == "taken"
        await bare.closed("s1", 30.0)
        entries, texts = await bare.entries("s1"), await bare.log("s1")
        assert due == [], "one was killed"
        assert sum(isinstance(e.event, log.Decided) for e in entries) == 1 and invited(entries) == ["panelist_4"]
        asked = [c for e in entries for c in e.commands if isinstance(c, log.Ask) and c.seat == "panelist_4"]
        assert asked[0].kind == "answer" and not asked[0].sees
        posts = await bare.posts("s1", "public")
        assert any(p.kind == "position" and p.seat == "panelist_4" for p in posts)
        replayed = replay(PROTOCOLS.get, "s1", texts)
        assert (
            replayed.result is not None
            and [s["seat"] for s in replayed.result.outcome["signatures"]][-1] == "panelist_4"
        )
        fork = ForkSession(of="s1", round=2, settings={"threshold": 60.0})
        assert (await bare.submit("f1", encode(fork))).fate == "taken"
        await bare.closed("f1", 30.0)
        assert invited(await bare.entries("f1")) == ["panelist_4"]
