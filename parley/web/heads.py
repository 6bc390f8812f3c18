"""Limits how long the head of a request may take.

uvicorn bounds how large a head is, and how long a connection may be quiet between two requests. It waits for ever for
the first byte, and for the rest of a head that comes byte by byte: a few hundred such connections would use up what
a process may open. Bodies are bounded by the guard.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""Seconds within which a request's head is there, whole: from the connection on, then from its first byte."""
_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class BoundedHeads(H11Protocol):
    """Closes a connection whose head comes too slowly."""

    head_s = HEAD_S
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._late = self.loop.call_later(self.head_s, self._is_late)

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Go on with what has come behind the request."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._stop()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Wait while a head has begun and is not whole."""
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._late is None and self.conn.trailing_data[0]:
            self._late = self.loop.call_later(self.head_s, self._is_late)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _is_late(self) -> None:
        self._late = None
        if not self.transport.is_closing():
            self.transport.write(_LATE)
            self.transport.close()


def within(head_s: float) -> type[BoundedHeads]:
    """The same with another limit, in seconds."""
    return type("BoundedHeads", (BoundedHeads,), {"head_s": head_s})
