"""What docs/security.md says of the doors that ship, attacked."""

import hmac
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

pytest.importorskip("a2a", reason="the extra a2a is not installed: pip install 'parley[a2a]'")

from parley.client.errors import BadInput
from parley.web.doors import DoorOptions, doors
from parley.web.webhook import Links, _Link
from tests.support.engine import engine
from tests.support.model import NO_ANSWER
from tests.web.doors.support import SECRET, Receiver
from tests.web.support import Browser, Site, site_of

CARD = "/.well-known/agent-card.json"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as found:
        yield found


@pytest.fixture
async def site(tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    monkeypatch.setenv("PARLEY_WEBHOOK_SECRET", SECRET)
    opened = {"a2a": {}, "webhook": {"url": receiver.url, "principal": "alice", "public_url": "http://127.0.0.1"}}
    async with engine(tmp_path / "bus") as bus:
        await bus.moderator()
        await bus.workers()
        async with site_of(bus, tmp_path / "keys", opened=opened) as found:
            yield found


async def a2a(who: Browser, method: str, **params: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    found: dict[str, Any] = (await who.http.post("/a2a", json=body, headers={"A2A-Version": "1.0"})).json()
    return found


def message(text: str, **more: Any) -> dict[str, Any]:
    return {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": text}], **more}


async def test_strangers_read_a_card_that_names_nothing_of_this_house_and_nothing_else(site: Site) -> None:
    sid = await site.alice.start("Who is to leave the company?")
    async with httpx.AsyncClient(base_url=site.web.url) as stranger:
        card = await stranger.get(CARD)
        elsewhere = await stranger.get(CARD, headers={"host": "evil.example"})
        asked = await stranger.post("/a2a", json={"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}})
        again = [(await stranger.get(CARD)).status_code for _ in range(30)]
    assert card.status_code == 200 and [s["id"] for s in card.json()["skills"]] == ["debate"]
    assert not any(word in card.text for word in (sid, "company", "consensus", "alice", "panelist"))
    assert card.json()["supportedInterfaces"][0]["url"] == f"{site.web.url}/a2a"
    assert elsewhere.status_code == 421, "a card never points to where somebody else listens"
    assert asked.status_code == 401 and 429 in again
    extended = await a2a(site.alice, "GetExtendedAgentCard")
    assert "consensus" in [s["id"] for s in extended["result"]["skills"]]


async def test_an_answer_link_is_worth_nothing_when_it_is_made_up_and_is_no_way_in(site: Site) -> None:
    key = hmac.digest(bytes(32), b"answer links", "sha256")
    made_up = Links(bytes(32), site.web.url).of(_Link("alice", "f" * 20, "1"))
    good = Links(key, site.web.url).of(_Link("alice", "f" * 20, "1"))
    nobody = Links(key, site.web.url).of(_Link("mallory", "f" * 20, "1"))
    async with httpx.AsyncClient() as stranger:
        for link, status in ((made_up, 404), (nobody, 404), (f"{site.web.url}/answer", 404), (good, 404)):
            assert (await stranger.get(link)).status_code == status, link
            assert (await stranger.post(link, data={"choice": "stop"})).status_code == status, link
        assert (await stranger.get(good.replace("/answer", "/api/sessions"))).status_code == 401
        form = {"origin": "http://evil.example"}
        assert (await stranger.post(good, data={"choice": "stop"}, headers=form)).status_code == 403
        tries = [(await stranger.get(good)).status_code for _ in range(30)]
    assert 429 in tries, "links cannot be guessed"


async def test_a_task_is_nobodys_but_who_opened_it(site: Site) -> None:
    settings = {"returnImmediately": True}
    begun = await a2a(
        site.alice, "SendMessage", configuration=settings,
        message=message(NO_ANSWER, metadata={"protocol": "consensus"}),
    )  # fmt: skip
    sid = begun["result"]["task"]["id"]
    got = await a2a(site.bob, "GetTask", id=sid)
    assert got["error"]["code"] == -32001, got
    for method, params in (
        ("CancelTask", {"id": sid}),
        ("SendMessage", {"message": message("stop", taskId=sid)}),
        ("SendMessage", {"message": message("What did they say?", contextId=sid)}),
    ):
        assert "error" in await a2a(site.bob, method, **params), method
    assert sid not in str(await a2a(site.bob, "ListTasks"))
    assert (await a2a(site.alice, "GetTask", id=sid))["result"]["status"]["state"] == "TASK_STATE_WORKING"
    assert (await a2a(site.auditor, "CancelTask", id=sid))["error"]["code"] != 0, "who reads may not cancel"
    ended = await a2a(site.alice, "CancelTask", id=sid)
    assert ended["result"]["status"]["state"] == "TASK_STATE_CANCELED"


@pytest.mark.parametrize(("door", "given", "secret", "says"), [
    ("webhook", {"url": "ftp://x"}, SECRET, "doors.webhook.url"),
    ("webhook", {"url": "http://x"}, "", "PARLEY_WEBHOOK_SECRET"),
    ("webhook", {"url": "http://x"}, "whsec_c2hvcnQ=", "PARLEY_WEBHOOK_SECRET"),
    ("nats-agents", {}, "", r"synadia_ai\S* is not installed: pip install 'parley\[nats-agents\]'"),
])  # fmt: skip
def test_a_door_that_lacks_an_address_a_secret_or_its_library_is_not_opened(
    door: str, given: dict[str, str], secret: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARLEY_WEBHOOK_SECRET", secret)
    for name in [name for name in sys.modules if name.startswith(("synadia_ai", "parley.web.nats_agents"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "synadia_ai", None)
    with pytest.raises(BadInput, match=says):
        doors(DoorOptions(opened={door: given}, secret=bytes(32), state=tmp_path))
