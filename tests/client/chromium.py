"""A page in a real Chromium, over its DevTools: what it asked for, what ran, what it shows."""

import asyncio
import base64
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

PATH = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needed = pytest.mark.skipif(PATH is None, reason="NOT CHECKED: no `chromium` on PATH (.ci/run installs it)")

_WAIT_S = 40.0
_LISTENS = re.compile(rb"DevTools listening on (ws://\S+)")


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


class Tab:
    """One attached page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._sent = 0
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command and its answer; events in between are kept."""
        self._sent += 1
        session = {"sessionId": self.session} if self.session else {}
        await self._socket.send_json({"id": self._sent, "method": method, "params": params, **session})
        while True:
            message = await self._take()
            if message.get("id") == self._sent:
                assert "error" not in message, f"{method}: {message['error']}"
                found: dict[str, Any] = message["result"]
                return found

    async def until(self, event: str) -> None:
        """Wait for an event."""
        while not any(e["method"] == event for e in self.events):
            await self._take()

    async def value(self, expression: str) -> Any:
        """What an expression is in the page."""
        return (await self.call("Runtime.evaluate", expression=expression, returnByValue=True))["result"].get("value")

    async def _take(self) -> dict[str, Any]:
        message: dict[str, Any] = await self._socket.receive_json()
        if "method" in message:
            self.events.append(message)
            if message["method"] == "Page.javascriptDialogOpening":  # it would hold the page up
                await self._socket.send_json(
                    {
                        "id": 0,
                        "method": "Page.handleJavaScriptDialog",
                        "params": {"accept": False},
                        "sessionId": self.session,
                    }
                )
        return message


@asynccontextmanager
async def tab(folder: Path) -> AsyncIterator[Tab]:
    """A headless browser with a fresh profile in the folder, and one page of it. As root it has no sandbox."""
    assert PATH is not None
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    child = await asyncio.create_subprocess_exec(
        PATH, "--headless", "--remote-debugging-port=0", f"--user-data-dir={folder / 'profile'}", "--no-first-run",
        "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking", *root,
        "about:blank", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, start_new_session=True,
        env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    try:
        address = await _address(child)
        async with aiohttp.ClientSession() as http, http.ws_connect(address, max_msg_size=0) as socket:
            found = Tab(socket)
            target = (await found.call("Target.createTarget", url="about:blank"))["targetId"]
            found.session = (await found.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
            yield found
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        await child.communicate()


async def _address(child: asyncio.subprocess.Process) -> str:
    assert child.stderr is not None
    said = b""
    async for line in child.stderr:
        said += line
        if match := _LISTENS.search(line):
            return match[1].decode()
    raise AssertionError(f"chromium ended: {said.decode(errors='replace')}")


async def _visit(page: Path, folder: Path, width: int, selectors: tuple[str, ...]) -> Visit:
    async with asyncio.timeout(_WAIT_S), tab(folder) as seen:
        for domain in ("Page", "Network", "Runtime", "Log"):
            await seen.call(f"{domain}.enable")
        await seen.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        await seen.call("Page.navigate", url=page.as_uri())
        await seen.until("Page.loadEventFired")
        text = str(await seen.value("document.body.innerText"))
        counts = {s: int(await seen.value(f"document.querySelectorAll({s!r}).length")) for s in selectors}
        shot = await seen.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        printed = await seen.call("Page.printToPDF")
        return Visit(
            title=str(await seen.value("document.title")), text=" ".join(text.split()),
            broken=bool(await seen.value("Boolean(window.broken)")), counts=counts,
            wide=int(await seen.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")),
            requests=[e["params"]["request"]["url"] for e in seen.events if e["method"] == "Network.requestWillBeSent"],
            complaints=[f"{e['method']}: {e['params']}" for e in seen.events if e["method"] in _COMPLAINTS],
            screenshot=base64.b64decode(shot["data"]), printed=base64.b64decode(printed["data"]),
        )  # fmt: skip


_COMPLAINTS = frozenset(
    {"Page.javascriptDialogOpening", "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}
)


def visit(page: Path, folder: Path, width: int = 1_000, selectors: tuple[str, ...] = ()) -> Visit:
    """Open a file in a window of this width (pixels; below 600 a phone's)."""
    return asyncio.run(_visit(page, folder, width, selectors))
