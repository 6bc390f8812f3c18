"""The broker's isolation: attacks refused, and the ways that must work."""

import asyncio
import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from nats.aio.msg import Msg

from parley.bus import accounts, channels, rendered, subjects
from parley.bus.connection import Connection
from parley.bus.errors import BadKeyFile, BadTable, Denied, NoAnswer, NoModerator
from tests.conftest import Dial, Eventually

SID = "s1"


async def moderate(conn: Connection, subject: str, answer: bytes = b"ok") -> list[Msg]:
    """Serve a subject as a moderator would; what came is kept."""
    heard: list[Msg] = []

    async def serve(msg: Msg) -> None:
        heard.append(msg)
        if msg.reply:
            await conn.publish(msg.reply, answer)

    await conn.subscribe(subject, serve)
    if subject in (subjects.read.each, subjects.doc.each):
        await conn.subscribe(subjects.owned(None, subject), serve)
    return heard


async def listen(conn: Connection, subject: str, queue: str = "") -> list[Msg]:
    """What arrives on a subject."""
    heard: list[Msg] = []

    async def keep(msg: Msg) -> None:
        heard.append(msg)

    await conn.subscribe(subject, keep, queue)
    return heard


async def pull(conn: Connection, queue: str, body: bytes = b'{"batch":1,"expires":2000000000}') -> Msg:
    """One message of the queue, or the status that says why there is none."""
    got: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()

    async def first(msg: Msg) -> None:
        if not got.done():
            got.set_result(msg)

    inbox = conn.nc.new_inbox()
    taken = await conn.subscribe(inbox, first)
    await conn.publish(subjects.next_turns(queue), body, reply=inbox)
    try:
        return await asyncio.wait_for(got, 10)
    finally:
        await taken.unsubscribe()


async def waiting(conn: Connection, stream: str, subject: str) -> int:
    info = await conn.api(f"STREAM.INFO.{stream}", {"subjects_filter": subject})
    return sum((info["state"].get("subjects") or {}).values())


# An answer enters the asker's account as if published there: nothing that a colleague may do must be reachable so.


async def test_answer_wanted_at_an_ack_subject_is_refused(dial: Dial) -> None:
    """An empty status that arrived there would acknowledge a colleague's turn."""
    moderator, attacker, victim = await dial("moderator"), await dial("panel_1"), await dial("panel_2")
    subject = subjects.work("panel_2", "acks", "1")
    await moderator.store(subject, b"turn")
    taken = await pull(victim, "panel_2")
    assert taken.subject == subject
    for asked in (subjects.next_turns("panel_1"), subjects.read("public", "acks")):
        with pytest.raises(Denied, match="be answered"):
            await attacker.publish(asked, b'{"batch":1,"no_wait":true}', reply=taken.reply, confirm=True)
    assert await waiting(moderator, "WORK", subject) == 1
    await victim.request(taken.reply, b"+ACK", 5.0)
    assert await waiting(moderator, "WORK", subject) == 0


# -- what must work


@pytest.mark.parametrize("user", ["client", "owner", "panel_1", "analyst"])
async def test_posts_history_and_documents_are_read(dial: Dial, eventually: Eventually, user: str) -> None:
    moderator, reader = await dial("moderator"), await dial(user)
    one = await listen(reader, subjects.post.of(session=SID, channel="public"))
    every = await listen(reader, subjects.post.of(channel="control"))
    await moderate(moderator, subjects.read.each, b"posts")
    await moderate(moderator, subjects.doc.each, b"documents")
    for subject, data in (
        (subjects.post(SID, "public", "said"), b"p"),
        (subjects.post("other", "public", "said"), b"not mine"),
        (subjects.post(SID, "control", "stop"), b"c"),
    ):
        await moderator.publish(subject, data)
        await moderator.publish(subjects.owned("client", subject), data)
    await eventually(lambda: one and every)
    assert [m.data for m in one] == [b"p"]
    assert [m.data for m in every] == [b"c"]
    assert (await reader.request(subjects.read("public", SID), b"", 5.0)).data == b"posts"
    assert (await reader.request(subjects.doc("control", SID), b"", 5.0)).data == b"documents"


async def test_posts_of_one_kind_are_heard_alone(dial: Dial, eventually: Eventually) -> None:
    """Who acts on one kind is not woken for the others."""
    moderator, reader = await dial("moderator"), await dial("panel_1")
    heard = await listen(reader, subjects.post.of(channel="public", kind="task"))
    for kind in ("said", "ta.sk", "task"):
        await moderator.publish(subjects.post(SID, "public", kind), kind.encode())
    await eventually(lambda: bool(heard))
    assert [m.data for m in heard] == [b"task"]
    assert subjects.post.parse(heard[0].subject) == (SID, "public", "task")


async def test_copies_share_a_post_through_a_queue_group(dial: Dial, eventually: Eventually) -> None:
    moderator, one, two = await dial("moderator"), await dial("panel_1"), await dial("panel_1")
    heard = [await listen(c, subjects.post.of(channel="public"), queue="panel_1") for c in (one, two)]
    for n in range(20):
        await moderator.publish(subjects.post(SID, "public", "said"), str(n).encode())
    await eventually(lambda: sum(map(len, heard)) == 20)
    assert sorted(int(m.data) for h in heard for m in h) == list(range(20))


async def test_live_text_reaches_every_reader_once(dial: Dial, eventually: Eventually) -> None:
    speaker = await dial("panel_1")
    ears = [await listen(await dial("client"), subjects.live.of(channel="public", session=SID))]
    ears += [
        await listen(await dial(user), subjects.live_owned.of(channel="public", session=SID))
        for user in ("owner", "analyst", "panel_2")
    ]
    stranger = await listen(await dial("bob"), subjects.live.of(channel="public", session=SID))
    for sid, data in ((SID, b"1"), ("other", b"x"), (SID, b"2")):
        await speaker.publish(subjects.live_owned("public", "panel_1", "client", sid), data, confirm=True)
    await eventually(lambda: all(len(ear) >= 2 for ear in ears))
    assert [[m.data for m in ear] for ear in ears] == [[b"1", b"2"]] * 4
    assert stranger == []


async def test_call_reaches_agents(dial: Dial, eventually: Eventually) -> None:
    moderator, agent = await dial("moderator"), await dial("analyst")
    heard = await listen(agent, subjects.CALL)
    await moderator.publish(subjects.CALL, b"")
    await eventually(lambda: heard)
    assert heard[0].subject == subjects.CALL


async def test_operator_asks_the_server_and_nothing_else(dial: Dial) -> None:
    operator = await dial("operator")
    said = json.loads((await operator.request("$SYS.REQ.SERVER.PING", b"", 5.0)).data)
    assert said["server"]["name"] == "parley"
    with pytest.raises(Denied):
        await operator.publish(subjects.log(SID, "step"), b"", confirm=True)


# -- the table and the files


def _rendered(users: tuple[accounts.User, ...]) -> str:
    return rendered.render(users, accounts.publics(accounts.mint(users)), store_dir="/var/lib/nats")


def test_only_core_has_jetstream_and_every_list_allows() -> None:
    users = accounts.table({"panel_1": "panelist", "analyst": "analyst"})
    found = json.loads(_rendered(users))["accounts"]
    assert [name for name, a in found.items() if "jetstream" in a] == [channels.CORE]
    assert set(found) == {"CORE", "SYS", "CLIENTS:client", "CLIENTS:owner", "PANEL:panel_1", "HELPERS:analyst"}
    for account in found.values():
        for user in account["users"]:
            assert set(user["permissions"]) == {"publish", "subscribe"}
            assert all(set(side) == {"allow"} and side["allow"] for side in user["permissions"].values())
    exported = [e.get("service") or e["stream"] for e in found[channels.CORE]["exports"]]
    assert len(exported) == len(set(exported))
    assert all(e["accounts"] for a in found.values() for e in a["exports"])


def test_configuration_holds_no_secret() -> None:
    users = accounts.table({"panel_1": "panelist"})
    keys = accounts.mint(users)
    text = rendered.render(users, accounts.publics(keys), store_dir="/x")
    assert all(c.public in text and c.seed not in text for c in keys.values())


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: accounts.table({"q": "jester"}), "jester"),
        (lambda: rendered.render(accounts.table({"client": "panelist"}), {}, store_dir="/x"), "no key"),
        (lambda: _rendered(accounts.table({"client": "panelist"})), "two users"),
        (lambda: accounts.User(name="", kind="client", account="CLIENTS"), "name"),
        (lambda: accounts.User(name="x", kind="king", account="CLIENTS"), "king"),
        (lambda: accounts.User(name="x", kind="client", account="CLIENTS", queue="q"), "queue"),
    ],
)
def test_bad_table(build: Callable[[], object], said: str) -> None:
    with pytest.raises(BadTable, match=said):
        build()


def test_credentials_file(tmp_path: Path) -> None:
    credentials = accounts.mint(accounts.table({}))["owner"]
    path = tmp_path / "owner.creds"
    credentials.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert accounts.load_credentials(path) == credentials
    assert credentials.seed not in repr(credentials) + str(credentials) + f"{credentials}"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [None, b"", b"{", b'{"user": "x"}', b"\xff\xfe"])
def test_bad_credentials_file(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.creds"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadKeyFile, match=r"x\.creds"):
        accounts.load_credentials(path)


def test_a_broken_seed_is_not_repeated(tmp_path: Path) -> None:
    credentials = accounts.mint(accounts.table({}))["owner"]
    path = tmp_path / "x.creds"
    found = {"user": "o", "kind": "owner", "account": "CLIENTS", "seed": credentials.seed[:-9], "inbox_prefix": "i"}
    path.write_text(json.dumps(found))
    with pytest.raises(BadKeyFile) as caught:
        accounts.load_credentials(path)
    assert credentials.seed[:10] not in str(caught.value)


async def test_requests_of_two_users_do_not_mix(dial: Dial) -> None:
    """Many at once over one inbox each: every answer finds its question."""
    moderator, one, two = await dial("moderator"), await dial("panel_1"), await dial("panel_2")

    async def echo(msg: Msg) -> None:
        await moderator.publish(msg.reply, msg.data)

    await moderator.subscribe(subjects.say.of(lane="any"), echo)
    questions = [(c, u, f"{u}-{n}".encode()) for n in range(50) for c, u in ((one, "panel_1"), (two, "panel_2"))]
    answers = await asyncio.gather(*(c.request(subjects.say("any", "public", u, SID), q, 5.0) for c, u, q in questions))
    assert [a.data for a in answers] == [q for _, _, q in questions]


async def test_nobody_answers_is_no_silence(dial: Dial) -> None:
    panelist = await dial("panel_1")
    with pytest.raises(NoModerator, match="is a moderator running"):
        await panelist.request(subjects.say("gone", "public", "panel_1", SID), b"", 5.0)
    assert not issubclass(NoModerator, NoAnswer)
