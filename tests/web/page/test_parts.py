"""A question of several parts on the page: what is proposed is changed there, and the parts are a tree."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.web.page.site import EXAMPLES, needed, site, visitor

pytestmark = [needed, pytest.mark.timeout(120)]
YEAR = "In which year did the Suez Canal open to shipping?"


def test_parts_are_changed_and_run_as_a_tree(chromium: Browser, tmp_path: Path) -> None:
    with site(tmp_path, protocol="") as gateway, visitor(chromium, gateway) as somebody:
        sid = gateway.ask(f"{YEAR} Who built it?", EXAMPLES / "factual" / "evidence", protocol="compound")
        page = somebody.open(f"/s/{sid}")
        item = page.locator(".card[data-item='1']")
        expect(item.locator("textarea")).to_have_value(f"{YEAR}\nWho built it?")
        item.locator("textarea").fill(f"{YEAR}\nHow long is it?")
        item.get_by_role("button", name="Answer").click()
        tree = page.get_by_role("region", name="Part")
        expect(tree.get_by_role("row", name="How long is it?")).to_be_visible()
        gateway.ended(sid)
        row = tree.get_by_role("row", name=YEAR)
        row.get_by_role("link").click()
        expect(page.get_by_text("beneath")).to_be_visible()
        expect(page.get_by_role("heading", name=YEAR)).to_be_visible()
        page = somebody.open("/")
        rows = page.locator(".list > li")
        expect(rows).to_have_count(3)
        expect(rows.nth(0)).to_have_attribute("data-session", sid)
        for n, part in ((1, YEAR), (2, "How long is it?")):
            expect(rows.nth(n)).to_contain_text(part)
            expect(rows.nth(n)).to_have_class("beneath")
