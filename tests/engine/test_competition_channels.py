"""The competition on the real bus: what is conferred stays on the team's channel, and a machine that would show a seat
what its channels do not hold is stopped before anything is stored."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.bus import subjects
from parley.bus.errors import BusError
from parley.coordinator.commands import AskSeat, SayOn
from parley.coordinator.machine import Protocol
from parley.coordinator.protocols.competition.state import Phase, State
from parley.coordinator.table import Answered, Step, View, to
from parley.schemas.log import Faulted
from parley.schemas.post import Posts, ReadPosts
from parley.schemas.protocols.competition.messages import Note
from parley.schemas.wire import decode, encode, raw
from tests.engine.test_rules import announce, asked, say
from tests.protocols.competition.play import COMPETITION, small, speech
from tests.support.engine import Engine, engine

QUEUES = {"pro_1": "pro", "con_1": "con", "judge": "judge"}
DUEL = small(speech("pro_1"), seats=1, confer=1)
SECRET = Note(text="our secret")


@pytest.fixture
async def duel(tmp_path: Path) -> AsyncIterator[Engine]:
    """A server with a queue for each seat of a duel; no moderator yet."""
    async with engine(tmp_path, queues=QUEUES) as started:
        yield started


async def opened(stack: Engine, protocol: Protocol = COMPETITION) -> Any:
    await stack.moderator(lane="a", protocols={"competition": protocol})
    await announce(stack)
    return await stack.open("s1", protocol="competition", settings={"format": DUEL})


async def read_as(stack: Engine, user: str, channel: str) -> bytes:
    """A channel's history as one user gets it."""
    connection = await stack.connect(user)
    msg = await connection.request(subjects.read(channel, "s1"), encode(ReadPosts()), 1.0)
    return b"".join(bytes(p.body) for p in decode(msg.data, Posts).posts)


async def test_what_is_conferred_stays_with_its_team(duel: Engine) -> None:
    assert (await opened(duel)).fate == "taken"
    work = await asked(duel, "pro_1")
    assert work.channel == "team_pro"
    assert (await say(duel, "pro_1", work, work.turns[0], "a", body=raw(SECRET))).verdict == "accepted"
    theirs = await asked(duel, "con_1")
    answer = await say(duel, "con_1", theirs, theirs.turns[0], "a", body=raw(Note(text="theirs")))
    assert answer.verdict == "accepted"
    speaking = await asked(duel, "pro_1")
    assert speaking.channel == "public" and [bytes(p.body) for p in speaking.posts] == [encode(SECRET)]
    assert b"our secret" in await read_as(duel, "pro_1", "team_pro")
    for user in ("con_1", "judge", "owner"):
        with pytest.raises(BusError):
            await read_as(duel, user, "team_pro")


async def test_a_note_submitted_in_public_is_refused(duel: Engine) -> None:
    await opened(duel)
    work = await asked(duel, "pro_1")
    wrong = msgspec.structs.replace(work, channel="public")
    answer = await say(duel, "pro_1", wrong, work.turns[0], "a", body=raw(SECRET))
    assert answer.verdict == "refused" and "is answered on channel team_pro, not on public" in answer.why
    assert len(await duel.log("s1")) == 1


async def test_a_machine_that_leaks_later_is_stopped_and_nothing_of_it_is_stored(duel: Engine) -> None:
    """Con's note would be shown to pro: in place of the reply that leads there the session ends, and the log has not a
    word of it."""

    def leak(s: State, e: Answered, v: View) -> Step:
        note = SayOn(channel="team_con", kind="note", round=1, body=raw(e.body), seat=e.seat)
        return s, (note, AskSeat(seat="pro_1", kind="speak", round=1, brief=raw(None), sees=(v.next_post,)))

    row = {**COMPETITION.table[Phase.CONFERRING], Answered: to(leak, Phase.CONFERRING)}
    table = {**COMPETITION.table, Phase.CONFERRING: row}
    assert (await opened(duel, replace(COMPETITION, table=table))).fate == "taken"
    work = await asked(duel, "con_1")
    answer = await say(duel, "con_1", work, work.turns[0], "a", body=raw(SECRET))
    assert answer.verdict == "accepted"
    _, fault = await duel.entries("s1")
    assert isinstance(fault.event, Faulted) and "may not read channel team_con" in fault.event.why
    assert "our secret" not in "".join(await duel.log("s1"))
    assert b"our secret" not in await read_as(duel, "con_1", "team_con")
