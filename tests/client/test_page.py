"""A session as one page: complete, and in a real browser nothing that agents say runs, loads or breaks it."""

import base64
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from parley.client import records
from parley.client.rendering import html
from parley.client.text import clean, line
from parley.schemas.result import Stop
from tests.client import chromium
from tests.client.chromium import Visit
from tests.parley.support import Front
from tests.protocols.maci import record as maci_record
from tests.protocols.maci.record import ORDINARY, Words
from tests.web.page.site import needed

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


def written(text: str, folder: Path) -> Path:
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return path


def of(words: Words = ORDINARY, rounds: int = 3, stop: Stop | None = None, ended: bool = True) -> str:
    return "\n".join(html.html(maci_record.record(words, rounds, stop, ended)))


class Reader(HTMLParser):
    """The words of a page, and its tags in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.feed(text)
        self.words = " ".join(self.words.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)

    def handle_data(self, data: str) -> None:
        self.words += f" {data}"


# ---------------------------------------------------------------- what it holds


def test_one_that_is_open_or_ended_at_once_has_a_page_too() -> None:
    assert "The session is still open." in of(ended=False)
    cancelled = Stop(reason="cancelled", converged=False, certificate={"by": "client", "why": "enough"})
    shown = Reader(of(rounds=0, stop=cancelled)).words
    assert "cancelled by client: enough" in shown and "Why it was ended: enough" in shown


def test_what_only_the_log_knows_is_not_on_the_page() -> None:
    record = maci_record.record()
    entries = [e.replace('"channel":"scores"', '"channel":"elsewhere"') for e in record.entries]
    shown = Reader("\n".join(html.html(records.Record(sid="s", entries=tuple(entries))))).words
    assert "argument a1 " in shown, "what is public stays"
    assert "argument a2 refused" not in shown and "The quotation carries the claim." not in shown


def test_what_would_turn_text_around_or_move_a_cursor_is_written_out() -> None:
    assert not set("\x00\x07\x1b\u202e\u202c\u2066\u2069") & set(of(hostile()))


def test_the_page_is_accessible_in_its_marks() -> None:
    found = Reader(of())
    assert ("lang", "en") in found.attributes and found.tags.count("h1") == 1
    assert found.tags.count("table") == found.tags.count("caption") > 0
    scopes = [v for k, v in found.attributes if k == "scope"]
    assert len(scopes) == found.tags.count("th") and "col" in scopes and "row" in scopes
    assert all(value for name, value in found.attributes if name == "alt")


def test_the_policy_forbids_every_script_and_every_request() -> None:
    policy = dict(re.findall(r"([a-z-]+) ([^;\"]+)", re.search(r'Policy" content="([^"]+)"', of())[1]))  # type: ignore[index]
    assert policy == {
        "default-src": "'none'", "style-src": "'unsafe-inline'", "img-src": "data:", "base-uri": "'none'",
        "form-action": "'none'",
    }  # fmt: skip
    assert not re.search(r"(src|href|url)\s*[=(]\s*[\"']?(?!data:|#)\w+:", of())


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Visit:
    folder = tmp_path_factory.mktemp("hostile")
    return chromium.visit(written(of(hostile()), folder), selectors=PARTS)


@needed
def test_in_a_browser_nothing_that_agents_say_runs_or_loads(seen: Visit) -> None:
    assert not seen.broken and seen.complaints == []
    assert seen.title == f"{line(ALL, 80)} – Parley"
    assert [r.split(":")[0] for r in seen.requests] == ["file"], "the page, which holds its picture"
    assert {s: n for s, n in seen.counts.items() if n} == {"img": 1, "style": 1}


@needed
@pytest.mark.parametrize("text", [*HOSTILE, LONG], ids=range(len(HOSTILE) + 1))
def test_in_a_browser_hostile_text_is_read_as_text(seen: Visit, text: str) -> None:
    assert " ".join(clean(text).split()) in seen.text


@needed
def test_in_a_browser_the_page_is_painted_and_prints(seen: Visit) -> None:
    import matplotlib.image

    pixels = matplotlib.image.imread(io.BytesIO(seen.screenshot))
    assert pixels.shape[0] > 2_000 and len(np.unique(pixels[::8, ::8, 0])) > 20, "text and picture, not one colour"
    assert seen.printed.startswith(b"%PDF") and len(seen.printed) > 20_000


@needed
@pytest.mark.parametrize("words", [Words(), hostile()], ids=["ordinary", "hostile"])
def test_in_a_phones_browser_the_page_is_not_wider_than_the_screen(words: Words, tmp_path: Path) -> None:
    found = chromium.visit(written(of(words), tmp_path), width=360)
    assert found.wide <= 0


@needed
def test_the_browser_would_have_told(tmp_path: Path) -> None:
    """The same texts in a page that neither escapes nor forbids: what is watched for is seen."""
    found = chromium.visit(written(f"<title>x</title><p>{ALL}</p>", tmp_path), selectors=PARTS)
    assert found.broken and found.complaints
    assert any(r.startswith(NOWHERE) for r in found.requests) and found.counts["script"]


def test_the_picture_inside_holds_no_text_of_agents() -> None:
    encoded = re.search(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\"", of(hostile()))
    assert encoded is not None
    picture = base64.b64decode(encoded[1]).decode()
    assert picture.startswith("<?xml") and "<script" not in picture and "broken" not in picture


def test_export_writes_the_page(tmp_path: Path) -> None:
    front = Front(tmp_path)
    (front.folder / "s.jsonl").write_text("\n".join(records.write(maci_record.record())))
    code, out, err = front.run("sessions", "export", "s.jsonl", "-o", "s.html")
    assert (code, out) == (0, "") and re.fullmatch(r"parley: wrote s\.html, [\d,]+ bytes\n", err)
    assert (front.folder / "s.html").read_text().rstrip("\n") == of().rstrip("\n")


@pytest.mark.parametrize(("form", "code"), [((), 2), (("--format", "markdown"), 0)])
def test_an_ending_that_nobody_knows_needs_a_form(tmp_path: Path, form: tuple[str, ...], code: int) -> None:
    front = Front(tmp_path)
    (front.folder / "s.jsonl").write_text("\n".join(records.write(maci_record.record())))
    done, _, err = front.run("sessions", "export", "s.jsonl", "-o", "s.pdf", *form)
    assert done == code and (front.folder / "s.pdf").exists() == (code == 0)
    assert code == 0 or "got .pdf, known are .jsonl, .json, .md, .html, .htm" in err


@pytest.mark.parametrize("protocol", ["consensus", "critic", "diagnosis"])
def test_links_to_posts_lead_to_posts(protocol: str) -> None:
    text = (Path(__file__).parent / "golden" / f"{protocol}.html").read_text()
    linked = set(re.findall(r'href="#(p\d+)"', text))
    assert linked and linked <= set(re.findall(r'id="(p\d+)"', text))
