"""A gateway that is attacked: over a real bus, with two clients, an owner and a viewer, and requests byte by byte."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from parley.web.principals import Principals, new_token
from tests.support.engine import QUEUES, Engine, engine
from tests.web.support import Browser, Web, folder_of

HUMAN = "panelist_1_human"
BODY_S = 1.0
"""So long a body may take at the attacked gateway."""
BEGIN = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}  # fmt: skip
"""Begins a session of MCP's transport."""
HEAD_S = 3.0
"""So long a head may take there."""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def document(self) -> Any:
        return json.loads(self.text)


class Target:
    """What is attacked, and what may never be seen in an answer to it."""

    def __init__(self, web: Web, bus: Engine, keys: Path, tokens: dict[str, str]) -> None:
        self.web, self.bus, self.keys, self.tokens = web, bus, keys, tokens
        self.principals = Principals(bytes(32), folder=keys)
        self.finished = self.open = ""
        """Sessions of alice."""
        self.logged: list[str] = []
        self._addresses = count(2)

    @property
    def port(self) -> int:
        return int(self.web.url.rpartition(":")[2])

    def address(self) -> str:
        """One more address to ask from: tries are counted by address."""
        number = next(self._addresses)
        return f"127.0.{number // 250 + 1}.{number % 250 + 1}"

    def as_(self, who: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[who]}"}

    def cookie_of(self, who: str) -> str:
        found = self.principals.of_token(self.tokens[who])
        assert found is not None
        return self.principals.cookie(found)

    def secrets(self) -> list[str]:
        """What no answer may hold: those, folders of this machine, and what a fault looks like."""
        return [*self.keys_and_tokens(), str(self.keys.parent), "Traceback", 'File "', "parley-upload-"]

    def keys_and_tokens(self) -> list[str]:
        """What no log may hold: tokens, their digests, seeds of keys."""
        found: list[str] = []
        for name, token in self.tokens.items():
            credentials = self.bus.credentials[name]
            found += [token, (self.keys / f"{name}.token").read_text().strip(), credentials.seed]
        return found

    async def raw(self, data: bytes, *, address: str = "", timeout_s: float = 20.0) -> Answer:
        """Send bytes, and read the whole answer."""
        local = (address or self.address(), 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=local)
        try:
            async with asyncio.timeout(timeout_s):
                writer.write(data)
                try:
                    await writer.drain()
                    whole = await reader.read()
                except ConnectionError:  # it has answered, and reads no more
                    whole = b""
        finally:
            writer.close()
        return answer_of(whole)

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | str = b"", **more: Any
    ) -> Answer:
        """One request; Host and length are right unless `headers` says otherwise."""
        data = body.encode() if isinstance(body, str) else body
        given = {"Host": f"127.0.0.1:{self.port}", "Connection": "close", **(headers or {})}
        if (data or method == "POST") and "Transfer-Encoding" not in given:
            given.setdefault("Content-Length", str(len(data)))
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
        return await self.raw("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data, **more)

    async def json(self, who: str, method: str, path: str, body: Any = None) -> Answer:
        data = b"" if body is None else json.dumps(body).encode()
        return await self.ask(method, path, {**self.as_(who), "Content-Type": "application/json"}, data)

    @asynccontextmanager
    async def browser(self, who: str) -> AsyncIterator[Browser]:
        async with self.web.client(self.tokens[who]) as found:
            yield found

    async def mcp_session(self, who: str) -> dict[str, str]:
        """Headers of a session of the transport that somebody has begun."""
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        async with self.browser(who) as browser:
            begun = await browser.http.post("/mcp", json=BEGIN, headers=headers)
            headers |= {"Mcp-Session-Id": begun.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
            ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            await browser.http.post("/mcp", json=ready, headers=headers)
        return headers

    async def mcp(self, who: str, tool: str, arguments: dict[str, Any]) -> str:
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = await self.mcp_session(who)
        async with self.browser(who) as browser:
            return str((await browser.http.post("/mcp", json=call, headers=headers)).text)


def answer_of(whole: bytes) -> Answer:
    """The first answer in these bytes; status 0: there is none."""
    head, _, body = whole.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    if not first:
        return Answer(0, {}, "")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        body = _unchunked(body)
    return Answer(int(first.split()[1]), headers, body.decode(errors="replace"))


def _unchunked(body: bytes) -> bytes:
    found = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size or b"0", 16)
        found, body = found + body[:length], body[length + 2 :]
        if not length:
            break
    return found


class _Kept(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))


@asynccontextmanager
async def target(folder: Path, *, streams: int = 256) -> AsyncIterator[Target]:
    """One, with a finished and an open session of alice: it waits for
    a person on its first seat, which she and bob may take."""
    async with engine(folder / "bus", queues={**QUEUES, HUMAN: "panelist"}, viewers={"viewer": ("*",)}) as bus:
        keys = folder / "keys"
        tokens = folder_of(bus, keys)
        bus.credentials["viewer"].save(keys / "viewer.json")
        tokens["viewer"] = new_token(keys / "viewer.json")
        for name in ("alice", "bob"):
            (keys / f"{name}.seats").mkdir()
            bus.credentials[HUMAN].save(keys / f"{name}.seats" / "seat.json")
        root = folder / "roots" / "project"
        root.mkdir(parents=True)
        (root / "link").symlink_to("/etc")
        (root / "up").symlink_to("..")
        await bus.moderator()
        for queue in QUEUES:
            await bus.worker(queue, {"latency_s": 0.02})
        async with Web(bus.server.url, keys, streams=streams, body_s=BODY_S, roots=(root,), head_s=HEAD_S) as web:
            found = Target(web, bus, keys, tokens)
            kept = _Kept(found.logged)
            logging.getLogger().addHandler(kept)
            try:
                async with found.browser("alice") as alice:
                    found.finished = await alice.start("Whose is this?")
                    await alice.watched(found.finished)
                    found.open = await alice.start("Is it open?", humans=["panelist_1"])
                yield found
            finally:
                logging.getLogger().removeHandler(kept)
