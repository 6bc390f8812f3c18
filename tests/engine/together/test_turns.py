"""Turns of a round that go to one queue lie in as few messages as let its copies share the round."""

import base64
from pathlib import Path

import msgspec
import pytest

from parley.bus import subjects
from parley.schemas.presence import Announcement
from parley.schemas.session import Seat
from parley.schemas.turn import Work
from parley.schemas.wire import decode, encode
from tests.engine.test_rules import announce
from tests.support.engine import Engine, engine, until


@pytest.mark.parametrize(
    ("copies", "room", "messages"), [(1, 4, [3]), (1, 2, [2, 1]), (2, 4, [2, 1]), (3, 1, [1, 1, 1]), (5, 4, [1, 1, 1])]
)
async def test_copies_of_a_queue_share_a_round(tmp_path: Path, copies: int, room: int, messages: list[int]) -> None:
    """Of its own accord a moderator puts as many turns into a message as let the copies share the round, and no more
    than a copy has room for; sent again they lie together as before, whoever is there by then."""
    async with engine(tmp_path, queues={"panelist": "panelist", "analyst": "analyst"}) as bare:
        moderator = await bare.moderator(lane="a")
        await announce(bare)
        here = Announcement(instance="x", queue="panelist", roles=("panelist",), model="none", family="none", room=room)
        connection = await bare.connect("panelist")

        async def announced(many: int) -> None:
            async def heard() -> bool:
                for copy in ("x", "y", "z", "v", "w")[:many]:
                    told = encode(msgspec.structs.replace(here, instance=copy))
                    await connection.publish(subjects.here("panelist", "panelist"), told)
                living = [(a.copies, a.room) for a in moderator.presence.alive() if a.queue == "panelist"]
                return living == [(many, many * room)]

            await until(heard)

        await announced(copies)
        seats = [Seat(seat=f"p{i}", role="panelist", queue="panelist") for i in range(3)]
        await bare.open("s1", seats=(*seats, Seat(seat="analyst", role="analyst", queue="analyst")))
        assert await _kept(bare) == messages
        await announced(5)
        await moderator.sessions.reissue("s1", "in:1")
        assert await _kept(bare) == messages


async def _kept(bare: Engine) -> list[int]:
    """How many turns lie in each message to the panelists."""
    connection = await bare.connect("moderator")
    state = (await connection.api("STREAM.INFO.WORK"))["state"]
    found = []
    for seq in range(state["first_seq"], state["last_seq"] + 1):
        message = (await connection.api("STREAM.MSG.GET.WORK", {"seq": seq}))["message"]
        found.append(len(decode(base64.b64decode(message["data"]), Work).turns))
    return found
