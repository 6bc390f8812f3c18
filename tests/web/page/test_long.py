"""In the browser: arguments that were refused, a thousand posts on one page, and what is used of a client's limits."""

import json
import secrets
from pathlib import Path

import pytest
from playwright.async_api import expect

from parley.bus.accounts import LIMITS
from parley.coordinator.commands import SayOn, Wish
from parley.schemas.session import DecideItem
from parley.schemas.wire import encode, raw
from tests.coordinator import floor_play
from tests.engine import floor
from tests.support.engine import engine
from tests.web.page.site import PHONE, needed, signed_in
from tests.web.support import Web, folder_of

pytestmark = needed


AT_ONCE = 100
WORDS = "It was measured in two of six houses, and the report says so in as many words. " * 4


def many(view: object) -> tuple[Wish, ...]:
    """Posts as a panel says them."""
    body = raw({"answer": "Canary", "reasoning": WORDS, "confidence": 0.8})
    return tuple(SayOn(channel="public", kind="position", round=1 + i // 20, body=body) for i in range(AT_ONCE))


async def test_a_thousand_posts_are_read_and_more_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(floor_play.ANSWERS, "many", many)
    async with engine(tmp_path / "bus") as bus:
        tokens = folder_of(bus, tmp_path / "keys")
        await bus.moderator(floor.protocols())

        async def more(times: int) -> None:
            for _ in range(times):
                fate = await bus.submit("s1", encode(DecideItem(item=secrets.token_hex(4), choice="many")))
                assert fate.fate == "taken", fate.why

        await floor.opened(bus)
        await more(9)
        async with Web(bus.server.url, tmp_path / "keys") as web, signed_in(web.url, tokens["owner"]) as page:
            await expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            await page.goto(f"{web.url}/s/s1")
            posts = page.locator(".posts [id^=p]")
            await expect(posts).to_have_count(9 * AT_ONCE + 9)
            await more(2)
            await expect(posts).to_have_count(11 * AT_ONCE + 11)
            own = [url.partition("?")[0].rpartition("/api/sessions/")[2] for url in asked if "/api/sessions/s1" in url]
            assert own == ["s1", "s1/events"], "one snapshot and one stream"
            ids = await posts.evaluate_all("nodes => nodes.map(n => n.id)")
            assert len(set(ids)) == len(ids)
            await page.goto(f"{web.url}/s/s1#{ids[-1]}")
            await expect(page.locator(f"#{ids[-1]}")).to_be_in_viewport()
            far = posts.nth(3).locator("p").first
            hidden = await far.evaluate("node => !node.checkVisibility({ contentVisibilityAuto: true })")
            assert hidden, "what is far off is not laid out"


async def test_a_limit_that_is_near_or_reached_is_seen_and_a_refusal_names_it(tmp_path: Path) -> None:
    given = {"tenant": {"tokens_per_day": 1_000_000}, "owners": {"alice": {"open_sessions": 1}}}
    (tmp_path / LIMITS).write_text(json.dumps(given))
    async with engine(tmp_path / "bus") as bus:
        tokens = folder_of(bus, tmp_path / "keys")
        await bus.moderator(limits=tmp_path / LIMITS)
        await bus.workers({"latency_s": 60}, drain_s=0.1)
        async with Web(bus.server.url, tmp_path / "keys") as web, signed_in(web.url, tokens["alice"], PHONE) as page:
            await expect(page.get_by_text("Nobody has asked anything yet")).to_be_visible()
            await page.goto(f"{web.url}/new")
            limits = page.get_by_role("region", name="Your limits")
            await expect(limits).to_contain_text("0 of 1")
            await page.get_by_label("Question or task").fill("What is it?")
            await page.get_by_role("button", name="Ask", exact=True).click()
            await page.wait_for_url("**/s/*")
            await page.goto(f"{web.url}/")
            near = page.get_by_role("region", name="Limits that are near")
            await expect(near).to_contain_text("1 of 1")
            await expect(near).to_contain_text("Reached. Again in 0:0")
            await page.goto(f"{web.url}/new")
            await page.get_by_label("Question or task").fill("What else is it?")
            await page.get_by_role("button", name="Ask", exact=True).click()
            refused = page.locator(".trouble").filter(has_text="client alice has 1 open sessions, allowed are 1")
            await expect(refused).to_contain_text("open_sessions")
            await expect(refused).to_contain_text("try again in 5 s")
