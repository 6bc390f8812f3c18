"""The door that calls out: an address of the operator's hears of sessions that ended and of items that are open.

The bus is the queue. What a session came to and what it asks is read there, and what was delivered is remembered in
one file. So a gateway that dies forgets nothing; at most it sends once more what was on its way, with the same id.
Calls are signed as Standard Webhooks are (version 1: HMAC-SHA256 of id, time and body), and made again with growing
pauses for a day.

An open item comes with a link that answers it, once: it holds a seal of this gateway over the item. Opening the link
answers nothing, since programs open links too; the form behind it does.
"""

import asyncio
import base64
import binascii
import contextlib
import hmac
import html
import logging
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from parley.bus.errors import BusError
from parley.client.client import Client
from parley.client.errors import BadInput, ParleyError, Refusal
from parley.client.people import inbox
from parley.client.text import clean
from parley.schemas.wire import InvalidValue
from parley.web import verdicts
from parley.web.app import Door, Shared, shared_of
from parley.web.doors import DoorOptions, own
from parley.web.principals import LOCAL

_LOGGER = logging.getLogger(__name__)
ANSWER = "/answer"
SECRET = "PARLEY_WEBHOOK_SECRET"
"""The variable with the secret that signs: `whsec_` and base64, as Standard Webhooks write it."""
_LOOK_S = 2.0
_TIMEOUT_S = 10.0
_PAUSE_S = 300.0
"""The longest between two tries."""
_TRIED_S = 86_400.0
_SESSIONS = 500
"""Of those that changed last, so many are looked at."""
_ENDED = ("finished", "failed", "cancelled")
_MOST = 10_000
"""Ids that are remembered."""


class _Sent(msgspec.Struct):
    since_ns: int
    """Of what happened before, nothing is told."""
    ids: list[str] = []


class _Link(msgspec.Struct, frozen=True):
    principal: str
    session: str
    item: str


def door(options: DoorOptions, given: Mapping[str, Any]) -> Door:
    """The door. Raises BadInput."""
    told = own("webhook", given, {"url": "", "principal": LOCAL, "public_url": ""})
    place = urlsplit(told["url"])
    if place.scheme not in ("http", "https") or not place.hostname:
        raise BadInput("doors.webhook.url", "it is not an http or https address")  # which it is may be a secret
    if options.state is None or options.secret is None:
        raise BadInput("doors.webhook", "it needs a state folder")
    links = Links(hmac.digest(options.secret, b"answer links", "sha256"), told["public_url"])
    caller = Caller(told["url"], _secret(), options.state / "webhook.json", links)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        working = asyncio.create_task(caller.work(app.state.shared, told["principal"]), name="webhook")
        yield
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)

    routes = (Route(ANSWER, links.page, methods=["GET", "POST"]),)
    return Door(routes=routes, open=(ANSWER,), lifespan=lifespan)


def _secret() -> bytes:
    text = os.environ.get(SECRET, "")
    with contextlib.suppress(binascii.Error, ValueError):
        secret = base64.b64decode(text.removeprefix("whsec_"), validate=True)
        if text.startswith("whsec_") and len(secret) >= 24:
            return secret
    raise BadInput(SECRET, "expected whsec_ and at least 24 bytes in base64; the receiver checks signatures with it")


class Caller:
    """Finds what happened, and tells it until it is heard."""

    def __init__(self, url: str, secret: bytes, file: Path, links: "Links") -> None:
        self._url, self._secret, self._file, self._links = url, secret, file, links
        self._sent = self._read()
        self._failed = 0
        """Rounds in a row in which nothing was heard."""
        self._changed = 0
        """The last change in the list of sessions of which everything is told."""

    async def work(self, shared: Shared, name: str) -> None:
        """Until it is cancelled."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_TIMEOUT_S)) as http:
            while True:
                try:
                    principal = shared.principals.named(name)
                    if principal is None:
                        raise BadInput("doors.webhook.principal", f"there is no principal {name}")
                    await self._round(http, await shared.pool.client(principal), name, shared)
                except (ParleyError, BusError, TimeoutError, OSError) as error:  # it is looked again
                    self._failed = min(self._failed + 1, 16)
                    _LOGGER.warning("webhook: %s", error)
                await asyncio.sleep(min(_PAUSE_S, _LOOK_S * 2**self._failed))

    async def _round(self, http: aiohttp.ClientSession, client: Client, name: str, shared: Shared) -> None:
        last = max((row.seq for row in await client.sessions(1)), default=0)
        events, whole = await self._asked(client, name), True
        if last != self._changed:
            ended, whole = await self._ended(client)
            events |= ended
        heard = 0
        for id, body in events.items():
            taken = await self._post(http, id, {"id": id, **body})
            if taken:
                heard += 1
                self._remember(id)
            shared.config.metrics.webhooks.labels(outcome="sent" if taken else "failed").inc()
        if whole and heard == len(events):
            self._changed = last
        self._failed = 0 if heard or not events else min(self._failed + 1, 16)

    async def _ended(self, client: Client) -> tuple[dict[str, dict[str, Any]], bool]:
        """Sessions that ended and are to be told, by the id of the call, the oldest first; whether the results of all
        are there."""
        since = max(self._sent.since_ns, time.time_ns() - int(_TRIED_S * 1e9))
        whole, ended = True, dict[str, dict[str, Any]]()
        for row in reversed(await client.sessions(_SESSIONS)):
            id, at_ns = f"{row.session}.closed", row.closed_ns or 0
            if row.status not in _ENDED or at_ns <= since or id in self._sent.ids:
                continue
            result = await client.finished(row.session)
            whole = whole and result is not None
            if result is not None:
                told = {"type": "session.closed", "at_ns": at_ns, "question": row.question}
                ended[id] = {**told, "verdict": verdicts.verdict(result), **verdicts.figures(result)}
        return ended, whole

    async def _asked(self, client: Client, name: str) -> dict[str, dict[str, Any]]:
        """Items that are open and are to be told, the most urgent first."""
        asked = {}
        for item in await inbox.waiting(client):
            if (id := f"{item.session}.item.{item.item}") not in self._sent.ids:
                link = self._links.of(_Link(name, item.session, item.item))
                told = {k: v for k, v in msgspec.structs.asdict(item).items() if k != "seconds_left"}
                asked[id] = {"type": "item.open", **told, **({"answer_url": link} if link else {})}
        return asked

    async def _post(self, http: aiohttp.ClientSession, id: str, body: Mapping[str, Any]) -> bool:
        """Whether it was heard."""
        data, at = msgspec.json.encode(body), str(int(time.time()))
        signature = base64.b64encode(hmac.digest(self._secret, f"{id}.{at}.".encode() + data, "sha256")).decode()
        headers = {"webhook-id": id, "webhook-timestamp": at, "webhook-signature": f"v1,{signature}"}
        headers["Content-Type"] = "application/json"
        try:
            async with http.post(self._url, data=data, headers=headers, allow_redirects=False) as answer:
                why = f"it answered {answer.status}"
                if answer.status < 300:
                    return True
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = type(error).__name__
        _LOGGER.warning("webhook: %s was not heard: %s", id, why)
        return False

    def _read(self) -> _Sent:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=_Sent)
        except (OSError, msgspec.MsgspecError):
            self._sent = _Sent(since_ns=time.time_ns())
            self._write()
            return self._sent

    def _remember(self, id: str) -> None:
        self._sent.ids = [*self._sent.ids, id][-_MOST:]
        self._write()

    def _write(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = self._file.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(self._sent))
        new.replace(self._file)


class Links:
    """Makes answer links, and answers by them."""

    def __init__(self, key: bytes, public_url: str) -> None:
        self._key, self._public_url = key, public_url.rstrip("/")

    def of(self, link: _Link) -> str:
        """The address; empty: nobody has said under which one people reach this gateway. What is secret in it stands
        behind the path, which alone is logged."""
        said = msgspec.json.encode(link)
        token = base64.urlsafe_b64encode(hmac.digest(self._key, said, "sha256") + said).decode()
        return f"{self._public_url}{ANSWER}?t={token}" if self._public_url else ""

    def _opened(self, token: str) -> _Link | None:
        with contextlib.suppress(binascii.Error, ValueError, msgspec.MsgspecError):
            whole = base64.urlsafe_b64decode(token)
            seal, said = whole[:32], whole[32:]
            if hmac.compare_digest(seal, hmac.digest(self._key, said, "sha256")):
                return msgspec.json.decode(said, type=_Link)
        return None

    async def page(self, request: Request) -> Response:
        """What is asked, as a form (GET); the answer (POST)."""
        link, shared = self._opened(request.query_params.get("t", "")), shared_of(request)
        principal = None if link is None else shared.principals.named(link.principal)
        if link is None or principal is None:
            return _page("This link answers nothing.", 404)
        client = await shared.pool.client(principal)
        open_items = {item.item: item for item in await inbox.waiting(client, link.session)}
        item = open_items.get(link.item)
        if item is None:
            return _page("This was answered already, or its time is over.", 410)
        if request.method == "GET":
            return _page(clean(f"{item.question}\nWithout an answer: {item.default}."), 200, item.choices)
        form = await request.form(max_files=0, max_fields=2)
        try:
            await inbox.answer(client, link.session, link.item, str(form.get("choice", "")).strip())
        except (BadInput, InvalidValue, Refusal) as error:
            return _page(clean(str(error)), 409)
        return _page("Your answer was taken.", 200)


def _page(text: str, status: int, choices: tuple[str, ...] | None = None) -> Response:
    """A page of plain words. `choices`: what may be answered; none: free text; None: nothing."""
    fields = "".join(
        f'<button name="choice" value="{html.escape(c)}">{html.escape(c)}</button> ' for c in choices or ()
    )
    if choices == ():
        fields = '<textarea name="choice" maxlength="4000" required></textarea> <button>Answer</button>'
    form = "" if choices is None else f'<form method="post">{fields}</form>'
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Parley asks</title>'
    style = '<link rel="stylesheet" href="/static/style.css">'
    words = "".join(f"<p>{html.escape(line)}</p>" for line in text.split("\n"))
    return Response(f"{head}{style}<main>{words}{form}</main></html>", status, media_type="text/html")
