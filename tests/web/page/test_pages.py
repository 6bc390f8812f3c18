"""Each page for real: a gateway, its stack, and a Chromium that uses it as a person does."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.support.expert_model import REFUSES, expert_model
from tests.web.page.site import PHONE, ROLLOUT, Gateway, Visitor, needed, site, visitor

pytestmark = needed
QUESTION = (ROLLOUT / "question.txt").read_text().strip()
TASK = "add JWT authentication to the API gateway and refactor the backend code"
REVIEWER_MODEL = "EXPERT_QA_ENGINEER_LLM_MODEL"


class Sessions(NamedTuple):
    gateway: Gateway
    consensus: dict[str, Any]
    maci: dict[str, Any]

    @property
    def panel(self) -> str:
        return f"/s/{self.consensus['session']}"


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    """A gateway whose stack serves every protocol, and two sessions that have ended."""
    with (
        expert_model() as env,
        site(tmp_path_factory.mktemp("pages"), protocol="", env={**env, REVIEWER_MODEL: REFUSES}) as gateway,
    ):
        consensus = gateway.ask(QUESTION, ROLLOUT / "evidence", protocol="consensus", seed=7)
        yield Sessions(gateway, gateway.ended(consensus), gateway.ended(gateway.demo("diagnosis")))


@pytest.fixture
def somebody(chromium: Browser, there: Sessions) -> Iterator[Visitor]:
    """A visitor of whom at the end nothing may have been complained."""
    with visitor(chromium, there.gateway) as found:
        yield found


def waiting_item(gateway: Gateway) -> str:
    """A session that asks a human who leads; its id."""
    return gateway.ask(TASK, protocol="madp", settings={"security_confidence": 1.0, "item_s": 300})


# -- the list


def test_the_list_shows_answers_and_is_searched_and_narrowed(somebody: Visitor, there: Sessions) -> None:
    page = somebody.open("/")
    rows = page.locator(".list > li")
    mine = page.locator(f"[data-session='{there.consensus['session']}']")
    result = there.consensus["result"]
    expect(mine.locator(".holds")).to_have_text(result["text"])
    expect(mine).to_contain_text("agree")
    expect(mine.locator(".sure")).to_have_text(result["confidence"])
    expect(mine.locator(".cost")).to_have_text("$0")
    page.get_by_label("Search").fill("hourly")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile("q=hourly"))
    page.get_by_label("Search").fill("doubts measured")  # words of posts alone
    expect(rows).to_have_count(1)
    expect(rows).to_have_attribute("data-session", there.maci["session"])
    page.get_by_label("Search").fill("")
    page.get_by_label("Confidence").select_option("0.7")
    expect(mine).to_have_count(0)
    expect(page.locator(f"[data-session='{there.maci['session']}']")).to_be_visible()
    page.get_by_label("Confidence").select_option("")
    page.get_by_label("Cost").select_option("0.01")
    page.get_by_label("Date").select_option("1")
    page.get_by_label("Ended").select_option("agreed")
    expect(mine).to_be_visible()
    page.get_by_label("Protocol").select_option("consensus")
    expect(rows.filter(has_text="hourly")).to_have_count(0)
    page.reload()
    expect(page.get_by_label("Ended")).to_have_value("agreed")
    page.get_by_label("Ended").select_option("failed")
    expect(page.get_by_text("No session is like that")).to_be_visible()


def test_an_answer_is_seen_before_a_long_question(somebody: Visitor, there: Sessions) -> None:
    long = "\u202eWe run a payment service with many merchants. " * 30
    sid = there.gateway.ask(f"{long}{QUESTION}", ROLLOUT / "evidence", protocol="consensus")
    there.gateway.ended(sid)
    page = somebody.open(f"/s/{sid}")
    expect(page.locator(".answer .big")).to_be_in_viewport()
    page.get_by_text("The whole question").click()
    expect(page.get_by_text(QUESTION)).to_be_visible()
    assert "\u202e" not in page.locator("main").inner_text(), "no text reads backwards"


def test_two_sessions_are_chosen_and_stand_side_by_side(somebody: Visitor, there: Sessions) -> None:
    page = somebody.open("/")
    for session in (there.consensus, there.maci):
        page.locator(f"[data-session='{session['session']}']").get_by_role("checkbox").check()
    page.get_by_role("link", name="Compare").click()
    expect(page.locator(".answer")).to_have_count(2)
    for session in (there.consensus, there.maci):
        expect(page.locator(".answer").filter(has_text=session["result"]["text"])).to_be_visible()
    expect(page.get_by_role("row", name="Protocol")).to_contain_text("maci")
    ids = page.locator("[id]").evaluate_all("nodes => nodes.map(n => n.id)")
    assert len(ids) == len(set(ids)), "two sessions on one page share no anchor"
    links = page.locator("main a[href^='#']").evaluate_all("nodes => nodes.map(n => n.getAttribute('href').slice(1))")
    assert set(links) <= {*ids}, "each link leads somewhere"


# -- starting


def test_a_question_is_asked_with_documents_and_ends_on_its_page(
    somebody: Visitor, there: Sessions, tmp_path: Path
) -> None:
    page = somebody.open("/new")
    page.get_by_label("Question or task").fill(QUESTION)
    page.get_by_label("Who argues, and how").select_option("consensus")
    files = sorted((ROLLOUT / "evidence" / "panelist_1").iterdir())
    page.get_by_label("Files of evidence").set_input_files(files[:1])
    (tmp_path / "dropped.md").write_text("We recommend the canary for services that move money.")
    dropped(page, tmp_path / "dropped.md")
    expect(page.locator("fieldset li")).to_have_count(2)
    page.get_by_label("How many argue").fill("2")
    page.get_by_text("Settings", exact=True).click()
    page.get_by_label("Round limit").fill("3")
    budget = page.get_by_role("complementary", name="Budget")
    budget.get_by_label("Model calls").fill("60")
    expect(budget.get_by_role("row", name="Likely")).to_contain_text("call")
    page.get_by_role("button", name="Ask").click()
    expect(page).to_have_url(re.compile(r"/s/[0-9a-f]{20}$"))
    expect(page.locator(".answer .big")).to_contain_text("Canary", ignore_case=True)
    found = there.gateway.get(f"/api/sessions/{page.url.rsplit('/', 1)[1]}")
    assert found["settings"]["round_limit"] == 3 and found["settings"]["panel"] == 2
    assert found["budget"]["calls"] == 60 and len(found["documents"]) == 2


def test_the_estimate_follows_what_is_typed_and_says_what_is_wrong(somebody: Visitor) -> None:
    page = somebody.open("/new")
    somebody.expected = ("400 (Bad Request)",)
    expect(page.get_by_text("once there is a question")).to_be_visible()
    page.get_by_label("Question or task").fill("Is it so?")
    budget = page.get_by_role("complementary", name="Budget")
    page.get_by_label("Who argues, and how").select_option("consensus")
    expect(page.get_by_role("alert").get_by_text("there is nothing to answer it from")).to_be_visible()
    page.get_by_label("Files of evidence").set_input_files(
        {"name": "a.md", "mimeType": "text/markdown", "buffer": b"It is so."}
    )
    expect(budget.get_by_role("row", name="At most")).to_be_visible()
    page.get_by_text("Settings", exact=True).click()
    threshold = page.get_by_label("Threshold")
    threshold.fill("1.5")
    said = page.locator("#f-set-threshold-wrong")
    expect(said).to_contain_text("1.5")
    expect(threshold).to_have_attribute("aria-invalid", "true")
    expect(budget.get_by_text("No estimate")).to_be_visible()
    page.get_by_text("Settings", exact=True).click()
    page.get_by_role("button", name="Ask").click()
    expect(threshold).to_be_focused()  # its fold is open again
    expect(said).to_contain_text("1.5")
    threshold.fill("80")
    expect(said).to_be_empty()
    expect(budget.get_by_role("row", name="Likely")).to_be_visible()


def test_a_limit_that_is_no_number_starts_nothing_and_a_reload_keeps_the_question(somebody: Visitor) -> None:
    somebody.expected = ("400 (Bad Request)",)  # the estimate's
    page = somebody.open("/new")
    page.get_by_label("Question or task").fill("Is it so?")
    page.get_by_label("Model calls").press_sequentially("e")
    expect(page.locator("#f-budget-calls-wrong")).not_to_be_empty()
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_label("Model calls")).to_be_focused()
    page.get_by_label("Model calls").fill("60")
    page.get_by_label("Who argues, and how").select_option("consensus")
    page.get_by_text("Settings", exact=True).click()
    page.get_by_label("Round limit").fill("999")
    page.get_by_text("Settings", exact=True).click()
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_label("Round limit")).to_be_focused()  # its fold is open again
    expect(page).to_have_url(re.compile("/new$"))
    page.reload()
    expect(page.get_by_label("Question or task")).to_have_value("Is it so?")


def test_a_starting_point_fills_the_form_and_a_text_of_ones_own_stays(somebody: Visitor) -> None:
    page = somebody.open("/new")
    question, protocol = page.get_by_label("Question or task"), page.get_by_label("Who argues, and how")
    somebody.expected = ("400 (Bad Request)",)  # estimates: no language model is here
    for name, wanted in (("Check a claim", "maci"), ("Debate a motion", "competition"), ("Compare two", "consensus")):
        page.get_by_role("button", name=name).click()
        expect(protocol).to_have_value(wanted)
        expect(question).to_have_value(re.compile("…"))
    question.fill("Mine?")
    page.get_by_role("button", name="Review a change").click()
    expect(question).to_have_value("Mine?")


def test_files_and_folders_are_really_dropped_and_each_is_given_to_a_seat(
    somebody: Visitor, there: Sessions, tmp_path: Path
) -> None:
    for name, text in (("one/notes.md", "We take the canary."), ("two/notes.md", "We take blue-green.")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    page = somebody.open("/new")
    page.get_by_label("Question or task").fill(QUESTION)
    page.get_by_label("Who argues, and how").select_option("consensus")
    expect(page.get_by_text("The panelists get the files in turn")).to_be_visible()
    dropped(page, tmp_path / "one" / "notes.md")
    dropped(page, tmp_path / "two" / "notes.md")
    rows = page.locator("fieldset li")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text("notes (2).md")
    page.get_by_label("Who gets notes (2).md").select_option("Panelist 3")
    dropped(page, ROLLOUT / "evidence")
    below = sorted(p for p in (ROLLOUT / "evidence").rglob("*.*"))
    expect(rows).to_have_count(2 + len(below))
    page.get_by_role("button", name="Ask").click()
    expect(page).to_have_url(re.compile(r"/s/[0-9a-f]{20}$"))
    found = there.gateway.get(f"/api/sessions/{page.url.rsplit('/', 1)[1]}")
    held = {row["name"]: row["holders"] for row in found["documents"]}
    assert held["panelist_3/notes (2).md"] == ["panelist_3"] and "notes.md" in held
    for path in below:
        name = path.relative_to(ROLLOUT / "evidence").as_posix()
        assert held[name] == [name.split("/")[0]], "a folder named like a seat says who holds what is in it"


def test_the_form_says_what_a_newcomer_understands(somebody: Visitor) -> None:
    page = somebody.open("/new")
    choice = page.get_by_label("Who argues, and how")
    expect(page.get_by_text("A panel answers apart")).to_be_visible()
    page.locator("form details").evaluate_all("folds => folds.forEach(fold => { fold.open = true; })")
    for protocol in choice.locator("option").evaluate_all("nodes => nodes.map(n => n.value)"):
        choice.select_option(protocol)
        expect(page.get_by_label("Seed")).to_be_visible()
        form = page.locator("form").inner_text()
        assert not re.search(r"seeds?/|\b[A-Z]\.\d|\b\d+\.\d+'s", form), protocol
        expect(page.locator("[placeholder='As JSON.']")).to_have_count(0)


def dropped(page: Page, path: Path) -> None:
    """Drag a file or a folder of this machine onto the place for evidence, as Chromium has it from the desktop."""
    place = page.locator(".drop")
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    assert box is not None
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    tools = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver"):
        tools.send("Input.dispatchDragEvent", {"type": kind, **at, "data": data})
    expect(place).to_have_class(re.compile("over"))  # else what is dropped now is refused
    tools.send("Input.dispatchDragEvent", {"type": "drop", **at, "data": data})
    expect(place).not_to_have_class(re.compile("over"))
    tools.detach()


# -- a session that has ended


def test_the_answer_leads_to_its_posts_and_these_to_the_evidence(somebody: Visitor, there: Sessions) -> None:
    page = somebody.open(there.panel)
    card = page.locator(".answer")
    result = there.consensus["result"]
    expect(card.locator(".big")).to_have_text(result["text"])
    expect(card.locator(".says-sure")).to_have_text(f"● {result['sure']}")
    expect(card.locator(".says-dissent")).to_contain_text(result["dissent"])
    expect(card.locator(".says-why q")).to_have_text(result["quote"]["quote"])
    card.locator(".says-why cite a").click()
    expect(page.locator("mark.found").first).to_be_in_viewport()
    page.go_back()
    n = result["posts"][0]
    card.locator(".says-why p > a").first.click()
    expect(page).to_have_url(re.compile(f"#p{n}$"))
    post = page.locator(f"#p{n}")
    expect(post).to_be_in_viewport()
    post.get_by_text("quotation").click()
    quote = post.locator("blockquote").first
    words = quote.evaluate("node => node.firstChild.textContent")
    name = quote.locator("cite a")
    document = name.inner_text().partition(", ")[0]
    name.click()
    expect(page.locator("h1")).to_have_text(document)
    marked = page.locator("mark.found")
    expect(marked.first).to_be_in_viewport()
    assert "".join("".join(marked.all_inner_texts()).split()) == "".join(words.split()), "the quoted place is marked"
    expect(page.locator(".paper")).to_contain_text((ROLLOUT / "evidence" / document).read_text().strip()[:40])
    page.locator(".cited").get_by_role("link", name=re.compile("Panelist")).first.click()
    expect(page).to_have_url(re.compile(r"/s/[0-9a-f]+#p\d+$"))
    page.locator("#evidence > summary").click()
    page.locator("#evidence details").filter(has_text=document).locator("summary").click()
    page.locator("#evidence").get_by_role("link", name="Read the document").first.click()
    expect(page.get_by_text("held by Panelist")).to_be_visible()


def test_what_moved_a_seat_is_a_link_to_the_post_that_did(somebody: Visitor, there: Sessions) -> None:
    page = somebody.open(there.panel)
    change = there.consensus["changes"][0]
    chip = page.locator(f"#p{change['post']}").locator(".chip", has_text="changed")
    expect(chip).to_contain_text(change["by"])
    section = page.locator("#changes")
    expect(section).to_contain_text(f"{change['before']} → {change['after']}")
    if change["because"] is not None:
        expect(chip.get_by_role("link")).to_have_attribute("href", f"#p{change['because']}")


def test_why_it_stopped_has_each_figure_and_the_card_the_certificate(somebody: Visitor, there: Sessions) -> None:
    page = somebody.open(there.panel)
    why = page.locator("#why")
    score = there.consensus["signals"][0]
    why.locator("summary").first.click()
    expect(why.get_by_role("row", name=score["label"])).to_contain_text("≥ 90 ✓")
    expect(why.get_by_role("row", name="rounds")).to_contain_text("2 of 5")
    page.get_by_text("Figures", exact=True).click()
    (certificate,) = [part for part in there.consensus["result"]["parts"] if part["name"] == "certificate"]
    page.get_by_text(certificate["title"]).click()
    for row in certificate["lines"]:
        expect(page.locator(".figures").get_by_text(row, exact=True)).to_be_visible()
    chart = page.locator("#signals .chart").first
    expect(chart.locator("canvas")).to_be_visible()
    expect(chart).to_have_attribute("aria-label", re.compile("threshold"))


def test_a_blind_round_is_said(somebody: Visitor, there: Sessions) -> None:
    page = somebody.open(f"/s/{there.maci['session']}")
    expect(page.locator("h2.round").first).to_contain_text("blind, nobody saw another answer")


def test_beliefs_stand_by_round_once_and_not_with_each_post(somebody: Visitor, there: Sessions) -> None:
    page = somebody.open(f"/s/{there.maci['session']}")
    beliefs = page.get_by_role("region", name="Beliefs by round", exact=True)
    held = [p for r in there.maci["rounds"] for p in r["posts"] if p["shares"] and p["seat"] == "debater_2"]
    name = there.maci["result"]["text"]
    cell = beliefs.get_by_role("row", name=name).get_by_role("cell").last
    shares = [next((s["p"] for s in p["shares"] if s["name"] == name), 0) for p in held]
    expect(cell).to_contain_text(f"{shares[-1]:.2f}".rstrip("0"))
    expect(cell.locator("rect")).to_have_count(len({p["round"] for p in held}))
    expect(cell.get_by_role("img")).to_have_attribute("aria-label", re.compile(f"{held[0]['round']}: {shares[0]:g}"))


def test_nothing_scrolls_inside_the_page_and_each_part_beside_it_is_reached(chromium: Browser, there: Sessions) -> None:
    with visitor(chromium, there.gateway, viewport={"width": 1280, "height": 828}) as one:
        for session in (there.consensus, there.maci):
            page = one.open(f"/s/{session['session']}")
            expect(page.locator("#signals canvas").first).to_be_visible()
            inner = page.locator("main *").evaluate_all(
                "nodes => nodes.filter(n => /auto|scroll/.test(getComputedStyle(n).overflowY)"
                " && n.scrollHeight > n.clientHeight + 1).map(n => n.className)"
            )
            assert not inner
            for part in ("seats", "why", "budget", "evidence"):
                expect(page.locator(f"#{part} > summary")).to_be_in_viewport()
            for button in ("Yes", "Ask a follow-up"):
                expect(page.get_by_text(button, exact=True)).to_be_in_viewport()
            for part in ("why", "budget", "evidence"):
                page.locator(f"#{part} > summary").focus()
                page.keyboard.press("Enter")
                expect(page.locator(f"#{part}")).to_have_attribute("open", "")
            last = page.locator("#evidence details > summary").last
            last.scroll_into_view_if_needed()
            expect(last).to_be_in_viewport()
            page.close()
    with visitor(chromium, there.gateway, viewport=PHONE) as one:
        for session in (there.consensus, there.maci):
            page = one.open(f"/s/{session['session']}")
            for line in (".says-answer", ".says-sure", ".says-why"):
                expect(page.locator(line)).to_be_in_viewport(ratio=1)


def test_a_task_shows_claims_who_leads_and_a_reviewer_that_gave_no_reply(somebody: Visitor, there: Sessions) -> None:
    sid = there.gateway.ask(TASK, protocol="madp")
    there.gateway.ended(sid)
    page = somebody.open(f"/s/{sid}")
    claims = page.locator("#argument .note").filter(has=page.get_by_text("claims", exact=True))
    mine = claims.locator(".parts li").filter(has_text="Security Architect")
    expect(mine).to_contain_text("claims it")
    expect(mine.locator(".chip", has_text="relevance high")).to_be_visible()
    leads = page.locator("#argument .note").filter(has_text="Security Architect leads")
    expect(leads.locator(".parts li").first).to_contain_text("Security Architect")
    expect(page.locator(".post").filter(has_text="a plan: nothing was done")).to_be_visible()
    page.locator(".answer").get_by_role("link", name="Security Architect").click()
    expect(page).to_have_url(re.compile(r"#p\d+$"))
    reviewer = page.locator(".seat").filter(has_text="QA Engineer")
    expect(reviewer).to_contain_text("gave no reply")
    expect(reviewer).to_contain_text("it answers nobody")
    expect(page.locator(".seat .bad")).to_have_count(0)
    assert "warning warning" not in page.locator("#argument").inner_text().lower()


# -- people and agents


def test_a_question_is_answered_in_the_inbox(somebody: Visitor, there: Sessions) -> None:
    page = somebody.open("/inbox")
    expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    sid = waiting_item(there.gateway)
    card = page.locator(".card[data-item='1']")
    expect(card).to_be_visible()
    expect(card).to_contain_text("holds without an answer")
    expect(card).to_contain_text(re.compile(r"left: [0-5]:\d\d"))
    card.get_by_label("Note").fill("as it should be")
    card.get_by_role("button").first.click()
    expect(card).to_have_count(0)
    found = there.gateway.ended(sid)
    assert found["result"]["reason"]


def test_agents_shows_workers_experts_and_models_as_doctor_sees_them(somebody: Visitor, there: Sessions) -> None:
    page = somebody.open("/agents")
    expect(page.get_by_text("As parley doctor sees them")).to_be_visible()
    expect(page.get_by_role("row", name="extractive").first).to_contain_text("✓ ok")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="panelist_1", exact=True))
    expect(row.get_by_role("cell").last).to_have_text("0")
    expect(page.get_by_role("columnheader", name="Waiting turns")).to_have_count(2)
    expert = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="Security Architect"))
    expect(expert).to_contain_text("✓ ok")
    expect(expert).to_contain_text("I decide who may do what")


# -- whoever looks, and on whatever


PAGES = (
    "/",
    "/?q=nothing-like-it",
    "/new",
    "/inbox",
    "/agents",
    "panel",
    "document",
    "maci",
    "compare",
    "/s/nosuchsession",
)


def path_of(name: str, there: Sessions) -> str:
    both = f"a={there.consensus['session']}&b={there.maci['session']}"
    paper = f"{there.panel}/documents/0"
    return {
        "panel": there.panel,
        "document": paper,
        "maci": f"/s/{there.maci['session']}",
        "compare": f"/compare?{both}",
    }.get(name, name)


@pytest.mark.parametrize(
    ("scheme", "names", "rules"),
    [("light", PAGES, {}), ("dark", ("/new", "panel"), {"runOnly": ["color-contrast"]})],
    ids=["light", "dark"],
)
def test_names_roles_and_contrast_hold(
    chromium: Browser, there: Sessions, scheme: Any, names: tuple[str, ...], rules: dict[str, Any]
) -> None:
    with visitor(chromium, there.gateway, color_scheme=scheme) as one:
        one.expected = ("404",)
        for name in names:
            page = one.open(path_of(name, there))
            expect(page.locator("main h1")).to_be_visible()
            found = Axe().run(page, options={"resultTypes": ["violations"], **rules})
            assert found.violations_count == 0, f"{name}: {found.generate_report()}"
            page.close()


def test_every_page_fits_a_phone(chromium: Browser, there: Sessions) -> None:
    with visitor(chromium, there.gateway, viewport=PHONE) as one:
        one.expected = ("404",)
        for name in PAGES:
            page = one.open(path_of(name, there))
            expect(page.locator("main h1")).to_be_visible()
            one.check()
            page.close()


def test_a_session_is_read_with_the_keyboard_alone(somebody: Visitor, there: Sessions) -> None:
    page = somebody.open(there.panel)
    expect(page.locator(".answer")).to_be_visible()
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    first = page.locator("main :focus")
    expect(first).to_have_count(1)
    outline = first.evaluate("node => getComputedStyle(node).outlineStyle")
    assert outline == "solid", "where the focus is can be seen"


def test_a_page_that_is_not_there_is_a_page_and_data_that_is_not_there_is_data(
    somebody: Visitor, there: Sessions
) -> None:
    somebody.expected = ("404",)
    page = somebody.open("/sessions/of/mine")
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
    page.get_by_role("link", name="All sessions").click()
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    data = there.gateway.http.get("/api/nothing", headers={"accept": "text/html"})
    assert data.status_code == 404 and data.json()["error"]["message"]
