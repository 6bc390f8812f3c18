"""The bus of a door over standard input and output, which an editor starts whether it is used or not."""

import asyncio
import contextlib

import anyio

from parley.bus.errors import BusError
from parley.client.api import Parley
from parley.client.errors import ParleyError, StackFailed
from parley.client.show.printing import warn
from parley.planned.access import front
from parley.planned.plan import Plan


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
