"""One service in one process: a moderator, a worker of one queue, or workers of several, each with its own credential.

The same function serves a process that the embedded stack forked and one that `parley moderator` or `parley agent` is:
log lines to a stream, metrics and health on a port, SIGTERM drains, a connection that closed for good ends the process.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import msgspec

from parley.agents.config import environment, resolve
from parley.agents.hearing import join_hearers
from parley.agents.models import Model, make_model
from parley.agents.models.recorded import recording
from parley.agents.protocols import KITS, Kit
from parley.agents.specs import AgentSpec, SpecError, load
from parley.agents.tools.allow import LOOKING, find
from parley.agents.worker import Worker
from parley.bus.accounts import LIMITS, Credentials
from parley.bus.connection import Connection, connect
from parley.bus.errors import WrongCredentials
from parley.bus.library import cancelled
from parley.bus.pending_requests import Stores
from parley.bus.streams import LOG_MAX_AGE_S
from parley.client.client import Client
from parley.coordinator.intake import IN_ACK_WAIT_S
from parley.coordinator.moderator import Moderator
from parley.coordinator.outcomes.counting import MetricsService
from parley.coordinator.outcomes.session import children
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.sessions.token_keys import TokenKeys
from parley.observability.health import HealthServer
from parley.observability.logs import setup_logging
from parley.observability.metrics import Metrics, parley_version
from parley.observability.outcomes import Outcomes
from parley.observability.setup import setup_tracing
from parley.schemas.expert import NO_HANDS, ROLE, queue_of
from parley.schemas.log import Entry, Opened
from parley.schemas.wire import decode
from parley.stack.rows import AgentRow

_LOGGER = logging.getLogger(__name__)
_REPORTED = 30
"""Queues that one report names: it must fit what a pipe takes at once."""
LOG_BYTES = 5_000_000
"""Size at which a log file is put aside; one old file is kept."""


class ServiceReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a service tells its supervisor once it can take work."""

    service: str
    pid: int
    metrics: str
    """Address of its metrics and health pages."""


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """A part of what open sessions need."""

    used: tuple[tuple[str, str], ...]
    """Queues, and their roles where those are known."""
    last: bool


class Serving(Protocol):
    """What a service is made of: a context manager that says whether it is ready."""

    @property
    def ready(self) -> str | None: ...


Make = Callable[[Connection, Metrics], AbstractAsyncContextManager[Serving]]


class ServiceTask(NamedTuple):
    """What one user does in a process."""

    make: Make
    credentials: Credentials


class CappedFile:
    """A text stream into a file of limited size: the full file becomes `<name>.1`, in place of the one before."""

    def __init__(self, path: Path, most: int = LOG_BYTES) -> None:
        self._path = path
        self._most = most
        self._file = path.open("a", encoding="utf-8")

    def write(self, text: str) -> int:
        """Append, and put the file aside when it is full."""
        written = self._file.write(text)
        if self._file.tell() > self._most:
            self._file.close()
            os.replace(self._path, self._path.with_name(self._path.name + ".1"))
            self._file = self._path.open("a", encoding="utf-8")
        return written

    def flush(self) -> None:
        """Hand what was written to the system."""
        self._file.flush()


Checkpoint = Callable[[str, str], None]
"""Called at named points of a service's work (point, session): where tests kill it."""


def moderator(
    *,
    token_key: Path,
    ack_wait_s: float = 8.0,
    turns_per_message: int = 0,
    log_max_age_s: float = LOG_MAX_AGE_S,
    unreadable_s: float = 3_600.0,
    queues: Sequence[str] = (),
    checkpoint: Checkpoint | None = None,
) -> Make:
    """A moderator for all registered protocols. `token_key`: the file of its keys, with that of limits beside it.
    `queues` are made ready before a worker of them comes. Raises BadKeyFile."""
    token_keys = TokenKeys(token_key)

    def make(connection: Connection, metrics: Metrics) -> Moderator:
        return Moderator(
            connection,
            token_keys=token_keys,
            metrics=metrics,
            protocols=dict(PROTOCOLS),
            in_ack_wait_s=min(ack_wait_s, IN_ACK_WAIT_S),
            work_ack_wait_s=ack_wait_s,
            turns_per_message=turns_per_message,
            log_max_age_s=log_max_age_s,
            unreadable_s=unreadable_s,
            queues=queues,
            checkpoint=checkpoint,
            limits=token_key.with_name(LIMITS),
        )

    return make


def counting(
    *,
    tenant: str,
    budget_usd: float,
    monitor: str = "",
    checkpoint: Checkpoint | None = None,
    asks: bool = False,
    expected: Sequence[str] = (),
) -> Make:
    """The service that counts sessions and looks at the bus. `monitor`: nats-server's, empty: it is not asked. `asks`:
    whether it asks synthetic questions. `expected`: queues that must have a worker."""

    def make(connection: Connection, metrics: Metrics) -> MetricsService:
        known = dict(PROTOCOLS)
        outcomes = Outcomes(metrics.registry, children(known), tenant=tenant, budget_usd=budget_usd, expected=expected)
        return MetricsService(
            connection,
            outcomes=outcomes,
            protocols=known,
            tenant=tenant,
            monitor=monitor,
            checkpoint=checkpoint,
            asks=asks,
        )

    return make


def agent(
    spec: AgentSpec,
    *,
    ack_wait_s: float = 8.0,
    drain_s: float = 20.0,
    tools: Path | None = None,
    hands: Path | None = None,
    environ: Mapping[str, str] | None = None,
    queue: str = "",
    checkpoint: Checkpoint | None = None,
) -> Make:
    """A worker of the spec's queue, or of `queue` in its place. Raises parley.agents.models.ModelMisconfigured when its
    model cannot be made, or the allow list of tools (`tools`, else what the environment names) cannot be used, or the
    list of hands (`hands`) where its specification names some.

    `environ`: the variables that it goes by; None: this process's environment, and `.env`.

    An expert's decides itself about the posts that it hears (parley.agents.turn_kinds.kit.Kit.hear).
    """
    environ = environment() if environ is None else environ
    model = recording(model_of(spec, environ))
    expert, known = spec.expert, kits()
    looks = any(not kit.looks_up.isdisjoint(spec.roles) for kit in known)
    allowed = find(environ, tools) if expert is not None else find(environ, tools, LOOKING) if looks else None
    its_hands = None
    if expert is not None and expert.hands not in NO_HANDS:
        from parley.agents.hands.made import hands_of  # an HTTP server

        its_hands = hands_of(expert, environ, hands)
    hear = None
    if expert is not None:
        hear = join_hearers([kit.hear(expert) for kit in known if kit.hear is not None])
    hear = getattr(model, "hear", None) or hear  # a function says itself what it hears
    spec = spec.model_copy(update={"queue": queue or spec.queue})

    def make(connection: Connection, metrics: Metrics) -> Worker:
        return Worker(
            connection,
            spec=spec,
            model=model,
            metrics=metrics,
            ack_wait_s=ack_wait_s,
            drain_s=drain_s,
            hear=hear,
            tools=allowed,
            hands=its_hands,
            checkpoint=checkpoint,
        )

    return make


def agents(
    rows: Sequence[AgentRow],
    names: Mapping[str, str],
    *,
    ack_wait_s: float,
    drain_s: float,
    checkpoint: Checkpoint | None,
) -> dict[str, Make]:
    """Workers of an embedded stack, in their own process. Raises as `agent`. `names`: queue -> what its row calls
    it."""
    made = {row.queue: row for row in rows}
    return {
        queue: agent(
            spec_of(made.get(name, AgentRow(queue=name))),
            ack_wait_s=ack_wait_s,
            drain_s=drain_s,
            environ=os.environ,
            queue=queue,
            checkpoint=checkpoint,
        )
        for queue, name in names.items()
    }


@cache
def kits() -> tuple[Kit, ...]:
    """What agents do in each protocol, imported here once and not in a first turn, nor in each process of a stack."""
    return tuple(KITS.values())


def model_of(spec: AgentSpec, environ: Mapping[str, str] | None = None) -> Model:
    """The spec's model, as these variables have it; None: the environment and `.env`. Raises
    parley.agents.models.ModelMisconfigured."""
    resolved = resolve(spec, environment() if environ is None else environ)
    return make_model(resolved.model, resolved.options, {})  # a key that is for it was found, or none is


def run(
    name: str,
    *parts: ServiceTask,
    url: str,
    metrics_host: str = "127.0.0.1",
    metrics_port: int = 0,
    log_level: str = "INFO",
    log_stream: IO[str] | CappedFile | None = None,
    json_logs: bool = True,
    lifeline: int | None = None,
    report: Callable[[ServiceReport], None] | None = None,
    wait_for_bus: bool = False,
) -> int:
    """Serve until SIGTERM or SIGINT; the exit status.

    Parameters
    ----------
    parts
        Whom the process serves, each over a connection of its own. Of several, one that the bus does not take is left
        out.
    lifeline
        A pipe of which only the supervisor holds the write end: at its end of file this process is over at once.
    report
        Called when the service can take work.
    wait_for_bus
        Keep trying for as long as nobody listens there, instead of raising at the first failure.

    Returns
    -------
    int
        0 after a signal, 1 when the connection closed for good.

    Raises
    ------
    parley.bus.errors.BusError
        The bus is not there, or does not take these credentials.
    """
    setup_logging(log_level, json=json_logs, stream=log_stream)  # type: ignore[arg-type]  # it writes and flushes
    stop_tracing = setup_tracing(f"parley-{name}", instance=str(os.getpid()))
    main = _serve(name, parts, url, (metrics_host, metrics_port), lifeline, report, wait_for_bus)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(main)
    finally:
        stop_tracing()


async def _serve(
    name: str,
    parts: Sequence[ServiceTask],
    url: str,
    address: tuple[str, int],
    lifeline: int | None,
    report: Callable[[ServiceReport], None] | None,
    wait_for_bus: bool,
) -> int:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    lost = False

    def on_closed() -> None:
        nonlocal lost
        lost = True
        _LOGGER.error("the connection to the bus closed for good", extra={"service": name})
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if lifeline is not None:
        loop.add_reader(lifeline, os._exit, 1)  # the supervisor is gone, and the bus with it: nothing can be drained
    metrics = Metrics()
    connecting = asyncio.ensure_future(_connected(name, parts, url, on_closed, wait_for_bus))
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait((connecting, stopped), return_when=asyncio.FIRST_COMPLETED)
    if not connecting.done():
        await cancelled(connecting)
        return 0
    async with contextlib.AsyncExitStack() as closing:
        working: list[Serving] = []
        stores: list[Stores] = []
        metrics.bus_unstored_seconds.set_function(lambda: max((s.failing_s() for s in stores), default=0.0))
        for part, connection in await connecting:
            await closing.enter_async_context(connection)
            working.append(await closing.enter_async_context(part.make(connection, metrics)))
            _watch(connection, metrics)
            stores.append(connection.stores)
        async with HealthServer(
            metrics.registry, lambda: next(filter(None, (s.ready for s in working)), None), *address
        ) as health:
            gc.collect()
            gc.freeze()
            gc.set_threshold(50_000, 20, 100)  # cyclic garbage is rare here, and young collections cost 6 % of a call
            _LOGGER.info("serving", extra={"service": name, "metrics": health.url})
            if report is not None:
                report(ServiceReport(service=name, pid=os.getpid(), metrics=health.url))
            await stopped
            _LOGGER.info("draining", extra={"service": name})
    return 1 if lost else 0


async def _connected(
    name: str, parts: Sequence[ServiceTask], url: str, on_closed: Callable[[], None], wait_for_bus: bool
) -> list[tuple[ServiceTask, Connection]]:
    asked = (connect(url, p.credentials, name=name, on_closed=on_closed, retry_first=wait_for_bus) for p in parts)
    connections = await asyncio.gather(*asked, return_exceptions=len(parts) > 1)
    taken: list[tuple[ServiceTask, Connection]] = []
    for part, got in zip(parts, connections, strict=True):
        if isinstance(got, WrongCredentials):
            _LOGGER.error("%s: %s; it is left out", part.credentials.user, got)
        elif isinstance(got, BaseException):
            raise got
        else:
            taken.append((part, got))
    if not taken:
        raise next(got for got in connections if isinstance(got, BaseException))
    return taken


def _watch(connection: Connection, metrics: Metrics) -> None:
    """The connection's own events, as metrics."""

    def back() -> None:
        metrics.bus_connected.set(1)
        metrics.bus_reconnects.inc()

    metrics.bus_connected.set(1)
    connection.on_reconnect.append(back)
    connection.on_disconnect.append(lambda: metrics.bus_connected.set(0))
    connection.on_denied.append(metrics.bus_denied.inc)


def look(url: str, owner: Credentials, report: Callable[[Used], None]) -> int:
    """Report which queues the sessions need that are open; the exit status."""

    async def main() -> None:
        async with await connect(url, owner, name="parley stack") as connection:
            client = Client(connection, owner.user, url=url)
            used: dict[str, str] = {}
            for row in await client.sessions(only_open=True):
                for entry in (await client.log(row.session))[:1]:
                    used |= _queues_of(decode(entry.encode(), Entry).event)
        found = tuple(used.items())
        for i in range(0, max(1, len(found)), _REPORTED):
            report(Used(used=found[i : i + _REPORTED], last=i + _REPORTED >= len(found)))

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(main())
    return 0


def _queues_of(event: Any) -> dict[str, str]:
    """Queue -> role of whom a session may ask."""
    if not isinstance(event, Opened):
        return {}
    named = {queue: "" for queue in (event.queues or {}).values()}
    experts = {} if named else {queue_of(known.id): ROLE for known in event.experts}
    return named | experts | {w.queue: w.roles[0] for w in event.workers} | {s.queue: s.role for s in event.seats}


def load_once() -> None:
    """Load what every service needs only once it runs: whoever forks several calls this before."""
    _loop_factory()
    parley_version()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed (an optional extra), else the standard loop."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def spec_of(row: AgentRow) -> AgentSpec:
    """The spec of a queue of the embedded stack: its agent file or built-in name, under what the row itself says.
    Raises parley.agents.specs.SpecError: there is no such agent, its file cannot be used, or is an expert's that serves
    another queue."""
    update: dict[str, Any] = {"queue": row.queue}
    if row.model:
        update |= {"model": row.model, "options": dict(row.options)}
    for name in ("room", "roles", "expertise"):
        if getattr(row, name):
            update[name] = getattr(row, name)
    spec = AgentSpec(queue=row.queue, roles=row.roles) if row.roles and not row.spec else load(row.spec or row.queue)
    if spec.expert is not None and spec.queue != row.queue:
        raise SpecError(row.spec or row.queue, "id", f"got {spec.expert.id!r}, whose queue is not {row.queue}")
    return spec.model_copy(update=update)
