"""A debate of two sides in a browser: who stands for what, each speech with its marks, the lead, the review first."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, async_playwright, expect

from parley.agents.specs import load
from parley.client.api import Parley
from parley.client.client import Client
from tests.old_logs.record import Player, asked
from tests.support.engine import engine
from tests.web.page.site import CHROMIUM, DESK, needed
from tests.web.support import Web, folder_of

pytestmark = needed
QUEUES = ("pro_1", "con_1", "judge", "audience_1")
STANCES = {"pro": "Nobody counts coins for a ticket.", "con": "A free bus that does not come helps nobody."}


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Page]:
    """The page of a debate that was played."""
    specs = {queue: load(queue) for queue in QUEUES}
    roles = {queue: spec.roles[0] for queue, spec in specs.items()}
    async with engine(tmp_path / "bus", queues=roles) as bus:
        tokens = folder_of(bus, tmp_path / "keys")
        await bus.moderator()
        for queue, spec in specs.items():
            await bus.worker(queue, spec=spec, model=Player())
        given = asked("competition")
        given["settings"] |= {"stances": STANCES, "styles": {"pro_1": "logical", "con_1": "emotional"}}
        session = await Parley(Client(bus.owner, "owner")).start(protocol="competition", seed=7, **given)
        await session.result()
        async with Web(bus.server.url, tmp_path / "keys") as web, async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            shown = await browser.new_page(viewport=DESK, reduced_motion="reduce")
            await shown.goto(f"{web.url}/login")
            await shown.get_by_label("Token").fill(tokens["owner"])
            await shown.get_by_role("button", name="Sign in").click()
            await expect(shown.get_by_role("heading", name="Sessions")).to_be_visible()
            await shown.goto(f"{web.url}/s/{session.sid}")
            await expect(shown.locator(".answer .big")).to_be_visible()
            yield shown
            await browser.close()


async def test_two_sides_stand_apart_with_marks_below_each_speech_and_the_lead(page: Page) -> None:
    board = page.get_by_role("region", name="Scoreboard")
    for stance in STANCES.values():
        await expect(board).to_contain_text(stance)
    one, two = await board.locator(".match b").all_inner_texts()
    lead = abs(float(one) - float(two))
    await expect(board).to_contain_text(f"by {lead:.2f}".rstrip("0").rstrip("."))
    await board.get_by_text("By speaker").click()
    await expect(board.get_by_role("row", name="Pro 1, logical")).to_be_visible()
    for side, seat in (("one", "Pro 1"), ("two", "Con 1")):
        speeches = page.locator(f".post.{side}")
        assert await speeches.count() >= 2
        await expect(speeches.first).to_contain_text(seat)
        for n in range(await speeches.count()):
            await expect(speeches.nth(n).locator(".verdict")).to_contain_text(re.compile(r"scores \d.*logic \d"))
    left = [await page.locator(f".post.{side}").first.bounding_box() for side in ("one", "two")]
    assert left[0] is not None and left[1] is not None and left[0]["x"] < left[1]["x"]
    titles = await page.locator("h2.round").all_inner_texts()
    assert titles[1] == "Stage 2 of 4: Opening speeches"
    review = page.get_by_role("region", name="The judge's review")
    first, speech = await review.bounding_box(), await page.locator(".post").first.bounding_box()
    assert first is not None and speech is not None and first["y"] < speech["y"]
    found = await Axe().run(page, options={"resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()
