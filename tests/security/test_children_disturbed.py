"""What a client can do to a session that another session starts: nothing. The id of such a session, and the ids of the
messages about it, are known to who knows the one above."""

from typing import Any

from parley.bus import subjects
from parley.bus.channels import CLIENT
from parley.bus.connection import Connection
from parley.coordinator.commands import StartChild
from parley.schemas.post import AskFate, Fate
from parley.schemas.session import CancelSession, OpenSession
from parley.schemas.wire import encode
from tests.coordinator.floor_play import ANSWERS, ends, when
from tests.engine.floor import opened, posted, protocols, say
from tests.support.engine import Engine

CHILD = "s1-c1"


async def test_a_client_cannot_disturb_a_session_beneath_another(bare: Engine) -> None:
    """It stores junk under the ids that the moderators' words will have, cancels it, and takes its id."""
    await bare.moderator(protocols())
    await bare.workers()
    opening = OpenSession(question="Who is right?", protocol="consensus", settings={"round_limit": 1})
    when("start", StartChild(opening=opening))
    ANSWERS["ChildEnded"] = ends
    await opened(bare)
    bob = await bare.connect("bob")
    for id in [f"s1-{n}-{i}" for n in range(4) for i in range(4)]:
        await bob.store(subjects.inbox(CLIENT, "bob", CHILD), b"junk", msg_id=id)
    await bob.store(subjects.inbox(CLIENT, "bob", "s1"), b"junk", msg_id=f"{CHILD}-ended")
    assert (await bare.submit(CHILD, encode(CancelSession(reason="mine")), bob)).fate == "refused"
    squat = await bare.submit(CHILD, encode(opening), bob)
    assert (squat.fate, squat.field) == ("refused", "session")
    assert squat.why == f"session: got '{CHILD}', but ids that end in -c and a number are of sessions beneath others"
    assert (await say(bare, "start")).verdict == "accepted"
    await bare.closed("s1")
    ended: dict[str, Any] = await posted(bare, "ChildEnded")
    assert (ended["session"], ended["status"], ended["protocol"]) == (CHILD, "finished", "consensus")
    assert ended["result"]["session"] == CHILD
    assert {r.session: r.status for r in (await bare.sessions()).rows} == {CHILD: "finished", "s1": "finished"}


async def test_fate_answers_its_author_only(bare: Engine) -> None:
    """Asked with the sequence of another's submission it says what it says of one that is not there."""
    await bare.moderator(protocols())
    await bare.workers({"latency_s": 30.0})
    stranger = await bare.connect("bob")

    async def asked(who: Connection, sid: str, seq: int) -> str:
        fate: Fate = await bare.ask(subjects.fate(CLIENT, who.credentials.user, sid), AskFate(seq=seq), Fate, who)
        return fate.fate

    for seq, (sid, protocol, became) in enumerate((("s1", "consensus", "taken"), ("s2", "nope", "refused")), 1):
        assert (await bare.open(sid, question="Who is right?", protocol=protocol)).fate == became
        assert await asked(bare.owner, sid, seq) == became
        assert await asked(stranger, sid, seq) == "pending"
