"""What a client can do to a session that another session starts: nothing. The id of such a session, and the ids of the
messages about it, are known to who knows the one above."""

import secrets
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from parley.bus import subjects
from parley.bus.channels import CLIENT
from parley.bus.connection import Connection
from parley.coordinator.commands import StartChild
from parley.schemas.post import AskFate, Fate
from parley.schemas.session import CancelSession, OpenSession
from parley.schemas.wire import decode, encode
from tests.coordinator.floor_play import ANSWERS, ends
from tests.engine.floor import opened, posted, protocols, say
from tests.support.engine import Engine, until

CHILD = "s1-c1"


@pytest.fixture(autouse=True)
def answers() -> Iterator[None]:
    ANSWERS.clear()
    opening = OpenSession(question="Who is right?", protocol="consensus", settings={"round_limit": 1})
    ANSWERS["start"] = lambda view: (StartChild(opening=opening),)
    ANSWERS["ChildEnded"] = ends
    yield
    ANSWERS.clear()


async def submit(attacker: Connection, sid: str, data: bytes, msg_id: str = "") -> int:
    """Store on IN in the attacker's own name; the sequence."""
    ack = await attacker.store(subjects.inbox(CLIENT, "bob", sid), data, msg_id=msg_id or secrets.token_hex(16))
    return ack.seq


async def fate(attacker: Connection, sid: str, seq: int) -> Fate:
    """What became of it, when that is known."""

    async def told() -> Fate | None:
        msg = await attacker.request(subjects.fate(CLIENT, "bob", sid), encode(AskFate(seq=seq)), 5.0)
        found = decode(msg.data, Fate)
        return None if found.fate == "pending" else found

    found = await until(told)
    assert isinstance(found, Fate)
    return found


async def nothing(attacker: Connection) -> None:
    """The undisturbed run."""


async def junk_as_the_start(attacker: Connection) -> None:
    for n in range(4):
        for i in range(4):
            await submit(attacker, CHILD, b"junk", f"s1-{n}-{i}")


async def junk_as_the_end(attacker: Connection) -> None:
    await submit(attacker, "s1", b"junk", f"{CHILD}-ended")


async def cancel(attacker: Connection) -> None:
    seq = await submit(attacker, CHILD, encode(CancelSession(reason="mine")))
    assert (await fate(attacker, CHILD, seq)).fate == "refused"


async def squat(attacker: Connection) -> None:
    seq = await submit(attacker, CHILD, encode(OpenSession(question="Mine?", protocol="consensus")))
    found = await fate(attacker, CHILD, seq)
    assert (found.fate, found.field) == ("refused", "session")
    assert found.why == f"session: got '{CHILD}', but ids that end in -c and a number are of sessions beneath others"


@pytest.mark.parametrize("attack", [nothing, junk_as_the_start, junk_as_the_end, cancel, squat])
async def test_a_client_cannot_disturb_a_session_beneath_another(
    bare: Engine, attack: Callable[[Connection], Awaitable[None]]
) -> None:
    await bare.moderator(protocols())
    await bare.workers()
    await opened(bare)
    await attack(await bare.connect("bob"))
    assert (await say(bare, "start")).verdict == "accepted"
    await bare.closed("s1")
    ended: dict[str, Any] = await posted(bare, "ChildEnded")
    assert (ended["session"], ended["status"], ended["protocol"]) == (CHILD, "finished", "consensus")
    assert ended["result"]["session"] == CHILD
    assert {r.session: r.status for r in (await bare.sessions()).rows} == {CHILD: "finished", "s1": "finished"}


async def test_only_the_session_above_cancels_one_beneath(bare: Engine) -> None:
    await bare.moderator(protocols())
    await bare.workers({"latency_s": 30.0})
    await opened(bare)
    await say(bare, "start")
    await until(lambda: bare.entries(CHILD))
    found = await bare.cancel(CHILD)
    assert (found.fate, found.why) == ("refused", f"session {CHILD} runs beneath session s1; end that one")
    assert (await bare.cancel("s1")).fate == "taken"
    await bare.closed(CHILD)


async def test_fate_answers_its_author_only(bare: Engine) -> None:
    """Asked with the sequence of another's submission it says what it says of one that is not there."""
    await bare.moderator(protocols())
    await bare.workers({"latency_s": 30.0})
    ack = await bare.owner.store(
        subjects.inbox(CLIENT, "owner", "s1"), encode(OpenSession(question="Who is right?", protocol="consensus"))
    )
    await until(lambda: bare.entries("s1"))
    refused = await bare.owner.store(
        subjects.inbox(CLIENT, "owner", "s2"), encode(OpenSession(question="Who is right?", protocol="nope"))
    )
    stranger = await bare.connect("bob")
    for sid, seq in (("s1", ack.seq), ("s2", refused.seq)):

        async def asked(who: Connection, name: str, sid: str = sid, seq: int = seq) -> str:
            msg = await who.request(subjects.fate(CLIENT, name, sid), encode(AskFate(seq=seq)), 5.0)
            return decode(msg.data, Fate).fate

        async def known(asked: Callable[[Connection, str], Awaitable[str]] = asked) -> bool:
            return await asked(bare.owner, "owner") != "pending"

        await until(known)
        assert await asked(stranger, "bob") == "pending"
