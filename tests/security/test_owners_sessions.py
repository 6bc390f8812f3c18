"""A client reads its own sessions and no other's; an operator grants more by a row of the accounts' table."""

import secrets
from hashlib import sha256

import pytest

from parley.agents.tools.folder import archive
from parley.bus import artifacts, subjects
from parley.bus.channels import CLIENT, CLIENTS, PUBLIC, readable_by
from parley.bus.connection import Connection
from parley.bus.errors import ArtifactRefused, BusError, UnknownSession
from parley.bus.library import Msg
from parley.bus.posts import Reader
from parley.coordinator.commands import StartChild
from parley.schemas.post import Live, Post
from parley.schemas.session import Document, OpenSession
from parley.schemas.turn import Documents, FetchDocuments
from parley.schemas.wire import decode, encode
from tests.coordinator.floor_play import ANSWERS, ends
from tests.engine.floor import opened, protocols, say
from tests.support.engine import Engine, until

TEXT = "Vilnius is the capital."
ID = sha256(TEXT.encode()).hexdigest()


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


@pytest.mark.parametrize("user", ["alice", "audit", "auditor", "owner"])
async def test_its_owner_and_who_was_granted_it_read_a_session(bare: Engine, user: str) -> None:
    await bare.moderator()
    await bare.workers({"latency_s": 0.5})
    await alices(bare)
    posts, live = await follow(await bare.connect(user), "s1")
    assert {p.channel for p in posts} >= {"public", "control"}
    assert (posts[-1].channel, posts[-1].kind) == ("control", "closed")
    assert live, "seat states are heard"
    assert {one.session for one in live} == {"s1"}


async def test_a_granted_reader_reads_its_own_sessions_too(bare: Engine) -> None:
    await bare.moderator()
    await bare.workers()
    await alices(bare, "mine", "audit")
    posts, _ = await follow(await bare.connect("audit"), "mine")
    assert posts[-1].kind == "closed"
    with pytest.raises(UnknownSession):
        await follow(await bare.connect("alice"), "mine")


async def test_a_stranger_hears_and_reads_nothing_of_a_session(bare: Engine) -> None:
    """On every subject that a client may subscribe to or ask, with the session's id known."""
    await bare.moderator()
    await bare.workers({"latency_s": 0.5})
    bob = await bare.connect("bob")
    heard: list[Msg] = []

    async def keep(msg: Msg) -> None:
        heard.append(msg)

    for name in readable_by(CLIENTS):
        for subject in (subjects.post.of(channel=name), subjects.live.of(channel=name)):
            await bob.subscribe(subject, keep)
    alice = await alices(bare)
    reader = Reader(bob, quiet_s=0.2, patience_s=1.0)
    for name in readable_by(CLIENTS):
        with pytest.raises(UnknownSession):
            await reader.history("s1", name)
    assert [await documents(who) for who in (bob, alice)] == [[], [TEXT]]
    id = await artifacts.put(alice, "s1", archive({"a": (b"x", False)}))
    assert await artifacts.get(alice, "s1", id)
    with pytest.raises(ArtifactRefused, match="session s1 has no artifact"):
        await artifacts.get(bob, "s1", id)
    await follow(alice, "s1")
    assert heard == []


async def documents(who: Connection) -> list[str]:
    """The session's document, if the asker gets it."""
    msg = await who.request(subjects.doc(PUBLIC, "s1"), encode(FetchDocuments(ids=(ID,))), 5.0)
    return [d.text for d in decode(msg.data, Documents).documents]


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
    posts, _ = await follow(await bare.connect("owner"), "s1-c1")
    assert posts[-1].kind == "closed"
    with pytest.raises((UnknownSession, BusError)):
        await follow(await bare.connect("bob"), "s1-c1")
