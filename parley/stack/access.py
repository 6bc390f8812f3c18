"""The bus that a command works on: the one that the settings name, else the embedded stack of the state directory."""

import asyncio
import shlex
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from client.api import CONNECT_S, Parley, connect, connected
from client.errors import BadInput
from parley.local_stack import LocalParley
from parley.plan import Plan
from parley.settings import NatsSection, Settings
from parley.stack.lease import OWNER, Lease, default_state, remembered

T = TypeVar("T")
_PATIENCE_S = 30.0


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run one command's coroutine to its end."""
    with asyncio.Runner() as runner:
        return runner.run(main)


@asynccontextmanager
async def named_bus(nats: NatsSection, *, outlasts: bool = False) -> AsyncIterator[Parley]:
    """The bus that the settings name. `outlasts`: as client.api.connect takes it.

    Raises
    ------
    BadInput
        A URL without credentials.
    Unreachable
        It is not there.
    """
    assert nats.url is not None
    if nats.creds is None:
        raise BadInput("nats.creds", "a bus at --nats needs a credentials file, --creds FILE")
    async with connect(nats.url, nats.creds, patience_s=2 * CONNECT_S, outlasts=outlasts) as parley:
        yield parley


@asynccontextmanager
async def front(
    plan: Plan, *, ephemeral: bool = False, tell: Callable[[str], None] | None = None, outlasts: bool = False
) -> AsyncIterator[Parley]:
    """The bus that the settings name, or the embedded stack of the state directory.

    Parameters
    ----------
    ephemeral
        In a temporary directory.
    tell
        As Lease takes it.
    outlasts
        As client.api.connect takes it.

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
            yield parley
        return
    state = None if ephemeral else settings.state or default_state()
    async with Lease(plan.stack(), state, tell=tell) as lease:
        async with connected(lease.url, lease.credentials(OWNER), _PATIENCE_S, outlasts=outlasts) as client:
            yield LocalParley(client, lease)


@asynccontextmanager
async def last_stack(settings: Settings, *, outlasts: bool = False) -> AsyncIterator[Parley | None]:
    """The bus that the settings name, or the state directory's stack as it last ran; None where none ever ran. Takes
    and raises as `front`."""
    if settings.nats.url:
        async with named_bus(settings.nats, outlasts=outlasts) as parley:
            yield parley
        return
    state = settings.state or default_state()
    order = remembered(state)
    if order is None:
        yield None
        return
    async with Lease(order.stack, state, any_stack=True) as lease:
        async with connected(lease.url, lease.credentials(OWNER), _PATIENCE_S, outlasts=outlasts) as client:
            yield LocalParley(client, lease)


def place(settings: Settings) -> str:
    """Where sessions are looked for, in a word."""
    return settings.nats.url or str(settings.state or default_state())


def bus_options(settings: Settings) -> str:
    """The options that name the same bus again, for a command that is shown."""
    bus = settings.nats
    named = {"--nats": bus.url, "--creds": bus.creds} if bus.url else {"--state": settings.state}
    return "".join(f" {name} {shlex.quote(str(value))}" for name, value in named.items() if value)
