"""Takes the submissions that wait for one session together: each submission is one event, and all that were taken are
one append.

    fold(protocol, session, digest, causes, waiting, at_ns, build) -> Folded       pure: nothing is sent or awaited

Each event is stepped in the state that the one ahead led to, and becomes an entry of its own with its own cause, number
and digest: what comes out is what the same submissions would have come to one after another. One that is refused, or is
a repeat, leaves no trace in the others. Where a protocol's own code fails, the entry is `Faulted` in place of its
event, and the session ends.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from parley.bus.errors import LocalFault
from parley.coordinator.admission import where
from parley.coordinator.briefing import Sending
from parley.coordinator.machine import Illegal, Protocol, Session, counted, record
from parley.schemas import log

_LOGGER = logging.getLogger(__name__)
_RAISED = (Exception, SystemExit, KeyboardInterrupt)
"""What a protocol's code may raise: none of it ends the moderator, whose signals come another way."""
MOST = 64
"""Submissions of one append, at most."""
MOST_BYTES = 1_000_000
"""Bytes of the bodies of one append, at most; a single larger body is appended alone."""


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """What became of a submission: accepted at a transition, or refused, and why."""

    accepted: bool
    n: int = -1
    why: str = ""
    again: bool = False
    """Whether it had been taken before."""


Outcome = Receipt | Exception
Tell = Callable[[Outcome], None]


class PendingSubmission:
    """A submission that waits for its session's next append."""

    __slots__ = ("asked_by", "cause", "check", "event", "headers", "over", "size", "tell")

    def __init__(
        self,
        cause: str,
        event: log.Event,
        tell: Tell,
        *,
        check: Callable[[Session | None], str] | None = None,
        asked_by: int = -1,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """
        Parameters
        ----------
        tell
            Called once with what became of it; must not block.
        check
            Why it is refused in a state, before it is stepped; empty if it is not.
        asked_by
            The transition that it answers: a process that has not folded so far reads the log's tail first.
        headers
            Of its message, with its sender's trace.
        """
        self.cause = cause
        self.event = event
        self.tell = tell
        self.check = check
        self.asked_by = asked_by
        self.headers = headers
        self.over = False
        body = getattr(event, "body", None)
        self.size = 0 if body is None else len(bytes(body))
        """Bytes of what it says, as far as they may be many."""

    def settle(self, outcome: Outcome) -> None:
        """Say what became of it; only the first time counts."""
        if not self.over:
            self.over = True
            self.tell(outcome)


class PendingTransition(msgspec.Struct, frozen=True):
    """One transition that is to be appended."""

    before: Session | None
    """None for the opening."""
    after: Session
    entry: log.Entry
    sendings: list[Sending]
    """The WORK messages that it asks."""
    seconds: float = 0.0
    """Seconds that the machine took for it."""


class Folded(msgspec.Struct):
    """What a group came to. Each submission is in one of these lists, in the order of the group."""

    session: Session
    digest: str
    taken: list[tuple[PendingSubmission, PendingTransition]] = []
    """To be appended, in this order."""
    refused: list[tuple[PendingSubmission, str]] = []
    """Refused by their own check, in any state."""
    dropped: list[tuple[PendingSubmission, str]] = []
    """Not allowed in this state; a later state may allow them."""
    repeated: list[tuple[PendingSubmission, int]] = []
    """Their cause was taken at this transition, in this group or before."""
    failed: list[tuple[PendingSubmission, Exception]] = []
    """The machine raised this."""


Build = Callable[[Session, log.Entry], list[Sending]]


def fold(
    protocol: Protocol,
    session: Session,
    digest: str,
    causes: Mapping[str, int],
    waiting: Sequence[PendingSubmission],
    at_ns: int,
    build: Build,
) -> Folded:
    """Step a session through what waits for it.

    Parameters
    ----------
    causes
        Causes taken before, and their transitions.
    at_ns
        Unix time of all these events, ns.
    build
        The WORK messages of an entry; what it raises fails that submission alone.
    """
    folded = Folded(session, digest)
    own_turns: dict[str, int] = {}
    for w in waiting:
        n = causes.get(w.cause, own_turns.get(w.cause))
        if n is not None:
            folded.repeated.append((w, n))
            continue
        if w.check is not None and (why := w.check(folded.session)):
            folded.refused.append((w, why))
            continue
        started = time.perf_counter()
        try:
            after, entry, sendings = _taken(protocol, folded, w, at_ns, build)
            seconds = time.perf_counter() - started
        except Illegal as error:
            folded.dropped.append((w, str(error)))
            continue
        except Exception as error:
            folded.failed.append((w, error))
            continue
        folded.taken.append((w, PendingTransition(folded.session, after, entry, sendings, seconds)))
        folded.session, folded.digest = after, entry.digest
        own_turns[w.cause] = entry.n
    return folded


def _taken(
    protocol: Protocol, folded: Folded, w: PendingSubmission, at_ns: int, build: Build
) -> tuple[Session, log.Entry, list[Sending]]:
    """The transition and its messages. If the protocol's own code fails, or shows a seat too much, that ends the
    session; one that stands goes on. Raises Illegal, and what the code of a standing protocol raises."""
    try:
        event = counted(protocol, folded.session, w.event)
        after, entry = record(protocol, folded.session, folded.digest, event, at_ns, w.cause)
        return after, entry, build(after, entry)
    except (Illegal, LocalFault):
        raise
    except _RAISED as error:
        if protocol.standing or folded.session.closed:
            raise
        _LOGGER.exception("protocol %s failed", protocol.name, extra={"session": folded.session.sid})
        fault = log.Faulted(why=where(error))
        return *record(protocol, folded.session, folded.digest, fault, at_ns, w.cause), []


def cut(waiting: list[PendingSubmission]) -> tuple[list[PendingSubmission], list[PendingSubmission]]:
    """The submissions of the next append, at least one; and the rest. A timer comes after replies: what is here is in
    time."""
    waiting = sorted(waiting, key=lambda w: type(w.event) is log.TimerFired)
    size = 0
    for place, w in enumerate(waiting[:MOST]):
        size += w.size
        if place and size > MOST_BYTES:
            return waiting[:place], waiting[place:]
    return waiting[:MOST], waiting[MOST:]


async def outcome_of(
    submit: Callable[[PendingSubmission], None], cause: str, event: log.Event, **more: object
) -> Receipt:
    """Submit, and wait for the result. Raises what its handling raised."""
    future: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()

    def tell(outcome: Outcome) -> None:
        if future.done():
            return
        if isinstance(outcome, Receipt):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)

    submit(PendingSubmission(cause, event, tell, **more))  # type: ignore[arg-type]
    return await future
