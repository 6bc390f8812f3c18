"""Sessions that run while somebody looks: streams that are cut, many at once, two people, texts that mean harm."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from parley.stack.lease import read_running
from tests.parley.support import Front, until
from tests.web.page.site import Gateway, Visitor, needed, serve, visitor
from tests.web.page.writer import HOSTILE, Gates

pytestmark = needed
MANY = 20


class Live(NamedTuple):
    """A stack with panels that wait, and what lets them go on."""

    front: Front
    gates: Gates
    settings: Path

    def gateway(self, *arguments: str) -> Gateway:
        return serve(self.front, "--config", str(self.settings), *arguments)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """The stack runs by itself: it stays where a gateway goes."""
    folder = tmp_path_factory.mktemp("live")
    front, gates = Front(folder), Gates(folder)
    settings = gates.settings(folder, hostile=True, room=MANY)
    up = front.start("up", "--config", str(settings), "--human", "panelist_1")
    try:
        until(lambda: (running := read_running(front.state)) and running.services, "the stack did not start", 40)
        yield Live(front, gates, settings)
    finally:
        gates.open_all()
        up.terminate()
        up.communicate(timeout=30)
        front.assert_nothing_left()


@pytest.fixture(scope="module")
def gateway(live: Live) -> Iterator[Gateway]:
    """A gateway that stays."""
    found = live.gateway()
    yield found
    found.close()


@pytest.fixture
def somebody(chromium: Browser, gateway: Gateway, live: Live) -> Iterator[Visitor]:
    """A visitor; nobody waits at a gate afterwards."""
    with visitor(chromium, gateway) as found:
        yield found
        live.gates.open_all()
    live.gates.close()


def seat_of(page: Page, name: str) -> Locator:
    """What stands of a seat beside the argument."""
    return page.locator(".seat").filter(has=page.get_by_text(name, exact=True))


def each_once(page: Page, sid: str, gateway: Gateway) -> None:
    """Every post that is to be seen is on the page, once, in its order."""
    rounds = gateway.get(f"/api/sessions/{sid}")["rounds"]
    wanted = [f"p{post['n']}" for r in rounds for post in r["posts"] if post["place"] != "hidden"]
    assert wanted
    expect(page.locator(f"#{wanted[-1]}")).to_be_visible()
    shown = page.locator(".posts .post[id], .posts .note[id]").evaluate_all("nodes => nodes.map(n => n.id)")
    assert shown == wanted


def test_a_session_is_watched_from_its_first_words_to_its_answer(
    somebody: Visitor, gateway: Gateway, live: Live
) -> None:
    sid = gateway.ask("What is it?", protocol="consensus")
    page = somebody.open(f"/s/{sid}")
    expect(page.get_by_text("● live")).to_be_visible()
    expect(page.locator(".answer")).to_contain_text("No answer yet")
    expect(seat_of(page, "Analyst")).to_contain_text(re.compile("waits for .*Panelist 1"))
    assert page.locator(".typing").count() == 0, "nothing is shown of a blind round before it is over"
    live.gates.open(1)
    expect(page.locator(".post[id]")).to_have_count(3)
    expect(page.locator("#heard")).to_contain_text("Panelist")
    writing = page.locator(".post", has=page.locator(".typing"))
    expect(writing.first).to_contain_text("is writing")
    found = Axe().run(page, options={"resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()
    live.gates.open_all()
    expect(page.locator(".answer .big")).to_have_text("the agreed answer")
    expect(page.locator("#heard")).to_contain_text("The session is over")
    expect(page).to_have_title(re.compile("^✓ the agreed answer · What is it"))
    each_once(page, sid, gateway)


def test_texts_that_mean_harm_are_shown_as_texts(somebody: Visitor, gateway: Gateway, live: Live) -> None:
    live.gates.open_all()
    sid = gateway.ask(f"{HOSTILE} Is it so?", protocol="consensus")
    gateway.ended(sid)
    page = somebody.open(f"/s/{sid}")
    expect(page.locator("h1")).to_contain_text("<img src=x onerror=")
    expect(page.locator(".post[id]").first).to_contain_text("<script>window.broken=1</script>")
    expect(page.locator("main img, main script, main style, main a[href^=javascript]")).to_have_count(0)
    page.goto(f"{gateway.url}/")
    expect(page.locator(".list .title").filter(has_text="<script>")).to_have_count(1)
    page.goto(f"{gateway.url}/compare?a={sid}&b={sid}")
    expect(page.locator(".answer")).to_have_count(2)
    assert page.evaluate("window.broken") is None


def test_two_people_see_the_same_session_and_what_the_other_does(
    somebody: Visitor, chromium: Browser, gateway: Gateway, live: Live
) -> None:
    sid = gateway.ask("What is it?", protocol="consensus")
    mine = somebody.open(f"/s/{sid}")
    with visitor(chromium, gateway) as other:
        theirs = other.open(f"/s/{sid}")
        live.gates.open(1)
        for page in (mine, theirs):
            expect(page.locator(".post[id]")).to_have_count(3)
        theirs.get_by_role("button", name="Cancel").click()
        expect(theirs.get_by_role("button", name="End it?")).to_be_focused()
        theirs.get_by_role("button", name="No", exact=True).click()
        expect(mine.get_by_text("● live")).to_be_visible()
        theirs.get_by_role("button", name="Cancel").click()
        theirs.get_by_role("button", name="End it?").click()
        for page in (mine, theirs):
            expect(page.locator(".answer")).to_contain_text("cancelled")
            expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    mine.goto(f"{gateway.url}/s/{gateway.ask('What is it?', protocol='consensus')}")
    expect(mine.locator(".post[id]")).to_have_count(3)
    mine.get_by_role("button", name="Answer now").click()
    mine.get_by_role("button", name="End it with this?").click()
    expect(mine.locator(".answer")).to_contain_text("the answer was asked for")


def test_a_person_takes_a_seat_in_the_browser_and_speaks(somebody: Visitor, gateway: Gateway, live: Live) -> None:
    page = somebody.open("/new")
    page.get_by_label("Question or task").fill("What is it?")
    page.get_by_label("Who argues, and how").select_option("consensus")
    page.get_by_label("Panelist 1").check()
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_text("● live")).to_be_visible()
    seat = seat_of(page, "Panelist 1")
    expect(seat).to_contain_text("waits for a person")
    page.get_by_text("Sit on Panelist 1").click()
    page.get_by_label("Seconds for each turn").fill("120")
    page.get_by_role("button", name="Sit down").click()
    mine = page.get_by_role("region", name="Your seat, Panelist 1")
    expect(mine.get_by_role("timer")).to_have_text(re.compile(r"[1-4]:\d\d"))
    expect(seat).to_contain_text("person's turn")
    expect(mine).to_contain_text("Nobody sees your answer before this round is over.")
    calls = page.get_by_role("link", name="It is your turn")
    page.locator("#argument").evaluate("node => { node.style.minHeight = '3000px'; scrollTo(0, 9000); }")
    expect(calls).to_be_in_viewport()
    calls.click()
    expect(mine).to_be_in_viewport()
    expect(calls).to_be_hidden()
    mine.get_by_label("Your answer").fill("what I <b>think</b>")
    mine.get_by_role("button", name="Add: Quotations for it").click()
    mine.get_by_label("Quoted words").fill("half a quot")
    page.reload()
    expect(mine.get_by_label("Your answer")).to_have_value("what I <b>think</b>")
    expect(mine.get_by_label("Quoted words")).to_have_value("half a quot")
    mine.get_by_role("button", name="Remove").click()
    mine.get_by_label("Your reasons").fill("I was there.")
    mine.get_by_label("How sure you are").fill("0.9")
    live.gates.open(1)
    mine.get_by_role("button", name="Speak").click()
    expect(page.locator(".pos").filter(has_text="what I <b>think</b>")).to_be_visible()
    expect(mine.get_by_role("timer")).to_be_visible()
    expect(mine.get_by_label("What became of your last answer")).to_have_value("kept")
    mine.get_by_role("button", name="Leave the seat").click()
    expect(mine).to_have_count(0)
    live.gates.open_all()
    expect(page.locator(".answer .big")).not_to_have_text("No answer yet")
    expect(page.locator("main")).to_contain_text("1 person")


def test_a_gateway_that_is_killed_costs_no_post(chromium: Browser, live: Live) -> None:
    first = live.gateway()
    sid = first.ask("What is it?", protocol="consensus")
    cookies = first.http.cookies
    with visitor(chromium, first) as one:
        one.expected = ("ERR_", "net::")
        page = one.open(f"/s/{sid}")
        live.gates.open(1)
        expect(page.locator(".post[id]")).to_have_count(3)
        first.child.kill()  # nothing is said to anybody
        first.close()
        lost = page.locator("#lost")
        expect(lost).to_have_text(re.compile("goes on by itself"))
        second = serve(live.front, "--config", str(live.settings), "--port", str(first.port), cookies=cookies)
        try:
            expect(lost).to_be_hidden()
            live.gates.open_all()
            expect(page.locator(".answer .big")).to_have_text("the agreed answer")
            each_once(page, sid, second)
        finally:
            second.close()
    live.gates.close()
