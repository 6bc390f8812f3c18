"""A person's seat with two copies of the gateway: each request may come to either, and either may be killed."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from parley.bus import subjects
from parley.bus.errors import Denied
from parley.web.page.turns.tickets import NAME
from parley.web.principals import Principal, Principals
from tests.support.engine import QUEUES, Engine, engine, until
from tests.web.support import Browser, Event, Process, Web, browser, folder_of

PERSON = "panelist_1_human"
SEAT = "panelist_1"
SAID = {"reasoning": "I say so", "confidence": 0.9, "change": "kept"}


class Site(NamedTuple):
    """A bus with two gateways. Alice and bob have both the key of panelist_1's person."""

    bus: Engine
    tokens: dict[str, str]
    keys: Path
    first: Web
    second: Web


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """A moderator, a panel that is slow enough to be joined, two gateways."""
    async with engine(tmp_path / "bus", queues={**QUEUES, PERSON: "panelist"}) as bus:
        keys = tmp_path / "keys"
        tokens = folder_of(bus, keys)
        (tmp_path / "web.key").write_text("00" * 32)  # the key that `Web` has, too
        for name in ("alice", "bob"):
            (keys / f"{name}.seats").mkdir()
            bus.credentials[PERSON].save(keys / f"{name}.seats" / "seat.json")
        await bus.moderator()
        for queue in QUEUES:
            await bus.worker(queue, {"latency_s": 0.05, "agree_from": 3})
        async with Web(bus.server.url, keys) as first, Web(bus.server.url, keys) as second:
            yield Site(bus, tokens, keys, first, second)


@asynccontextmanager
async def _alice(site: Site, *urls: str) -> AsyncIterator[list[Browser]]:
    """One browser, so to say, as it reaches each copy."""
    jar = CookieJar()
    async with browser(urls[0], site.tokens["alice"], jar) as one, browser(urls[-1], site.tokens["alice"], jar) as two:
        yield [one, two]


def _path(sid: str, what: str) -> str:
    return f"/api/sessions/{sid}/seats/{SEAT}/{what}"


async def _turn(page: Browser, sid: str, other_than: str = "") -> dict[str, Any]:
    """The turn that a page of a session shows next."""
    async for event in page.events(f"/api/sessions/{sid}/events"):
        if event.name == "turn" and event.data["turn"] and event.data["turn"]["turn"] != other_than:
            return dict(event.data["turn"])
    raise AssertionError("the session ended without a turn")


async def _positions(site: Site, sid: str) -> list[str]:
    """What was said in the seat, in its order."""
    posts = await site.bus.posts(sid, "public")
    return [msgspec.json.decode(p.body)["answer"] for p in posts if p.kind == "position" and p.seat == SEAT]


async def test_requests_of_one_person_may_come_to_any_copy(site: Site) -> None:
    async with _alice(site, site.first.url, site.second.url) as pages:
        sid = await pages[0].start(humans=[SEAT])
        await pages[0].post(_path(sid, "sit"), {"seconds": 60})
        said: list[str] = []
        told: list[set[str]] = [set(), set()]
        positions: list[str] = []

        async def watches(which: int) -> list[Event]:
            """One tab. The first one's page speaks, and each time its words reach another copy."""
            events = []
            async for event in pages[which].events(f"/api/sessions/{sid}/events"):
                events.append(event)
                if event.name != "turn" or not event.data["turn"]:
                    continue
                turn = event.data["turn"]["turn"]
                told[which].add(turn)
                if which == 1 and turn not in said:
                    said.append(turn)
                    found = await pages[len(said) % 2].get(f"/api/sessions/{sid}")
                    assert found["sits"] == [SEAT]
                    answer = {"answer": f"answer {len(said)}", **SAID}
                    if event.data["turn"]["kind"] == "sign":
                        answer = {"states": "neither"}
                    else:
                        positions.append(f"answer {len(said)}")
                    await pages[len(said) % 2].post(_path(sid, "reply"), {"turn": turn, "body": answer})
            return events

        async with asyncio.timeout(40):
            tabs = await asyncio.gather(watches(0), watches(1))
        assert len(said) > 1 and told[1] == set(said)
        assert told[0] <= told[1], "what one tab shows, the other one shows, too"
        assert all(events[-1].name == "end" for events in tabs)
        assert await _positions(site, sid) == positions and len(positions) > 1


async def test_two_tabs_at_two_copies_answer_a_turn_once(site: Site) -> None:
    async with _alice(site, site.first.url, site.second.url) as pages:
        sid = await pages[0].start(humans=[SEAT])
        await pages[0].post(_path(sid, "sit"), {"seconds": 60})
        async with asyncio.timeout(20):
            turn, same = await asyncio.gather(*(_turn(page, sid) for page in pages))
        assert turn == same
        replies = await asyncio.gather(
            *(
                page.http.post(_path(sid, "reply"), json={"turn": turn["turn"], "body": {"answer": which, **SAID}})
                for which, page in zip(("one", "two"), pages, strict=True)
            )
        )
        assert sorted(r.status_code for r in replies) == [200, 400]
        assert "nothing was sent" in next(r for r in replies if r.status_code == 400).json()["error"]["message"]
        taken = "one" if replies[0].status_code == 200 else "two"
        async with asyncio.timeout(20):
            await _turn(pages[0], sid, turn["turn"])
        assert await _positions(site, sid) == [taken]
        await pages[1].post(_path(sid, "leave"))

        async def gone() -> bool:
            return all([(await page.get(f"/api/sessions/{sid}"))["sits"] == [] for page in pages])

        await until(gone)
        assert not [c for c in pages[0].http.cookies.jar if c.name.startswith(NAME)], "the browser forgets it, too"


@pytest.mark.serial
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
async def test_the_seat_outlives_a_copy_that_is_gone_before_the_person_speaks(site: Site, how: signal.Signals) -> None:
    holder = Process(site.bus.server.url, site.keys, {"PARLEY__STACK__ACK_WAIT_S": "1"})
    await holder.start()
    try:
        async with _alice(site, holder.url, site.second.url) as pages:
            sid = await pages[0].start(humans=[SEAT])
            await pages[0].post(_path(sid, "sit"), {"seconds": 60})
            async with asyncio.timeout(40):
                turn = await _turn(pages[0], sid)
                holder.send(how)
                body = {"turn": turn["turn"], "body": {"answer": "said afterwards", **SAID}}
                await pages[1].post(_path(sid, "reply"), body)
                holder.send(signal.SIGCONT)
                later = await _turn(pages[1], sid, turn["turn"])
            assert later["round"] > turn["round"]
            assert await _positions(site, sid) == ["said afterwards"]
            assert (await pages[1].get(f"/api/sessions/{sid}"))["sits"] == [SEAT]
    finally:
        holder.kill()


async def test_a_copy_that_is_ended_gives_no_seat_back(site: Site) -> None:
    async with Web(site.bus.server.url, site.keys) as third:
        async with _alice(site, third.url) as pages:
            sid = await pages[0].start(humans=[SEAT])
            await pages[0].post(_path(sid, "sit"), {"seconds": 60})
            jar = pages[0].http.cookies.jar
            turn = await _turn(pages[0], sid)
    async with browser(site.first.url, site.tokens["alice"], jar) as page, asyncio.timeout(20):
        assert (await _turn(page, sid))["turn"] == turn["turn"], "the same turn, at another copy"
        await page.post(_path(sid, "reply"), {"turn": turn["turn"], "body": {"answer": "mine", **SAID}})


async def test_nobody_else_is_served_in_the_seat(site: Site) -> None:
    async with _alice(site, site.first.url, site.second.url) as pages:
        sid = await pages[0].start(humans=[SEAT])
        await pages[0].post(_path(sid, "sit"), {"seconds": 60})
        turn = await _turn(pages[0], sid)
        jar = pages[0].http.cookies.jar
        value = next(c.value for c in jar if c.name.startswith(NAME)) or ""
        async with (
            browser(site.second.url, site.tokens["bob"], jar) as bob,  # with alice's cookie
            browser(site.second.url, site.tokens["owner"], jar) as owner,
            browser(site.second.url, site.tokens["alice"]) as bare,
        ):
            for other in (owner, bare):
                found = await other.get(f"/api/sessions/{sid}")
                assert (found["sits"], found["turns"]) == ([], [])
            for other in (bob, owner, bare):
                body = {"turn": turn["turn"], "body": {"answer": "not hers", **SAID}}
                refused = await other.post(_path(sid, "reply"), body, 400)
                assert refused["error"]["field"] == "seat"
            refused = await bob.post(_path(sid, "sit"), {}, 404)
            assert refused["error"]["field"] == "session", "it is not his session"
        assert await _positions(site, sid) == []
        principals = Principals(bytes(32), folder=site.keys)
        alice = principals.of_token(site.tokens["alice"])
        bob_ = principals.of_token(site.tokens["bob"])
        assert isinstance(alice, Principal) and isinstance(bob_, Principal)
        of, seat, n = principals.of_seat(alice, value) or ("", "", 0)
        assert (of, seat) == (sid, SEAT) and n > 0
        assert principals.of_seat(bob_, value) is None
        assert principals.of_seat(alice, value.replace(f".{n}.", f".{n + 1}.")) is None
        assert principals.of_seat(alice, "") is None and principals.of_cookie(value) is None


async def test_only_the_persons_own_account_hears_of_the_turns(site: Site) -> None:
    subject = subjects.SEAT_HERE
    for user in ("alice", "owner", "panelist_1", "panelist_2", "probe"):
        connection = await site.bus.connect(user)
        with pytest.raises(Denied):
            await connection.subscribe(subject, lambda _: None)
        with pytest.raises(Denied):
            await connection.publish(subject, b"{}", confirm=True)


async def test_the_second_of_two_people_with_one_key_is_refused(site: Site) -> None:
    (site.keys / "owner.seats").mkdir()
    site.bus.credentials[PERSON].save(site.keys / "owner.seats" / "seat.json")
    async with (
        _alice(site, site.first.url, site.second.url) as pages,
        browser(site.second.url, site.tokens["owner"]) as owner,
    ):
        sid = await pages[0].start(humans=[SEAT])
        await pages[0].post(_path(sid, "sit"), {"seconds": 60})
        refused = await owner.post(_path(sid, "sit"), {"seconds": 60}, 409)
        assert "somebody else sits" in refused["error"]["message"]
        assert (await pages[1].get(f"/api/sessions/{sid}"))["sits"] == [SEAT]
