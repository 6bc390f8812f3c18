"""A person in a seat on the real bus: who may sit down where, and that nobody answers for another."""

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from parley.bus import subjects
from parley.bus.errors import BusError
from parley.bus.streams import ACK_WAIT_S
from parley.schemas.log import Sat
from parley.schemas.post import ReadPosts
from parley.schemas.presence import Announcement
from parley.schemas.session import Seat, human_queue
from parley.schemas.turn import Sit, SubmitAnswer
from parley.schemas.wire import decode, encode
from tests.engine.test_rules import announce, asked, say
from tests.protocols.competition.play import small, speech
from tests.support.debater import Debater
from tests.support.engine import Engine

pytestmark = pytest.mark.slow
HUMAN = human_queue("pro_1")
QUEUES = {"pro_1": "pro", "con_1": "con", "judge": "judge", HUMAN: "pro", human_queue("con_1"): "con"}
DUEL = small(speech("pro_1", 20), speech("con_1", 20), seats=1, confer=1)
ROOT = Path(__file__).parents[2]


class Hall(Engine):
    """A stack whose sessions go no further than their first turns."""

    async def begins(self) -> None:
        await self.moderator()
        await announce(self, HUMAN, human_queue("con_1"))
        assert (await self.open("s1", protocol="competition", settings={"format": DUEL})).fate == "taken"

    async def refused(self, folder: Path, user: str = HUMAN) -> str:
        """What `parley sit`, as a process of its own, says to somebody with these credentials, who may not sit."""
        creds = folder / f"{user}.json"
        self.credentials[user].save(creds)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "parley", "sit", "s1", "pro_1", "--nats", self.server.url, "--creds", str(creds),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        said, _ = await asyncio.wait_for(process.communicate(), 60.0)
        assert process.returncode == 2
        assert not [e for e in await self.entries("s1") if isinstance(e.event, Sat)]
        return said.decode()


@pytest.fixture
async def hall(tmp_path: Path) -> AsyncIterator[Hall]:
    async with Hall(tmp_path, queues=QUEUES, ack_wait_s=ACK_WAIT_S) as started:
        yield started


# ---------------------------------------------------------------- refused


async def test_credentials_of_another_seat_are_refused_here(hall: Hall, tmp_path: Path) -> None:
    await hall.begins()
    for user in (human_queue("con_1"), "pro_1", "owner"):
        said = await hall.refused(tmp_path, user)
        assert f"they are for '{user}'; a person in seat pro_1 has those of '{HUMAN}'" in said


@pytest.fixture
async def panel(tmp_path: Path) -> AsyncIterator[Hall]:
    """A session of consensus, whose opener names its seats, beside a credential for a person in pro_1."""
    queues = {"panelist_1": "panelist", "panelist_2": "panelist", "analyst": "analyst", HUMAN: "pro"}
    async with Hall(tmp_path, queues=queues) as started:
        await started.moderator()
        await announce(started, HUMAN)
        yield started


async def test_a_persons_role_is_that_of_the_credential_whatever_the_session_calls_its_seats(
    panel: Hall, tmp_path: Path
) -> None:
    """Else whoever opens a session could show a person of one team what another account reads."""
    seats = tuple(
        Seat(seat=seat, role="panelist", queue=f"panelist_{i}") for i, seat in ((1, "pro_1"), (2, "panelist_2"))
    )
    assert (await panel.open("s1", settings={"panel": 2}, seats=seats)).fate == "taken"
    assert f"seat pro_1 is a panelist's in session s1, and {HUMAN} is here as pro" in await panel.refused(tmp_path)


async def sit(hall: Hall, user: str, message: Sit, role: str = "pro", channel: str = "public") -> SubmitAnswer:
    """Submit it by hand, announced in the role that the credential has."""
    connection = await hall.connect(user)
    if user.endswith("_human"):
        here = Announcement(instance=secrets.token_hex(4), queue=user, roles=(role,), model="human", family="human")
        await connection.publish(subjects.here(role, user, ""), encode(here))
    subject = subjects.say(subjects.ANY, channel, user, "s1")
    return decode((await connection.request(subject, encode(message), 5.0)).data, SubmitAnswer)


async def test_nobody_sits_down_in_another_name(hall: Hall) -> None:
    await hall.begins()
    mine = Sit(id="a", seat="pro_1")
    for user, role in ((human_queue("con_1"), "con"), ("con_1", "con"), ("pro_1", "pro")):
        answer = await sit(hall, user, mine, role)
        assert answer.verdict == "refused" and f"seat pro_1 is for {HUMAN} to take, not for {user}" in answer.why
    assert (await sit(hall, HUMAN, mine, channel="team_pro")).why == "channel team_pro takes no sit"
    with pytest.raises(BusError):  # a client's account has no such subject
        await hall.owner.request(subjects.say(subjects.ANY, "public", HUMAN, "s1"), encode(mine), 1.0)
    assert len(await hall.entries("s1")) == 1


async def test_the_agent_may_not_answer_for_the_person_nor_the_person_for_the_agent(hall: Hall) -> None:
    await hall.begins()
    before = await asked(hall, "pro_1")
    assert (await sit(hall, HUMAN, Sit(id="a", seat="pro_1"))).verdict == "accepted"
    connection = await hall.connect(HUMAN)
    await connection.request(subjects.read("team_pro", "s1"), encode(ReadPosts()), 2.0)  # it reads what its team reads
    reply = {"t": "reply", "turn": before.turns[0].id, "token": before.turns[0].token, "body": {"text": "mine"}}
    msg = await connection.request(subjects.say("any", before.channel, HUMAN, "s1"), encode(reply), 5.0)
    assert decode(msg.data, SubmitAnswer).why == f"turn {before.turns[0].id} belongs to queue pro_1, not to {HUMAN}"
    await hall.worker("con_1", model=Debater())
    note = encode({"text": "our plan"})
    assert (await say(hall, "pro_1", before, before.turns[0], "any", body=msgspec.Raw(note))).verdict == "accepted"
    theirs = await asked(hall, HUMAN)
    turn = theirs.turns[0]
    agent = await hall.connect("pro_1")
    spoken = {"t": "reply", "turn": turn.id, "token": turn.token, "body": {"text": "for him"}}
    msg = await agent.request(subjects.say("any", theirs.channel, "pro_1", "s1"), encode(spoken), 5.0)
    assert decode(msg.data, SubmitAnswer).why == f"turn {turn.id} belongs to queue {HUMAN}, not to pro_1"
