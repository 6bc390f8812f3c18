"""The bus that a command uses: the one that the settings name, or else the embedded stack of the state directory."""

import asyncio
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec

from parley.client.api import CONNECT_S, Parley, open_client
from parley.client.learned.past import PastOutcomes
from parley.planned.learned_file import past_of
from parley.planned.local_stack import LocalParley
from parley.planned.plan import Plan
from parley.settings import NatsSection, Settings
from parley.stack.lease import OWNER, Lease, default_state, last_run

T = TypeVar("T")
_PATIENCE_S = 30.0


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run one command's coroutine to its end."""
    with asyncio.Runner() as runner:
        return runner.run(main)


@asynccontextmanager
async def named_bus(nats: NatsSection, *, outlasts: bool = False) -> AsyncIterator[Parley]:
    """The bus that the settings name. `outlasts`: as parley.client.api.connect takes it.

    Raises
    ------
    BadInput
        A URL without credentials.
    Unreachable
        It is not there.
    """
    assert nats.url is not None
    async with open_client(nats.url, nats.creds, 2 * CONNECT_S, outlasts=outlasts) as client:
        yield Parley(client)


@asynccontextmanager
async def front(
    plan: Plan,
    *,
    ephemeral: bool = False,
    serves: bool = False,
    tell: Callable[[str], None] | None = None,
    outlasts: bool = False,
) -> AsyncIterator[Parley]:
    """The bus that the settings name, or the embedded stack of the state directory, which has the plan's agents served
    for each session that is opened.

    Parameters
    ----------
    ephemeral
        In a temporary directory.
    serves
        The plan's agents serve from the beginning, for everybody on this bus: another gateway may open their sessions.
    tell
        As Lease takes it.
    outlasts
        As parley.client.api.connect takes it.

    Raises
    ------
    BadInput
        A URL without credentials, or a state directory that cannot be used.
    Unreachable, StackFailed
        It is not there.
    """
    settings = plan.settings
    if settings.nats.url:
        async with named_bus(settings.nats, outlasts=outlasts) as parley:
            parley.recalls(past_of(settings))
            yield parley
        return
    state = None if ephemeral else settings.state or default_state()
    stack = plan.stack()
    if not (plan.every or serves):  # whom a session needs is known when it is opened
        stack = msgspec.structs.replace(stack, agents=(), humans={})
    async with Lease(stack, state, tell=tell) as lease:
        async with open_client(lease.url, lease.credentials(OWNER), _PATIENCE_S, outlasts=outlasts) as client:
            parley = LocalParley(client, lease, rows=plan.rows_for, people=plan.people())
            parley.recalls(PastOutcomes() if ephemeral else past_of(settings))
            yield parley


@asynccontextmanager
async def last_stack(settings: Settings, *, outlasts: bool = False) -> AsyncIterator[Parley | None]:
    """The bus that the settings name, or that of the state directory, with its moderators; None where none ever ran.
    Takes and raises as `front`."""
    if settings.nats.url:
        async with named_bus(settings.nats, outlasts=outlasts) as parley:
            yield parley
        return
    state = settings.state or default_state()
    order = last_run(state)
    if order is None:
        yield None
        return
    async with Lease(order.stack, state, looks=True) as lease:
        owner, lacking_s = lease.credentials(OWNER), 2 * CONNECT_S
        async with open_client(lease.url, owner, _PATIENCE_S, outlasts=outlasts, lacking_s=lacking_s) as client:
            yield LocalParley(client, lease)


def on_last_stack(
    settings: Settings, what: Callable[[Parley], Awaitable[T]], otherwise: T | Exception, *, outlasts: bool = False
) -> T:
    """What a command comes to on `last_stack`. Where none ever ran it is `otherwise`, or that is raised."""

    async def main() -> T:
        async with last_stack(settings, outlasts=outlasts) as parley:
            if parley is not None:
                return await what(parley)
        if isinstance(otherwise, Exception):
            raise otherwise
        return otherwise

    return run(main())


def place(settings: Settings) -> str:
    """Where sessions are looked for, in a word."""
    return settings.nats.url or str(settings.state or default_state())


def bus_options(settings: Settings) -> str:
    """The options that name the same bus again, for a command that is shown."""
    bus = settings.nats
    named = {"--nats": bus.url, "--creds": bus.creds} if bus.url else {"--state": settings.state}
    return "".join(f" {name} {shlex.quote(str(value))}" for name, value in named.items() if value)
