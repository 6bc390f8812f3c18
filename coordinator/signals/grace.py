"""Grace: how long a step waits for a seat that fails, once the others have answered.

    a turn is failing   from when its call failed and is made again, its reply was not good, nobody serves its queue,
                        or it is older than max(silent_s, silent_times m)
    its grace ends      at max(quorum reached, began to fail) + max(least_s, times m); m not known: + unknown_s

m is the median of the seconds that turns of the seat's model took, frozen in the opening; else what the seat's last
turn of the session took; else, where a call failed, the median of the other seats'. All times are those of stored
entries, so the same log always has the same graces.

A turn whose grace is over is set aside: its step goes on as without the seat. The turn itself stays open until its own
deadline, and its seat is asked nothing else. A person's turn has no grace: the person has the seconds of the seat.
"""

import msgspec

from parley.schemas.presence import RETURN_S

GONE = "its worker is gone"
WHY_CHARS = 200
"""Characters of a fault that are kept."""
SECOND = 1_000_000_000


class Grace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The numbers of the rule, in seconds and multiples of m."""

    least_s: float = 10.0
    times: float = 3.0
    unknown_s: float = 60.0
    silent_s: float = 60.0
    silent_times: float = 5.0
    gone_s: float = RETURN_S
    """Who counts as gone was away for so long at least: its turns have failed since then."""

    def silent_ns(self, asked_ns: int, m: float | None) -> int:
        """When a turn has been silent for too long. `m`: seconds that it usually takes; None: not known."""
        return asked_ns + int((self.silent_s if m is None else max(self.silent_s, self.silent_times * m)) * SECOND)

    def end_ns(self, asked_ns: int, failing_ns: int, quorum_ns: int, m: float | None) -> int:
        """When the grace of a turn ends. `failing_ns`: since when it is known to fail; 0: it is not."""
        since = failing_ns or self.silent_ns(asked_ns, m)
        more_s = self.unknown_s if m is None else max(self.least_s, self.times * m)
        return max(quorum_ns, since) + int(more_s * SECOND)


DEFAULT_GRACE = Grace()


def cause(why: str, since_ns: int, at_ns: int) -> str:
    """What a turn fails with, and for how long: `failing for 14 s: HTTP 429`. Without a `why` it is silent."""
    seconds = f"for {(at_ns - since_ns) / SECOND:.0f} s"
    if not why:
        return f"no reply {seconds}"
    return f"{why} {seconds}" if why == GONE else f"failing {seconds}: {why}"
