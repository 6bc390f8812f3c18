"""The gateway as a part of somebody's ASGI application: `app.mount("/parley", web)`, with `web = parley.web_app()`.

Its routes, its guard and its page are those of `parley serve`. Behind a prefix they see paths without it. Addresses
that it sends back have the prefix: redirects, and links of pages. The page's scripts find it by their own address.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Unpack

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.routing import Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from parley.bus.accounts import load_credentials
from parley.planned.local_stack import LocalParley, StackOptions, local
from parley.stack.lease import OWNER
from parley.web.app import LOOPBACK, Config, build
from parley.web.doors import DoorOptions, doors
from parley.web.offered_models import Offers
from parley.web.principals import COOKIE_KEY, Principals, carried_key, cookie_key

_LINKS = (b' href="/', b' src="/', b' action="/')


class WebApp:
    """The web page, /v1 and MCP over a stack of its own, as an ASGI application. `web_app` makes it.

    After `web = parley.web_app()`, write `app = FastAPI(lifespan=web.lifespan)` and `app.mount("/parley", web)`.
    """

    def __init__(self, keys: Path | None, hosts: Sequence[str], secure: bool, stack: StackOptions) -> None:
        self._keys, self._hosts, self._secure, self._stack = keys, tuple(hosts), secure, stack
        self._app: ASGIApp | None = None
        self._parley: LocalParley | None = None
        self._principals: Principals | None = None

    @property
    def parley(self) -> LocalParley:
        """The connection to the stack, for questions of the application's own. Raises RuntimeError while the lifespan
        does not run."""
        if self._parley is None:
            raise RuntimeError(_NOT_STARTED)
        return self._parley

    def link(self, at: str = "") -> str:
        """A link that lets one browser in, once, within ten minutes. `at`: the address where the application is
        mounted. Empty with keys: who signs in there has a token."""
        return f"{at.rstrip('/')}/login?code={self._known.link()}" if self._keys is None else ""

    @property
    def token(self) -> str:
        """For programs, as the `Authorization: Bearer` of /v1 and MCP; empty with keys."""
        return self._known.local_token()

    @property
    def _known(self) -> Principals:
        if self._principals is None:
            raise RuntimeError(_NOT_STARTED)
        return self._principals

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncIterator[None]:
        """Starts the stack, and ends it. The application that mounts it names it as its own lifespan, or enters it in
        its own. `app`: that application."""
        async with local(**self._stack) as parley:
            own = load_credentials(parley.lease.credentials(OWNER))
            key = cookie_key((self._keys or parley.lease.state / "keys") / COOKIE_KEY)
            self._principals = Principals(key, local=None if self._keys else own, folder=self._keys)
            options = DoorOptions(offers=Offers(parley.offers()), secret=carried_key(key))
            config = Config(
                url=parley.lease.url,
                own=own,
                hosts=(*LOOPBACK, *(name.lower() for name in self._hosts)),
                secure=self._secure,
                serve=parley.client.serve,
            )
            inner = build(config, self._principals, doors(options))
            async with inner.router.lifespan_context(inner):
                self._app, self._parley = inner, parley
                try:
                    yield
                finally:
                    self._app = self._parley = self._principals = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, wherever it is mounted."""
        if scope["type"] == "lifespan":  # it is the whole application
            await Router(lifespan=self.lifespan)(scope, receive, send)
        elif self._app is None:
            await PlainTextResponse(_NOT_STARTED, 503)(scope, receive, send)
        else:
            root = scope.get("root_path", "").rstrip("/")
            mounted = root.removeprefix(scope.get("app_root_path", "").rstrip("/"))
            path = scope["path"]
            before = next((p for p in (root, mounted) if p and (path == p or path.startswith(f"{p}/"))), "")
            inside = {**scope, "path": path[len(before) :] or "/", "root_path": "", "app_root_path": ""}
            await self._app(inside, receive, _beneath(root, send) if root else send)


_NOT_STARTED = "parley.web_app is not started: name its `lifespan` as your application's, or enter it in your own"


def _beneath(root: str, send: Send) -> Send:
    """Sends redirects and pages with the prefix before addresses of this application."""
    head: Message | None = None
    page = b""

    async def sends(message: Message) -> None:
        nonlocal head, page
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if (to := headers.get("location", "")).startswith("/"):
                headers["location"] = root + to
            if headers.get("content-type", "").startswith("text/html"):
                head = message
                return
        elif head is not None:
            page += message.get("body", b"")
            if message.get("more_body", False):
                return
            for link in _LINKS:
                page = page.replace(link, link + root[1:].encode() + b"/")
            MutableHeaders(scope=head)["content-length"] = str(len(page))
            await send(head)
            message = {**message, "body": page}
        await send(message)

    return sends


def web_app(
    *,
    keys: Path | str | None = None,
    hosts: Sequence[str] = (),
    secure: bool = False,
    **stack: Unpack[StackOptions],
) -> WebApp:
    """The web page, the OpenAI-compatible endpoint and MCP as an ASGI application, to mount in one of yours.

    Parameters
    ----------
    keys
        Folder of the tokens of the users who may sign in (`parley bus token`). None: one user, who has a link or the
        token (`WebApp.link`, `WebApp.token`).
    hosts
        Names under which browsers and programs reach your application, without ports. Those of this machine itself are
        known.
    secure
        Browsers come by https.
    panel, stack, state, model, options, protocol, patience_s, agents, learned
        As `local` takes them.
    """
    return WebApp(None if keys is None else Path(keys), hosts, secure, stack)
