"""The bus that a command uses: the one that the settings name, or else the embedded stack of the state directory."""

import asyncio
import shlex
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec

from parley.client.api import CONNECT_S, Parley, connect, connect_s, connected
from parley.client.errors import BadInput
from parley.client.learned.past import PastOutcomes
from parley.client.show.printing import warn
from parley.planned.learned_file import past_of
from parley.planned.local_stack import LocalParley
from parley.planned.plan import Plan
from parley.settings import NatsSection, Settings
from parley.stack.lease import OWNER, Lease, default_state, remembered

T = TypeVar("T")
_PATIENCE_S = 30.0
_TOLD_S = 2.0
"""A command that takes no longer than this has nothing to say of servers that are away."""
_LOOK_S = 0.25


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
    if nats.creds is None:
        raise BadInput("nats.creds", "a bus at --nats needs a credentials file, --creds FILE")
    async with connect(nats.url, nats.creds, patience_s=2 * CONNECT_S, outlasts=outlasts) as parley:
        yield parley


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
        async with connected(lease.url, lease.credentials(OWNER), _PATIENCE_S, outlasts=outlasts) as client:
            parley = LocalParley(client, lease, rows=plan.rows_for, people=plan.people())
            parley.recalls(PastOutcomes() if ephemeral else past_of(settings))
            yield parley


@asynccontextmanager
async def last_stack(settings: Settings, *, outlasts: bool = False) -> AsyncIterator[Parley | None]:
    """The bus that the settings name, or that of the state directory, with its moderators; None where none ever ran.
    Takes and raises as `front`."""
    if settings.nats.url:
        async with waits_told(settings.nats.url, outlasts=outlasts) as waiting:
            async with named_bus(settings.nats, outlasts=outlasts) as parley:
                waiting.connected(lambda: parley.client.bus_lacking)
                yield parley
        return
    state = settings.state or default_state()
    order = remembered(state)
    if order is None:
        yield None
        return
    async with Lease(order.stack, state, looks=True) as lease:
        async with waits_told(lease.url, outlasts=outlasts) as waiting:
            owner, lacking_s = lease.credentials(OWNER), 2 * CONNECT_S
            async with connected(lease.url, owner, _PATIENCE_S, outlasts=outlasts, lacking_s=lacking_s) as client:
                waiting.connected(lambda: client.bus_lacking)
                yield LocalParley(client, lease)


class WaitNotice:
    """What a command that shows nothing yet waits for."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lacking: Callable[[], str] | None = None

    def connected(self, lacking: Callable[[], str]) -> None:
        """There is a connection. `lacking`: what the bus lacks just now, in words; empty: nothing."""
        self._lacking = lacking

    async def tell(self) -> None:
        """Say once, on standard error, why it takes so long, where servers of the bus are the reason."""
        await asyncio.sleep(_TOLD_S)
        if self._lacking is None:
            limit_s = connect_s(self._url)
            _say(f"no server of the bus has answered yet; this command ends within {limit_s:g} s if none does")
        while True:
            if self._lacking is not None and (lacking := self._lacking()):
                _say(f"{lacking}; this command asks for {2 * CONNECT_S:g} s, and ends if that does not change")
                return
            await asyncio.sleep(_LOOK_S)


def _say(text: str) -> None:
    warn(f"parley: {text}")


@asynccontextmanager
async def waits_told(url: str, *, outlasts: bool = False) -> AsyncIterator[WaitNotice]:
    """Tell what the bus lacks while a command waits that shows nothing. One that outlasts it tells of it by itself."""
    waiting = WaitNotice(url)
    telling = asyncio.create_task(asyncio.sleep(0) if outlasts else waiting.tell(), name="what is waited for")
    try:
        yield waiting
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)


def place(settings: Settings) -> str:
    """Where sessions are looked for, in a word."""
    return settings.nats.url or str(settings.state or default_state())


def bus_options(settings: Settings) -> str:
    """The options that name the same bus again, for a command that is shown."""
    bus = settings.nats
    named = {"--nats": bus.url, "--creds": bus.creds} if bus.url else {"--state": settings.state}
    return "".join(f" {name} {shlex.quote(str(value))}" for name, value in named.items() if value)
