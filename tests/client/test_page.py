"""A session as one page: complete, and in a real browser nothing that agents say runs, loads or breaks it."""

import base64
import re
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Dialog

from parley.client import records
from parley.client.rendering import html
from parley.client.text import clean, line
from tests.parley.support import Front
from tests.protocols.maci import record as maci_record
from tests.protocols.maci.record import ORDINARY, Words
from tests.web.page.site import PHONE, browser, needed

NOWHERE = "http://127.0.0.1:9"
BREAK = "window.broken=1;document.title='broken';alert(1)"
HOSTILE = (
    "\x1b[31mred\x1b[0m\x1b]0;title\x07 \u202eexe.txt\u202c \u2066x\u2069 \x00",
    f"<script>{BREAK}</script>",
    f"</style><script>{BREAK}</script>",
    f"</title></h1><svg onload=\"{BREAK}\"><script>{BREAK}</script></svg>",
    f"<img src={NOWHERE}/pixel onerror=\"{BREAK}\">",
    f"\" onmouseover=\"{BREAK}\" style=\"background:url({NOWHERE}/css)",
    f"javascript:{BREAK}",
    f"]]><iframe src={NOWHERE}/frame></iframe>--><!--",
    f"<meta http-equiv=refresh content=\"0;url={NOWHERE}/away\"><base href={NOWHERE}/>",
    r"$\frac{1}{0}$ $\undefinedsymbol$ {{ 7*7 }} {% include 'x' %}",
)  # fmt: skip
ALL = " ".join(HOSTILE)
LONG = "w" * 190
PARTS = ("script", "iframe", "img", "svg", "link", "base", "object", "form", "meta[http-equiv=refresh]", "style")


def hostile() -> Words:
    return Words(
        question=ALL, outcomes=(*HOSTILE[:9], LONG), claim=ALL, reason=ALL, quote=ALL, document=ALL[:1_000],
        justification=ALL, reasoning=ALL + " " + "v" * 3_000, what=ALL, query=HOSTILE[9] + HOSTILE[0] + HOSTILE[3],
        seat=HOSTILE[0],
    )  # fmt: skip


def of(words: Words = ORDINARY, ended: bool = True) -> str:
    return "\n".join(html.html(maci_record.record(words, 3, ended)))


class Visit(NamedTuple):
    """What was seen of a page in a real Chromium."""

    title: str
    text: str
    """As a reader sees it, white space collapsed."""
    broken: bool
    """Whether anything set `window.broken`."""
    counts: dict[str, int]
    """Those of PARTS that are there -> how many."""
    wide: int
    """Pixels by which the page is wider than the window."""
    requests: list[str]
    complaints: list[str]
    """Console messages, exceptions, policy violations, dialogs."""


def visit(text: str, folder: Path) -> Visit:
    """Open a page on a phone."""
    page = folder / "page.html"
    page.write_text(text, encoding="utf-8")
    requests: list[str] = []
    complaints: list[str] = []

    def dismiss(dialog: Dialog) -> None:  # it would hold the page up
        complaints.append(dialog.message)
        dialog.dismiss()

    with browser() as opened:
        seen = opened.new_page(viewport=PHONE, is_mobile=True)
        seen.on("request", lambda request: requests.append(request.url))
        seen.on("console", lambda message: complaints.append(message.text))
        seen.on("pageerror", lambda error: complaints.append(str(error)))
        seen.on("dialog", dismiss)
        seen.goto(page.as_uri(), wait_until="commit")
        seen.wait_for_load_state("domcontentloaded")
        return Visit(
            seen.title(),
            " ".join(seen.inner_text("body").split()),
            seen.evaluate("Boolean(window.broken)"),
            {part: n for part in PARTS if (n := seen.locator(part).count())},
            seen.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"),
            requests,
            complaints,
        )


# ---------------------------------------------------------------- what it holds


def test_one_that_is_open_has_a_page_too() -> None:
    assert "The session is still open." in of(ended=False)


def test_what_only_the_log_knows_is_not_on_the_page() -> None:
    record = maci_record.record()
    entries = [e.replace('"channel":"scores"', '"channel":"elsewhere"') for e in record.entries]
    page = "\n".join(html.html(records.Record(sid="s", entries=tuple(entries))))
    shown = " ".join(re.sub("<[^>]+>", " ", page).split())
    assert "argument a1 " in shown, "what is public stays"
    assert "argument a2 refused" not in shown and "The quotation carries the claim." not in shown


def test_the_policy_forbids_every_script_and_every_request() -> None:
    policy = re.search(r'Policy" content="([^"]+)"', of())
    assert policy is not None and set(policy[1].split("; ")) == {
        "default-src 'none'", "style-src 'unsafe-inline'", "img-src data:", "base-uri 'none'", "form-action 'none'",
    }  # fmt: skip
    assert not re.search(r"(src|href|url)\s*[=(]\s*[\"']?(?!data:|#)\w+:", of())


# ---------------------------------------------------------------- in a browser


@needed
def test_in_a_browser_nothing_that_agents_say_runs_or_loads_and_all_is_read(tmp_path: Path) -> None:
    seen = visit(of(hostile()), tmp_path)
    assert not seen.broken and seen.complaints == []
    assert seen.title == f"{line(ALL, 80)} – Parley" and seen.wide <= 0
    assert [r.split(":")[0] for r in seen.requests] == ["file"], "the page, which holds its picture"
    assert seen.counts == {"img": 1, "style": 1}
    assert [text for text in (*HOSTILE, LONG) if " ".join(clean(text).split()) not in seen.text] == []


@needed
def test_the_browser_would_have_told(tmp_path: Path) -> None:
    """The same texts in a page that neither escapes nor forbids: what is watched for is seen."""
    found = visit(f"<title>x</title><p>{ALL}</p>", tmp_path)
    assert found.broken and found.complaints
    assert any(r.startswith(NOWHERE) for r in found.requests) and found.counts["script"]


def test_the_picture_inside_holds_no_text_of_agents() -> None:
    encoded = re.search(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\"", of(hostile()))
    assert encoded is not None
    picture = base64.b64decode(encoded[1]).decode()
    assert picture.startswith("<?xml") and "<script" not in picture and "broken" not in picture


def test_export_writes_the_page_and_an_ending_that_nobody_knows_needs_a_form(tmp_path: Path) -> None:
    front = Front(tmp_path)
    (front.folder / "s.jsonl").write_text("\n".join(records.write(maci_record.record())))
    code, out, err = front.run("sessions", "export", "s.jsonl", "-o", "s.html")
    assert (code, out) == (0, "") and re.fullmatch(r"parley: wrote s\.html, [\d,]+ bytes\n", err)
    assert (front.folder / "s.html").read_text().rstrip("\n") == of().rstrip("\n")
    code, _, err = front.run("sessions", "export", "s.jsonl", "-o", "s.pdf")
    assert code == 2 and "got .pdf, known are .jsonl, .json, .md, .html, .htm" in err
    assert not (front.folder / "s.pdf").exists()
    assert front.run("sessions", "export", "s.jsonl", "-o", "s.pdf", "--format", "markdown")[0] == 0
    assert (front.folder / "s.pdf").exists()
