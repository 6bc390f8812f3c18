"""Doors over standard input and output, which an editor starts whether they are used or not: their bus, and `parley
mcp`."""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

import anyio

from parley.bus.errors import BusError
from parley.client.api import Parley
from parley.client.errors import ParleyError, StackFailed
from parley.client.show.printing import warn
from parley.observability.setup import setup_tracing
from parley.planned.access import front, run
from parley.planned.plan import Plan
from parley.serving.offered_models import offers_of, root_of
from parley.web.offered_models import Offers


class WhenAsked:
    """The bus, which is reached, or whose stack is started, with the first call that needs it: an editor starts its
    servers whether they are used or not. What failed is tried again with the next call."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lock = asyncio.Lock()
        self._over = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self._there: asyncio.Future[Parley] | None = None

    async def parley(self, _ctx: object = None) -> Parley:
        """Whoever asks: there is one alone. Raises as parley.planned.access.front."""
        async with self._lock:
            if self._keeping is None or self._keeping.done():
                self._there = asyncio.get_running_loop().create_future()
                self._keeping = asyncio.ensure_future(self._keep(self._there))
            there = self._there
        assert there is not None, "made above"
        return await asyncio.shield(there)

    async def _keep(self, there: "asyncio.Future[Parley]") -> None:
        """Keep it up until the end: what is opened in a task is closed in it."""
        try:
            async with front(self._plan, tell=_tell) as server:
                there.set_result(server)
                await self._over.wait()
        except (ParleyError, BusError, OSError) as error:
            if there.done():
                _tell(str(error))
            else:
                there.set_exception(error if not isinstance(error, OSError) else StackFailed(str(error)))

    async def __aenter__(self) -> "WhenAsked":
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over.set()
        if self._keeping is not None:
            with anyio.CancelScope(shield=True), contextlib.suppress(ParleyError, BusError):
                await self._keeping


def _tell(text: str) -> None:
    warn(f"parley: {text}")


def serve_mcp(plan: Plan, roots: Sequence[Path], panels: Path | None = None) -> int:
    """Serve until standard input ends; the exit status. Nothing but the protocol goes to standard output. Raises
    BadInput: a root or a panel file that cannot be used."""
    plan, offers = offers_of(plan, panels)
    allowed = tuple(map(root_of, roots))
    stop_tracing = setup_tracing("parley-mcp")
    try:
        return run(_serve(plan, offers, allowed))
    finally:
        stop_tracing()


async def _serve(plan: Plan, offers: Offers, roots: Sequence[Path]) -> int:
    from parley.web.mcp.server import make_server  # of the SDK: for this door alone

    async with WhenAsked(plan) as stack:
        server = make_server(stack.parley, offers, roots)
        await server.run_stdio_async()
    return 0
