"""Agents behind a leaf node, on real servers and on the files that the commands write: a session to its end over a
connection that breaks, attacks through the leaf node, and a queue that is revoked."""

import asyncio
import contextlib
import json
from pathlib import Path

import pytest

from parley.bus import rights, subjects
from parley.bus.accounts import MAX_PAYLOAD
from parley.bus.cluster.leaf import PORTS
from parley.bus.errors import NoAnswer, NoModerator
from parley.bus_admin import check as bus_check
from parley.bus_admin.cluster import renew
from parley.bus_admin.leaf import leaf_node
from parley.bus_admin.users import revoke
from parley.client.errors import BadInput
from parley.schemas import log
from parley.schemas.post import Post, ReadPosts
from parley.schemas.result import Result
from parley.schemas.wire import decode, encode
from tests.conftest import Eventually
from tests.security.attacks.scene import NOT_RUN, REFUSED, SUCCEEDED
from tests.security.attacks.trial import distinct, summed, trial
from tests.support.edge import Edge, configured, unguarded
from tests.support.engine import QUEUES, until
from tests.support.model import read_journal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


async def test_a_session_goes_on_over_a_leaf_connection_that_broke(tmp_path: Path) -> None:
    """Each turn is put to its model once and answered once, also the one that was under way."""
    journal = tmp_path / "journal"
    async with Edge(tmp_path) as edge:
        await edge.moderator()
        edge.agent("panelist_1", latency_s=0.2, journal=str(journal))
        for queue in set(QUEUES) - set(edge.at_edge):
            await edge.worker(queue)
        await edge.heard_of(*QUEUES)
        assert (await edge.open("s", turn_timeout_s=60.0)).fate == "taken"
        moderator = await edge.connect("moderator")

        async def asks() -> int:
            info = await moderator.api(f"CONSUMER.INFO.WORK.{subjects.consumer('panelist_1')}")
            return int(info["num_waiting"])

        async def silent() -> bool:
            return await asks() == 0

        async def working() -> bool:
            return bool(read_journal(journal))

        await until(working)
        edge.links.cut(0)
        await until(silent)  # the bus hears no more of the leaf node; the turn's reply is lost by then
        edge.links.heal(0)

        result = decode((await edge.closed("s", 40.0)).body, Result)
        assert result.status == "finished"
        calls = [(c.turn, c.attempt) for c in read_journal(journal)]
        assert len(calls) == len(set(calls)) > 1
        entries = await edge.entries("s")
        asked = {f"{e.n}-{i}": c.seat for e in entries for i, c in enumerate(e.commands) if isinstance(c, log.Ask)}
        replied = [e.event.turn for e in entries if isinstance(e.event, log.Replied)]
        mine = [turn for turn in replied if asked[turn] == "panelist_1"]
        assert len(mine) == len(set(mine)) == len(calls)
        assert (await moderator.api("STREAM.INFO.WORK"))["state"]["messages"] == 0


async def test_an_agent_whose_leaf_node_is_cut_off_is_not_ready(tmp_path: Path) -> None:
    """Its own connection stands all the time."""
    async with Edge(tmp_path) as edge:
        await edge.moderator()
        worker = await edge.worker("panelist_1", silent_s=0.0)

        async def ready() -> bool:
            return worker.ready is None

        async def cut_off() -> bool:
            return "a leaf node that is cut off" in (worker.ready or "")

        await until(ready)
        edge.server.kill()
        await until(cut_off, 20.0)
        edge.server.start()
        await until(ready, 20.0)


async def test_a_leaf_node_goes_to_another_server_of_the_bus(tmp_path: Path) -> None:
    """The one that it is connected to is killed while a session is under way."""
    async with Edge(tmp_path, size=3) as edge:
        await edge.moderator()
        for queue in QUEUES:
            await edge.worker(queue, {"latency_s": 0.2})
        await edge.heard_of(*QUEUES)
        assert (await edge.open("s", turn_timeout_s=60.0)).fate == "taken"
        connected = [m for m in edge.server.members if "Leafnode connection created" in m.log_path.read_text()]
        assert len(connected) == 1
        connected[0].kill()

        async def end() -> Post | None:
            with contextlib.suppress(NoAnswer, NoModerator):  # while the moderator looks for another server too
                return next((p for p in await edge.posts("s", "control") if p.kind == "closed"), None)
            return None

        result = decode((await until(end, 60.0)).body, Result)
        assert result.status == "finished"
        assert result.outcome["agree"] == 3, "also who is behind the leaf node"


async def test_attacks_through_a_leaf_node_are_refused(tmp_path: Path) -> None:
    """By the leaf node itself: it has the allow lists of its queues."""
    async with Edge(tmp_path, ("panelist_1", "helper")) as edge:
        await edge.moderator()
        via = dict.fromkeys(edge.at_edge, edge.leaf.url)
        everybody = {name: c for name, c in edge.credentials.items() if name != "moderator"}  # of moderator-1
        rows = await trial(edge.server.url, everybody, only=tuple(via), via=via)
        assert {row.who for row in rows} == set(via)
        assert [row for row in rows if row.outcome != REFUSED] == []
        found = await asyncio.to_thread(bus_check.run, edge.server.url, edge.keys, via)
        assert bus_check.good(found), found
        assert {row.users for row in found if row.attack != bus_check.COMPARED} == {len(via)}
    print(summed(rows))


async def test_the_bus_alone_stands_against_a_hostile_leaf_node(tmp_path: Path, eventually: Eventually) -> None:
    """No attack succeeds. A queue that is revoked hears and says nothing more, and others at that leaf node go on."""
    async with Edge(tmp_path, ("panelist_1", "panelist_2"), unguarded) as edge:
        await edge.moderator()
        del edge.credentials["moderator"]  # the other name of one key
        tried: set[str] = set()

        def first(attack: str) -> bool:
            """Of those that differ in a name alone."""
            before = len(tried)
            tried.update(distinct([attack], edge.credentials))
            return len(tried) > before

        via = {"panelist_1": edge.leaf.url}
        rows = await trial(edge.server.url, edge.credentials, only=tuple(via), via=via, pick=first)
        of_bus = [row for row in rows if '"name":"parley-leaf-' not in row.how]  # the leaf node tells of itself
        assert [row for row in of_bus if row.outcome == SUCCEEDED] == [] and len(of_bus) > 100
        print(summed(rows), [row for row in rows if row.outcome == NOT_RUN])

        found = await asyncio.to_thread(bus_check.run, edge.server.url, edge.keys, via)
        assert not bus_check.good(found), "the leaf node does not enforce the table"
        assert {row.outcome for row in found if row.attack != bus_check.COMPARED} == {bus_check.THROUGH}

        forged = {"Nats-Request-Info": json.dumps({"acc": "PANEL:panelist_3"})}
        named: list[str] = []
        conn = await edge.connect("moderator-1")
        await conn.subscribe(subjects.read("public", "*"), lambda msg: named.append(rights.asker(msg.headers)))
        leaf = await edge.connect("panelist_1")
        await leaf.request(subjects.read("public", "s"), encode(ReadPosts()), 5.0, forged)
        assert named == ["PANEL:panelist_1"], "moderators hear who asks from the bus"

        heard: dict[str, list[bytes]] = {}
        subject = subjects.post("s", "public", "said")
        moderator = await edge.connect("moderator-1")
        for queue in edge.at_edge:
            ears = await edge.connect(queue)
            await ears.subscribe(subject, lambda msg, queue=queue: heard.setdefault(queue, []).append(msg.data))

        async def hear(word: bytes, *queues: str) -> bool:
            await moderator.publish(subject, word, confirm=True)
            return all(word in heard.get(queue, ()) for queue in queues)

        await eventually(lambda: hear(b"before", *edge.at_edge))
        await asyncio.to_thread(revoke, edge.keys, edge.server.url, "panelist_1")
        await eventually(lambda: hear(b"after", "panelist_2"))
        await eventually(lambda: "Authorization Violation" in edge.leaf.log_path.read_text())
        await eventually(lambda: hear(b"at last", "panelist_2"))
        assert not {b"after", b"at last"} & set(heard["panelist_1"])

        loud = await edge.connect("panelist_2")
        await loud.publish(subjects.say("any", "public", "panelist_2", "s"), b"x" * (MAX_PAYLOAD + 1))
        await eventually(lambda: "Maximum Message Payload Exceeded" in edge.server.log_path.read_text())


def test_what_cannot_be_a_leaf_node_is_told(tmp_path: Path) -> None:
    configured(folder := tmp_path / "keys")
    for name, queues, server, told in (
        ("a b", ("panelist_1",), "bus", "expected letters"),
        ("a", (), "bus", "at least one queue"),
        ("a", ("nobody",), "bus", "no credentials of 'nobody'"),
        ("a", ("client",), "bus", "'client' is no agent"),
        ("a", ("panelist_1",), "bus:63000", "too high"),
        ("a", ("panelist_1",), None, "--server HOST"),
    ):
        with pytest.raises(BadInput, match=told):
            leaf_node(folder, name, queues, server=server)


def test_the_bus_keeps_its_listener_and_renews_its_certificate(tmp_path: Path) -> None:
    """Also when it is configured again, and as a cluster."""
    (port,) = configured(folder := tmp_path / "keys")
    leaf_node(folder, "a", ("panelist_1",), server=f"bus.example.org:{port}")
    listener = json.loads((folder / "nats-server.conf").read_bytes())["leafnodes"]
    assert listener["advertise"] == f"bus.example.org:{port + PORTS}"
    before = (folder / "hub" / "route.pem").read_bytes()
    assert [row["server"] for row in renew(folder)] == ["hub"]
    assert (folder / "hub" / "route.pem").read_bytes() != before

    ports = configured(folder, size=3)
    written = leaf_node(folder, "b", ("panelist_1", "panelist_2"))
    for name, at in zip(("parley-1", "parley-2", "parley-3"), ports, strict=True):
        config = json.loads(Path(written[name]).read_bytes())
        assert config["leafnodes"]["advertise"] == f"127.0.0.1:{at + PORTS}"
        assert config["leafnodes"]["tls"]["cert_file"] == config["cluster"]["tls"]["cert_file"]
    remotes = json.loads(Path(written["leaf b"]).read_bytes())["leafnodes"]["remotes"]
    assert [r["account"] for r in remotes] == ["PANEL:panelist_1", "PANEL:panelist_2"]
    assert all(len(r["urls"]) == 3 for r in remotes)
    assert Path(written["leaf b"]).stat().st_mode & 0o077 == 0, "it holds keys"
    with pytest.raises(BadInput, match="is a cluster"):
        leaf_node(folder, "b", ("panelist_1",), server="bus")
