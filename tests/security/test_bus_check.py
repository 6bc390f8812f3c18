"""`parley bus check`: it finds a server that does not enforce the table, and leaves nothing behind on any."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from parley.bus import accounts, subjects
from parley.bus.accounts import Credentials
from parley.bus.connection import Connection, connect
from parley.bus.embedded import EmbeddedServer
from parley.bus_admin import check
from parley.bus_admin.attacks import ATTACKS
from parley.bus_admin.check import COMPARED, NOT_RUN, NOT_TRIED, REFUSED, SAME, THROUGH, AttackResult
from parley.client.errors import BadInput, Unreachable
from parley.stack import keys
from parley.stack.lease import read_running
from tests.conftest import Eventually
from tests.parley.support import Front, until
from tests.security.support import Target, allowed, naive
from tests.support.forks import run

LINES, COLUMNS = 24, 80


async def checked(target: Target, folder: Path) -> dict[str, AttackResult]:
    if not folder.exists():
        target.save(folder)
    return {row.attack: row for row in await asyncio.to_thread(check.run, target.server.url, folder)}


def outcomes(rows: Mapping[str, AttackResult]) -> dict[str, str]:
    """What is not as it should be."""
    return {attack: row.outcome for attack, row in rows.items() if row.outcome not in check.GOOD}


async def kept(conn: Connection) -> dict[str, Any]:
    """What the bus holds: messages, their subjects, and consumers of every stream."""
    held: dict[str, Any] = {}
    for name in (await conn.api("STREAM.NAMES"))["streams"]:
        info = await conn.api(f"STREAM.INFO.{name}", {"subjects_filter": ">"})
        names = (await conn.api(f"CONSUMER.NAMES.{name}"))["consumers"] or []
        state = {k: info["state"].get(k) for k in ("messages", "last_seq", "subjects")}
        consumers: dict[str, Any] = {}
        for consumer in sorted(names):
            one = await conn.api(f"CONSUMER.INFO.{name}.{consumer}")
            consumers[consumer] = one["config"], one["num_pending"], one["num_ack_pending"], one["delivered"]
        held[name] = info["config"], state, consumers
    return held


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    """A stack that has answered a question."""
    front = Front(tmp_path)
    up = front.start("up")
    try:
        until(lambda: (running := read_running(front.state)) and running.ready, "it is not up", 30)
        asked = front.run("ask", "What is the capital of Lithuania?", "--evidence", str(front.evidence))
        assert asked[0] == 0, asked
        yield front
    finally:
        up.terminate()
        up.communicate(timeout=30)
        front.assert_nothing_left()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_running_stack_is_as_it_was(front: Front) -> None:
    """All that the bus holds: what totals, the doctor and alerts are made of."""
    running = read_running(front.state)
    assert running is not None
    where = ("--nats", running.url, "--creds", running.credentials["metrics"])
    users = keys.everybody(front.state / "keys").values()
    moderator = next(c for c in users if c.kind == accounts.MODERATOR)

    def stored() -> dict[str, Any]:
        async def look() -> dict[str, Any]:
            async with await connect(running.url, moderator, name="test") as conn:
                return await kept(conn)

        return asyncio.run(look())

    def counted() -> bool:
        series = front.json("metrics", *where, "--once", "--json")["series"]
        return sum(int(s["value"]) for s in series["parley_sessions_closed_total"]) == 1

    until(counted, "the session is not counted")
    before = stored()
    code, out, err = front.run("bus", "check", "--dir", str(front.state / "keys"))
    assert (code, err) == (0, ""), out
    assert stored() == before
    lines = out.splitlines()
    assert len(lines) <= LINES and max(map(len, lines)) <= COLUMNS
    assert len(lines) == len(ATTACKS) + 2
    assert all(REFUSED in line for line in lines[: len(ATTACKS)])
    assert lines[-1].endswith("the server enforces the table")


@pytest.mark.slow
async def test_a_server_that_lets_everything_through_is_found_out_and_unharmed(tmp_path: Path) -> None:
    """One account without permissions, with a moderator and a worker that hear all that comes through."""
    async with Target(tmp_path / "bus", naive) as target:
        await target.up()
        worker = await target.worker("panelist_1")
        conn = await target.connect("moderator")
        assert (await target.open("s", protocol="single")).fate
        before = await kept(conn), await target.sessions()
        rows = await checked(target, tmp_path / "keys")
        assert outcomes(rows) == dict.fromkeys([*ATTACKS, COMPARED], THROUGH)
        assert all(len(row.found) == row.tries for attack, row in rows.items() if attack != COMPARED)
        assert (await kept(conn), await target.sessions()) == before
        assert worker.ready is None
        given = ("--nats", target.server.url, "--dir", str(tmp_path / "keys"))
        code, out, err = await asyncio.to_thread(run, "bus", "check", *given)
    assert (code, err) == (1, "") and len(out.splitlines()) <= LINES
    assert out.count("WENT THROUGH: ") == len(ATTACKS) + 1


LOOSENED: dict[str, tuple[str, str, str]] = {
    # the row that must fail: a user who is allowed one thing more, the side, the subject (pro_1 has colleagues)
    "hears others' channels": ("con_1", "subscribe", subjects.post.of(channel="team_pro")),
    "writes others' channels": ("con_1", "publish", subjects.say.of(channel="team_pro", author="con_1")),
    "speaks as another seat": ("con_1", "publish", subjects.say.of(channel="team_pro", author="pro_1")),
    "takes others' turns": ("con_1", "publish", subjects.next_turns("pro_1")),
    "reads the log": ("viewer", "publish", "$JS.API.DIRECT.GET.LOG"),
    "writes the log": ("metrics", "publish", subjects.log.under),
    "opens a session": ("panelist_1", "publish", subjects.inbox.of(channel="client", author="panelist_1")),
    "posts as a moderator": ("judge", "publish", subjects.post.of(channel="control")),
    "reads others' sessions": ("client", "subscribe", subjects.owned("client_2", subjects.post.of(channel="public"))),
    "changes a stream": ("gateway", "publish", "$JS.API.STREAM.UPDATE.LOG"),
    "hears everything": ("auditor", "subscribe", ">"),
    "commands the server": ("helper", "publish", "$SYS.REQ.SERVER.*.RELOAD"),
}


@pytest.mark.slow
async def test_one_right_more_is_found_and_its_user_named(tmp_path: Path) -> None:
    """In the user's allow list alone: the account behind it still holds."""
    assert set(LOOSENED) == set(ATTACKS)
    async with Target(tmp_path / "bus") as target:
        await target.up()
        public = accounts.publics(target.credentials)
        conn = await target.connect("moderator")
        before = await kept(conn)
        for attack, (user, side, subject) in LOOSENED.items():
            target.change(allowed(user, side, subject, public))
            rows = await checked(target, tmp_path / "keys")
            assert rows[attack].outcome == THROUGH, (attack, rows[attack])
            assert {found.who for row in rows.values() for found in row.found} == {user}
            assert rows[COMPARED].outcome == SAME
        assert await kept(conn) == before


async def test_what_an_account_imports_beyond_the_table_is_found(tmp_path: Path) -> None:
    """Behind an allow list that holds."""

    def change(config: dict[str, Any]) -> None:
        subject = subjects.post.of(channel="team_pro")
        config["accounts"]["CON:con_1"]["imports"].append({"stream": {"account": "CORE", "subject": subject}})
        next(e for e in config["accounts"]["CORE"]["exports"] if e.get("stream") == subject)["accounts"].append(
            "CON:con_1"
        )

    async with Target(tmp_path / "bus", change) as target:
        await target.up()
        rows = await checked(target, tmp_path / "keys")
        assert outcomes(rows) == {COMPARED: THROUGH}
        assert [found.words for found in rows[COMPARED].found] == ["con_1 imports parley.ch.*.team_pro.* of CORE"]
        target.loosen()  # a grant of which the credentials know nothing
        rows = await checked(target, tmp_path / "keys")
    assert outcomes(rows) == {"reads others' sessions": THROUGH, COMPARED: THROUGH}
    assert "client" in {found.who for row in rows.values() for found in row.found}


SEATS = dict.fromkeys(("speaks as another seat", "takes others' turns"), "another agent's key")


@pytest.mark.parametrize(
    ("names", "needs"),
    [
        (("pro_1",), {**SEATS, COMPARED: "the operator's key"}),
        (("client",), {**SEATS, "opens a session": "another user's key", COMPARED: "the operator's key"}),
        (("con_1", "client"), {COMPARED: "the operator's key"}),
        (("pro_1", "pro_2", "operator"), {COMPARED: "the keys of audit, auditor, client, client_2, con_1"}),
    ],
)
async def test_what_a_part_of_the_keys_cannot_try_is_said(
    tmp_path: Path, names: tuple[str, ...], needs: dict[str, str]
) -> None:
    """Nothing is said of the table then."""
    async with Target(tmp_path / "bus") as target:
        await target.up()
        target.save(tmp_path / "few", *names)
        given = ("--nats", target.server.url, "--dir", str(tmp_path / "few"))
        code, out, _ = await asyncio.to_thread(run, "bus", "check", *given)
        again, document, _ = await asyncio.to_thread(run, "bus", "check", *given, "--json")
    told = json.loads(document)
    assert (code, again, told["passed"], told["attacks"]) == (3, 3, False, len(ATTACKS) + 1)
    found = {row["attack"]: row["needs"] for row in told["rows"] if row["outcome"] == NOT_TRIED}
    assert found.keys() == needs.keys() and all(found[attack].startswith(key) for attack, key in needs.items())
    assert told["outcomes"] == {REFUSED: len(ATTACKS) + 1 - len(needs), NOT_TRIED: len(needs)}
    *lines, last = out.splitlines()
    assert len(lines) == len(ATTACKS) + 1 and max(map(len, (*lines, last))) <= COLUMNS
    assert out.count(f"{NOT_TRIED}: it needs ") == len(needs)
    assert last.startswith(f"{len(lines) - len(needs)} attacks as ")
    assert last.endswith(f" users: refused; {len(needs)} not tried: --dir takes the folder of all keys")


async def test_what_was_not_judged_is_not_refused(tmp_path: Path, eventually: Eventually) -> None:
    """The connection breaks before the first try."""
    async with Target(tmp_path) as target:
        conn = await target.connect("con_1")
        target.server.kill()
        await eventually(lambda: not conn.connected)
        rows = {attack: check.AttackResult(attack) for attack in ATTACKS}
        await check.attack_as(conn, target.credentials, rows, "")
        assert {row.outcome for row in rows.values()} == {NOT_RUN}
        assert all(len(row.found) == row.tries > 0 for row in rows.values())
        target.server.start()


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    nowhere = "nats://127.0.0.1:1"
    with pytest.raises(BadInput, match="is no folder"):
        check.run(nowhere, tmp_path / "absent")
    with pytest.raises(BadInput, match="holds no credentials"):
        check.run(nowhere, tmp_path)
    users: dict[str, Credentials] = accounts.mint(accounts.table({"con_1": "con"}))
    users["moderator"].save(tmp_path / "moderator.json")
    with pytest.raises(BadInput, match="only the credentials of moderators and operators"):
        check.run(nowhere, tmp_path)
    users["con_1"].save(tmp_path / "con_1.json")
    with pytest.raises(Unreachable, match="no NATS server answers"):
        check.run(nowhere, tmp_path)
    with EmbeddedServer(tmp_path / "bus", accounts.table({"con_1": "con"}), accounts.publics(users)) as server:
        accounts.mint(accounts.table({"con_1": "con"}))["con_1"].save(tmp_path / "con_1.json")
        with pytest.raises(BadInput, match="fewer users than its folder holds keys of"):
            check.run(server.url, tmp_path)
    (tmp_path / "con_1.json").write_text("{")
    with pytest.raises(BadInput, match=r"con_1\.json"):
        check.run(nowhere, tmp_path)
