"""What docs/security.md says of the doors that ship, attacked."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

pytest.importorskip("a2a", reason="the extra a2a is not installed: pip install 'parley[a2a]'")

from tests.support.engine import engine
from tests.support.model import NO_ANSWER
from tests.web.support import Browser, Site, Web, folder_of

CARD = "/.well-known/agent-card.json"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with engine(tmp_path / "bus") as bus:
        tokens = folder_of(bus, tmp_path / "keys")
        await bus.moderator()
        await bus.workers()
        async with (
            Web(bus.server.url, tmp_path / "keys", opened={"a2a": {}}) as web,
            web.client(tokens["owner"]) as owner,
            web.client(tokens["alice"]) as alice,
            web.client(tokens["bob"]) as bob,
            web.client(tokens["auditor"]) as auditor,
        ):
            yield Site(bus, web, owner, alice, bob, auditor)


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
