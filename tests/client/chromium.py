"""A page in a real Chromium: what it asked for, what ran, what it shows."""

from pathlib import Path

import msgspec
from playwright.sync_api import Dialog

from tests.web.page.site import browser


class Visit(msgspec.Struct, kw_only=True):
    """What was seen of a page."""

    title: str
    text: str
    """As a reader sees it, white space collapsed."""
    broken: bool
    """Whether anything set `window.broken`."""
    counts: dict[str, int]
    """CSS selector -> how many elements."""
    wide: int
    """Pixels by which the page is wider than the window."""
    requests: list[str]
    complaints: list[str]
    """Console messages, exceptions, policy violations, dialogs."""
    screenshot: bytes
    """PNG."""
    printed: bytes
    """PDF."""


def visit(page: Path, width: int = 1_000, selectors: tuple[str, ...] = ()) -> Visit:
    """Open a file in a window of this width (pixels; below 600 a phone's)."""
    requests: list[str] = []
    complaints: list[str] = []

    def dismiss(dialog: Dialog) -> None:  # it would hold the page up
        complaints.append(dialog.message)
        dialog.dismiss()

    with browser() as opened:
        seen = opened.new_page(viewport={"width": width, "height": 900}, is_mobile=width < 600)
        seen.on("request", lambda request: requests.append(request.url))
        seen.on("console", lambda message: complaints.append(message.text))
        seen.on("pageerror", lambda error: complaints.append(str(error)))
        seen.on("dialog", dismiss)
        seen.goto(page.as_uri(), wait_until="commit")
        seen.wait_for_load_state("domcontentloaded")
        return Visit(
            title=seen.title(),
            text=" ".join(seen.inner_text("body").split()),
            broken=seen.evaluate("Boolean(window.broken)"),
            counts={selector: seen.locator(selector).count() for selector in selectors},
            wide=seen.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"),
            requests=requests,
            complaints=complaints,
            screenshot=seen.screenshot(full_page=True),
            printed=seen.pdf(),
        )
