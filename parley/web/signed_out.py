"""Copies of the gateway tell one another which cookies were ended at a logout, over the gateway's own key.

Its account on the broker is its own, so nobody else hears or says it. What is told is a digest of each cookie, and
until when it would be valid. A copy that starts, or comes back, asks the others. Where no other copy runs, nothing is
kept: a token that is replaced (`parley bus token`) ends its cookies in any case.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import msgspec

from parley.bus import subjects
from parley.bus.accounts import PROBE
from parley.bus.connection import Connection
from parley.bus.errors import BusError, Denied
from parley.bus.library import Msg
from parley.client.errors import ParleyError
from parley.schemas.wire import Undecodable, decode, encode
from parley.web.connections import Connections
from parley.web.principals import Principal, Principals

AGAIN_S = 2.0
"""After the bus did not answer."""
_AT_ONCE = 1_000
"""Digests of one message."""
_LOGGER = logging.getLogger(__name__)


class SignedOutCookies(msgspec.Struct, frozen=True):
    """Cookies that are taken no more."""

    ended: dict[str, int]
    """Digest -> until when it would be valid, in seconds since the epoch."""


class SignedOut:
    """What one copy tells and hears.

    Parameters
    ----------
    own
        The gateway's own principal; of another kind than a probe, or None: nothing is told or heard.
    """

    def __init__(self, pool: Connections, own: Principal | None, principals: Principals) -> None:
        self._pool, self._principals = pool, principals
        self._own = own if own is not None and own.credentials.kind == PROBE else None
        self._connection: Connection | None = None
        self._asking: asyncio.Future[None] | None = None

    async def tell(self, ended: Mapping[str, int]) -> None:
        """Tell all other copies that run."""
        items = list(ended.items())
        for first in range(0, len(items), _AT_ONCE):
            await self._publish(subjects.SIGNED_OUT, encode(SignedOutCookies(dict(items[first : first + _AT_ONCE]))))

    async def _publish(self, subject: str, data: bytes) -> None:
        if self._connection is not None:
            with contextlib.suppress(BusError):
                await self._connection.publish(subject, data)

    async def hear(self) -> None:
        """Begin to hear the others, however long the bus is away, and ask what they know."""
        while self._own is not None and self._connection is None:
            try:
                connection = await self._pool.connection(self._own)
                await connection.subscribe(subjects.SIGNED_OUT, self._heard)
                await connection.subscribe(subjects.WHO_SIGNED_OUT, self._asked)
            except Denied:
                _LOGGER.warning(
                    "the gateway's key may not tell other copies of a logout: write the bus's configuration anew "
                    "(parley bus config)"
                )
                return
            except (BusError, ParleyError):
                await asyncio.sleep(AGAIN_S)
                continue
            self._connection = connection
            connection.on_reconnect.append(self._ask)
            self._ask()

    def _ask(self) -> None:
        self._asking = asyncio.ensure_future(self._publish(subjects.WHO_SIGNED_OUT, b"{}"))

    def _heard(self, message: Msg) -> None:
        with contextlib.suppress(Undecodable):
            self._principals.takes_no_more(decode(message.data, SignedOutCookies).ended)

    async def _asked(self, message: Msg) -> None:
        await self.tell(self._principals.ended)


@asynccontextmanager
async def signed_out(pool: Connections, own: Principal | None, principals: Principals) -> AsyncIterator[SignedOut]:
    """One copy's part, while the block lasts."""
    own_copy = SignedOut(pool, own, principals)
    hearing = asyncio.ensure_future(own_copy.hear())
    try:
        yield own_copy
    finally:
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)
