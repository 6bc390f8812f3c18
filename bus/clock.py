"""The server's time, as one connection knows it: machines' clocks need not agree.

Every answer that carries the server's time bounds how far this machine's clock is off: the time was read after the
question left and before the answer came. A message that was stored bounds it from below. What is known is moved no
further than the bounds ask, so a slow answer, or a process that was frozen meanwhile, changes nothing.
"""

import time
from collections.abc import Callable
from datetime import datetime


class Clock:
    """Of one connection. All times are Unix times in ns."""

    def __init__(self, local: Callable[[], int] = time.time_ns) -> None:
        """`local`: this machine's clock."""
        self.local = local
        self.ahead_ns = 0
        """By how much the server's clock is ahead of this machine's."""
        self.sure = False
        """Whether an answer has carried the server's time yet."""

    def now_ns(self) -> int:
        """The server's time now."""
        return self.local() + self.ahead_ns

    def to_local(self, server_ns: int) -> int:
        """A server's time on this machine's clock."""
        return server_ns - self.ahead_ns

    def answered(self, server_ns: int, asked_ns: int) -> None:
        """An answer carried the server's time; it was asked for at `asked_ns` of this machine's clock. 0: it carried
        none."""
        if not server_ns:
            return
        least, most = server_ns - self.local(), server_ns - asked_ns
        if least <= most:  # else this machine's clock was set back meanwhile
            self.ahead_ns = min(max(self.ahead_ns, least), most)
            self.sure = True

    def stored(self, stored_ns: int) -> None:
        """A message has come that the server stored at that time."""
        self.ahead_ns = max(self.ahead_ns, stored_ns - self.local())


def parsed_ns(text: str) -> int:
    """RFC 3339 with up to nine decimals, as the server writes it, in ns; 0: it is none."""
    try:
        date_time, _, fraction = text.rstrip("Z").partition(".")
        seconds = int(datetime.fromisoformat(date_time + "+00:00").timestamp())
        return seconds * 10**9 + int(fraction.ljust(9, "0")[:9] or 0)
    except ValueError:
        return 0
