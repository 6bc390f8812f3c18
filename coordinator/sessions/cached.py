"""A session as one process has folded it: a cache of its log."""

import asyncio
import math

from parley.coordinator.machine import Protocol, Session
from parley.coordinator.sessions import lost
from parley.coordinator.sessions.group import PendingSubmission
from parley.schemas import log


class CachedSession:
    """A session as this process last read it."""

    __slots__ = (
        "authors",
        "breaks",
        "causes",
        "digest",
        "draining",
        "erased",
        "last",
        "last_n",
        "last_seq",
        "lock",
        "looked_at",
        "lost",
        "out",
        "protocol",
        "refusals",
        "session",
        "waiting",
    )

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting: list[PendingSubmission] = []
        """Submissions that came since the last append began."""
        self.draining = False
        """Whether a task is appending them."""
        self.forget()

    def forget(self) -> None:
        """Forget all that was read of its log."""
        self.session: Session | None = None
        self.protocol: Protocol | None = None
        self.last_seq = 0
        self.breaks = -1
        """How often the connection had broken when its log was last read. A restore beneath this process breaks it."""
        self.looked_at = -math.inf
        """When its log was last read, on the monotonic clock."""
        self.digest = ""
        self.causes: dict[str, int] = {}
        self.authors: dict[str, str] = {}
        """Cause -> author, for each cause that was submitted to IN."""
        self.refusals: dict[str, log.Refused] = {}
        self.last: tuple[log.Command, ...] = ()
        self.last_n = -1
        self.erased = False
        self.lost: lost.LostSession | None = None
        """What is known of a session that nobody could run; `session` is None then."""
        self.out = (0, -1, -1)
        """First and last transition whose effects this process got out, and how often the connection had broken by
        then."""

    def carried(self, first: int, last: int, breaks: int, out: bool) -> None:
        """Note that the effects of these transitions were carried out. `out`: all of them got out."""
        if not out:
            self.out = (0, -1, -1)
        elif self.out[1:] == (first - 1, breaks):
            self.out = (self.out[0], last, breaks)
        else:
            self.out = (first, last, breaks)

    def is_out(self, n: int, breaks: int) -> bool:
        """Whether this process got the effects of a transition out over the present connection. If so, a repeat of the
        submission needs no effects again."""
        first, last, breaks_then = self.out
        return first <= n <= last and breaks_then == breaks

    @property
    def refused(self) -> str:
        """Why its opening was refused; empty if it was not refused, or was accepted later."""
        if self.session is not None:
            return ""
        return next((r.why for r in self.refusals.values() if r.what == "open"), "")

    @property
    def over(self) -> str:
        """Why nothing is accepted for it any more; empty if it may be."""
        return self.lost.why if self.lost else "it was erased" if self.erased else ""

    def is_of(self, owner: str | None) -> bool:
        """Whether this owner's session it is, opened or refused. None: any owner."""
        if owner is None:
            return True
        if self.session is not None:
            return self.session.opened.author == owner
        if self.lost is not None:
            return self.lost.author == owner
        return bool(self.refused_by(owner, "open"))

    def refused_by(self, author: str, what: str) -> str:
        """Why a request of this author (a client, or the session above) was refused; `what`: open or cancel. Empty: it
        was not."""
        if self.session is not None:
            return ""
        return next((r.why for r in self.refusals.values() if r.what == what and r.author == author), "")

    def empty(self, remains: lost.LostSession | None = None) -> None:
        """Forget everything but the fact that it was erased, or, if nobody could run it, what `remains`."""
        self.session, self.protocol = None, None
        self.lost, self.erased = remains, remains is None
        self.causes, self.authors = (remains.causes, remains.authors) if remains else ({}, {})
        self.refusals = {}
        self.last, self.last_n = (), -1
