"""The web page's routes (what they take and give: parley/web/page/shapes.py)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from parley.web.app import STATIC, Door
from parley.web.offered_models import Offers
from parley.web.page import people, reading, starting
from parley.web.page.form_fields import offers
from parley.web.page.hub import hub
from parley.web.page.seats import seats

_PAGES = ("/", "/new", "/inbox", "/agents", "/compare", "/s/{sid}", "/s/{sid}/documents/{number}")
_Answer = Callable[[Request], Awaitable[Response]]


async def _shell(request: Request) -> Response:
    """The same page everywhere: its scripts look at the address."""
    return FileResponse(STATIC / "index.html", media_type="text/html", headers={"cache-control": "no-cache"})


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    offers()  # reads in every protocol, which takes a second or two: not in a thread beside others that import
    config = app.state.shared.config
    async with hub(app.state.shared.pool, config.metrics) as feeds, seats(config.url, config.ack_wait_s) as taken:
        app.state.hub, app.state.seats = feeds, taken
        yield


def _routes() -> tuple[Route, ...]:
    asked: tuple[tuple[str, str, _Answer], ...] = (
        ("GET", "/api/me", starting.me),
        ("GET", "/api/limits", starting.limits),
        ("GET", "/api/sessions", reading.listed),
        ("POST", "/api/sessions", starting.start),
        ("POST", "/api/estimate", starting.estimated),
        ("GET", "/api/events", reading.stream),
        ("GET", "/api/inbox", people.inbox),
        ("GET", "/api/bus", people.bus),
        ("GET", "/api/agents", people.agents),
        ("GET", "/api/sessions/{sid}", reading.snapshot),
        ("GET", "/api/sessions/{sid}/events", reading.stream),
        ("GET", "/api/sessions/{sid}/documents/{number}", reading.document),
        ("GET", "/api/sessions/{sid}/export/{form}", reading.export),
        ("POST", "/api/sessions/{sid}/what-if", reading.what_if),
        ("POST", "/api/sessions/{sid}/cancel", people.cancel),
        ("POST", "/api/sessions/{sid}/answer-now", people.answer_now),
        ("POST", "/api/sessions/{sid}/decide", people.decide),
        ("POST", "/api/sessions/{sid}/feedback", people.feedback),
        ("POST", "/api/sessions/{sid}/fork", people.fork),
        ("POST", "/api/sessions/{sid}/seats/{seat}/sit", people.sit),
        ("POST", "/api/sessions/{sid}/seats/{seat}/leave", people.leave),
        ("POST", "/api/sessions/{sid}/seats/{seat}/reply", people.reply),
    )
    pages = tuple(Route(path, _shell, methods=["GET"]) for path in _PAGES)
    return pages + tuple(Route(path, answer, methods=[method]) for method, path, answer in asked)


def web(of: Offers | None = None) -> Door:
    """The web page. `of`: what past outcomes enter its sessions; None: none do."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.offers = of or Offers()
        async with _lifespan(app):
            yield

    return Door(routes=_routes(), uploads=("/api/sessions", "/api/estimate"), lifespan=lifespan)
