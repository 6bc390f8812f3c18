"""Every attack succeeds on a naive bus, is refused on ours, and its row turns red when one permission is loosened."""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from parley.bus import accounts, artifacts, rights, streams, subjects
from parley.bus.connection import connect
from parley.bus.errors import ArtifactRefused, UnknownSession
from parley.bus.posts import Reader
from parley.coordinator.sessions.token_keys import TokenKeys
from tests.security.attacks.scene import ARCHIVE, LET_THROUGH, REFUSED, SUCCEEDED, Scene
from tests.security.attacks.trial import distinct, trial
from tests.security.support import QUEUES, Target, allowed, naive

HEADERS = (
    "wipes a subject by a rollup header",
    "reaches another's subject by a schedule header",
    "makes submissions expire by a header",
    "stores a batch of submissions at once",
)
OBSERVERS_HEADERS = (*HEADERS[:2], "makes totals expire by a header", "stores a batch of totals at once")
"""What streams refuse: shown on naive streams, below."""
BY_THE_SERVER = ("settles another's turn by an answer",)
"""What this nats-server refuses whatever its configuration says."""
RELOAD = "reloads the server"
RENAMED = re.compile(r"hears live text of (a session of \w+|sessions of \w+ among its own)")
"""What the broker renames on its way into a client's account, so that in one account it has another name: shown where
one client is let read another's sessions, below."""
KNOWN_KEY = b"\0" * 32


async def test_every_attack_is_refused(tmp_path: Path) -> None:
    """On a bus with a moderator."""
    async with Target(tmp_path) as target:
        await target.up()
        rows = await trial(target.server.url, target.credentials)
        assert [r for r in rows if r.outcome != REFUSED] == []
        assert len({(r.group, r.attack) for r in rows}) >= 1_000, "an attack by a kind of user"
        assert len(distinct((r.attack for r in rows), target.credentials)) >= 120, "whomever they are aimed at"
        others = {"client", "client_2", "audit", "auditor", "owner", "metrics", "viewer", "viewer_2", "gateway"}
        assert {r.who for r in rows} == {*QUEUES} | others
        kinds = {r.how.split("(")[0].split(":")[0].strip() for r in rows}
        assert {"permissions violation", "the moderator refused", "the answer stayed in its own account"} <= kinds
        assert {"answered as if there were no such session", "it heard its own, and not the other's"} <= kinds
        await nothing_is_left(target)


async def nothing_is_left(target: Target) -> None:
    """What the attacks put on the bus is gone, but for its session, which says that it was cancelled."""
    connection = await target.connect("moderator")
    for stream, wanted in (("IN", 0), ("WORK", 0), ("TIMER", 0)):
        info = await connection.api(f"STREAM.INFO.{stream}", {"subjects_filter": ">"})
        assert info["state"]["messages"] == wanted, (stream, info["state"].get("subjects"))
    sessions = {row.session: row.status for row in (await target.sessions()).rows}
    assert "open" not in sessions.values()
    info = await connection.api("STREAM.NAMES")
    assert set(info["streams"]) == set(streams.STREAMS)


async def test_every_attack_succeeds_where_one_account_holds_everybody(tmp_path: Path) -> None:
    """One account, no permissions, a key for tokens and ids that can be guessed."""
    async with Target(tmp_path, naive) as target:
        await target.up(token_keys=TokenKeys(KNOWN_KEY))

        def but_reload(attack: str) -> bool:
            return attack not in (*HEADERS, *OBSERVERS_HEADERS, *BY_THE_SERVER, RELOAD) and not RENAMED.match(attack)

        rows = await trial(
            target.server.url, target.credentials, guess=lambda sid: sid,
            only=("con_1", "client", "audit", "metrics", "viewer"), pick=but_reload,
        )  # fmt: skip
        assert [r for r in rows if r.outcome != SUCCEEDED] == []
        rows += await trial(
            target.server.url, target.credentials, only=("con_1",), pick=lambda attack: attack == RELOAD
        )
        assert rows[-1].outcome == SUCCEEDED
        every: set[str] = set()

        def name(attack: str) -> bool:
            every.add(attack)
            return False

        await trial(target.server.url, target.credentials, pick=name)
    assert len({(r.who, r.attack) for r in rows}) > 300
    shown = distinct((r.attack for r in rows), target.credentials)
    assert len(shown) >= 120
    left = distinct((a for a in every if not RENAMED.match(a)), target.credentials)
    assert left - shown == {*HEADERS, *OBSERVERS_HEADERS, *BY_THE_SERVER}


async def test_a_granted_reader_attacks_those_alone_whom_it_may_not_read(tmp_path: Path) -> None:
    """Reading what was granted is no attack, and works; nothing else is granted with it."""
    tried: dict[str, set[str]] = {}
    async with Target(tmp_path) as target:
        await target.up()
        rows = await trial(
            target.server.url, target.credentials, only=("audit", "auditor", "client"),
            pick=lambda attack: attack.startswith(("asks for the history of public of", "cancels a session of")),
        )  # fmt: skip
        assert {r.outcome for r in rows} == {REFUSED}
        for row in rows:
            tried.setdefault(row.who, set()).add(row.attack)
        history, cancels = "asks for the history of public of a session of {}".format, "cancels a session of {}".format
        assert tried == {
            "audit": {history("client_2"), cancels("client"), cancels("client_2")},
            "auditor": {cancels("client"), cancels("client_2")},
            "client": {history("client_2"), cancels("client_2")},
        }
        async with Scene(target.server.url, target.credentials) as scene:
            for who, owner, reads in (
                ("audit", "client", True), ("audit", "client_2", False), ("auditor", "client", True),
                ("auditor", "client_2", True), ("client", "client_2", False),
            ):  # fmt: skip
                conn, sid = scene.connections[who], scene.owned[owner].sid
                with nullcontext() if reads else pytest.raises(UnknownSession):
                    await Reader(conn).history(sid, "control")
                with nullcontext() if reads else pytest.raises(ArtifactRefused):
                    assert await artifacts.get(conn, sid, ARCHIVE.id) == ARCHIVE.data


async def test_headers_reach_others_where_streams_take_them(tmp_path: Path) -> None:
    """Streams that allow everything; nobody serves them."""
    async with Target(tmp_path) as target:
        async with await connect(target.server.url, target.credentials["moderator"], name="t") as moderator:
            configs = streams.stream_configs(storage="memory")
            taken = {
                "allow_rollup_hdrs": True, "allow_msg_schedules": True, "allow_msg_ttl": True, "allow_atomic": True,
            }  # fmt: skip
            configs["IN"] |= {**taken, "retention": "limits", "discard": "old", "discard_new_per_subject": False}
            configs["OUTCOMES"] |= taken
            for name, config in configs.items():
                await moderator.api(f"STREAM.CREATE.{name}", config)
        rows = await trial(
            target.server.url, target.credentials, only=("client",), pick=lambda attack: attack in HEADERS
        )
        assert [(r.attack, r.outcome) for r in rows] == [(a, SUCCEEDED) for a in HEADERS]
        wanted = [a for a in OBSERVERS_HEADERS if "schedule" not in a]  # its target would have to be in the stream
        rows = await trial(target.server.url, target.credentials, only=("metrics",), pick=wanted.__contains__)
        assert [(r.attack, r.outcome) for r in rows] == [(a, SUCCEEDED) for a in wanted]


async def test_the_only_client_attacks_a_session_of_the_owner(tmp_path: Path) -> None:
    async with Target(tmp_path, clients=("client",), readers={}) as target:
        await target.up()
        rows = await trial(
            target.server.url, target.credentials, only=("client",),
            pick=lambda attack: attack.endswith("of a session of owner"),
        )  # fmt: skip
        assert {r.outcome for r in rows} == {REFUSED}
        assert {r.attack for r in rows} >= {"asks for documents of a session of owner"}


MUTATIONS: dict[str, tuple[str, str, str, str]] = {
    # what is loosened: user, side, subject; the row that must turn red
    "posts of the other team": ("con_1", "subscribe", subjects.post.of(channel="team_pro"), "hears posts of team_pro"),
    "live text of the other team": (
        "con_1", "subscribe", subjects.live_owned.of(channel="team_pro"), "hears live text of team_pro",
    ),
    "the judge's notes by a wildcard": ("pro_1", "subscribe", subjects.ALL, "hears every channel of a session"),
    "everything": ("client", "subscribe", ">", "hears all inboxes by wildcard"),
    "history of the other team": (
        "con_1", "publish", subjects.read.of(channel="team_pro"), "asks for the history of team_pro",
    ),
    "another's name": ("con_1", "publish", subjects.say.of(channel="team_pro", author="pro_1"), "replies as pro_1"),
    "another's live text": (
        "con_1", "publish", subjects.live_owned.of(channel="team_pro", author="pro_1"),
        "speaks live as pro_1 to a session's owner",
    ),
    "another role": (
        "con_1", "publish", subjects.here("judge", "con_1", ""), "announces itself in roles of other accounts",
    ),
    "another specification": (
        "expert_sre", "publish", subjects.here("expert", "expert_sre", "0" * 32),
        "announces itself with a specification that is not its own",
    ),
    "experts' announcements": (
        "con_1", "subscribe", subjects.here.of(role="expert"), "hears announcements of experts",
    ),
    "a channel": ("con_1", "publish", subjects.post.of(channel="public"), "posts on public"),
    "the log": ("con_1", "publish", subjects.log.under, "writes the log (closed)"),
    "timers": ("con_1", "publish", subjects.timer.each, "sets a timer"),
    "submissions": ("con_1", "publish", subjects.inbox.under, "submits that a timer fired"),
    "an owner's questions": (
        "client", "publish", subjects.own.of(author="client"), "asks an owner's question (log) in its own name",
    ),
    "direct gets": ("con_1", "publish", "$JS.API.DIRECT.GET.LOG", "gets directly from LOG"),
    "making consumers": ("con_1", "publish", "$JS.API.CONSUMER.CREATE.>", "makes a named consumer of LOG"),
    "looking at a consumer": ("con_1", "publish", "$JS.API.CONSUMER.INFO.>", "looks at its own consumer"),
    "another's turns": ("con_1", "publish", subjects.next_turns("pro_1"), "takes turns of pro_1"),
    "settling turns": ("con_1", "publish", "$JS.ACK.>", "terminates a turn of pro_1"),
    "advisories": ("con_1", "subscribe", "$JS.EVENT.>", "hears JetStream's advisories"),
    "another's inbox": ("con_1", "subscribe", "_INBOX_pro_1.>", "hears the inbox of pro_1"),
    "the server": ("con_1", "publish", "$SYS.REQ.SERVER.*.RELOAD", RELOAD),
    "services": ("con_1", "publish", "$SRV.>", "asks which services there are (PING)"),
    "another client's posts": (
        "client", "subscribe", subjects.owned("client_2", subjects.post.of(channel="public")),
        "hears posts on public under the name of client_2",
    ),
    "any client's posts": (
        "client", "subscribe", subjects.owned(None, subjects.post.of(channel="scores")),
        "hears posts on scores under any owner's name, those of client_2 too",
    ),
    "posts for owners": (
        "con_1", "subscribe", subjects.owned(None, subjects.ALL), "hears what is told to the owners of sessions",
    ),
    "another client's live text": (
        "client", "subscribe", subjects.live_owned.of(channel="public"),
        "hears live text of any owner, that of client_2 too",
    ),
    "another client's history": (
        "audit", "publish", subjects.owned("client_2", subjects.read.of(channel="inbox")),
        "asks for the history of inbox under the name of client_2",
    ),
    "another client's documents": (
        "client", "publish", subjects.owned("client_2", subjects.doc.of(channel="public")),
        "asks for documents under the name of client_2",
    ),
    "another client's artifacts": (
        "client", "publish", subjects.owned("client_2", subjects.get.of(channel="public")),
        "asks for an artifact under the name of client_2",
    ),
    "a moderator's place": (
        "client", "subscribe", subjects.owned("client_2", subjects.read.each),
        "serves history of client_2 in a moderator's place",
    ),
    "another client's submissions": (
        "audit", "publish", subjects.inbox.of(channel="client", author="client"), "cancels a session of client",
    ),
    "an owner's orders": (
        "client", "publish", subjects.inbox.of(channel="owner", author="client"), "decides in a session of client_2",
    ),
    "another client's store": (
        "client", "publish", subjects.put.of(channel="client", author="client_2"),
        "stores an artifact in a session of client_2",
    ),
    "another client's fates": (
        "client", "publish", subjects.fate.of(channel="client", author="client_2"),
        "learns what became of the opening of a session of client_2",
    ),
    "what sessions tell each other": (
        "client", "publish", subjects.inner.under, "cancels one beneath a session of client_2",
    ),
    "the ids of moderators' words": (
        "client", "publish", subjects.inner.under, "swallows the end of one by its id",
    ),
    "posts to owners": (
        "con_1", "publish", subjects.owned(None, subjects.post.of(channel="public")),
        "posts on public for a session's owner",
    ),
    "the totals": ("con_1", "publish", subjects.OUTCOMES, "writes the totals"),
    "an observer's log": ("metrics", "publish", subjects.log.under, "writes the log (step)"),
    "an observer's streams": ("metrics", "publish", "$JS.API.STREAM.PURGE.>", "purges OUTCOMES"),
    "an observer's turns": ("metrics", "publish", "$JS.API.STREAM.MSG.GET.WORK", "gets a message of WORK"),
    "making streams": ("con_1", "publish", "$JS.API.STREAM.CREATE.>", "makes a stream"),
    "purging": ("con_1", "publish", "$JS.API.STREAM.PURGE.INNER", "purges INNER"),
    "the moderators' consumers": (
        "con_1", "publish", "$JS.API.CONSUMER.MSG.NEXT.INNER.>", "takes messages of INNER",
    ),
}  # fmt: skip


async def test_a_row_turns_red_when_one_permission_is_loosened(tmp_path: Path) -> None:
    """In the user's allow list alone: the account behind it still holds, and the row says that the first fence is
    open. One server, its configuration changed and read again for each."""
    async with Target(tmp_path) as target:
        await target.up()
        keys = accounts.publics(target.credentials)
        for what, (user, side, subject, attack) in MUTATIONS.items():
            target.change(allowed(user, side, subject, keys))
            rows = await trial(target.server.url, target.credentials, only=(user,), pick=attack.__eq__)
            assert len(rows) == 1, (what, attack)
            assert [r.outcome for r in rows] in ([LET_THROUGH], [SUCCEEDED]), (what, rows)


async def test_what_the_accounts_let_a_client_read_of_another_is_heard(tmp_path: Path) -> None:
    """The broker's table grants `client` the sessions of `client_2`, and its credentials do not say so."""
    async with Target(tmp_path) as target:
        await target.up()
        target.loosen()
        rows = await trial(
            target.server.url, target.credentials, only=("client",),
            pick=lambda attack: "client_2" in attack and attack.startswith(("hears", "asks for")),
        )  # fmt: skip
    red = {r.attack for r in rows if r.outcome == SUCCEEDED}
    assert red >= {
        "hears posts on public of a session of client_2",
        "hears posts on control of sessions of client_2 among its own",
        "hears a session that client_2 opens, from the opening on",
        "hears live text of sessions of client_2 among its own",
        "hears live text of a session of client_2",
        "asks for the history of public under the name of client_2",
        "asks for documents under the name of client_2",
        "asks for an artifact under the name of client_2",
    }


async def test_what_moderators_answer_of_anothers_session_is_told(tmp_path: Path) -> None:
    """Requests of `client` reach moderators without an owner, as an agent's do."""

    def change(config: dict[str, Any]) -> None:
        core, mine = config["accounts"]["CORE"], config["accounts"]["CLIENTS:client"]
        for form in (
            subjects.read.of(channel="public"),
            subjects.doc.of(channel="public"),
            subjects.get.of(channel="public"),
        ):
            next(e for e in core["exports"] if e.get("service") == form)["accounts"].append("CLIENTS:client")
            mine["imports"] = [i for i in mine["imports"] if i.get("to") != form]
            mine["imports"].append({"service": {"account": "CORE", "subject": form}, "share": True})

    async with Target(tmp_path, change) as target:
        await target.up()
        rows = await trial(
            target.server.url, target.credentials, only=("client",),
            pick=lambda attack: attack.startswith("asks for") and attack.endswith("of a session of client_2"),
        )  # fmt: skip
    assert {r.attack: r.outcome for r in rows if r.outcome == SUCCEEDED} == {
        "asks for the history of public of a session of client_2": SUCCEEDED,
        "asks for documents of a session of client_2": SUCCEEDED,
        "asks for an artifact of a session of client_2": SUCCEEDED,
    }


async def test_the_server_tells_readers_apart_whatever_they_claim(tmp_path: Path) -> None:
    async with Target(tmp_path) as target:
        connection = await target.connect("moderator")
        seen: list[str] = []

        async def serve(msg: Any) -> None:
            seen.append(rights.asker(msg.headers))
            await connection.publish(msg.reply, b"{}")

        await connection.subscribe(subjects.read.each, serve)
        await connection.subscribe(subjects.doc.each, serve)
        await connection.subscribe(subjects.owned(None, subjects.read.each), serve)
        forged = {"Nats-Request-Info": '{"acc":"PRO:pro_1"}'}
        for user, subject in (
            ("con_1", subjects.read("public", "s")), ("con_1", subjects.doc("public", "s")),
            ("client", subjects.read("scores", "s")),
        ):  # fmt: skip
            await (await target.connect(user)).request(subject, b"{}", 5.0, forged)
        assert seen == ["CON:con_1", "CON:con_1", "CLIENTS:client"]
    assert rights.asker({"Nats-Request-Info": "no json"}) == ""
    assert rights.asker(None) == ""
