"""Every attack of `parley bus check`: it succeeds on a naive bus, is refused on ours, and its row turns red when one
permission is loosened."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bus import accounts, rights, streams, subjects
from bus.connection import connect
from bus.embedded import EmbeddedServer
from client.errors import BadInput, Unreachable
from parley.attacks.scene import LET_THROUGH, NOT_RUN, REFUSED, SUCCEEDED, Row
from parley.bus import check as bus_check
from tests.security.support import QUEUES, Target, allowed, naive
from tests.support.forks import run

HEADERS = (
    "wipes a subject by a rollup header",
    "reaches another's subject by a schedule header",
    "makes submissions expire by a header",
    "stores a batch of submissions at once",
)
"""What streams refuse: shown on naive streams, below."""
BY_THE_SERVER = ("settles another's turn by an answer",)
"""What this nats-server refuses whatever its configuration says."""
RELOAD = "reloads the server"
KNOWN_KEY = b"\0" * 32


async def command(*words: str) -> tuple[int, str, str]:
    """The command line in a process of its own: exit status, standard output, standard error."""
    return await asyncio.to_thread(run, *words)


async def test_every_attack_is_refused(tmp_path: Path) -> None:
    """As the command runs it, on a bus with a moderator; and its exit status where one permission is loosened."""
    async with Target(tmp_path / "bus") as target:
        await target.up()
        every, few = tmp_path / "keys", tmp_path / "few"
        target.save(every)
        code, out, err = await command("bus", "check", "--nats", target.server.url, "--dir", str(every), "--json")
        found = json.loads(out)
        assert [r for r in found["rows"] if r["outcome"] != REFUSED] == []
        assert (code, err, found["passed"]) == (0, "", True)
        assert found["different"] >= 1_000, "an attack by a kind of user"
        assert {row["who"] for row in found["rows"]} == {*QUEUES, "client", "owner"}
        kinds = {row["how"].split("(")[0].split(":")[0].strip() for row in found["rows"]}
        assert {"permissions violation", "the moderator refused", "the answer stayed in its own account"} <= kinds
        await nothing_is_left(target)
        target.save(few, "moderator", "con_1", "owner")
        target.change(allowed("con_1", "publish", "$SRV.PING", accounts.publics(target.credentials)))
        code, out, _ = await command("bus", "check", "--nats", target.server.url, "--dir", str(few))
        assert code == 1
        red = [line for line in out.splitlines()[:-1] if REFUSED not in line]
        assert [line.split("  ")[0] for line in red] == ["con_1"], red
        assert "asks which services there are (PING)" in red[0]


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    nowhere = "nats://127.0.0.1:1"
    with pytest.raises(BadInput, match="is no folder"):
        bus_check.run(nowhere, tmp_path / "absent")
    with pytest.raises(BadInput, match="holds no credentials"):
        bus_check.run(nowhere, tmp_path)
    users = accounts.mint(accounts.table({"con_1": "con"}))
    users["con_1"].save(tmp_path / "con_1.json")
    with pytest.raises(Unreachable, match="no NATS server answers"):
        bus_check.run(nowhere, tmp_path)
    with EmbeddedServer(tmp_path / "bus", accounts.table({"con_1": "con"}), accounts.publics(users)) as server:
        with pytest.raises(BadInput, match="no credentials of a moderator"):
            bus_check.run(server.url, tmp_path)
    (tmp_path / "con_1.json").write_text("{")
    with pytest.raises(BadInput, match=r"con_1\.json"):
        bus_check.run(nowhere, tmp_path)


async def nothing_is_left(target: Target) -> None:
    """What the check put on the bus is gone, but for its session, which says that it was cancelled."""
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
        await target.up(token_key=KNOWN_KEY)

        def but_reload(attack: str) -> bool:
            return attack not in (*HEADERS, *BY_THE_SERVER, RELOAD)

        rows = await bus_check.check(
            target.server.url, target.credentials, guess=lambda sid: sid, only=("con_1", "client"), pick=but_reload
        )
        assert [r for r in rows if r.outcome != SUCCEEDED] == []
        again = await bus_check.check(
            target.server.url, target.credentials, only=("con_1",), pick=lambda attack: attack == RELOAD
        )
        assert [r.outcome for r in again] == [SUCCEEDED]
    ours = {(r.who, r.attack) for r in rows}
    assert len(ours) > 300


async def test_headers_reach_others_where_streams_take_them(tmp_path: Path) -> None:
    """Streams that allow everything; nobody serves them."""
    async with Target(tmp_path) as target:
        async with await connect(target.server.url, target.credentials["moderator"], name="t") as moderator:
            configs = streams.stream_configs(storage="memory")
            configs["IN"].pop("sources")
            configs["IN"] |= {
                "allow_rollup_hdrs": True, "allow_msg_schedules": True, "allow_msg_ttl": True, "allow_atomic": True,
                "retention": "limits", "discard": "old", "discard_new_per_subject": False,
            }  # fmt: skip
            for name, config in configs.items():
                await moderator.api(f"STREAM.CREATE.{name}", config)
        rows = await bus_check.check(
            target.server.url, target.credentials, only=("client",), pick=lambda attack: attack in HEADERS
        )
        assert [(r.attack, r.outcome) for r in rows] == [(a, SUCCEEDED) for a in HEADERS]


MUTATIONS: dict[str, tuple[str, str, str, str]] = {
    # what is loosened: user, side, subject; the row that must turn red
    "posts of the other team": ("con_1", "subscribe", subjects.channel_all("team_pro"), "hears posts of team_pro"),
    "live text of the other team": (
        "con_1", "subscribe", subjects.live_all("team_pro"), "hears live text of team_pro",
    ),
    "the judge's notes by a wildcard": ("pro_1", "subscribe", subjects.ALL, "hears every channel of a session"),
    "everything": ("client", "subscribe", ">", "hears all inboxes by wildcard"),
    "history of the other team": (
        "con_1", "publish", subjects.read_of("team_pro"), "asks for the history of team_pro",
    ),
    "another's name": ("con_1", "publish", subjects.say_by("team_pro", "pro_1"), "replies as pro_1"),
    "another's live text": ("con_1", "publish", subjects.live_by("team_pro", "pro_1"), "speaks live as pro_1"),
    "another role": (
        "con_1", "publish", subjects.here("judge", "con_1"), "announces itself in roles of other accounts",
    ),
    "another specification": (
        "expert_sre", "publish", subjects.here("expert", "expert_sre", "0" * 32),
        "announces itself with a specification that is not its own",
    ),
    "experts' announcements": (
        "con_1", "subscribe", subjects.here_of("expert"), "hears announcements of experts",
    ),
    "a channel": ("con_1", "publish", subjects.channel_all("public"), "posts on public"),
    "the log": ("con_1", "publish", subjects.LOG_ALL, "writes the log (closed)"),
    "timers": ("con_1", "publish", subjects.TIMER_ALL, "sets a timer"),
    "submissions": ("con_1", "publish", subjects.IN_ALL, "submits that a timer fired"),
    "an owner's questions": (
        "client", "publish", subjects.own_by("client"), "asks an owner's question (log) in its own name",
    ),
    "direct gets": ("con_1", "publish", "$JS.API.DIRECT.GET.LOG", "gets a log entry directly"),
    "making consumers": ("con_1", "publish", "$JS.API.CONSUMER.CREATE.>", "makes a named consumer"),
    "looking at a consumer": ("con_1", "publish", "$JS.API.CONSUMER.INFO.>", "looks at its own consumer"),
    "another's turns": ("con_1", "publish", rights.next_subject("pro_1"), "takes turns of pro_1"),
    "settling turns": ("con_1", "publish", "$JS.ACK.>", "terminates a turn of pro_1"),
    "advisories": ("con_1", "subscribe", "$JS.EVENT.>", "hears JetStream's advisories"),
    "another's inbox": ("con_1", "subscribe", "_INBOX_pro_1.>", "hears the inbox of pro_1"),
    "the server": ("con_1", "publish", "$SYS.REQ.SERVER.*.RELOAD", RELOAD),
    "services": ("con_1", "publish", "$SRV.>", "asks which services there are (PING)"),
}  # fmt: skip


async def test_a_row_turns_red_when_one_permission_is_loosened(tmp_path: Path) -> None:
    """In the user's allow list alone: the account behind it still holds, and the row says that the first fence is
    open. One server, its configuration changed and read again for each."""
    async with Target(tmp_path) as target:
        await target.up()
        keys = accounts.publics(target.credentials)
        for what, (user, side, subject, attack) in MUTATIONS.items():
            target.change(allowed(user, side, subject, keys))
            rows = await bus_check.check(target.server.url, target.credentials, only=(user,), pick=attack.__eq__)
            assert [r.outcome for r in rows] in ([LET_THROUGH], [SUCCEEDED]), (what, rows)
            assert not bus_check.good(rows)


async def test_what_both_fences_let_through_is_heard(tmp_path: Path) -> None:
    """Permission and import: the other team's posts arrive, and the row says so."""

    def change(config: dict[str, Any]) -> None:
        con = config["accounts"]["CON:con_1"]
        con["users"][0]["permissions"]["subscribe"]["allow"].append(subjects.channel_all("team_pro"))
        con["imports"].append({"stream": {"account": "CORE", "subject": subjects.channel_all("team_pro")}})
        for export in config["accounts"]["CORE"]["exports"]:
            if export.get("stream") == subjects.channel_all("team_pro"):
                export["accounts"].append("CON:con_1")

    async with Target(tmp_path, change) as target:
        await target.up()
        rows = await bus_check.check(
            target.server.url,
            target.credentials,
            only=("con_1",),
            pick=lambda a: a.startswith("hears posts of team_pro"),
        )
        assert {r.attack: r.outcome for r in rows if r.outcome == SUCCEEDED} == {
            "hears posts of team_pro": SUCCEEDED,
            "hears posts of team_pro of one session": SUCCEEDED,
            "hears posts of team_pro in a queue group": SUCCEEDED,
            "hears posts of team_pro of one kind": SUCCEEDED,
        }


async def test_without_a_moderator_it_says_what_could_not_be_tried(tmp_path: Path) -> None:
    async with Target(tmp_path) as target:
        async with await connect(target.server.url, target.credentials["moderator"], name="t") as moderator:
            await streams.ensure_streams(moderator, storage="memory")
        words = "answers an open turn with a forged token"
        rows = await bus_check.check(target.server.url, target.credentials, only=("con_1",), pick=words.__eq__)
        assert [(r.attack, r.outcome) for r in rows] == [(words, NOT_RUN)]
        assert "is a moderator running" in rows[0].how
        assert not bus_check.good(rows)


def test_a_table_and_a_document_have_every_row() -> None:
    rows = [
        Row(who="con_1", group="CON", attack="hears posts of team_pro", outcome=REFUSED, how="permissions violation"),
        Row(who="con_1", group="CON", attack="writes the log (step)", outcome=SUCCEEDED, how="it arrived"),
    ]
    lines = list(bus_check.table(rows))
    assert "con_1  hears posts of team_pro  refused" in lines[0]
    assert lines[-1] == "2 attacks by 1 users: 1 refused, 1 SUCCEEDED"
    document = json.loads(json.dumps(bus_check.document("nats://x", rows)))
    assert (document["passed"], document["attacks"], len(document["rows"])) == (False, 2, 2)
    assert bus_check.good(rows[:1])
    assert not bus_check.good([]), "nothing tried is nothing shown"


async def test_the_server_tells_readers_apart_whatever_they_claim(tmp_path: Path) -> None:
    async with Target(tmp_path) as target:
        connection = await target.connect("moderator")
        seen: list[str] = []

        async def serve(msg: Any) -> None:
            seen.append(rights.asker(msg.headers))
            await connection.publish(msg.reply, b"{}")

        await connection.subscribe(subjects.READ_ALL, serve)
        await connection.subscribe(subjects.DOC_ALL, serve)
        await connection.subscribe(subjects.owned("*", subjects.READ_ALL), serve)
        forged = {"Nats-Request-Info": '{"acc":"PRO:pro_1"}'}
        for user, subject in (
            ("con_1", subjects.read("public", "s")), ("con_1", subjects.doc("public", "s")),
            ("client", subjects.read("scores", "s")),
        ):  # fmt: skip
            await (await target.connect(user)).request(subject, b"{}", 5.0, forged)
        assert seen == ["CON:con_1", "CON:con_1", "CLIENTS:client"]
    assert rights.asker({"Nats-Request-Info": "no json"}) == ""
    assert rights.asker(None) == ""


async def test_a_bus_that_has_just_started_is_waited_for(tmp_path: Path) -> None:
    """Nobody has made the consumers of queues whose workers are not there yet, a person's among them; nor is there a
    moderator when the check begins."""
    queues = {**QUEUES, "pro_2_human": "pro"}
    async with Target(tmp_path / "bus", queues=queues) as target:
        checking = asyncio.ensure_future(
            bus_check.check(
                target.server.url, target.credentials, only=("pro_2_human", "client"),
                pick=lambda attack: "its own consumer" in attack or attack == "swallows a timer by its id",
            )
        )  # fmt: skip
        await target.moderator()
        rows = await checking
    assert {r.outcome for r in rows} == {REFUSED}, rows
    assert {r.attack for r in rows} >= {"changes its own consumer", "swallows a timer by its id"}
