"""Checks before every route, and the headers of every answer.

In this order, so that what is cheap to refuse is refused first:

1. **Host.** Only the names that the gateway was started for. A page of another site that had its name resolved to this
   address (DNS rebinding) is refused.
2. **Origin.** A request of a browser (it sends `Origin` or `Sec-Fetch-Site`) comes from the gateway's own pages, or
   it is a plain visit by GET of a page. No route of another site is answered, and no CORS header is ever sent.
3. **Who.** A bearer token or a cookie; without one only the pages of OPEN are answered, and what a door leaves open. A
   token wins over a cookie.
4. **Rate.** Requests of one principal; of one address where nobody is known, so that tokens cannot be guessed.
5. **Size and time.** A body over its limit ends with 413, while it is read: no length is believed. One that is not
   there after BODY_S ends with 408.

An answer that a browser may run nothing in: a strict content policy, no framing, no sniffing, no referrer elsewhere.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from parley.client.errors import ParleyError
from parley.observability import caller
from parley.web import errors
from parley.web.principals import Principal, Principals

COOKIE = "parley"
SECURE_COOKIE = "__Host-parley"
"""Its name by https: browsers take one of this name from the host itself alone, and from no other one of its domain."""
OPEN = frozenset({"/login", "/healthz", "/readyz"})
"""Paths that are answered to anybody."""
FILES = "/static/"
"""Beneath it are the page's files. They are answered to anybody, since they hold nothing of a session, and count
against no rate: one page takes thirty of them."""
BODY = 1_000_000
"""Bytes of a request, where its path has no limit of its own."""
UPLOAD = 16_000_000
"""Bytes of a request that may bring evidence with it."""
BODY_S = 60.0
"""Seconds within which a body is there, whole."""
RATE, BURST = 50.0, 200
"""Requests a second of one principal, and how many may come at once."""
UNKNOWN_RATE, UNKNOWN_BURST = 1.0, 20
"""The same of one address that has shown no valid token."""
_ADDRESSES = 10_000
_TRACEPARENT = 55
"""Characters of W3C's header."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # under no-referrer a browser sends `Origin: null` with the form of the sign-in
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Bucket:
    """Lets `rate` a second through, and `burst` at once, by key. It forgets keys that were quiet longest."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def takes(self, key: str) -> bool:
        """Whether one more of this key may go through; it is counted."""
        now = self._clock()
        tokens, at = self._left.pop(key, (float(self._burst), now))
        tokens = min(float(self._burst), tokens + (now - at) * self._rate)
        self._left[key] = (tokens - 1 if tokens >= 1 else tokens, now)
        while len(self._left) > _ADDRESSES:
            self._left.popitem(last=False)
        return tokens >= 1


class Guard:
    """ASGI middleware with all checks.

    Parameters
    ----------
    hosts
        Names that the Host header may have, without a port, in lower case.
    uploads
        Prefixes of paths whose body may have UPLOAD bytes.
    open_paths
        Paths of doors, and with a `/` at the end prefixes of paths, that are answered to anybody.
    secure
        Whether browsers come by https: the cookie is sent there alone.
    forms
        How errors are told, by path.
    body_s
        So long a body may take.
    """

    def __init__(
        self,
        app: ASGIApp,
        principals: Principals,
        *,
        hosts: Sequence[str],
        uploads: Sequence[str] = (),
        open_paths: Sequence[str] = (),
        secure: bool = False,
        forms: errors.Forms | None = None,
        body_s: float = BODY_S,
    ) -> None:
        self._forms = forms or errors.Forms()
        self._app, self._principals = app, principals
        self._hosts, self._uploads, self._secure = frozenset(hosts), tuple(uploads), secure
        self._body_s = body_s
        self._open = frozenset(open_paths)
        self._open_beneath = tuple(path for path in open_paths if path.endswith("/"))
        self._known, self._unknown = Bucket(RATE, BURST), Bucket(UNKNOWN_RATE, UNKNOWN_BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request, then hand it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks over a web socket
            await send({"type": "websocket.close", "code": 1008})
            return
        send = self._with_headers(scope, send)
        try:
            self._check(scope)
        except (ParleyError, HTTPException) as error:
            if getattr(error, "status_code", 0) == 401 and is_visit(scope):
                await RedirectResponse("/login", 303)(scope, receive, send)
                return
            await self._forms.answer(scope["path"], error)(scope, receive, send)
            return
        limit = UPLOAD if scope["path"].startswith(self._uploads) else BODY
        with caller.within(traceparent_of(scope)):
            await self._app(scope, _bounded(receive, limit, self._body_s), send)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if name_of(headers.get("host", "")) not in self._hosts:
            raise HTTPException(421, "this gateway does not answer under that host name (--public-host NAME)")
        self._same_site(scope, headers)
        path = scope["path"]
        if path.startswith(FILES):  # the same to anybody, so no token can be guessed by them
            return
        principal, shown = self._who(headers)
        scope.setdefault("state", {})["principal"] = principal
        if principal is None:
            address = (scope.get("client") or ("",))[0]
            of_door = path in self._open or path.startswith(self._open_beneath)
            if (shown or path == "/login" or of_door) and not self._unknown.takes(address):
                raise HTTPException(429, "too many tries from this address", {"Retry-After": "10"})
            if path not in OPEN and not of_door:
                why = "that token or cookie is not valid" if shown else "a token or a cookie is needed"
                raise HTTPException(401, f"{why}: open the printed link, or send Authorization: Bearer TOKEN")
        elif not self._known.takes(principal.name):
            raise HTTPException(429, f"more than {RATE:g} requests a second", {"Retry-After": "1"})

    def _same_site(self, scope: Scope, headers: Headers) -> None:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and _place(origin) != headers.get("host", "").lower():
            raise HTTPException(403, "a page of another site may not ask this gateway")
        if site in (None, "same-origin", "none"):
            return
        visit = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if not visit or headers.get("sec-fetch-dest") != "document":
            raise HTTPException(403, "a page of another site may not ask this gateway")

    def _who(self, headers: Headers) -> tuple[Principal | None, bool]:
        """Who asks, and whether a token or a cookie came."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme:
            return (self._principals.of_token(token.strip()) if scheme.lower() == "bearer" else None), True
        value = cookie_of(headers, secure=self._secure)
        return (self._principals.of_cookie(value) if value else None), bool(value)

    def _with_headers(self, scope: Scope, send: Send) -> Send:
        async def sends(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                # a file is kept, and asked for again by its ETag: after a new release nobody has old scripts
                headers.setdefault("cache-control", "no-cache" if scope["path"].startswith(FILES) else "no-store")
            await send(message)

        return sends


def is_visit(scope: Scope) -> bool:
    """Whether somebody looks at a page: a GET that takes HTML."""
    return scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")


def traceparent_of(scope: Scope) -> str:
    """The trace in which somebody known asks; empty: none."""
    known = scope.get("state", {}).get("principal") is not None
    return Headers(scope=scope).get("traceparent", "")[:_TRACEPARENT] if known else ""


def name_of(host: str) -> str:
    """A Host header without its port, in lower case."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _place(origin: str) -> str:
    """Host and port of an Origin header; empty: it names none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def cookie_of(headers: Headers, *, secure: bool) -> str:
    """The value of the gateway's cookie, the last one where there are several; empty: there is none.

    Ours has letters, digits and dots alone. Python's own parser reads what stands between quotes, in a time that grows
    with the square of its length: 60,000 backslashes took it 39 s.
    """
    cookie, cookie_name = "", SECURE_COOKIE if secure else COOKIE
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        cookie = value.strip() if name == cookie_name else cookie
    return cookie


def _bounded(receive: Receive, limit: int, seconds: float) -> Receive:
    """Reads no more than `limit` bytes of a body, and waits no longer than `seconds` for it. Raises TooLarge, and
    HTTPException."""
    received, whole = 0, False
    end = asyncio.get_running_loop().time() + seconds

    async def receives() -> Message:
        nonlocal received, whole
        if whole:  # what comes then is that the client has gone
            return await receive()
        try:
            async with asyncio.timeout_at(end):
                message = await receive()
        except TimeoutError:
            why = f"the body was not there within {seconds:g} s"
            raise HTTPException(408, why, {"Connection": "close"}) from None
        whole = not message.get("more_body", False)
        received += len(message.get("body", b""))
        if received > limit:
            raise errors.TooLarge(f"body: it is larger than {limit:,} bytes")
        return message

    return receives


def set_cookie(response: Any, value: str, *, secure: bool, seconds: int) -> None:
    """Put the gateway's cookie into an answer: for this site's pages alone, unseen by scripts."""
    name = SECURE_COOKIE if secure else COOKIE
    response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="strict", secure=secure, path="/")
