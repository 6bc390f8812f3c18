"""`parley ask --open`: serves the page of one session while its command runs."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from parley.bus.accounts import load_credentials
from parley.client.api import Parley
from parley.client.errors import Unreachable
from parley.observability.metrics import Metrics
from parley.planned.local_stack import lease_of
from parley.planned.plan import Plan
from parley.serving.serving import (
    GatewayServer,
    Serve,
    address_of,
    config_of,
    listening_socket,
    load_person_credentials,
    open_browser,
    server_of,
)
from parley.stack.lease import OWNER, default_state
from parley.web.app import build
from parley.web.page.door import web
from parley.web.principals import COOKIE_KEY, Principals, cookie_key

LAST_S = 2.0
"""So long a browser that is there has for the end of the session."""


class SessionPage:
    """A gateway for the time of one command."""

    def __init__(self, address: str, principals: Principals, server: GatewayServer) -> None:
        self._address, self._principals, self._server = address, principals, server

    def shows(self, sid: str, tell: Callable[[str], None]) -> None:
        """Say the link to a session's page, and open it where there is a browser."""
        link = f"{self._address}/login?code={self._principals.link()}&session={sid}"
        tell(f"parley: its page, opened once by this link: {link}")
        tell("parley: the page ends with this command; parley serve shows the session afterwards")
        open_browser(link)

    async def lasts(self) -> None:
        """Wait until a browser that is there has taken the end."""
        if self._server.server_state.total_requests:
            await asyncio.sleep(LAST_S)


@asynccontextmanager
async def session_page(parley: Parley, plan: Plan) -> AsyncIterator[SessionPage]:
    """A gateway on the loopback, gone with the block. Raises BadInput where the credentials are no person's."""
    wanted = Serve(plan=plan)
    lease, nats = lease_of(parley), plan.settings.nats
    if lease is not None:
        url, own, folder = lease.url, load_credentials(lease.credentials(OWNER)), lease.state / "keys"
    else:
        assert nats.url is not None, "a bus that runs elsewhere has an address"
        url, own, folder = nats.url, load_person_credentials(nats.creds), plan.settings.state or default_state()
    # the key of `parley serve`: browsers keep one cookie for all ports, so each has to know the other's
    principals = Principals(_key(folder), local=own)
    app = build(config_of(wanted, url, None, Metrics(), parley.client.serve), principals, (web(),))
    listening, server = listening_socket(wanted.host, wanted.port), server_of(app)
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    answers = asyncio.ensure_future(server.answers.wait())
    try:
        await asyncio.wait((serving, answers), return_when=asyncio.FIRST_COMPLETED)
        if not server.started:
            raise Unreachable("the page did not start; without --open the session runs as usual")
        yield SessionPage(address_of(listening), principals, server)
    finally:
        answers.cancel()
        server.end()
        await asyncio.wait((serving,))


def _key(folder: Path) -> bytes:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return cookie_key(folder / COOKIE_KEY)
