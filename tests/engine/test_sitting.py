"""A person in a seat on the real bus: `parley sit` as a process of its own, with whoever types at it scripted."""

import asyncio
import os
import pty
import secrets
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.bus import subjects
from parley.bus.errors import BusError
from parley.bus.streams import ACK_WAIT_S
from parley.schemas.log import Ask, Entry, Replied, Sat
from parley.schemas.post import ReadPosts
from parley.schemas.presence import Announcement
from parley.schemas.result import Result
from parley.schemas.session import Seat, human_queue
from parley.schemas.turn import Sit, SubmitAnswer
from parley.schemas.wire import decode, encode
from tests.engine.test_rules import announce, asked, say
from tests.protocols.competition.play import exchange, small, speech
from tests.support.debater import Debater
from tests.support.engine import Engine, until

pytestmark = pytest.mark.slow
HUMAN = human_queue("pro_1")
QUEUES = {"pro_1": "pro", "con_1": "con", "judge": "judge", HUMAN: "pro", human_queue("con_1"): "con"}
AGENTS = ("pro_1", "con_1", "judge")
DUEL = small(
    speech("pro_1", 20), speech("con_1", 20), exchange("pro_1", "con_1"), exchange("con_1", "pro_1"), seats=1, confer=1
)
ROOT = Path(__file__).parents[2]


class Person:
    """`parley sit` and what it says, with the keyboard in the test's hands."""

    def __init__(self, process: asyncio.subprocess.Process, keyboard: int) -> None:
        self.process = process
        self.said = ""
        self._keyboard = keyboard
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        assert self.process.stdout is not None
        while data := await self.process.stdout.read(4096):
            self.said += data.decode()

    def types(self, *lines: str) -> None:
        os.write(self._keyboard, "".join(f"{text}\n" for text in lines).encode())

    async def hears(self, text: str, timeout_s: float = 15.0) -> None:
        async def there() -> bool:
            if text not in self.said and self._listening.done():
                raise AssertionError(f"{text!r} was never said:\n{self.said}")
            return text in self.said

        await until(there, timeout_s)

    async def ends(self) -> int:
        code = await asyncio.wait_for(self.process.wait(), 15.0)
        await asyncio.wait_for(self._listening, 5.0)
        return code

    async def close(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        await self._listening
        os.close(self._keyboard)


class Hall(Engine):
    """A stack whose sessions go no further than their first turns until its agents are let in."""

    async def begins(self, **request: Any) -> None:
        await self.moderator()
        await announce(self, *(q for q in QUEUES if q not in AGENTS))
        given = {"protocol": "competition", "settings": {"format": DUEL}, **request}
        assert (await self.open("s1", **given)).fate == "taken"

    async def let_in(self, *queues: str) -> None:
        for queue in queues or AGENTS:
            await self.worker(queue, model=Debater())

    async def sits(self, folder: Path, *more: str, user: str = HUMAN, tty: bool = False, sid: str = "s1") -> Person:
        creds = folder / f"{user}.json"
        self.credentials[user].save(creds)
        end, keyboard = (pty.openpty()[::-1]) if tty else os.pipe()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "parley", "sit", sid, "pro_1", "--nats", self.server.url, "--creds", str(creds),
            *more, stdin=end, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        os.close(end)
        person = Person(process, keyboard)
        self._stack.push_async_callback(person.close)
        return person

    async def sat(self) -> list[Sat]:
        return [e.event for e in await self.entries("s1") if isinstance(e.event, Sat)]

    async def told(self) -> list[Any]:
        """What everybody hears of people in seats."""
        return [msgspec.json.decode(p.body) for p in await self.posts("s1", "control") if p.kind == "seat"]

    async def answered(self, model: str) -> list[Entry]:
        return [e for e in await self.entries("s1") if isinstance(e.event, Replied) and e.event.model == model]


@pytest.fixture
async def hall(tmp_path: Path) -> AsyncIterator[Hall]:
    async with Hall(tmp_path, queues=QUEUES, ack_wait_s=ACK_WAIT_S) as started:
        yield started


async def test_a_person_plays_a_seat_to_the_end(hall: Hall, tmp_path: Path) -> None:
    await hall.begins()
    person = await hall.sits(tmp_path)
    await person.hears("You sit on pro_1 in session s1: 300 s for each turn, then the agent takes over.")
    await hall.let_in()
    await person.hears("pro_1: speak, round 1")
    assert "not in public: team_pro" in person.said, "what its own team conferred, apart"
    assert "team_con" not in person.said
    person.types("We would \x1b[31mban it.", "Nothing else helps.", ".", "")
    await person.hears("pro_1: question, round 1")
    assert "[4:59, 4 of 20 words]" in person.said, "words counted, and the clock"
    person.types("nobody", "con_1", "Who pays?", "When?", "")
    await person.hears("Your last reply was not taken: questions: got 2, at least 3 are wanted")
    assert "answerer: got 'nobody', expected con_1" in person.said
    person.types("", "Who pays?", "When?", "How?", "")
    await person.hears("pro_1: answer, round 1")
    person.types("Everybody, and soon.", ".", "")
    assert await person.ends() == 0
    assert "The session is over: every stage was played (played)" in person.said

    result = decode((await hall.closed("s1")).body, Result)
    assert result.stop.reason == "played" and result.outcome["complete"] and result.outcome["silent"] == []
    public = {p.n: bytes(p.body).decode() for p in await hall.posts("s1", "public") if p.seat == "pro_1"}
    texts = " ".join(public.values())
    assert "ban it.\\nNothing else helps." in texts and "Who pays?" in texts and "Everybody, and soon." in texts
    assert await hall.told() == [{"seat": "pro_1", "human": True}]
    mine = await hall.answered("human")
    assert len(mine) == 4  # one of the questions was not taken
    assert result.usage.by_seat["pro_1"].calls == 1, "the agent's note; a person makes no calls"
    asks = [c for e in await hall.entries("s1") for c in e.commands if isinstance(c, Ask) and c.seat == "pro_1"]
    assert [a.queue for a in asks] == ["", HUMAN, HUMAN, HUMAN, HUMAN]


async def test_one_who_walks_away_is_followed_by_his_agent(hall: Hall, tmp_path: Path) -> None:
    """Killed in the middle of a line: the time of the turn passes, and the agent takes over."""
    await hall.begins()
    person = await hall.sits(tmp_path, "--seconds", "2", tty=True)
    await person.hears("You sit on pro_1")
    await hall.let_in()
    await person.hears("pro_1: speak, round 1")
    person.types("I shall be")
    person.process.kill()
    result = decode((await hall.closed("s1", 25.0)).body, Result)
    assert result.stop.reason == "played" and result.outcome["complete"] and result.outcome["silent"] == []
    assert await hall.answered("human") == [] and result.usage.unaccounted_turns == 0
    assert await hall.told() == [{"seat": "pro_1", "human": True}, {"seat": "pro_1", "human": False}]


# ---------------------------------------------------------------- refused


async def test_credentials_of_another_seat_are_refused_here(hall: Hall, tmp_path: Path) -> None:
    await hall.begins()
    for user in (human_queue("con_1"), "pro_1", "owner"):
        person = await hall.sits(tmp_path, user=user)
        assert await person.ends() == 2
        assert f"they are for '{user}'; a person in seat pro_1 has those of '{HUMAN}'" in person.said
    assert await hall.sat() == []


@pytest.fixture
async def panel(tmp_path: Path) -> AsyncIterator[Hall]:
    """A session of consensus, whose opener names its seats, beside a credential for a person in pro_1."""
    queues = {"panelist_1": "panelist", "panelist_2": "panelist", "analyst": "analyst", HUMAN: "pro"}
    async with Hall(tmp_path, queues=queues) as started:
        await started.moderator()
        await announce(started, HUMAN)
        yield started


async def opened(hall: Hall, first: str) -> None:
    seats = (
        Seat(seat=first, role="panelist", queue="panelist_1"),
        Seat(seat="panelist_2", role="panelist", queue="panelist_2"),
    )
    assert (await hall.open("s1", settings={"panel": 2}, seats=seats)).fate == "taken"


async def test_a_persons_role_is_that_of_the_credential_whatever_the_session_calls_its_seats(
    panel: Hall, tmp_path: Path
) -> None:
    """Else whoever opens a session could show a person of one team what another account reads."""
    await opened(panel, "pro_1")
    person = await panel.sits(tmp_path)
    assert await person.ends() == 2
    assert f"seat pro_1 is a panelist's in session s1, and {HUMAN} is here as pro" in person.said
    assert await panel.sat() == []


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
    assert await hall.sat() == []


async def test_the_agent_may_not_answer_for_the_person_nor_the_person_for_the_agent(hall: Hall) -> None:
    await hall.begins()
    before = await asked(hall, "pro_1")
    assert (await sit(hall, HUMAN, Sit(id="a", seat="pro_1"))).verdict == "accepted"
    connection = await hall.connect(HUMAN)
    await connection.request(subjects.read("team_pro", "s1"), encode(ReadPosts()), 2.0)  # it reads what its team reads
    reply = {"t": "reply", "turn": before.turns[0].id, "token": before.turns[0].token, "body": {"text": "mine"}}
    msg = await connection.request(subjects.say("any", before.channel, HUMAN, "s1"), encode(reply), 5.0)
    assert decode(msg.data, SubmitAnswer).why == f"turn {before.turns[0].id} belongs to queue pro_1, not to {HUMAN}"
    await hall.let_in("con_1")
    note = encode({"text": "our plan"})
    assert (await say(hall, "pro_1", before, before.turns[0], "any", body=msgspec.Raw(note))).verdict == "accepted"
    theirs = await asked(hall, HUMAN)
    turn = theirs.turns[0]
    agent = await hall.connect("pro_1")
    spoken = {"t": "reply", "turn": turn.id, "token": turn.token, "body": {"text": "for him"}}
    msg = await agent.request(subjects.say("any", theirs.channel, "pro_1", "s1"), encode(spoken), 5.0)
    assert decode(msg.data, SubmitAnswer).why == f"turn {turn.id} belongs to queue {HUMAN}, not to pro_1"
