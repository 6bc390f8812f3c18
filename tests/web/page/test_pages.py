"""Each page for real: a gateway, its stack, and a Chromium that uses it as a person does."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.support.expert_model import REFUSES, expert_model
from tests.web.page.site import DESK, PHONE, ROLLOUT, Gateway, Visitor, needed, site, visitor

pytestmark = needed
QUESTION = (ROLLOUT / "question.txt").read_text().strip()
TASK = "add JWT authentication to the API gateway and refactor the backend code"
REVIEWER_MODEL = "EXPERT_QA_ENGINEER_LLM_MODEL"


class Sessions(NamedTuple):
    gateway: Gateway
    consensus: dict[str, Any]
    maci: dict[str, Any]
    others: tuple[str, ...]
    """A competition, and a task one of whose reviewers gives no reply."""

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
        others = gateway.demo("competition"), gateway.ask(TASK, protocol="madp")
        assert {gateway.ended(sid)["status"] for sid in others} == {"finished"}
        yield Sessions(gateway, gateway.ended(consensus), gateway.ended(gateway.demo("diagnosis")), others)


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
    expect(mine.locator(".sure")).to_have_text(result["confidence"])
    page.get_by_label("Search").fill("doubts measured")  # words of posts alone
    expect(rows).to_have_count(1)
    expect(rows).to_have_attribute("data-session", there.maci["session"])
    expect(page).to_have_url(re.compile("q=doubts"))
    page.get_by_label("Search").fill("")
    page.get_by_label("Protocol").select_option("consensus")
    expect(mine).to_be_visible()
    page.get_by_label("Confidence").select_option("0.7")
    expect(mine).to_have_count(0)
    page.reload()
    expect(page.get_by_label("Confidence")).to_have_value("0.7")
    expect(page.get_by_text("No session is like that")).to_be_visible()


def test_two_sessions_are_chosen_and_stand_side_by_side(somebody: Visitor, there: Sessions) -> None:
    page = somebody.open("/")
    for session in (there.consensus, there.maci):
        page.locator(f"[data-session='{session['session']}']").get_by_role("checkbox").check()
    page.get_by_role("link", name="Compare").click()
    expect(page.locator(".answer")).to_have_count(2)
    expect(page.get_by_role("row", name="Protocol")).to_contain_text("maci")
    ids = page.locator("[id]").evaluate_all("nodes => nodes.map(n => n.id)")
    assert len(ids) == len(set(ids)), "two sessions on one page share no anchor"
    links = page.locator("main a[href^='#']").evaluate_all("nodes => nodes.map(n => n.getAttribute('href').slice(1))")
    assert set(links) <= {*ids}, "each link leads somewhere"


# -- starting


def test_a_question_is_asked_with_documents_and_ends_on_its_page(
    somebody: Visitor, there: Sessions, tmp_path: Path
) -> None:
    somebody.expected = ("400 (Bad Request)",)  # an estimate before there are documents
    page = somebody.open("/new")
    page.get_by_label("Question or task").fill(QUESTION)
    page.get_by_label("Who argues, and how").select_option("consensus")
    for name, text in (("one/notes.md", "We take the canary."), ("two/notes.md", "We take blue-green.")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    page.get_by_label("Files of evidence").set_input_files(tmp_path / "one" / "notes.md")
    dropped(page, tmp_path / "two" / "notes.md")
    rows = page.locator("fieldset li")
    expect(rows.nth(1)).to_contain_text("notes (2).md")
    page.get_by_label("Who gets notes (2).md").select_option("Panelist 3")
    dropped(page, ROLLOUT / "evidence")
    below = {p.relative_to(ROLLOUT / "evidence").as_posix() for p in (ROLLOUT / "evidence").rglob("*.*")}
    expect(rows).to_have_count(2 + len(below))
    page.get_by_label("How many argue").fill("3")
    page.get_by_text("Settings", exact=True).click()
    page.get_by_label("Round limit").fill("3")
    budget = page.get_by_role("complementary", name="Budget")
    budget.get_by_label("Model calls").fill("60")
    expect(budget.get_by_role("row", name="Likely")).to_contain_text("call")
    page.get_by_role("button", name="Ask").click()
    expect(page).to_have_url(re.compile(r"/s/[0-9a-f]{20}$"))
    expect(page.locator(".answer .big")).to_contain_text("Canary", ignore_case=True)
    found = there.gateway.get(f"/api/sessions/{page.url.rsplit('/', 1)[1]}")
    assert (found["settings"]["round_limit"], found["settings"]["panel"], found["budget"]["calls"]) == (3, 3, 60)
    held = {row["name"]: row["holders"] for row in found["documents"]}
    assert held["panelist_3/notes (2).md"] == ["panelist_3"] and "notes.md" in held
    assert {name: held[name] for name in below} == {name: [name.split("/")[0]] for name in below}, "as folders say"


def test_what_is_wrong_stands_below_its_field_and_starts_nothing(somebody: Visitor) -> None:
    """Also in a fold that was closed; the estimate follows what is typed, and a reload keeps the question."""
    somebody.expected = ("400 (Bad Request)",)
    page = somebody.open("/new")
    question, protocol = page.get_by_label("Question or task"), page.get_by_label("Who argues, and how")
    page.get_by_role("button", name="Check a claim").click()  # a starting point
    expect(protocol).to_have_value("maci")
    expect(question).to_have_value(re.compile("…"))
    question.fill("Is it so?")
    budget = page.get_by_role("complementary", name="Budget")
    protocol.select_option("consensus")
    expect(page.get_by_role("alert").get_by_text("there is nothing to answer it from")).to_be_visible()
    page.get_by_label("Files of evidence").set_input_files(
        {"name": "a.md", "mimeType": "text/markdown", "buffer": b"It is so."}
    )
    expect(budget.get_by_role("row", name="At most")).to_be_visible()
    page.get_by_text("Settings", exact=True).click()
    threshold, said = page.get_by_label("Threshold"), page.locator("#f-set-threshold-wrong")
    threshold.fill("1.5")
    expect(said).to_contain_text("1.5")
    expect(threshold).to_have_attribute("aria-invalid", "true")
    expect(budget.get_by_text("No estimate")).to_be_visible()
    page.get_by_text("Settings", exact=True).click()
    page.get_by_role("button", name="Ask").click()
    expect(threshold).to_be_focused()  # its fold is open again
    threshold.fill("80")
    expect(said).to_be_empty()
    expect(budget.get_by_role("row", name="Likely")).to_be_visible()
    page.get_by_label("Model calls").press_sequentially("e")
    expect(page.locator("#f-budget-calls-wrong")).not_to_be_empty()
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_label("Model calls")).to_be_focused()
    expect(page).to_have_url(re.compile("/new$"))
    page.reload()
    expect(question).to_have_value("Is it so?")


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
    assert "".join("".join(marked.all_inner_texts()).split()) == "".join(words.split()), "the quoted place is marked"
    page.locator(".cited").get_by_role("link", name=re.compile("Panelist")).first.click()
    expect(page).to_have_url(re.compile(r"/s/[0-9a-f]+#p\d+$"))


def test_why_it_stopped_has_each_figure_and_the_card_the_certificate(somebody: Visitor, there: Sessions) -> None:
    page = somebody.open(there.panel)
    why = page.locator("#why")
    why.locator("summary").first.click()
    expect(why.get_by_role("row", name=there.consensus["signals"][0]["label"])).to_contain_text("≥ 90 ✓")
    page.get_by_text("Figures", exact=True).click()
    (certificate,) = [part for part in there.consensus["result"]["parts"] if part["name"] == "certificate"]
    page.get_by_text(certificate["title"]).click()
    for row in certificate["lines"]:
        expect(page.locator(".figures").get_by_text(row, exact=True)).to_be_visible()
    expect(page.locator("#signals .chart canvas").first).to_be_visible()
    change = there.consensus["changes"][0]
    chip = page.locator(f"#p{change['post']}").locator(".chip", has_text="changed")
    expect(chip).to_contain_text(change["by"])


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
    expect(page.get_by_role("row", name="extractive").first).to_contain_text("✓ ok")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="panelist_1", exact=True))
    expect(row.get_by_role("cell").last).to_have_text("0")
    expert = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="Security Architect"))
    expect(expert).to_contain_text("I decide who may do what")


# -- whoever looks, and on whatever


CONTRAST = {"runOnly": ["color-contrast"]}


@pytest.mark.parametrize(
    ("window", "scheme", "rules"),
    [(DESK, "light", {}), (DESK, "dark", CONTRAST), (PHONE, "light", CONTRAST)],
    ids=["light", "dark", "phone"],
)
def test_names_roles_and_contrast_hold_and_every_page_fits(
    chromium: Browser, there: Sessions, window: Any, scheme: Any, rules: dict[str, Any]
) -> None:
    maci = there.maci["session"]
    with visitor(chromium, there.gateway, viewport=window, color_scheme=scheme) as one:
        one.expected = ("404",)
        for path in (
            "/", "/?q=nothing-like-it", "/new", "/inbox", "/agents", there.panel, f"{there.panel}/documents/0",
            f"/s/{maci}", f"/compare?a={there.consensus['session']}&b={maci}", "/s/nosuchsession",
            *(f"/s/{sid}" for sid in there.others),
        ):  # fmt: skip
            page = one.open(path)
            expect(page.locator("main h1")).to_be_visible()
            found = Axe().run(page, options={"resultTypes": ["violations"], **rules})
            assert found.violations_count == 0, f"{path}: {found.generate_report()}"
            one.check()
            page.close()
    with visitor(chromium, there.gateway, viewport=window) as one:
        page = one.open(there.panel)
        for line in (".says-answer", ".says-sure", ".says-why"):
            expect(page.locator(line)).to_be_in_viewport(ratio=1)


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
