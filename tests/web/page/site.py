"""A real gateway over a real stack, and a real browser that looks at it: what went wrong in the browser is kept."""

import contextlib
import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.async_api import Page as AsyncPage
from playwright.async_api import async_playwright
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, ViewportSize, expect, sync_playwright

from tests.parley.support import Front

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needed = pytest.mark.skipif(CHROMIUM is None, reason="NOT CHECKED: no `chromium` on PATH (.ci/run installs it)")
WAIT_MS = 20_000
expect.set_options(timeout=WAIT_MS)
EXAMPLES = Path(__file__).parents[3] / "examples"
ROLLOUT = EXAMPLES / "rollout"
PHONE = ViewportSize(width=390, height=844)
DESK = ViewportSize(width=1280, height=900)
_COMPLAINS = """
window.violations = [];
document.addEventListener("securitypolicyviolation",
  (e) => window.violations.push(`${e.violatedDirective} ${e.blockedURI}`));
"""


class Gateway:
    """`parley serve` as a process, asked as a browser or a program asks it."""

    def __init__(self, front: Front, child: "subprocess.Popen[str]", said: dict[str, str]) -> None:
        self.front, self.child, self.url = front, child, said["url"]
        self.http = httpx2.Client(base_url=self.url, timeout=40, follow_redirects=True)
        if said.get("link"):
            assert self.http.get(said["link"].removeprefix(self.url)).status_code == 200

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    def get(self, path: str) -> Any:
        answer = self.http.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text[:400]}"
        return answer.json()

    def post(self, path: str, body: Any) -> Any:
        answer = self.http.post(path, json=body)
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text[:400]}"
        return answer.json()

    def ask(self, question: str, folder: Path | None = None, **request: Any) -> str:
        """Start a session as the page does; its id."""
        files = [("request", (None, json.dumps({"question": question, **request})))]
        for path in sorted(folder.rglob("*.*")) if folder else ():
            files.append(("evidence", (str(path.relative_to(folder or path)), path.read_bytes())))  # type: ignore[arg-type]
        if folder is None and request.get("protocol") != "madp":
            files.append(("evidence", ("a.md", b"Rabbits eat clover in spring.")))  # type: ignore[arg-type]
        answer = self.http.post("/api/sessions", files=files)
        assert answer.status_code == 201, answer.text[:400]
        return str(answer.json()["session"])

    def ended(self, sid: str) -> dict[str, Any]:
        """The session once its stream has said its end."""
        with self.http.stream("GET", f"/api/sessions/{sid}/events", timeout=60) as stream:
            for line in stream.iter_lines():
                if line == "event: end":
                    break
        found: dict[str, Any] = self.get(f"/api/sessions/{sid}")
        return found

    def demo(self, name: str) -> str:
        """A session with recorded replies, on the gateway's stack; its id."""
        code, out, err = self.front.run("demo", name, "--fast", "--json", "--state", str(self.front.state))
        assert code == 0, err
        return str(json.loads(out)["session"])

    def close(self) -> None:
        self.http.close()
        if self.child.poll() is None:
            self.child.terminate()
        try:
            self.child.communicate(timeout=20)
        finally:
            self.child.kill()


def serve(front: Front, *arguments: str, cookies: httpx2.Cookies | None = None) -> Gateway:
    """Start a gateway over the stack of the front's state directory. `cookies`: of somebody who is known there."""
    child = front.start("serve", "--json", *arguments)
    assert child.stdout is not None
    told = child.stdout.readline()
    if not told:
        child.kill()
        raise AssertionError(f"the gateway did not start: {child.communicate()[1][-2_000:]}")
    found = Gateway(front, child, json.loads(told) if cookies is None else {**json.loads(told), "link": ""})
    if cookies is not None:
        found.http.cookies = cookies
    return found


@contextmanager
def site(
    folder: Path, *arguments: str, protocol: str = "consensus", env: Mapping[str, str] | None = None
) -> Iterator[Gateway]:
    """A gateway with a stack of its own."""
    with contextlib.closing(serve(Front(folder, protocol, env), *arguments)) as found:
        yield found
    found.front.assert_nothing_left()


@contextmanager
def browser() -> Iterator[Browser]:
    """The machine's Chromium, without a window."""
    given = ["--no-sandbox", "--disable-dev-shm-usage"]
    with sync_playwright() as driver, driver.chromium.launch(executable_path=CHROMIUM, args=given) as found:
        yield found


class Visitor:
    """Somebody with a browser of their own, signed in. What the browser complains of is kept."""

    def __init__(self, context: BrowserContext, gateway: Gateway) -> None:
        self.context, self.gateway = context, gateway
        self.complaints: list[str] = []
        self.expected: tuple[str, ...] = ()
        """Parts of complaints that the test brings about."""
        context.add_cookies([{"name": "parley", "value": gateway.http.cookies["parley"], "url": gateway.url}])
        context.add_init_script(_COMPLAINS)
        context.set_default_timeout(WAIT_MS)

    def open(self, path: str) -> Page:
        """A page of the gateway in a tab of its own."""
        page = self.context.new_page()
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dialog)
        page.goto(f"{self.gateway.url}{path}")
        return page

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def check(self) -> None:
        """Nothing was complained of, no policy was violated, no page is wider than its window."""
        for page in self.context.pages:
            self.complaints += page.evaluate("window.violations")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{page.url} is {wide} pixels wider than its window"
        left = [said for said in self.complaints if not any(part in said for part in self.expected)]
        assert left == []


@contextmanager
def visitor(found: Browser, gateway: Gateway, **options: Any) -> Iterator[Visitor]:
    """Somebody who visits; at the end nothing may have been complained of."""
    context = found.new_context(**{"viewport": DESK, "reduced_motion": "reduce", **options})
    try:
        one = Visitor(context, gateway)
        yield one
        one.check()
    finally:
        context.close()


@asynccontextmanager
async def signed_in(url: str, token: str, window: ViewportSize = DESK) -> AsyncIterator[AsyncPage]:
    """A page of somebody who has typed a token, in a browser that is driven without threads."""
    async with async_playwright() as driver:
        found = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await found.new_page(viewport=window, reduced_motion="reduce")
        await page.goto(f"{url}/login")
        await page.get_by_label("Token").fill(token)
        await page.get_by_role("button", name="Sign in").click()
        yield page
        await found.close()
