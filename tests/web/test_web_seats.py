"""A person takes a seat in the browser, is asked its turns on the stream, and replies."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from parley.web.page.seats import seats_in
from tests.support.engine import QUEUES, Engine, engine
from tests.web.support import Browser, Event, Web, folder_of

PERSON = "panelist_1_human"


class Site(NamedTuple):
    """A bus on which alice may sit on panelist_1, and nobody else anywhere."""

    bus: Engine
    alice: Browser
    bob: Browser


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """A moderator, a panel that is slow enough to be joined, a gateway."""
    async with engine(tmp_path / "bus", queues={**QUEUES, PERSON: "panelist"}) as bus:
        keys = tmp_path / "keys"
        tokens = folder_of(bus, keys)
        (keys / "alice.seats").mkdir()
        bus.credentials[PERSON].save(keys / "alice.seats" / "seat.json")
        await bus.moderator()
        for queue in QUEUES:
            await bus.worker(queue, {"latency_s": 0.1, "agree_from": 3})
        async with (
            Web(bus.server.url, keys) as web,
            web.client(tokens["alice"]) as alice,
            web.client(tokens["bob"]) as bob,
        ):
            yield Site(bus, alice, bob)


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


async def test_what_cannot_be_sent_is_told_and_the_turn_stays(site: Site) -> None:
    sid = await site.alice.start(humans=["panelist_1"])
    await site.alice.post(f"/api/sessions/{sid}/seats/panelist_1/sit", {"seconds": 30})
    reply = f"/api/sessions/{sid}/seats/panelist_1/reply"
    async with asyncio.timeout(20):
        async for event in site.alice.events(f"/api/sessions/{sid}/events"):
            if event.name == "turn" and event.data["turn"]:
                turn = event.data["turn"]["turn"]
                refused = await site.alice.post(reply, {"turn": turn, "body": {"answer": ""}}, 400)
                assert refused["error"]["field"] == "body"
                other = await site.alice.post(reply, {"turn": "no-such", "body": {}}, 400)
                assert other["error"]["field"] == "turn"
                found = await site.alice.get(f"/api/sessions/{sid}")
                assert found["sits"] == ["panelist_1"] and found["turns"][0]["turn"] == turn
                break
        await site.alice.post(f"/api/sessions/{sid}/seats/panelist_1/leave")
        assert (await site.alice.get(f"/api/sessions/{sid}"))["sits"] == []
        events = await site.alice.watched(sid)
    assert events[-1].name == "end", "its agent went on"


async def test_a_reply_reaches_the_session_of_its_page_alone(site: Site) -> None:
    """Two sessions ask one person at once, and their turns have the same ids."""
    first = await site.alice.start("delete it?", humans=["panelist_1"])
    second = await site.alice.start("paint it blue?", humans=["panelist_1"])
    for sid in (second, first):
        await site.alice.post(f"/api/sessions/{sid}/seats/panelist_1/sit", {"seconds": 30})

    async def played(sid: str, answer: str) -> list[Event]:
        events: list[Event] = []
        body = {"answer": answer, "reasoning": "I say so", "confidence": 0.9, "change": "kept"}
        await _replied(site.alice, sid, events, body)
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


async def test_a_person_whose_gateway_ended_sits_down_again_and_gets_the_turn(site: Site, tmp_path: Path) -> None:
    async def turn_of(browser: Browser) -> str:
        async with asyncio.timeout(20):
            async for event in browser.events(f"/api/sessions/{sid}/events"):
                if event.name == "turn" and event.data["turn"]:
                    return str(event.data["turn"]["turn"])
        raise AssertionError("no turn came")

    sid = ""
    token = site.alice.http.headers["authorization"].removeprefix("Bearer ")
    url, keys = site.bus.server.url, tmp_path / "keys"
    async with Web(url, keys) as web, web.client(token) as alice:
        sid = await alice.start(humans=["panelist_1"])
        await alice.post(f"/api/sessions/{sid}/seats/panelist_1/sit", {"seconds": 60})
        turn = await turn_of(alice)
    async with Web(url, keys) as web, web.client(token) as alice:
        refused = await alice.post(f"/api/sessions/{sid}/seats/panelist_1/reply", {"turn": turn, "body": {}}, 400)
        assert "sit down first" in refused["error"]["message"]
        await alice.post(f"/api/sessions/{sid}/seats/panelist_1/sit", {"seconds": 60})
        assert await turn_of(alice) == turn


async def test_nobody_sits_on_a_seat_whose_keys_it_has_not(site: Site) -> None:
    sid = await site.alice.start()
    refused = await site.bob.post(f"/api/sessions/{sid}/seats/panelist_1/sit", {}, 404)
    assert refused["error"]["field"] == "session", "who may not read it is told that there is none"
    refused = await site.alice.post(f"/api/sessions/{sid}/seats/panelist_2/sit", {}, 403)
    assert "panelist_1" in refused["error"]["message"]
    refused = await site.bob.post(f"/api/sessions/{sid}/seats/panelist_1/reply", {"turn": "0-0", "body": {}}, 400)
    assert refused["error"]["field"] == "seat"
    assert (await site.bob.get("/api/me"))["seats"] == []


def test_a_folder_of_seats_has_those_of_people_alone(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    assert seats_in(tmp_path) == {} and seats_in(tmp_path / "absent") == {}
