"""A logout ends the cookie at every copy of the gateway, those that start later too."""

from pathlib import Path

import httpx2 as httpx

from tests.support.engine import engine, until
from tests.web.support import Web, folder_of


async def _signed_in(web: Web, token: str) -> dict[str, str]:
    """The header with the cookie that a browser gets for a token."""
    async with httpx.AsyncClient(base_url=web.url) as browser:
        answer = await browser.post("/login", data={"token": token})
        assert answer.status_code == 303
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


async def _status(web: Web, cookie: dict[str, str]) -> int:
    async with httpx.AsyncClient(base_url=web.url) as browser:
        return (await browser.get("/api/me", headers=cookie)).status_code


async def test_a_logout_at_one_copy_is_one_at_all_copies(tmp_path: Path) -> None:
    async with engine(tmp_path / "bus") as bus:
        tokens = folder_of(bus, tmp_path / "keys")
        url, own = bus.server.url, bus.credentials["probe"]
        async with (
            Web(url, tmp_path / "keys", own=own) as one,
            Web(url, tmp_path / "keys", own=own) as two,
        ):
            cookie, other = [await _signed_in(one, tokens["alice"]) for _ in range(2)]
            assert [await _status(web, cookie) for web in (one, two)] == [200, 200]
            async with httpx.AsyncClient(base_url=one.url) as browser:
                assert (await browser.post("/logout", headers=cookie)).status_code == 303

            async def ended(web: Web) -> bool:
                return await _status(web, cookie) == 401

            assert await ended(one)
            await until(lambda: ended(two))
            async with Web(url, tmp_path / "keys", own=own) as later:
                await until(lambda: ended(later))
                assert await _status(later, other) == 200, "another browser of hers stays signed in"
            assert await _status(two, other) == 200


async def test_a_gateway_starts_and_ends_sessions_of_browsers_without_the_bus(tmp_path: Path) -> None:
    async with engine(tmp_path / "bus") as bus:
        tokens = folder_of(bus, tmp_path / "keys")
        bus.server.stop()
        async with Web(bus.server.url, tmp_path / "keys", own=bus.credentials["probe"]) as web:
            cookie = await _signed_in(web, tokens["alice"])
            async with httpx.AsyncClient(base_url=web.url) as browser:
                assert (await browser.post("/logout", headers=cookie)).status_code == 303
            assert await _status(web, cookie) == 401
