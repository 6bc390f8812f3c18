"""The tools with foreign programs: the inspector's command line over both transports, and the conformance suite."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from tests.parley.support import MARK
from tests.support import npm
from tests.support.gateway import Served, serving

INSPECTOR = ("@modelcontextprotocol/inspector", "2.12.0")
CONFORMANCE = ("@modelcontextprotocol/conformance", "0.1.16")
SCENARIOS = (
    "server-initialize", "ping", "tools-list", "resources-list", "server-sse-multiple-streams",
    "dns-rebinding-protection",
)  # fmt: skip
"""Those of the suite that ask for no tool of its own example server."""
_HOP = frozenset({"content-length", "transfer-encoding", "content-encoding", "authorization", "connection"})
pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway."""
    npm.node()
    with serving(tmp_path_factory.mktemp("inspector"), "--set", "protocol=consensus") as found:
        yield found


def _inspect(served: Served, transport: str, *arguments: str) -> tuple[int, str, str]:
    """The inspector's command line."""
    script = npm.package(*INSPECTOR) / "node_modules" / ".bin" / "mcp-inspector"
    if transport == "http":
        target = [f"{served.url}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {served.token}"]
    else:
        given = {**served.front.environment, "PARLEY__PROTOCOL": "consensus"}
        kept = ("PARLEY_STATE", "PARLEY__PROTOCOL", "PYTHONPATH", MARK)  # the inspector hands on what is named alone
        target = [sys.executable, "-m", "parley", "mcp", *(x for k in kept for x in ("-e", f"{k}={given[k]}"))]
    return npm.run(
        npm.node(), str(script), "--cli", *target, *arguments, env=served.front.environment, cwd=served.front.folder
    )


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_the_inspector_finds_no_fault_with_the_schemas(served: Served, transport: str) -> None:
    code, out, err = _inspect(served, transport, "--method", "tools/list", "--strict")
    assert code == 0, err
    assert len(json.loads(out)["tools"]) == 8


async def test_the_conformance_suite_passes_where_it_asks_for_no_tools_of_its_own(served: Served) -> None:
    script = npm.package(*CONFORMANCE) / "node_modules" / ".bin" / "conformance"
    async with _with_token(served) as url:
        for scenario in SCENARIOS:
            arguments = (str(script), "server", "--url", url, "--scenario", scenario)
            code, out, err = await asyncio.to_thread(npm.run, npm.node(), *arguments, cwd=served.front.folder)
            assert code == 0, (scenario, out[-2_000:], err[-500:])


@asynccontextmanager
async def _with_token(served: Served) -> AsyncIterator[str]:
    """A proxy that adds the token: the suite cannot send one."""

    async def forward(request: web.Request) -> web.StreamResponse:
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _HOP}
        headers["Authorization"] = f"Bearer {served.token}"
        async with session.request(
            request.method, f"{served.url}{request.path_qs}", headers=headers, data=await request.read()
        ) as answer:
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in _HOP}
            out = web.StreamResponse(status=answer.status, headers=kept)
            try:
                await out.prepare(request)
                async for part in answer.content.iter_any():
                    await out.write(part)
                await out.write_eof()
            except ConnectionResetError:  # the suite closes streams that it has seen enough of
                pass
            return out

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", forward)
    runner = web.AppRunner(app, shutdown_timeout=1)
    async with aiohttp.ClientSession() as session:
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
        finally:
            await runner.cleanup()
