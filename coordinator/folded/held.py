"""A session as one process has folded it: a cache of its log."""

import asyncio
import math

from coordinator.folded import lost
from coordinator.folded.group import Waiting
from coordinator.machine import Protocol, Session
from schemas import log


class Held:
    """A session as this process last saw it."""

    __slots__ = (
        "authors", "causes", "digest", "draining", "erased", "last", "last_n", "last_seq", "lock", "looked_at", "lost",
        "out", "protocol", "refusals", "session", "waiting",
    )  # fmt: skip

    def __init__(self) -> None:
        self.session: Session | None = None
        self.protocol: Protocol | None = None
        self.last_seq = 0
        self.looked_at = -math.inf
        """When its log was last read, on the monotonic clock."""
        self.digest = ""
        self.causes: dict[str, int] = {}
        self.authors: dict[str, str] = {}
        """Of each cause that was submitted to IN, who submitted it."""
        self.refusals: dict[str, log.Refused] = {}
        self.last: tuple[log.Command, ...] = ()
        self.last_n = -1
        self.erased = False
        self.lost: lost.Lost | None = None
        """What stays known where nobody could run it; `session` is None then."""
        self.lock = asyncio.Lock()
        self.waiting: list[Waiting] = []
        """Submissions that came since the last append began."""
        self.out = (0, -1, -1)
        """First and last of the transitions whose effects this process got out, and how often the connection had broken
        by then."""
        self.draining = False
        """Whether a task is at them."""

    def carried(self, first: int, last: int, breaks: int, out: bool) -> None:
        """The effects of these transitions were carried out; `out`: they got out."""
        if not out:
            self.out = (0, -1, -1)
        elif self.out[1:] == (first - 1, breaks):
            self.out = (self.out[0], last, breaks)
        else:
            self.out = (first, last, breaks)

    def is_out(self, n: int, breaks: int) -> bool:
        """Whether this process got the effects of a transition out, over a connection that stands since: a repeat by
        whoever had no patience leads to nothing then."""
        first, last, then = self.out
        return first <= n <= last and then == breaks

    @property
    def refused(self) -> str:
        """Why its opening was refused; empty if it was not, or was taken when it was asked again."""
        if self.session is not None:
            return ""
        return next((r.why for r in self.refusals.values() if r.what == "open"), "")

    @property
    def over(self) -> str:
        """Why nothing is taken for it any more; empty where it may be."""
        return self.lost.why if self.lost else "it was erased" if self.erased else ""

    def is_of(self, owner: str | None) -> bool:
        """Whether it is a session of this owner, opened or refused; None: of anybody."""
        if owner is None:
            return True
        if self.session is not None:
            return self.session.opened.author == owner
        if self.lost is not None:
            return self.lost.author == owner
        return bool(self.refused_by(owner, "open"))

    def refused_by(self, author: str, what: str) -> str:
        """Why what this author (a client, or the session above) asked of it was refused, open or cancel; else empty."""
        if self.session is not None:
            return ""
        return next((r.why for r in self.refusals.values() if r.what == what and r.author == author), "")

    def empty(self, left: lost.Lost | None = None) -> None:
        """Forget all of it but that it was erased, or what is left of one that nobody could run."""
        self.session, self.protocol = None, None
        self.lost, self.erased = left, left is None
        self.causes, self.authors = (left.causes, left.authors) if left else ({}, {})
        self.refusals = {}
        self.last, self.last_n = (), -1
