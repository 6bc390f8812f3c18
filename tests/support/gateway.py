"""`parley serve` as a process, with panels whose models are stubs, and the official client of MCP."""

import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.parley.support import Front

_MODEL = "tests.support.model:make"


class Served(NamedTuple):
    """A gateway that runs."""

    front: Front
    """For commands on the same stack."""
    url: str
    token: str
    metrics: str
    """Where its series are."""


def panel(path: Path, **options: Any) -> None:
    """A file that seats two, named after it, with a stub model of these options."""
    given = json.dumps(options)
    seats = [f"  {path.stem}_{i}: {{model: {_MODEL!r}, role: panelist, options: {given}}}\n" for i in (1, 2)]
    path.write_text("protocol: consensus\nseats:\n" + "".join(seats) + "  analyst: {}\n")


@contextmanager
def serving(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Iterator[Served]:
    """One on a free port, over a stack of its own; gone at the end, and nothing of it is left."""
    front = Front(folder, protocol="", env=env)
    with copy(front, *arguments) as served:
        yield served
    front.assert_nothing_left()


@contextmanager
def copy(front: Front, *arguments: str, env: Mapping[str, str] | None = None) -> Iterator[Served]:
    """One more process; gone at the end."""
    child = front.start("serve", "--json", *arguments, env=env)
    assert child.stdout is not None and child.stderr is not None
    try:
        said = child.stdout.readline()
        assert said, child.stderr.read()
        where = json.loads(said)
        yield Served(front, where["url"], where["token"], where["metrics"])
    finally:
        child.terminate()
        child.communicate(timeout=30)


@asynccontextmanager
async def over_http(url: str, token: str, **given: Any) -> AsyncIterator[Client]:
    """One of a gateway, by a token; `given`: the client's own options."""
    async with create_mcp_http_client({"Authorization": f"Bearer {token}"}) as http:
        async with Client(streamable_http_client(f"{url}/mcp", http_client=http), **given) as found:
            yield found


@asynccontextmanager
async def mcp_client(served: Served, transport: str, *arguments: str, **given: Any) -> AsyncIterator[Client]:
    """One of a gateway, or over `stdio` of a process of its own with these arguments and the gateway's panels."""
    if transport != "stdio":
        async with over_http(served.url, served.token, **given) as found:
            yield found
        return
    front = served.front
    words = ["-m", "parley", "mcp", "--panels", str(front.folder / "panels"), *arguments]
    env = {**front.environment, "PATH": "/usr/bin:/bin"}
    server = StdioServerParameters(command=sys.executable, args=words, env=env, cwd=str(front.folder))
    async with Client(server, **given) as found:
        yield found
