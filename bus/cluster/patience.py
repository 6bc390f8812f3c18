"""How long somebody who is not answered asks again, where servers of the bus may be away meanwhile.

Without `outlasts` it is a time, whatever the reason for the silence. With it the time begins anew as long as the client
knows that servers are away, and until they have settled. A server that froze or was cut off is noticed within six
seconds; meanwhile there is silence, and nothing else. So in a cluster silence is borne for longer than a plain answer
that nobody serves.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from parley.bus.clients.moving import SETTLE_S, MovingClient
from parley.bus.errors import ArtifactRefused, BusError, LocalFault, ModeratorRefused, NoAnswer

T = TypeVar("T")

_LOOK_S = 0.1
_PAUSE_S = 0.25
_AGAIN_S = 0.05


class Patience:
    """How long an asker goes on.

    Parameters
    ----------
    patience_s
        Seconds for which is asked again.
    outlasts
        Also for as long as servers of the bus are away, until `SETTLE_S` after that.
    lacking_s
        Without `outlasts`: seconds for which is asked while it is known that so many servers are away that nothing is
        stored.
    """

    def __init__(
        self, client: MovingClient, patience_s: float, *, outlasts: bool = False, lacking_s: float = math.inf
    ) -> None:
        self._client = client
        self._patience_s = patience_s
        self._outlasts = outlasts
        self._lacking_s = lacking_s
        self._began = self._well = time.monotonic()
        """When it began, and when the bus was last known to lack nothing."""
        self._until = self._began + patience_s

    @property
    def waited_s(self) -> int:
        """Whole seconds since it began."""
        return round(time.monotonic() - self._began)

    def over(self, error: BusError | None = None) -> bool:
        """Whether it is over. `error`: what the last asking came to."""
        now = time.monotonic()
        if not self._outlasts:
            self._well = self._well if self._client.lacking else now
            return now > self._until or now > self._well + self._lacking_s
        if self._client.hopeless():
            return True
        if self._client.unsettled:
            self._client.warn()
            self._until = now + self._patience_s
        silent = isinstance(error, NoAnswer) and self._client.reached > 0
        return now > self._until + (SETTLE_S if silent else 0.0)

    def pause_s(self, usual_s: float) -> float:
        """Wait before the next try: servers that are away are asked less often."""
        return max(usual_s, _PAUSE_S) if self._outlasts and self._client.lacking else usual_s

    async def connected(self) -> None:
        """Wait for a connection: requests without one would all go out at once when it is back."""
        client = self._client
        while True:
            if not self._outlasts or client.is_connected or client.is_closed or self.over():
                return
            await asyncio.sleep(_LOOK_S)

    async def asked(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What a moderator answers, who is asked again as long as the reason may pass. Raises the last one."""
        while True:
            await self.connected()
            try:
                return await ask()
            except (LocalFault, ModeratorRefused, ArtifactRefused):
                raise
            except BusError as error:
                if self.over(error):
                    raise
            await asyncio.sleep(self.pause_s(_AGAIN_S))
