"""The gateway within somebody's ASGI application: its lifespan, its guard and its page beneath a prefix."""

import asyncio
import re
from collections.abc import AsyncIterator

import httpx2 as httpx
import pytest
import pytest_asyncio
from playwright.async_api import FilePayload, async_playwright
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

import parley
from parley.serving.serving import address_of, listening_socket, server_of
from tests.web.page.site import CHROMIUM, needed

AT = "/tools/parley"
CHAT = [
    {"type": "text", "text": "In which year did the Suez Canal open?"},
    {
        "type": "file",
        "file": {"filename": "a.md", "file_data": "VGhlIFN1ZXogQ2FuYWwgb3BlbmVkIGluIDE4NjkgZm9yIHNoaXBzLg=="},
    },
]
TEXT = "The Suez Canal opened in 1869 for ships."


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[tuple[str, parley.WebApp]]:
    """Somebody's application, by a real server, and what is mounted in it."""
    web = parley.web_app(panel=3)

    async def own(request: Request) -> PlainTextResponse:
        result = await web.parley.ask("In which year did the Suez Canal open?", evidence={"canal.md": TEXT})
        return PlainTextResponse(str(result))

    app = Starlette(routes=[Route("/own", own), Mount(AT, web)], lifespan=web.lifespan)
    with pytest.raises(RuntimeError, match="lifespan"):
        _ = web.parley
    listening = listening_socket("127.0.0.1", 0)
    server = server_of(app)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    await server.answers.wait()
    yield address_of(listening), web
    server.end()
    await serving


async def test_the_page_works_beneath_a_prefix(site: tuple[str, parley.WebApp]) -> None:
    url, web = site
    async with httpx.AsyncClient(base_url=url, follow_redirects=False, timeout=60) as client:
        visit = await client.get(f"{AT}/", headers={"accept": "text/html"})
        assert (visit.status_code, visit.headers["location"]) == (303, f"{AT}/login")
        assert f'action="{AT}/login"' in (await client.get(f"{AT}/login")).text
        assert (await client.get(f"{AT}/api/me")).status_code == 401
        let_in = await client.get(web.link(f"{url}{AT}"))
        assert (let_in.status_code, let_in.headers["location"]) == (303, f"{AT}/")
        page = await client.get(f"{AT}/")
        found = re.findall(r'(?:href|src)="(/[^"]*)"', page.text)
        assert len(found) >= 8 and all(address.startswith(f"{AT}/") for address in found)
        for address in found:
            assert (await client.get(address)).status_code == 200, address
        assert (await client.get(f"{AT}/api/me")).json()["operates"] is True
        assert (await client.get(f"{AT}/s/nope/documents/1")).status_code == 200, "a page looks at its own address"


@needed
@pytest.mark.slow
async def test_a_browser_asks_and_follows_links_beneath_a_prefix(site: tuple[str, parley.WebApp]) -> None:
    url, web = site
    missing: list[str] = []
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page()
        page.on("response", lambda answer: missing.append(answer.url) if answer.status in (401, 404, 503) else None)
        page.on("pageerror", lambda error: missing.append(str(error)))
        await page.goto(web.link(f"{url}{AT}"))
        await page.click("header a.btn.main")
        await page.fill("textarea", "In which year did the Suez Canal open?")
        file: FilePayload = {"name": "canal.md", "mimeType": "text/markdown", "buffer": TEXT.encode()}
        await page.locator("input[type=file]").first.set_input_files(file)
        await page.locator("main button[type=submit], main button.main, main button.p").last.click()
        await page.wait_for_url(f"{url}{AT}/s/*", timeout=60_000)
        await page.wait_for_selector("text=1869", timeout=60_000)
        await page.click("header nav a:first-child")
        await page.locator("main a:has-text('Suez')").first.click()
        await page.wait_for_selector("text=1869", timeout=60_000)
        await browser.close()
    assert not missing


async def test_the_programs_doors_work_beneath_a_prefix(site: tuple[str, parley.WebApp]) -> None:
    url, web = site
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        assert "1869" in (await client.get("/own")).text, "the application asks by itself"
        asked = {"model": "parley/consensus", "messages": [{"role": "user", "content": CHAT}]}
        assert (await client.post(f"{AT}/v1/chat/completions", json=asked)).status_code == 401
        key = {"authorization": f"Bearer {web.token}"}
        answer = (await client.post(f"{AT}/v1/chat/completions", json=asked, headers=key)).json()
        assert "1869" in answer["choices"][0]["message"]["content"]
        told = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": told}
        accepts = {**key, "accept": "application/json, text/event-stream"}
        assert "serverInfo" in (await client.post(f"{AT}/mcp", json=hello, headers=accepts)).text
        assert (await client.get(f"{AT}/v1/models", headers={**key, "host": "elsewhere.example"})).status_code == 421
