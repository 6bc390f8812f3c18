"""What is used of a client's limits, in a browser: beside a new question, and on the list once one is near."""

import json
from pathlib import Path

from playwright.async_api import async_playwright, expect

from parley.bus.accounts import LIMITS
from tests.support.engine import engine
from tests.web.page.site import CHROMIUM, PHONE, needed
from tests.web.support import Web, folder_of

pytestmark = needed


async def test_a_limit_that_is_near_or_reached_is_seen_and_a_refusal_names_it(tmp_path: Path) -> None:
    given = {"tenant": {"tokens_per_day": 1_000_000}, "owners": {"alice": {"open_sessions": 1}}}
    (tmp_path / LIMITS).write_text(json.dumps(given))
    async with engine(tmp_path / "bus") as bus:
        tokens = folder_of(bus, tmp_path / "keys")
        await bus.moderator(limits=tmp_path / LIMITS)
        await bus.workers({"latency_s": 60}, drain_s=0.1)
        async with Web(bus.server.url, tmp_path / "keys") as web, async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = await browser.new_page(viewport=PHONE, reduced_motion="reduce")
            await page.goto(f"{web.url}/login")
            await page.get_by_label("Token").fill(tokens["alice"])
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.get_by_text("Nobody has asked anything yet")).to_be_visible()
            await expect(page.get_by_role("region", name="Limits that are near")).to_have_count(0)
            await page.goto(f"{web.url}/new")
            limits = page.get_by_role("region", name="Your limits")
            await expect(limits).to_contain_text("Open sessions")
            await expect(limits).to_contain_text("0 of 1")
            await expect(limits).to_contain_text("Tokens todayall together")
            await page.get_by_label("Question or task").fill("What is it?")
            await page.get_by_role("button", name="Ask", exact=True).click()
            await page.wait_for_url("**/s/*")
            await page.goto(f"{web.url}/")
            near = page.get_by_role("region", name="Limits that are near")
            await expect(near).to_contain_text("1 of 1")
            await expect(near).to_contain_text("Reached. Again in 0:0")
            assert "Tokens" not in await near.inner_text()
            await page.goto(f"{web.url}/new")
            await page.get_by_label("Question or task").fill("What else is it?")
            await page.get_by_role("button", name="Ask", exact=True).click()
            refused = page.locator(".trouble").filter(has_text="client alice has 1 open sessions, allowed are 1")
            await expect(refused).to_contain_text("open_sessions")
            await expect(refused).to_contain_text("try again in 5 s")
            await expect(limits).to_contain_text("Reached")
            wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0
            await browser.close()
