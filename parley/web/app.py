"""The ASGI application: the routes of all doors behind one guard, and what they share."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from parley.bus.accounts import Credentials
from parley.bus.errors import BusError
from parley.client.client import Client, Serve
from parley.client.errors import ParleyError
from parley.client.show.palette import css
from parley.observability.metrics import Metrics
from parley.schemas.session import SESSION_ID
from parley.web import errors
from parley.web.connections import Connections, connections
from parley.web.counted import RequestCounter
from parley.web.errors import ErrorForm, Forms, JsonResponse
from parley.web.guard import BODY_S, Guard, cookie_of, set_cookie
from parley.web.health import Health, Looks
from parley.web.principals import COOKIE_S, Principal, Principals

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Names of this machine itself."""
OWN = "gateway"
"""What the gateway's own connection is called."""
READY_S = 1.0
"""Seconds within which a moderator answers where all is well."""
STATIC = Path(__file__).parent / "static"


def no_seats(principal: str) -> Mapping[str, Credentials]:
    """None, for anybody."""
    return {}


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """How a gateway is run."""

    url: str
    """Of the bus."""
    own: Credentials | None = None
    """The gateway's own, by which it asks for its health whether a moderator answers: a probe's will do. None: it asks
    nobody, and is ready as soon as it answers."""
    hosts: tuple[str, ...]
    """Names under which it answers, without ports."""
    secure: bool = False
    """Browsers come by https, through a proxy in front of it."""
    seats: Callable[[str], Mapping[str, Credentials]] = no_seats
    """Principal -> seats that it may take, each with the credentials of who sits there."""
    metrics: Metrics = msgspec.field(default_factory=Metrics)
    """What the process counts."""
    serve: Serve | None = None
    """Has whom a session needs served (parley.client.client.Client.serve); None: whoever is alive serves."""
    streams: int = 256
    """Of one principal at once."""
    body_s: float = BODY_S
    """So long a body may take."""
    ack_wait_s: float = 8.0
    """Of the queues, for whoever takes a seat."""
    health: Callable[[], Awaitable[Health]] | None = None
    """Looks at what is behind the gateway, for owners to read; None: nobody can from here."""


class Shared:
    """What the routes of all doors use; `request.app.state.shared`."""

    def __init__(self, config: Config, principals: Principals, pool: Connections) -> None:
        self.config, self.principals, self.pool = config, principals, pool
        self.looks = Looks(config.health)


def shared_of(request: Request) -> Shared:
    """What the doors share."""
    shared: Shared = request.app.state.shared
    return shared


def principal_of(request: Request) -> Principal:
    """Who asks: the guard lets nobody else through to routes that call this."""
    principal: Principal = request.state.principal
    return principal


async def client_of(request: Request) -> Client:
    """What who asks does on the bus, in its own name. Raises Unreachable."""
    return await shared_of(request).pool.client(principal_of(request))


def build(config: Config, principals: Principals, doors: Sequence["Door"] = ()) -> Starlette:
    """The application. `doors`: each adds its routes, in their order."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            pool = await stack.enter_async_context(connections(config.url, config.metrics, serve=config.serve))
            app.state.shared = Shared(config, principals, pool)
            for door in doors:
                if door.lifespan is not None:
                    await stack.enter_async_context(door.lifespan(app))
            stack.push_async_callback(app.state.shared.looks.close)
            yield

    routes: list[BaseRoute] = [
        Route("/healthz", _alive),
        Route("/readyz", _ready),
        Route("/login", _login, methods=["GET", "POST"]),
        Route("/logout", _logout, methods=["POST"]),
        Route("/static/colours.css", _colours),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    uploads: list[str] = []
    open_paths: list[str] = []
    for door in doors:
        routes += door.routes
        uploads += door.uploads
        open_paths += door.open
    forms = Forms((door.error_form for door in doors if door.error_form is not None), STATIC / "index.html")
    guard = Middleware(
        Guard,
        principals=principals,
        hosts=config.hosts,
        uploads=tuple(uploads),
        open_paths=tuple(open_paths),
        secure=config.secure,
        forms=forms,
        body_s=config.body_s,
    )
    known = dict.fromkeys(errors.KNOWN, forms.handler)
    counted = Middleware(RequestCounter, metrics=config.metrics)
    return Starlette(routes=routes, middleware=[counted, guard], exception_handlers=known, lifespan=lifespan)


class Door(msgspec.Struct, frozen=True, kw_only=True):
    """One way to the sessions: the web page, the OpenAI-compatible endpoint, MCP, or one that a package brings."""

    routes: tuple[BaseRoute, ...] = ()
    uploads: tuple[str, ...] = ()
    """Prefixes of paths that take evidence."""
    open: tuple[str, ...] = ()
    """Paths, and with a `/` at the end prefixes of paths, that are answered to anybody, at the rate of strangers."""
    lifespan: Callable[[Starlette], "asynccontextmanager[None]"] | None = None  # type: ignore[valid-type]
    """What is up while the application is: a process of its own, which finds in `app.state.shared` who may ask."""
    error_form: tuple[str, ErrorForm] | None = None
    """Prefix of its paths, and how errors are told there, those of the guard too; None: as everywhere."""


async def _colours(request: Request) -> Response:
    """The colours of seats, sides and signals, which pictures and exports have, too."""
    return Response(css(), media_type="text/css")


async def _alive(request: Request) -> Response:
    """That the process answers. Whether the bus does is another question."""
    return JsonResponse({"ok": True})


async def _ready(request: Request) -> Response:
    """Whether a moderator answers: 200, or 503 with why not. It says nothing of sessions or workers."""
    shared = shared_of(request)
    own = shared.config.own
    if own is None:
        return JsonResponse({"ok": True})
    asker = Principal(name=OWN, credentials=own, fingerprint=OWN)
    try:
        await (await shared.pool.client(asker)).workers(READY_S)
    except (ParleyError, BusError) as error:
        return JsonResponse({"ok": False, "why": errors.http_error(error)[2]}, 503)
    return JsonResponse({"ok": True})


async def _login(request: Request) -> Response:
    """A one-time link (GET ?code=), or a token (POST token=): the cookie, and on to the first page, or to that of
    `session`."""
    principals = shared_of(request).principals
    if request.method == "GET":
        code = request.query_params.get("code")
        if code is None:
            return _form("")
        principal = principals.redeem(code)
        failed = "That link was used, or is older than ten minutes. Start again for a new one, or enter a token."
    else:
        form = await request.form(max_files=0, max_fields=2)
        principal = principals.of_token(str(form.get("token", "")))
        failed = "That token is not valid."
    if principal is None:
        if "text/html" in request.headers.get("accept", ""):
            return _form(failed)
        return JsonResponse({"error": {"field": "token", "message": failed}}, 401)
    sid = request.query_params.get("session", "")
    response = RedirectResponse(f"/s/{sid}" if SESSION_ID.fullmatch(sid) else "/", 303)
    set_cookie(response, principals.cookie(principal), secure=shared_of(request).config.secure, seconds=COOKIE_S)
    return response


def _form(failed: str) -> Response:
    """The page to sign in. `failed`: why the last try did not; empty: there was none."""
    page = (STATIC / "login.html").read_text("utf-8")
    return Response(page.replace("{failed}", failed), 401 if failed else 200, media_type="text/html")


async def _logout(request: Request) -> Response:
    shared = shared_of(request)
    secure = shared.config.secure
    shared.principals.ends(cookie_of(request.headers, secure=secure))
    response = RedirectResponse("/login", 303)
    set_cookie(response, "", secure=secure, seconds=0)
    return response
