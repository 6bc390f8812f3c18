"""Pictures of each page for docs/web.md, from a real gateway: `make screens`."""

import io
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect

from tests.support.expert_model import expert_model
from tests.web.page.site import PHONE, ROLLOUT, Gateway, browser, site, visitor
from tests.web.page.writer import Gates

SIZE = {"width": 1280, "height": 828}
_COLOURS = 40
_QUESTION = (ROLLOUT / "question.txt").read_text().strip()
_TASK = "add JWT authentication to the API"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, browser() as found:

        def shot(gateway: Gateway, name: str, path: str, ready: Callable[[Page], None], **options: object) -> None:
            with visitor(found, gateway, **{"viewport": SIZE, **options}) as one:
                page = one.open(path)
                expect(page.locator("main h1")).to_be_visible()
                ready(page)
                (folder / f"{name}.webp").write_bytes(small(page.screenshot()))

        _ended(Path(place), shot)
        _live(Path(place), shot)


def _ended(place: Path, shot: Callable[..., None]) -> None:
    with expert_model() as env, site(_made(place / "ended"), protocol="", env=env) as gateway:
        panel, debate = (gateway.demo(name) for name in ("consensus", "diagnosis"))
        task = gateway.ask(_TASK, protocol="madp", settings={"security_confidence": 1.0})
        shot(gateway, "list", "/", lambda page: expect(page.locator(".list > li")).to_have_count(3))
        shot(gateway, "session", f"/s/{panel}", drawn)
        shot(gateway, "session-phone", f"/s/{panel}", drawn, viewport=PHONE)
        shot(gateway, "compare", f"/compare?a={panel}&b={debate}", lambda page: None, color_scheme="dark")
        shot(gateway, "maci", f"/s/{debate}", drawn, color_scheme="dark")
        shot(gateway, "start", "/new", typed)
        shot(gateway, "error", "/new", wrong)
        shot(
            gateway, "empty", "/?q=nothing-like-it", lambda page: expect(page.get_by_text("No session")).to_be_visible()
        )
        shot(gateway, "inbox", "/inbox", lambda page: expect(page.locator(".card")).to_be_visible())
        shot(gateway, "agents", "/agents", lambda page: expect(page.get_by_text("✓ ok").first).to_be_visible())
        gateway.post(f"/api/sessions/{task}/cancel", {})


def _live(place: Path, shot: Callable[..., None]) -> None:
    folder = _made(place / "live")
    gates = Gates(folder)
    with site(folder, "--config", str(gates.settings(folder, reads=True))) as gateway:
        sid = gateway.ask(_QUESTION, ROLLOUT / "evidence", protocol="consensus", seed=7, budget={"calls": 60})

        def writing(page: Page) -> None:
            gates.open(1)
            typing = page.locator(".post", has=page.locator(".typing"))
            expect(typing).to_have_count(3)
            expect(page.locator(".seat").filter(has_text="thinking")).not_to_have_count(0)

        shot(gateway, "live", f"/s/{sid}", writing)
        gates.open_all()
        gateway.ended(sid)


def drawn(page: Page) -> None:
    expect(page.locator(".chart canvas").first).to_be_visible()


def typed(page: Page) -> None:
    """A question with documents and its estimate."""
    page.get_by_label("Question or task").fill(_QUESTION)
    page.get_by_label("Who argues, and how").select_option("consensus")
    page.get_by_label("Files of evidence").set_input_files(sorted((ROLLOUT / "evidence" / "panelist_1").iterdir()))
    page.get_by_label("Model calls").fill("60")
    expect(page.get_by_role("row", name=re.compile("Likely"))).to_be_visible()


def wrong(page: Page) -> None:
    """A setting that cannot be, said below its field."""
    page.get_by_label("Question or task").fill(_QUESTION)
    page.get_by_text("Settings", exact=True).click()
    page.get_by_label("Threshold").fill("150")
    expect(page.get_by_text("No estimate")).to_be_visible()
    page.get_by_label("Threshold").scroll_into_view_if_needed()


def small(png: bytes) -> bytes:
    """The picture with few colours, which a page of text hardly shows. WebP takes a quarter less room than PNG."""
    out = io.BytesIO()
    image = Image.open(io.BytesIO(png)).convert("RGB")
    few = image.quantize(_COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.convert("RGB").save(out, "WEBP", lossless=True, quality=100, method=6)
    return out.getvalue()


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main(Path(sys.argv[1]))
