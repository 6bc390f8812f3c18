"""The shared machine: what every session does whatever its protocol.

A protocol is a table (coordinator.table). Around it this module keeps what is common: open turns with their deadlines,
retries, the ledger, posts and their numbers, the one timer, the stop decision, the result.

    step(session, event, at_ns) -> (session, commands)        pure: no clock, no dice, no tokens

A failed step changes nothing, because state is replaced and never mutated. What may not happen raises `Illegal`, and
the submission behind it is refused with that text.
"""

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from coordinator.budget import Ledger, Reservation, pays_for_tries, reservation, shortfall, total
from coordinator.commands import AskSeat, Finish, Rephrase, SayOn, Stop, Wish
from coordinator.table import (
    Answered,
    BrokenTable,
    Cell,
    Heard,
    Illegal,
    Inadmissible,
    Inner,
    MachineError,
    Missed,
    OpenTurn,
    Protocol,
    Role,
    Step,
    Table,
    Unaffordable,
    View,
    to,
)
from schemas import log
from schemas.post import Post
from schemas.result import Result
from schemas.result import Stop as StopReport
from schemas.session import Seat
from schemas.stops import STOPS
from schemas.turn import Caps
from schemas.wire import Json, Undecodable, decode, encode, raw

__all__ = [
    "step", "begin", "digest", "record", "record_opening", "Session", "Stopped", "OpenTurn",
    "Protocol", "Role", "Table", "Cell", "Step", "View", "to", "Answered", "Missed", "Unaffordable", "Heard", "Inner",
    "MachineError", "Illegal", "Inadmissible", "BrokenTable",
]  # fmt: skip

_ERROR_CHARS = 2_000
"""Of a fault, shown to the model that made it."""
_MOST_DELIVERIES = 1_000
"""A worker reports how often it was handed a turn; above this it is not believed."""


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """The stop decision, once it fell."""

    reason: str
    certificate: Json
    converged: bool
    transition: int


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a session remembers."""

    sid: str
    opened: log.Opened
    settings: Any = None
    """`opened.settings`, typed: decoded once, not hashed."""
    question: str = ""
    """What seats are shown in place of `opened.question`, once the protocol rephrased it; not hashed: a post has it."""
    n: int
    """Transitions taken."""
    opened_ns: int
    at_ns: int
    turns: dict[str, OpenTurn] = {}
    posts: tuple[Post, ...] = ()
    ledger: Ledger = Ledger()
    timer_ns: int | None = None
    """When the armed timer fires; it may be earlier than what is due next, never later."""
    stopped: Stopped | None = None
    closed: bool = False
    inner: Any = None


Taken = tuple[Session, tuple[log.Command, ...]]


def begin(protocol: Protocol, sid: str, opened: log.Opened, at_ns: int) -> Taken:
    """The first transition.

    Raises
    ------
    Inadmissible
        The budget does not even hold the first turns and what is kept back for the end.
    """
    settings: Any = decode(encode(opened.settings), protocol.settings)
    session = Session(sid=sid, opened=opened, settings=settings, n=0, opened_ns=at_ns, at_ns=at_ns)
    draft = _Draft(protocol, session, at_ns)
    inner, wishes = protocol.start(draft.view())
    draft.inner = inner
    draft.wish(wishes)
    short = draft.short()
    if short:
        raise Inadmissible("budget", f"the first turns do not fit: {short.what}")
    return draft.done()


def step(protocol: Protocol, session: Session, event: log.Event, at_ns: int) -> Taken:
    """Take one event.

    Parameters
    ----------
    at_ns
        Unix time of the event, ns. A clock that runs behind the session's last is set to that.

    Raises
    ------
    Illegal
        The event has no place here: a turn that is not open, a closed session, words nobody waits for.
    """
    if session.closed:
        raise Illegal("the session is closed")
    draft = _Draft(protocol, session, max(at_ns, session.at_ns))
    _ON[type(event)](draft, event)
    return draft.done()


def _on_opened(draft: "_Draft", event: log.Opened) -> None:
    raise Illegal("the session is open already")


def _on_replied(draft: "_Draft", event: log.Replied) -> None:
    turn = draft.turns.pop(event.turn, None)
    if turn is None:
        raise Illegal(f"turn {event.turn} is not open")
    a = turn.ask
    if a.deadline_ns < draft.at_ns:
        raise Illegal(f"turn {event.turn}: its deadline passed {(draft.at_ns - a.deadline_ns) / 1e9:.3f} s ago")
    if event.deliveries > 1 and not pays_for_tries(draft.seat(a.seat), draft.opened.budget):
        draft.lose(turn, min(event.deliveries, _MOST_DELIVERIES) - 1)
    body: Any = None
    error = event.error
    if not error:
        try:
            body = decode(event.body, draft.protocol.replies[a.kind])
        except Undecodable as fault:
            error = f"the reply is not what was asked: {fault.why}"
    if not error:
        error = draft.protocol.check(draft.inner, turn, body, draft.view())
    draft.ledger = draft.ledger.add(a.seat, event.usage, answered=not error)
    if error:
        draft.again(turn, error)
    else:
        draft.handle(Answered(turn=turn.id, seat=a.seat, kind=a.kind, round=a.round, body=body, flags=event.flags))


def _on_timer(draft: "_Draft", event: log.TimerFired) -> None:
    draft.timer_ns = None
    if draft.time_is_over() and not draft.stopped:
        draft.handle(draft.out_of_time())
        return
    for turn in [t for t in draft.turns.values() if t.ask.deadline_ns <= draft.at_ns]:
        if draft.turns.pop(turn.id, None) is None:
            continue  # withdrawn by what an earlier one led to
        draft.lose(turn)
        seconds = draft.opened.turn_timeout_s if turn.ask.window_s is None else turn.ask.window_s
        draft.miss(turn, f"no reply within {seconds:g} s")


def _on_redelivered(draft: "_Draft", event: log.Redelivered) -> None:
    """The earlier try may have used all of its reservation, so it is booked as lost and the turn needs another one. It
    is missed where that does not fit: its worker is told that it is closed, and pays nothing."""
    turn = draft.turns.get(event.turn)
    if turn is None:
        raise Illegal(f"turn {event.turn} is not open")
    if turn.ask.deadline_ns < draft.at_ns:
        raise Illegal(f"turn {event.turn}: its deadline passed")
    short = draft.no_more(turn)
    draft.lose(turn)
    if short:
        del draft.turns[turn.id]
        draft.miss(turn, f"the worker that had it was lost, and another try does not fit: {short}", short)


def _on_cancelled(draft: "_Draft", event: log.Cancelled) -> None:
    """Ends the session in any phase. A stop decision that has fallen stands: it closes with that, without a final
    turn."""
    if draft.stopped is None:
        draft.stop(Stop(reason="cancelled", certificate=raw({"by": event.author, "why": event.reason})))
    draft.inner = msgspec.structs.replace(draft.inner, phase=draft.protocol.done)
    draft.close()


def _on_spoke(draft: "_Draft", event: log.Spoke) -> None:
    draft.handle(
        Heard(author=event.author, channel=event.channel, window=event.window, kind=event.kind, body=event.body)
    )


_ON: dict[type, Callable[["_Draft", Any], None]] = {
    log.Opened: _on_opened,
    log.Replied: _on_replied,
    log.TimerFired: _on_timer,
    log.Redelivered: _on_redelivered,
    log.Cancelled: _on_cancelled,
    log.Spoke: _on_spoke,
}


class _Draft:
    """One step in the making. Lives inside one call; nothing of it is shared, so a step that raises leaves no trace."""

    def __init__(self, protocol: Protocol, session: Session, at_ns: int) -> None:
        self.protocol = protocol
        self.session = session
        self.opened = session.opened
        self.at_ns = at_ns
        self.inner = session.inner
        self.question = session.question
        self.turns = dict(session.turns)
        self.posts = list(session.posts)
        self.ledger = session.ledger
        self.timer_ns = session.timer_ns
        self.stopped = session.stopped
        self.closed = False
        self.commands: list[log.Command] = []
        self.asks: list[AskSeat] = []

    # -- looking
    def view(self) -> View:
        posts = tuple(self.posts)
        open_turns = tuple(self.turns.values())
        return View(
            self.opened, self.session.settings, posts, len(posts), open_turns, self.at_ns, self.ledger, self.affords
        )

    def seat(self, seat: str) -> Seat:
        return next(s for s in self.opened.seats if s.seat == seat)

    def end_ns(self) -> int | None:
        seconds = self.opened.budget.seconds
        return None if seconds is None else self.session.opened_ns + int(seconds * 1e9)

    def time_is_over(self) -> bool:
        end = self.end_ns()
        return end is not None and end <= self.at_ns

    def out_of_time(self) -> Unaffordable:
        return Unaffordable(what=f"budget.seconds: limit {self.opened.budget.seconds:g} s", seconds=True)

    def reserved(self, final: bool) -> Reservation:
        """What turns in flight may use, and, until the final turn is asked, what is held back for it."""
        out = total(reservation(self.seat(t.ask.seat), t.ask.caps) for t in self.turns.values())
        if final or self.stopped or any(t.ask.final for t in self.turns.values()):
            return out
        return out + total(reservation(self.seat(s), caps) for s, caps in self.protocol.final(self.view()))

    def short(self) -> Unaffordable | None:
        """Why the turns wished for so far cannot be asked; None if they can."""
        if not self.asks:
            return None
        if self.time_is_over():
            return self.out_of_time()
        budget = self.opened.budget
        if budget.tokens is None and budget.calls is None and budget.cost_usd is None:
            return None
        more = total(reservation(self.seat(a.seat), a.caps) for a in self.asks)
        final = any(a.final for a in self.asks)
        what = shortfall(budget, self.ledger, self.reserved(final), more)
        return Unaffordable(what=what) if what else None

    def affords(self, turns: Iterable[tuple[str, Caps]]) -> str:
        """Which limit these turns together would pass; empty if they fit."""
        if self.time_is_over():
            return self.out_of_time().what
        more = total(reservation(self.seat(seat), caps) for seat, caps in turns)
        return shortfall(self.opened.budget, self.ledger, self.reserved(False), more)

    # -- doing
    def handle(self, event: Inner) -> None:
        """Give one event to the protocol's table; what it wishes for and cannot have comes back as Unaffordable."""
        for _ in range(4):
            cell = self.protocol.table[self.inner.phase].get(type(event))
            if cell is None:
                raise Illegal(f"{type(event).__name__} has no place in phase {self.inner.phase}")
            inner, wishes = cell.handler(self.inner, event, self.view())
            if inner.phase not in cell.targets:
                raise BrokenTable(f"{cell.handler.__name__} led to {inner.phase}, its cell names {cell.targets}")
            self.inner = inner
            self.wish(wishes)
            short = self.short()
            if short is None:
                return
            self.asks.clear()
            event = short
        raise BrokenTable("the protocol goes on wishing for turns that it cannot have")

    def wish(self, wishes: tuple[Wish, ...]) -> None:
        for w in wishes:
            match w:
                case AskSeat():
                    self.asks.append(w)
                case SayOn():
                    self.say(w.channel, w.kind, w.round, w.body, w.seat)
                case Rephrase():
                    self.question = w.question
                case Stop():
                    self.stop(w)
                case Finish():
                    self.close()

    def say(self, channel: str, kind: str, round_: int, body: Json, seat: str = "") -> None:
        last = next((p.k for p in reversed(self.posts) if p.channel == channel), -1)
        post = Post(
            session=self.session.sid, channel=channel, k=last + 1, n=len(self.posts), transition=self.session.n,
            at_ns=self.at_ns, seat=seat, kind=kind, round=round_, body=body,
        )  # fmt: skip
        self.posts.append(post)
        self.commands.append(log.Say(channel=channel, kind=kind, round=round_, body=body, seat=seat))

    def stop(self, w: Stop) -> None:
        """The decision: posted where every agent hears it; turns asked before it are withdrawn as unaccounted."""
        if self.stopped is not None:
            raise BrokenTable(f"stopped twice: {self.stopped.reason}, then {w.reason}")
        self.withdraw()
        converged = STOPS[w.reason].converged and w.converged
        self.stopped = Stopped(
            reason=w.reason, certificate=w.certificate, converged=converged, transition=self.session.n
        )
        told = {"reason": w.reason, "converged": converged, "transition": self.session.n, "certificate": w.certificate}
        self.say("control", "stop", 0, raw(told))

    def withdraw(self) -> None:
        for turn in self.turns.values():
            self.lose(turn)
        self.turns.clear()
        self.asks.clear()

    def lose(self, turn: OpenTurn, times: int = 1) -> None:
        self.ledger = self.ledger.lose(reservation(self.seat(turn.ask.seat), turn.ask.caps), times)

    def miss(self, turn: OpenTurn, why: str, short: str = "") -> None:
        a = turn.ask
        self.handle(Missed(turn=turn.id, seat=a.seat, kind=a.kind, round=a.round, why=why, short=short))

    def again(self, turn: OpenTurn, error: str) -> None:
        """A bad reply: a new turn with the error, as long as attempts, time and budget allow."""
        a = turn.ask
        left = a.attempt < self.protocol.attempts(self.session.settings)
        short = (self.out_of_time().what if self.time_is_over() else self.no_more(turn)) if left else ""
        if left and not short:
            error = error[:_ERROR_CHARS]
            deadline = self.deadline() if a.window_s is None else a.deadline_ns
            self.commands.append(msgspec.structs.replace(a, attempt=a.attempt + 1, error=error, deadline_ns=deadline))
        else:
            self.miss(turn, error, short)

    def no_more(self, turn: OpenTurn) -> str:
        """Which limit one more turn like this would pass; empty if it fits."""
        a = turn.ask
        more = reservation(self.seat(a.seat), a.caps)
        return shortfall(self.opened.budget, self.ledger, self.reserved(a.final), more)

    def deadline(self, window_s: float | None = None) -> int:
        seconds = self.opened.turn_timeout_s if window_s is None else min(window_s, self.opened.turn_timeout_s)
        at = self.at_ns + int(seconds * 1e9)
        end = self.end_ns()
        return at if end is None else min(at, end)

    def close(self) -> None:
        if self.stopped is None or self.inner.phase != self.protocol.done:
            raise BrokenTable("a session finishes after its stop decision, in its last phase")
        self.withdraw()
        self.closed = True
        row = STOPS[self.stopped.reason]
        outcome, rounds = self.protocol.outcome(self.inner, self.view())
        certificate = decode(self.stopped.certificate, dict[str, Any])
        result = Result(
            session=self.session.sid,
            protocol=self.protocol.name,
            status=row.status,
            outcome=outcome,
            stop=StopReport(reason=row.reason, converged=self.stopped.converged, certificate=certificate),
            rounds=rounds,
            usage=self.ledger.report(s.seat for s in self.opened.seats),
            duration_s=(self.at_ns - self.session.opened_ns) / 1e9,
        )
        self.say("control", "closed", 0, raw(result))
        self.commands.append(log.Close(status=row.status, reason=row.reason))

    def done(self) -> Taken:
        for a in self.asks:
            self.commands.append(
                log.Ask(
                    seat=a.seat, kind=a.kind, round=a.round, brief=a.brief, sees=a.sees, own=a.own, caps=a.caps,
                    deadline_ns=self.deadline(a.window_s), stream=a.stream, final=a.final, channel=a.channel,
                    window_s=a.window_s,
                )
            )  # fmt: skip
        for i, command in enumerate(self.commands):
            if isinstance(command, log.Ask):
                turn = OpenTurn(id=f"{self.session.n}-{i}", ask=command)
                self.turns[turn.id] = turn
        if self.closed != (self.inner.phase == self.protocol.done) or self.closed == bool(self.turns):
            raise BrokenTable(f"phase {self.inner.phase}, closed: {self.closed}, turns out: {len(self.turns)}")
        self.arm()
        session = Session(
            sid=self.session.sid, opened=self.opened, settings=self.session.settings, question=self.question,
            n=self.session.n + 1, opened_ns=self.session.opened_ns, at_ns=self.at_ns, turns=self.turns,
            posts=tuple(self.posts), ledger=self.ledger, timer_ns=self.timer_ns, stopped=self.stopped,
            closed=self.closed, inner=self.inner,
        )  # fmt: skip
        return session, tuple(self.commands)

    def arm(self) -> None:
        """One timer: armed when none is or when it would be late; one that fires early finds nothing due, and is
        reset."""
        if self.closed:
            if self.timer_ns is not None:
                self.timer_ns = None
                self.commands.append(log.ClearTimer())
            return
        due = min(t.ask.deadline_ns for t in self.turns.values())  # never behind the end of the budget's seconds
        if self.timer_ns is None or due < self.timer_ns:
            self.timer_ns = due
            self.commands.append(log.SetTimer(at_ns=due))


# ---------------------------------------------------------------- the chain


def digest(
    before: str, session: Session, event: log.Event, at_ns: int, cause: str, commands: tuple[log.Command, ...]
) -> str:
    """Chains a transition to the one before: event, cause, commands, and the state after (128 bits, hex).

    Posts, asks and the opening are not hashed again: the commands and the first event of the chain hold them. `before`
    is empty for the first transition, whose chain begins with the session's id."""
    h = hashlib.blake2b((before or session.sid).encode(), digest_size=16)
    h.update(encode([event, at_ns, cause, commands]))
    h.update(
        encode(
            [session.n, session.at_ns, list(session.turns), session.ledger, session.timer_ns, session.stopped,
             session.closed, session.inner, len(session.posts)]
        )
    )  # fmt: skip
    return h.hexdigest()


def record_opening(
    protocol: Protocol, sid: str, opened: log.Opened, at_ns: int, cause: str
) -> tuple[Session, log.Entry]:
    """`begin`, and the entry to append. Raises Inadmissible."""
    session, commands = begin(protocol, sid, opened, at_ns)
    return session, _entry("", session, opened, cause, commands)


def record(
    protocol: Protocol, session: Session, before: str, event: log.Event, at_ns: int, cause: str
) -> tuple[Session, log.Entry]:
    """`step`, and the entry to append; `before` is the digest of the entry ahead. Raises Illegal."""
    after, commands = step(protocol, session, event, at_ns)
    return after, _entry(before, after, event, cause, commands)


def _entry(before: str, session: Session, event: log.Event, cause: str, commands: tuple[log.Command, ...]) -> log.Entry:
    chained = digest(before, session, event, session.at_ns, cause, commands)
    return log.Entry(
        n=session.n - 1, at_ns=session.at_ns, cause=cause, event=event, commands=commands, digest=chained
    )  # fmt: skip
