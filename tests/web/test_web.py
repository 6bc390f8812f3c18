"""The server half of the web page: snapshots, streams, lists, what each principal may see, and seats of people."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

from tests.engine.test_rules import announce
from tests.protocols.competition.play import small, speech
from tests.support.engine import QUEUES, engine, until
from tests.support.model import NO_ANSWER
from tests.web.support import Browser, Event, Site, Web, folder_of, posts, site_of, told


async def test_a_stream_tells_a_session_whole_from_any_position_and_a_snapshot_what_the_stream_told(site: Site) -> None:
    sid = await site.owner.start()
    events = await site.owner.watched(sid)
    names = [e.name for e in events]
    assert names[-1] == "end" and {"post", "view"} <= set(names)
    result = told(events, "result")
    assert result["text"] == "the agreed answer" and result["converged"] is True
    assert result["stop"] == "enough seats said or signed the same answer"
    assert result["dissent"] == "nobody"
    assert {e.data["session"] for e in events} == {sid}
    found = await site.owner.get(f"/api/sessions/{sid}")
    there = [(p["channel"], p["k"]) for r in found["rounds"] for p in r["posts"]]
    assert there == posts(events)
    assert found["position"] == [e.id for e in events if e.name == "post"][-1]
    assert found["status"] == "finished" and found["result"]["posts"]
    assert [s["seat"] for s in found["seats"]] == ["panelist_1", "panelist_2", "panelist_3", "analyst"]
    assert {s["state"] for s in found["seats"]} == {"done"}
    assert found["signals"][0]["threshold"] == 90.0 and len(found["signals"][0]["values"]) == 2
    assert {c["seat"] for c in found["changes"]} == {"panelist_1", "panelist_2", "panelist_3"}
    assert found["usage"]["input_tokens"] == 10 * found["usage"]["turns"]
    assert [w["kind"] for w in found["warnings"]] == ["one_family", "weights", "weak_evidence"]
    ids = [e.id for e in events if e.name == "post"]
    whole = posts(events)
    assert len(whole) > 8 and len(set(whole)) == len(whole)
    for n, id_ in enumerate(ids, 1):
        again = [e async for e in site.owner.events(f"/api/sessions/{sid}/events", headers={"last-event-id": id_})]
        assert posts(again) == whole[n:]
        assert posts(await site.owner.watched(sid, f"?from={id_}")) == whole[n:]


async def test_a_client_sees_its_own_sessions_and_no_others(site: Site) -> None:
    sid = await site.alice.start("Whose is this?")
    events = await site.alice.watched(sid)
    whole = posts(await site.owner.watched(sid))
    assert sorted(posts(events)) == sorted(whole)
    assert (await site.alice.get(f"/api/sessions/{sid}"))["result"]["text"] == "the agreed answer"
    assert [r["session"] for r in (await site.alice.get("/api/sessions"))["sessions"]] == [sid]
    then = await site.alice.start("Are you sure?", continues=sid)
    assert f"previous/{sid}.md" in (await site.bus.log(then))[0], "and follows them up"
    assert (await site.bob.get("/api/sessions"))["sessions"] == []
    assert sid in {row["session"] for row in (await site.auditor.get("/api/sessions"))["sessions"]}


async def test_who_reads_the_session_of_another_cannot_act_in_it(site: Site) -> None:
    sid = await site.alice.start(NO_ANSWER)
    for path, body in (("cancel", {}), ("decide", {"item": "1", "choice": "emit"}), ("feedback", {"right": True})):
        refused = await site.auditor.post(f"/api/sessions/{sid}/{path}", body, 403)
        assert refused["error"]["field"] == "session" and "opened by somebody else" in refused["error"]["message"]
    seen = await site.auditor.get(f"/api/sessions/{sid}")
    assert seen["status"] == "open" and not {"cancel", "decide", "fork"} & set(seen["may"])
    await site.alice.post(f"/api/sessions/{sid}/cancel")


async def test_twenty_sessions_run_in_one_stream(site: Site) -> None:
    sids = [await site.owner.start(f"Question {n}?") for n in range(20)]
    async with asyncio.timeout(30):
        events = [e async for e in site.owner.events(f"/api/events?session={','.join(sids)}")]
    assert sorted(e.data["session"] for e in events if e.name == "end") == sorted(sids)
    assert posts(events) == [] and {e.data["session"] for e in events if "result" in e.data} == set(sids)


async def test_lists_are_searched_filtered_and_paged(site: Site) -> None:
    sids = [await site.owner.start(f"Does the {word} hold?") for word in ("bridge", "rope", "bridge over it")]
    await asyncio.gather(*(site.owner.watched(sid) for sid in sids))

    async def closed() -> bool:
        return all(r["status"] == "finished" for r in (await site.owner.get("/api/sessions"))["sessions"])

    await until(closed)
    found = await site.owner.get("/api/sessions?q=BRIDGE")
    assert {r["session"] for r in found["sessions"]} == {sids[0], sids[2]} and found["before"] is None
    assert (await site.owner.get(f"/api/sessions?q={sids[1][:8]}"))["sessions"][0]["session"] == sids[1]
    assert (await site.owner.get("/api/sessions?ended=open"))["sessions"] == []
    assert len((await site.owner.get("/api/sessions?protocol=consensus&ended=finished"))["sessions"]) == 3
    seen, before = [], ""
    for _ in range(3):
        page = await site.owner.get(f"/api/sessions?limit=1{before}")
        seen += [r["session"] for r in page["sessions"]]
        before = f"&before={page['before']}"
    assert sorted(seen) == sorted(sids)
    (row,) = (await site.owner.get(f"/api/sessions?q={sids[1]}"))["sessions"]
    assert (row["kind"], row["answer"], row["confidence"]) == ("agreed", "the agreed answer", 0.8)
    said = (await site.owner.get("/api/sessions?q=bridge+round"))["sessions"]
    assert {r["session"] for r in said} == {sids[0], sids[2]}, "words of question and posts count together"
    for narrowed, there in (
        ("ended=agreed", 3), ("ended=unsettled", 0), ("sure=0.8", 3), ("sure=0.85", 0), ("usd=10", 0),
        (f"since={row['opened_ns'] // 1_000_000 + 3_600_000}", 0), ("since=1", 3),
    ):  # fmt: skip
        found = await site.owner.get(f"/api/sessions?{narrowed}")
        assert len(found["sessions"]) == there, narrowed
    for name in ("limit", "sure", "usd", "since", "ended"):
        assert (await site.owner.get(f"/api/sessions?{name}=zehn", 400))["error"]["field"] == name


async def test_exports_are_what_the_command_line_exports(site: Site) -> None:
    sid = await site.owner.start()
    await site.owner.watched(sid)
    record = await site.owner.http.get(f"/api/sessions/{sid}/export/record")
    assert record.text.splitlines()[1:] == list(await site.bus.log(sid))
    page = await site.owner.http.get(f"/api/sessions/{sid}/export/html")
    assert page.headers["content-disposition"] == f'attachment; filename="parley-{sid}.html"'
    assert (await site.owner.get(f"/api/sessions/{sid}/export/json"))["result"]["outcome"]["answer"]
    mine = await site.alice.start("Whose is this?")
    await site.alice.watched(mine)
    told = await site.alice.get(f"/api/sessions/{mine}/export/json")
    assert (told["opened"]["question"], told["opened"]["protocol"]) == ("Whose is this?", "consensus")
    assert told["opened"]["owner"] == "alice" and "seats" not in told["opened"], "the rest stands in the log"
    assert (await site.owner.get(f"/api/sessions/{sid}/export/exe", 400))["error"]["field"] == "form"


async def test_the_gateway_counts_what_it_does(site: Site) -> None:
    sid = await site.owner.start()
    events = await site.owner.watched(sid)
    await site.bob.get(f"/api/sessions/{sid}", 404)
    shown = generate_latest(site.web.metrics.registry).decode()
    told = len(posts(events))
    assert f'parley_gateway_events_total{{event="post"}} {float(told)}' in shown
    assert 'parley_gateway_requests_total{door="web",status="201"} 1.0' in shown
    assert 'parley_gateway_requests_total{door="web",status="404"} 1.0' in shown
    assert "parley_gateway_streams 0.0" in shown and "parley_gateway_feeds 1.0" in shown
    (lags,) = [float(n.split()[1]) for n in shown.splitlines() if n.startswith("parley_gateway_lag_seconds_count")]
    assert 0 < lags <= told, "of posts that were said while the viewer was there"


async def test_a_fork_reads_no_file_of_the_gateways_machine(tmp_path: Path) -> None:
    async with engine(tmp_path / "bus", queues={"pro_1": "pro", "con_1": "con", "judge": "judge"}) as bus:
        tokens = folder_of(bus, tmp_path / "keys")
        await bus.moderator()
        await announce(bus)
        async with Web(bus.server.url, tmp_path / "keys") as web, web.client(tokens["owner"]) as owner:
            settings = {"format": small(speech("pro_1"), seats=1)}
            request = {"question": "Is it so?", "protocol": "competition", "settings": settings}
            sid = (await owner.post("/api/sessions", request, 201))["session"]
            body = {"settings": {"format": "/etc/passwd"}}
            refused = await owner.post(f"/api/sessions/{sid}/fork", body, 400)
            assert refused["error"]["field"] == "competition.format" and "root:" not in str(refused)
            await owner.post(f"/api/sessions/{sid}/cancel")


PERSON = "panelist_1_human"


@pytest.fixture
async def seated(tmp_path: Path) -> AsyncIterator[Site]:
    """A panel that is slow enough to be joined. Alice may sit on panelist_1, and nobody else anywhere."""
    async with engine(tmp_path / "bus", queues={**QUEUES, PERSON: "panelist"}) as bus:
        (tmp_path / "keys" / "alice.seats").mkdir(parents=True)
        bus.credentials[PERSON].save(tmp_path / "keys" / "alice.seats" / "seat.json")
        await bus.moderator()
        for queue in QUEUES:
            await bus.worker(queue, {"latency_s": 0.1, "agree_from": 3})
        async with site_of(bus, tmp_path / "keys") as found:
            yield found


async def _replied(browser: Browser, sid: str, events: list[Event], body: dict[str, Any]) -> None:
    """Watch to the end, reply to each turn, and sign nothing."""
    async for event in browser.events(f"/api/sessions/{sid}/events"):
        events.append(event)
        if event.name == "turn" and event.data["turn"]:
            asked = event.data["turn"]
            given = {"turn": asked["turn"], "body": _unsigned(asked) if asked["kind"] == "sign" else body}
            await browser.post(f"/api/sessions/{sid}/seats/panelist_1/reply", given)


def _unsigned(turn: dict[str, Any]) -> dict[str, Any]:
    """That no sentence of a turn to sign states the person's answer."""
    (states,) = (f for f in turn["fields"] if f["name"] == "states")
    return {"states": "neither", "differs": states["words"][0]}


async def test_a_reply_reaches_the_session_of_its_page_alone(seated: Site) -> None:
    """Two sessions ask one person at once, and their turns have the same ids."""
    first = await seated.alice.start("delete it?", humans=["panelist_1"])
    second = await seated.alice.start("paint it blue?", humans=["panelist_1"])
    for sid in (second, first):
        await seated.alice.post(f"/api/sessions/{sid}/seats/panelist_1/sit", {"seconds": 30})

    async def played(sid: str, answer: str) -> list[Event]:
        events: list[Event] = []
        body = {"answer": answer, "reasoning": "I say so", "confidence": 0.9, "change": "kept"}
        await _replied(seated.alice, sid, events, body)
        return events

    async with asyncio.timeout(40):
        asked = {second: "blue", first: "no"}
        told = await asyncio.gather(*(played(sid, answer) for sid, answer in asked.items()))
    for (sid, answer), events in zip(asked.items(), told, strict=True):
        question = "paint it blue?" if sid == second else "delete it?"
        turns = [e.data["turn"] for e in events if e.name == "turn" and e.data["turn"]]
        assert turns and all(question in turn["prompt"] for turn in turns)
        mine = [
            e.data["post"]["position"] for e in events
            if e.name == "post" and e.data["post"]["kind"] == "position" and e.data["post"]["seat"] == "panelist_1"
        ]  # fmt: skip
        assert set(mine) == {answer}


async def test_a_person_whose_gateway_ended_sits_down_again_and_gets_the_turn(seated: Site, tmp_path: Path) -> None:
    async def turn_of(browser: Browser) -> str:
        async with asyncio.timeout(20):
            async for event in browser.events(f"/api/sessions/{sid}/events"):
                if event.name == "turn" and event.data["turn"]:
                    return str(event.data["turn"]["turn"])
        raise AssertionError("no turn came")

    sid = ""
    token = seated.alice.http.headers["authorization"].removeprefix("Bearer ")
    url, keys = seated.bus.server.url, tmp_path / "keys"
    async with Web(url, keys) as web, web.client(token) as alice:
        sid = await alice.start(humans=["panelist_1"])
        await alice.post(f"/api/sessions/{sid}/seats/panelist_1/sit", {"seconds": 60})
        turn = await turn_of(alice)
    async with Web(url, keys) as web, web.client(token) as alice:
        refused = await alice.post(f"/api/sessions/{sid}/seats/panelist_1/reply", {"turn": turn, "body": {}}, 400)
        assert "sit down first" in refused["error"]["message"]
        await alice.post(f"/api/sessions/{sid}/seats/panelist_1/sit", {"seconds": 60})
        assert await turn_of(alice) == turn


async def test_nobody_sits_on_a_seat_whose_keys_it_has_not(seated: Site) -> None:
    sid = await seated.alice.start()
    refused = await seated.alice.post(f"/api/sessions/{sid}/seats/panelist_2/sit", {}, 403)
    assert "panelist_1" in refused["error"]["message"]
    refused = await seated.bob.post(f"/api/sessions/{sid}/seats/panelist_1/reply", {"turn": "0-0", "body": {}}, 400)
    assert refused["error"]["field"] == "seat"
    assert (await seated.bob.get("/api/me"))["seats"] == []
