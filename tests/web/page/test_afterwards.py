"""What a person decides in the browser, and what is said there of a bus that lacks servers."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.parley.support import Front
from tests.support.cluster import Cluster
from tests.support.expert_model import expert_model
from tests.web.page.site import EXAMPLES, ROLLOUT, Gateway, needed, serve, site, visitor

pytestmark = needed

YEAR = "In which year did the Suez Canal open to shipping?"
QUESTION = (ROLLOUT / "question.txt").read_text().strip()
TASK = "add JWT authentication to the API"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with expert_model() as env, site(tmp_path_factory.mktemp("afterwards"), protocol="", env=env) as found:
        yield found


def test_an_answer_is_said_to_be_wrong_and_carried_on_with_another_threshold(
    chromium: Browser, gateway: Gateway
) -> None:
    sid = gateway.ask(QUESTION, ROLLOUT / "evidence", protocol="consensus", seed=7)
    gateway.ended(sid)
    with visitor(chromium, gateway) as one:
        page = one.open(f"/s/{sid}")
        judged = page.locator("#feedback")
        judged.get_by_role("button", name="Yes").click()
        expect(judged.get_by_role("button", name="Yes")).to_have_attribute("aria-pressed", "true")
        judged.get_by_role("button", name="No").click()
        judged.get_by_label("What would be right").fill("blue-green")
        judged.get_by_role("button", name="Keep it").click()
        expect(judged.get_by_role("button", name="No")).to_have_attribute("aria-pressed", "true")
        expect(judged).to_contain_text("Right would have been: blue-green")
        said = gateway.get(f"/api/sessions/{sid}")["feedback"]
        assert (said["right"], said["answer"], said["times"]) == (False, "blue-green", 2)

        rows = one.open("/").locator(".list > li")
        expect(rows.filter(has_text="said to be wrong")).to_have_attribute("data-session", sid)
        assert gateway.http.post(f"/api/sessions/{sid}/fork", json={"round": 9}).status_code == 409
        refused = one.open("/?ended=refused").locator(".list > li").first
        expect(refused.get_by_role("link")).to_have_text("Refused before it began")
        expect(refused).to_contain_text("round: got 9")

        page.get_by_role("button", name="Fork").click()
        dialog = page.get_by_role("dialog", name="Fork")
        dialog.get_by_label("Take over the record").fill("1")
        dialog.get_by_label("Change a setting").check()
        dialog.get_by_label("Setting", exact=True).select_option("threshold")
        dialog.get_by_label("Value").fill("97")
        dialog.get_by_role("button", name="Fork").click()
        expect(page).not_to_have_url(re.compile(sid))
        head = page.locator("main")
        expect(head).to_contain_text(f"forked from {sid} after round 1")
        expect(head).to_contain_text("consensus.threshold 90.0 -> 97.0")
        expect(head.get_by_role("link", name=sid)).to_have_attribute("href", f"/s/{sid}")
        assert gateway.ended(page.url.rsplit("/", 1)[1])["forked_from"] == sid

        one.expected = ("400",)  # a setting that cannot be leaves no former result on screen
        page = one.open(f"/s/{sid}")
        page.get_by_role("button", name="What if").click()
        dialog = page.get_by_role("dialog", name="What if")
        dialog.get_by_label("Setting").select_option("threshold")
        dialog.get_by_label("Value").fill("2")
        dialog.get_by_role("button", name="Replay").click()
        expect(dialog.get_by_role("row", name="The runs part")).to_be_visible()
        dialog.get_by_label("Value").fill("1.5")
        dialog.get_by_role("button", name="Replay").click()
        expect(dialog.get_by_role("alert")).to_contain_text("threshold")
        expect(dialog.get_by_role("row", name="The runs part")).to_have_count(0)


def test_parts_are_changed_and_run_as_a_tree(chromium: Browser, gateway: Gateway) -> None:
    with visitor(chromium, gateway) as somebody:
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
        expect(rows.nth(0)).to_have_attribute("data-session", sid)
        for n, part in ((1, YEAR), (2, "How long is it?")):
            expect(rows.nth(n)).to_contain_text(part)
            expect(rows.nth(n)).to_have_class("beneath")


def test_a_lost_majority_is_said_on_the_page_while_it_lasts(chromium: Browser, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "cluster")
    with cluster.nats:
        owner = tmp_path / "owner.json"
        cluster.keys["owner"].save(owner)
        gateway = serve(Front(tmp_path), "--nats", cluster.url, "--creds", str(owner))
        try:
            with visitor(chromium, gateway) as one:
                one.expected = ("503", "502", "504")  # nobody lists sessions here
                line = one.open("/new").locator("#lost")
                expect(line).to_be_hidden()
                for server in cluster.nats.servers[1:]:
                    server.kill()
                expect(line).to_have_text(
                    "The bus has no majority: 1 of 3 servers is there, 2 are needed. Nothing is stored; sessions wait, "
                    "and go on by themselves once another server is back"
                )
                for server in cluster.nats.servers[1:]:
                    server.start()
                expect(line).to_be_hidden()
        finally:
            gateway.close()
