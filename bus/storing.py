"""Remembers for one connection that a stream had no room for its messages."""

import time

from parley.bus.errors import RequestTimeout, StoreError

_NO_ROOM = (10023, 10047, 10077)
"""err_code: the server's store, or the stream, has no room."""
_RECENT_S = 60.0


def lacks_room(error: BaseException) -> bool:
    """Whether a message was not stored for want of room, as far as can be known: a server whose disk is full says
    nothing."""
    return isinstance(error, RequestTimeout) or (isinstance(error, StoreError) and error.err_code in _NO_ROOM)


class Stores:
    """What the streams have refused lately for want of room."""

    def __init__(self) -> None:
        self.unstored: dict[str, tuple[float, float, str]] = {}
        """Kind of subject -> since when, when last (monotonic), and the last error."""

    def met(self, subject: str, error: BaseException | None) -> None:
        """Note that a message was stored under this subject, or not."""
        if error is None:
            if self.unstored:
                self.unstored.pop(subject.split(".", 2)[1], None)
        elif lacks_room(error):
            kind, now = subject.split(".", 2)[1], time.monotonic()
            self.unstored[kind] = (self.unstored.get(kind, (now,))[0], now, str(error))

    def _first(self) -> tuple[float, str]:
        """Seconds since when something is not stored, and the last error; 0: nothing of the kind in the last minute."""
        now = time.monotonic()
        recent = [failure for failure in self.unstored.values() if now - failure[1] < _RECENT_S]
        if not recent:
            return 0.0, ""
        since, _, error = min(recent)
        return now - since, error

    def failing_s(self) -> float:
        """Seconds for which something has not been stored; 0: nothing of the kind in the last minute."""
        return self._first()[0]

    def trouble(self) -> str:
        """What is not stored, since when, and the last error; empty: nothing of the kind in the last minute."""
        since_s, error = self._first()
        return f"the bus has not stored everything for {since_s:,.0f} s: {error}" if error else ""
