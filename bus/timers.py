"""One durable timer a session: a scheduled message that the server makes when it is due, also after kill -9.

Setting it again replaces it. Moderators pull what fired from TIMER.
"""

from collections.abc import Awaitable
from datetime import UTC, datetime

from parley.bus import subjects
from parley.bus.answers import PubAck
from parley.bus.connection import Connection
from parley.bus.streams import purge_timers
from parley.schemas.session import TimerDue
from parley.schemas.wire import encode

_DUE = encode(TimerDue())


class Timers:
    """Timers over one connection of a moderator."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def arm(self, sid: str, at_ns: int, msg_id: str) -> Awaitable[PubAck]:
        """Fire at a Unix time in ns (good to about 250 ms), in place of any timer of this session: on its way when this
        returns, armed when what it returns is awaited."""
        at = datetime.fromtimestamp(at_ns / 1e9, UTC)
        headers = {
            "Nats-Schedule": "@at " + at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "Nats-Schedule-Target": subjects.fired(sid),
        }
        return self._connection.begin(subjects.timer(sid), _DUE, msg_id=msg_id, headers=headers)

    async def clear(self, sid: str) -> None:
        """Nothing is due any more, and what was is over."""
        await purge_timers(self._connection, sid)
