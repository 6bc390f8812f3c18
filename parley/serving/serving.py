"""`parley serve`: the gateway over the embedded stack of a state directory, or over a bus that runs elsewhere."""

import asyncio
import contextlib
import dataclasses
import logging
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette

from parley.bus.accounts import PROBE, Credentials, load_credentials
from parley.client.api import read_credentials
from parley.client.client import Serve as ServeHook
from parley.client.errors import BadInput, bad_input
from parley.client.show.printing import give, say, warn
from parley.demos.demo import names
from parley.demos.play import own_state, play_beside
from parley.observability.health import HealthServer
from parley.observability.logs import setup_logging
from parley.observability.metrics import Metrics
from parley.observability.setup import setup_tracing
from parley.planned.access import front, run
from parley.planned.local_stack import lease_of
from parley.planned.plan import Plan
from parley.schemas.session import is_human
from parley.serving.health import look
from parley.serving.offered_models import offers_of, root_of
from parley.stack.lease import OWNER, default_state, read_running
from parley.web.app import LOOPBACK, Config, build
from parley.web.doors import DoorOptions, doors
from parley.web.heads import BoundedHeads
from parley.web.page.seats import seat_of, seats_in
from parley.web.principals import COOKIE_KEY, SERVED, Principals, carried_key, cookie_key

replace = msgspec.structs.replace
UVICORN: dict[str, Any] = {
    "access_log": False,
    "server_header": False,
    "date_header": False,
    "ws": "none",
    "proxy_headers": False,
    "http": BoundedHeads,
}
"""No line for each request (a one-time link has its code in the address), and nobody says its own address."""
_END_S = 3
"""Seconds that open streams have to end once the gateway is told to."""


class Serve(msgspec.Struct, frozen=True, kw_only=True):
    """How the gateway is run."""

    plan: Plan
    host: str = "127.0.0.1"
    port: int = 0
    keys: Path | None = None
    """Folder of the principals' keys; None: one principal, let in by the printed link."""
    cookie_key: Path | None = None
    """File of the key that signs cookies; None: in the folder of keys, else in the state directory."""
    public_hosts: tuple[str, ...] = ()
    """Further names under which browsers reach it."""
    secure: bool = False
    """Browsers come by https."""
    panels: Path | None = None
    """Folder of saved panel files, which programs may ask for by name."""
    roots: tuple[Path, ...] = ()
    """Folders that programs may have read as a project."""
    doors: tuple[str, ...] = ()
    """Further doors, beside those of the settings."""
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 0
    """Of metrics and health; 0: a free one."""
    demo: bool = False
    """Play the recorded sessions for the page, one after another; without a state folder in a temporary one."""
    open: bool = False
    """Open the printed link where there is a browser."""
    json: bool = False
    """Say the address as one JSON document."""


def serve(wanted: Serve) -> int:
    """Serve until SIGINT or SIGTERM; the exit status.

    Raises
    ------
    BadInput
        An address that cannot be bound, keys that cannot be used, or an address beyond the loopback without keys.
    Unreachable, StackFailed
        The bus is not there.
    """
    _check(wanted)
    if wanted.demo:
        wanted = _with_state(wanted)
    plan, offers = offers_of(wanted.plan, wanted.panels)
    options = DoorOptions(
        offers=offers,
        roots=tuple(map(root_of, wanted.roots)),
        state=plan.settings.state or default_state(),
        opened={**plan.settings.doors, **{name: plan.settings.doors.get(name, {}) for name in wanted.doors}},
    )
    if wanted.keys is not None:  # a service: on somebody's own machine nobody reads its log
        setup_logging("INFO", json=True)
        logging.getLogger("httpx").setLevel(logging.WARNING)
    stop_tracing = setup_tracing("parley-gateway")
    try:
        return run(_serve(replace(wanted, plan=plan), options))
    finally:
        stop_tracing()


def _check(wanted: Serve) -> None:
    if wanted.keys is None and not _is_loopback(wanted.host):
        raise BadInput(
            "host",
            f"{wanted.host} can be reached from other machines; name the folder with the tokens of the users who may"
            " sign in: --keys DIR (parley bus token makes one)",
        )


def _with_state(wanted: Serve) -> Serve:
    """With a folder for the demos. Raises BadInput where a bus elsewhere is named."""
    settings = wanted.plan.settings
    if settings.nats.url:
        raise BadInput("demo", f"--demo plays on a bus of its own, but {settings.nats.url} is named; leave one out")
    state = settings.state or own_state()
    return replace(wanted, plan=dataclasses.replace(wanted.plan, settings=settings.model_copy(update={"state": state})))


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


async def _serve(wanted: Serve, options: DoorOptions) -> int:
    listening = listening_socket(wanted.host, wanted.port)
    async with _bus(wanted) as (url, serve, own, key):
        local = None if wanted.keys is not None else own
        principals = Principals(key, local=local, folder=wanted.keys)
        options = replace(options, secret=carried_key(key))
        metrics, opened = Metrics(), doors(options)
        server = server_of(build(config_of(wanted, url, own, metrics, serve), principals, opened))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, server.end)
        health = HealthServer(
            metrics.registry, lambda: None if server.started else "starting", wanted.metrics_host, wanted.metrics_port
        )
        async with _listens(health):
            telling = asyncio.ensure_future(_tell(server, listening, wanted, principals if local else None, health.url))
            playing = asyncio.ensure_future(_play(server, wanted))
            try:
                await server.serve(sockets=[listening])
            finally:
                telling.cancel()
                playing.cancel()
                await asyncio.gather(playing, return_exceptions=True)
            if server.started and wanted.keys is None:
                warn("The web page ends.")
    return 0 if server.started else 1


def config_of(wanted: Serve, url: str, own: Credentials | None, metrics: Metrics, serve: ServeHook | None) -> Config:
    """How the application is run."""
    hosts = (*LOOPBACK, wanted.host.lower(), *(name.lower() for name in wanted.public_hosts))
    return Config(
        url=url,
        own=own,
        hosts=hosts,
        serve=serve,
        secure=wanted.secure,
        seats=lambda name: _seats(wanted, name),
        metrics=metrics,
        # what it finds is this machine's: for whoever runs the gateway, and not for everybody with a key
        health=None if wanted.keys is not None else lambda: look(wanted.plan),
    )


def server_of(app: Starlette) -> "GatewayServer":
    """What serves it."""
    config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=_END_S, lifespan="on", **UVICORN)
    return GatewayServer(config, app)


def _seats(wanted: Serve, principal: str) -> Mapping[str, Credentials]:
    """Seats that a principal may take: those of NAME.seats in the folder of keys, or all of the embedded stack's."""
    if wanted.keys is not None:
        return seats_in(wanted.keys / f"{principal}.seats")
    settings = wanted.plan.settings
    running = None if settings.nats.url else read_running(settings.state or default_state())
    if running is None:
        return {}
    paths = (Path(path) for user, path in running.credentials.items() if is_human(user))
    return {seat: credentials for path in paths if (seat := seat_of(credentials := load_credentials(path)))}


class GatewayServer(uvicorn.Server):
    """Ends when it is told to; the process keeps its own signals."""

    def __init__(self, config: uvicorn.Config, app: Starlette) -> None:
        super().__init__(config)
        self._app = app
        self.answers = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self.answers.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals alone."""
        yield

    def end(self) -> None:
        """End; told twice, without waiting for open streams. Sessions of whoever waits go on."""
        if shared := getattr(self._app.state, "shared", None):
            shared.pool.stopped = True
        self.force_exit = self.should_exit
        self.should_exit = True


async def _tell(
    server: GatewayServer, listening: socket.socket, wanted: Serve, principals: Principals | None, metrics: str
) -> None:
    await server.answers.wait()
    address = address_of(listening)
    link = f"{address}/login?code={principals.link()}" if principals else ""
    token = principals.local_token() if principals else ""
    if wanted.json:
        give(msgspec.json.encode({"url": address, "link": link, "token": token, "metrics": metrics}).decode())
        return
    say(f"parley serves {address}")
    if link:
        say(f"open this link once, within ten minutes: {link}")
        if wanted.open:
            open_browser(link)
        say(f"programs: OpenAI-compatible at {address}/v1, MCP at {address}/mcp")
        say(f"  with the key (Authorization: Bearer): {token}")
    else:
        say("sign in there with a token (parley bus token)")
    warn("Ctrl-C ends it.")


async def _play(server: GatewayServer, wanted: Serve) -> None:
    """Play the demos for the page once it answers, and say of each how it went."""
    state = wanted.plan.settings.state
    if not wanted.demo or state is None:
        return
    await server.answers.wait()
    for name in names():
        warn(f"parley: demo {name}: {await play_beside(name, state)}")
    warn(f"parley: all demos were played; they are kept in {state}")


def address_of(listening: socket.socket) -> str:
    """Where it listens, as browsers spell it."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


@asynccontextmanager
async def _listens(health: HealthServer) -> AsyncIterator[None]:
    with bad_input("metrics-port", OSError):
        await health.__aenter__()
    try:
        yield
    finally:
        await health.close()


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises BadInput."""
    with bad_input("port", OSError, what=f"{host}:{port} (--port and --host name another)"):
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
        listener.setblocking(False)
        return listener


@asynccontextmanager
async def _bus(wanted: Serve) -> AsyncIterator[tuple[str, ServeHook | None, Credentials | None, bytes]]:
    """(address, what has whom a session needs served, the gateway's own credentials, the key of cookies)."""
    settings = wanted.plan.settings
    if settings.nats.url:
        creds = settings.nats.creds
        if wanted.keys is None:
            own: Credentials | None = load_person_credentials(creds)
        else:
            own = None if creds is None else _credentials(creds)
        path = wanted.cookie_key or (wanted.keys or settings.state or default_state()) / COOKIE_KEY
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        yield settings.nats.url, None, own, cookie_key(path)
        return
    if not (wanted.demo or wanted.plan.uses_kept()) and (lacking := wanted.plan.without_model()):
        warn(f"parley: {lacking}")
    async with front(wanted.plan, serves=True, tell=lambda text: warn(f"parley: {text}")) as parley:
        lease = lease_of(parley)
        assert lease is not None, "no address was named"
        key = cookie_key(wanted.cookie_key or (wanted.keys or lease.state / "keys") / COOKIE_KEY)
        yield lease.url, parley.client.serve, load_credentials(lease.credentials(OWNER)), key


def load_person_credentials(path: Path | None) -> Credentials:
    """Credentials that a person may use. Raises BadInput."""
    credentials = _credentials(path)
    if credentials.kind not in SERVED:
        raise BadInput("creds", f"{path} is not for a person; expected {' or '.join(SERVED)}")
    return credentials


def _credentials(path: Path | None) -> Credentials:
    """Of the one principal on a bus that runs elsewhere, or of a probe. Raises BadInput."""
    if path is None:
        raise BadInput("nats.creds", "a bus at --nats needs a credentials file, --creds FILE, or --keys DIR")
    credentials = read_credentials(path)
    if credentials.kind not in (*SERVED, PROBE):
        raise BadInput("creds", f"{path} is of kind {credentials.kind}; expected {', '.join(SERVED)} or {PROBE}")
    return credentials


def checked_hosts(names: Sequence[str]) -> tuple[str, ...]:
    """Host names as they were given. Raises BadInput where one has a scheme or a port."""
    for name in names:
        if "/" in name or ":" in name:
            raise BadInput("public-host", f"got {name!r}, expected only a host name, such as parley.example.org")
    return tuple(names)


def open_browser(link: str) -> None:
    """Open a page where there is a browser with a window; nobody waits for it."""
    if sys.platform.startswith("linux") and not {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"} & os.environ.keys():
        return  # what is left are browsers that take the terminal

    def opens() -> None:
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(link)

    threading.Thread(target=opens, daemon=True, name="browser").start()
