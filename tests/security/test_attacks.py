"""Every attack succeeds on a naive bus, and is refused on ours, at each server of a cluster too."""

import asyncio
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from parley.bus import artifacts, rights, streams, subjects
from parley.bus.connection import connect
from parley.bus.errors import ArtifactRefused, UnknownSession
from parley.bus.posts import Reader
from parley.bus_admin import check as bus_check
from parley.bus_admin.attacks import ATTACKS, Attacker
from parley.coordinator.moderator import Moderator
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.sessions.token_keys import TokenKeys
from parley.observability.metrics import Metrics
from parley.stack import keys
from tests.security.attacks.scene import ARCHIVE, ARCHIVE_ID, REFUSED, SUCCEEDED, Scene
from tests.security.attacks.trial import distinct, trial
from tests.security.support import QUEUES, Target, naive
from tests.support.cluster import Cluster
from tests.support.engine import KEY

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
                    assert await artifacts.get(conn, sid, ARCHIVE_ID) == ARCHIVE


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


def attackers(cluster: Cluster) -> list[Attacker]:
    names = [name for name, c in cluster.keys.items() if c.kind not in bus_check.TRUSTED]
    return [Attacker(cluster.keys[name], cluster.keys, "nobodys") for name in names]


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_every_attack_is_refused_at_each_server_of_a_cluster(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "nats")
    (tmp_path / "keys").mkdir()
    for credentials in cluster.keys.values():
        credentials.save(keys.file(tmp_path / "keys", credentials.user))
    await asyncio.to_thread(cluster.__enter__)
    try:
        async with (
            await cluster.dial("moderator") as conn,
            Moderator(conn, metrics=Metrics(CollectorRegistry()), protocols=PROTOCOLS, token_keys=TokenKeys(KEY)),
        ):
            found = await asyncio.to_thread(bus_check.run, cluster.nats.servers[0].url, tmp_path / "keys")
            rows = {server.url: await trial(server.url, cluster.keys) for server in cluster.nats.servers}
    finally:
        await asyncio.to_thread(cluster.nats.stop)
    assert bus_check.status(found) == 0, found
    once = sum(1 for tries in ATTACKS.values() for user in attackers(cluster) for _ in tries(user))
    tried = sum(row.tries for row in found if row.attack != bus_check.COMPARED)
    assert tried == len(rows) * once, "the same attacks at each"
    assert [row for at in rows.values() for row in at if row.outcome != REFUSED] == []
    assert len({frozenset((row.who, row.attack) for row in at) for at in rows.values()}) == 1
