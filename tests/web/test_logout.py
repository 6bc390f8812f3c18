"""A logout ends one browser's cookie, and needs no bus."""

from pathlib import Path

import httpx2 as httpx

from tests.support.engine import engine
from tests.web.support import Web, folder_of


async def _signed_in(web: Web, token: str) -> dict[str, str]:
    """The header with the cookie that a browser gets for a token."""
    async with httpx.AsyncClient(base_url=web.url) as browser:
        answer = await browser.post("/login", data={"token": token})
        assert answer.status_code == 303
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


async def _status(web: Web, cookie: dict[str, str]) -> int:
    async with httpx.AsyncClient(base_url=web.url) as browser:
        return (await browser.get("/api/limits", headers=cookie)).status_code


async def test_a_logout_ends_one_browsers_cookie_without_the_bus(tmp_path: Path) -> None:
    async with engine(tmp_path / "bus") as bus:
        tokens = folder_of(bus, tmp_path / "keys")
        bus.server.stop()
        async with Web(bus.server.url, tmp_path / "keys", own=bus.credentials["probe"]) as web:
            cookie, other = [await _signed_in(web, tokens["alice"]) for _ in range(2)]
            async with httpx.AsyncClient(base_url=web.url) as browser:
                assert (await browser.post("/logout", headers=cookie)).status_code == 303
            assert await _status(web, cookie) == 401
            assert await _status(web, other) != 401, "another browser of hers stays signed in"
