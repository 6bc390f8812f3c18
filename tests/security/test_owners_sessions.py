"""A client reads its own sessions and no other's; an operator grants more by a row of the accounts' table."""

import secrets
from hashlib import sha256
from typing import Any

import pytest

from parley.bus import subjects
from parley.bus.channels import CLIENT, CLIENTS, readable_by
from parley.bus.connection import Connection
from parley.bus.errors import BusError, UnknownSession
from parley.bus.posts import Reader
from parley.coordinator.commands import StartChild
from parley.schemas.post import AskFate, Fate, Live, Post
from parley.schemas.session import CancelSession, Document, OpenSession
from parley.schemas.wire import encode
from tests.coordinator.floor_play import ANSWERS, ends, when
from tests.engine.floor import opened, posted, protocols, say
from tests.support.engine import Engine, until

TEXT = "Vilnius is the capital."
ID = sha256(TEXT.encode()).hexdigest()
CHILD = "s1-c1"
"""Known to who knows the session above it, as are the ids of the messages about it."""


async def alices(bare: Engine, sid: str = "s1", user: str = "alice") -> Connection:
    """A session of alice's, whose workers stream; her connection."""
    alice = await bare.connect(user)
    request = OpenSession(
        question="What is the answer?", protocol="consensus", settings={"round_limit": 1},
        documents=(Document(id=ID, name="a.txt", text=TEXT),),
    )  # fmt: skip
    await alice.store(subjects.inbox(CLIENT, user, sid), encode(request), msg_id=secrets.token_hex(8))
    await until(lambda: bare.entries(sid))
    return alice


async def follow(connection: Connection, sid: str) -> tuple[list[Post], list[Live]]:
    """All that a reader gets of a session until it is closed."""
    live: list[Live] = []
    reader = Reader(connection, quiet_s=0.2, patience_s=2.0)
    posts = [p async for p in reader.follow(sid, readable_by(CLIENTS), on_live=live.append)]
    return posts, live


@pytest.mark.parametrize("user", ["alice", "audit", "owner"])
async def test_its_owner_and_who_was_granted_it_read_a_session(bare: Engine, user: str) -> None:
    await bare.moderator()
    await bare.workers({"latency_s": 0.5})
    await alices(bare)
    posts, live = await follow(await bare.connect(user), "s1")
    with pytest.raises(UnknownSession):
        await follow(await bare.connect("bob"), "s1")
    assert {p.channel for p in posts} >= {"public", "control"}
    assert (posts[-1].channel, posts[-1].kind) == ("control", "closed")
    assert live, "seat states are heard"
    assert {one.session for one in live} == {"s1"}


async def test_a_child_is_of_the_owner_of_the_session_above(bare: Engine) -> None:
    """Its posts go out under the name of who opened the first."""
    opening = OpenSession(question="Who is right?", protocol="consensus", settings={"round_limit": 1})
    ANSWERS["start"] = lambda view: (StartChild(opening=opening),)
    ANSWERS["ChildEnded"] = ends
    await bare.moderator(protocols())
    await bare.workers()
    await opened(bare)
    await say(bare, "start")
    await bare.closed("s1")
    posts, _ = await follow(await bare.connect("owner"), CHILD)
    assert posts[-1].kind == "closed"
    with pytest.raises((UnknownSession, BusError)):
        await follow(await bare.connect("bob"), CHILD)


@pytest.mark.slow
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
