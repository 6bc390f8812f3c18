"""The gateway over a real bus: uvicorn on a free port, tokens for an owner and clients, streams as a browser reads."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx2 as httpx
import uvicorn

from parley.bus.accounts import Credentials
from parley.observability.metrics import Metrics
from parley.serving.serving import UVICORN
from parley.web.app import Config, build
from parley.web.doors import DoorOptions, doors
from parley.web.guard import BODY_S
from parley.web.heads import HEAD_S, within
from parley.web.offered_models import Offers
from parley.web.page.seats import seats_in
from parley.web.principals import Principals, new_token
from tests.support.engine import Engine

USERS = ("owner", "alice", "bob", "auditor")


class Event(NamedTuple):
    """One event of a stream."""

    name: str
    id: str
    data: Any


class Web:
    """A gateway on a free port, and clients of it. `keys`: folder of the principals' keys, as `folder_of` makes it.
    `streams`: of one principal at once. `roots`: folders that programs may have read. `own`: the gateway's own
    credentials. `opened`: further doors, each with its options."""

    def __init__(
        self, url: str, keys: Path, streams: int = 256, body_s: float = BODY_S, roots: tuple[Path, ...] = (),
        own: Credentials | None = None, head_s: float = HEAD_S, offers: Offers | None = None,
        opened: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:  # fmt: skip
        self._offers, self._opened = offers or Offers(), opened or {}
        self._bus, self._keys, self._streams, self._body_s = url, keys, streams, body_s
        self._roots, self._own, self._head_s = roots, own, head_s
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.url = ""
        self.metrics = Metrics()

    async def __aenter__(self) -> Self:
        principals = Principals(bytes(32), folder=self._keys)
        config = Config(
            url=self._bus,
            own=self._own,
            hosts=("127.0.0.1",),
            ack_wait_s=1.0,
            streams=self._streams,
            body_s=self._body_s,
            metrics=self.metrics,
            seats=lambda name: seats_in(self._keys / f"{name}.seats"),
        )
        options = DoorOptions(
            roots=self._roots, offers=self._offers, opened=self._opened, secret=bytes(32), state=self._keys.parent
        )
        app = build(config, principals, doors(options))
        listening = socket.create_server(("127.0.0.1", 0))
        given = {**UVICORN, "http": within(self._head_s)}
        served = uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=1, **given)
        self._server = _Quiet(served)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listening]))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        while not self._server.started:
            assert not self._serving.done(), "the gateway did not start"
            await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None and self._serving is not None
        self._server.should_exit = True
        await self._serving

    @asynccontextmanager
    async def client(self, token: str) -> AsyncIterator["Browser"]:
        async with browser(self.url, token) as found:
            yield found


class _Quiet(uvicorn.Server):
    """Leaves signals to the test."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield


class Browser:
    def __init__(self, http: httpx.AsyncClient, token: str) -> None:
        self.http, self.token = http, token

    async def get(self, path: str, status: int = 200) -> Any:
        """A JSON document; the status is as expected."""
        answer = await self.http.get(path)
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text[:500]}"
        return answer.json()

    async def post(self, path: str, body: Any = None, status: int = 200) -> Any:
        answer = await self.http.post(path, json={} if body is None else body)
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text[:500]}"
        return answer.json()

    async def start(self, question: str = "What is the answer?", **more: Any) -> str:
        """Open a session; its id."""
        found = await self.post("/api/sessions", {"question": question, "protocol": "consensus", **more}, 201)
        return str(found["session"])

    async def events(self, path: str, *, headers: Mapping[str, str] | None = None) -> AsyncIterator[Event]:
        """The events of a stream, until the server ends it."""
        async with self.http.stream("GET", path, headers=dict(headers or {})) as answer:
            assert answer.status_code == 200, (await answer.aread())[:500]
            assert answer.headers["content-type"].startswith("text/event-stream")
            name = id_ = ""
            async for line in answer.aiter_lines():
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "id":
                    id_ = value
                elif field == "data":
                    yield Event(name, id_, json.loads(value))
                    id_ = ""

    async def watched(self, sid: str, query: str = "") -> list[Event]:
        """All events of a session's stream, to its end."""
        async with asyncio.timeout(20):
            return [event async for event in self.events(f"/api/sessions/{sid}/events{query}")]


class Site(NamedTuple):
    """A bus with its gateway, and who asks. The auditor reads the sessions of all, and does nothing with them."""

    bus: Engine
    web: Web
    owner: Browser
    alice: Browser
    bob: Browser
    auditor: Browser


@asynccontextmanager
async def browser(url: str, token: str) -> AsyncIterator[Browser]:
    """One who asks a gateway, by its token."""
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=20) as http:
        yield Browser(http, token)


def folder_of(engine: Engine, folder: Path) -> dict[str, str]:
    """Write the keys of USERS into a folder; name -> token."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for name in USERS:
        engine.credentials[name].save(folder / f"{name}.json")
        found[name] = new_token(folder / f"{name}.json")
    return found


@asynccontextmanager
async def site_of(bus: Engine, keys: Path, **given: Any) -> AsyncIterator[Site]:
    """A gateway of a bus, and all who ask there; `given`: as Web takes it."""
    tokens = folder_of(bus, keys)
    async with (
        Web(bus.server.url, keys, **given) as web,
        web.client(tokens["owner"]) as owner,
        web.client(tokens["alice"]) as alice,
        web.client(tokens["bob"]) as bob,
        web.client(tokens["auditor"]) as auditor,
    ):
        yield Site(bus, web, owner, alice, bob, auditor)


def posts(events: list[Event]) -> list[tuple[str, int]]:
    """(channel, number) of the posts that were told."""
    return [(e.data["post"]["channel"], e.data["post"]["k"]) for e in events if e.name == "post"]


def told(events: list[Event], field: str) -> Any:
    """A field of the session's view, as it was told last."""
    return [e.data[field] for e in events if e.name == "view" and field in e.data][-1]
