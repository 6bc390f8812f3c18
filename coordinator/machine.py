"""The shared machine: what every session does whatever its protocol.

A protocol is a table (coordinator.table). Around it this module keeps what is common: open turns with their deadlines,
retries, the ledger, posts and their numbers, the one timer, the stop decision, the result.

    step(session, event, at_ns) -> (session, commands)        pure: no clock, no dice, no tokens

A failed step changes nothing, because state is replaced and never mutated. What may not happen raises `Illegal`, and
the submission behind it is refused with that text.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from coordinator.budget import OVERSTATED, Reservation, booked, pays_for_tries, reservation, shortfall, total
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
    Session,
    Sitter,
    Step,
    Stopped,
    Table,
    Unaffordable,
    View,
    awaited,
    digest,
    to,
)
from schemas import log
from schemas.post import Post
from schemas.result import Result
from schemas.result import Stop as StopReport
from schemas.session import Seat
from schemas.stops import STOPS
from schemas.turn import Caps
from schemas.wire import Json, Undecodable, decode, encode, figure, raw

__all__ = [
    "step", "begin", "digest", "record", "record_opening", "Session", "Stopped", "OpenTurn",
    "Protocol", "Role", "Table", "Cell", "Step", "View", "to", "Answered", "Missed", "Unaffordable", "Heard", "Inner",
    "MachineError", "Illegal", "Inadmissible", "BrokenTable",
]  # fmt: skip

_ERROR_CHARS = 2_000
"""Of a fault, shown to the model that made it."""
_WAIT_S = 86_400.0
"""For a turn of a person who is waited for."""
_MOST_DELIVERIES = 1_000
"""A worker reports how often it was handed a turn; above this it is not believed."""


Taken = tuple[Session, tuple[log.Command, ...]]


def begin(protocol: Protocol, sid: str, opened: log.Opened, at_ns: int) -> Taken:
    """The first transition.

    Raises
    ------
    Inadmissible
        The budget does not even hold the first turns and what is kept back for the end.
    """
    settings: Any = decode(encode(opened.settings), protocol.settings)
    there = awaited(opened)
    session = Session(sid=sid, opened=opened, settings=settings, n=0, opened_ns=at_ns, at_ns=at_ns, sitters=there)
    draft = _Draft(protocol, session, at_ns)
    for seat, sitter in there.items():
        draft.say("control", "seat", 0, raw({"seat": seat, "human": True, "waits": sitter.seconds}))
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
    if event.deliveries > 1 and not a.queue and not pays_for_tries(draft.seat(a.seat), draft.opened.budget):
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
    used = booked(draft.seat(a.seat), a.caps, event.usage, person=bool(a.queue))
    draft.ledger = draft.ledger.add(a.seat, used, answered=not error)
    flags = event.flags if used == event.usage else (*event.flags, OVERSTATED)
    if error:
        draft.again(turn, error)
    else:
        draft.handle(Answered(turn=turn.id, seat=a.seat, kind=a.kind, round=a.round, body=body, flags=flags))


def _on_timer(draft: "_Draft", event: log.TimerFired) -> None:
    draft.timer_ns = None
    if draft.time_is_over() and not draft.stopped:
        draft.handle(draft.out_of_time())
        return
    for turn in [t for t in draft.turns.values() if t.ask.deadline_ns <= draft.at_ns]:
        if turn.id not in draft.turns:
            continue  # withdrawn by what an earlier one led to, or given back with it
        if turn.ask.queue and draft.sitters[turn.ask.seat].then == "agent":
            draft.give_back(turn.ask.seat)
            continue
        del draft.turns[turn.id]
        draft.lose(turn)
        draft.miss(turn, f"no reply within {draft.seconds(turn.ask.seat, turn.ask.queue, turn.ask.window_s):g} s")


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


def _on_sat(draft: "_Draft", event: log.Sat) -> None:
    """Sitting down concerns turns asked from now on; leaving, also those that the person has."""
    seat = event.seat
    if seat not in (seats := [s.seat for s in draft.opened.seats]):
        raise Illegal(f"there is no seat {seat}; seats are {', '.join(seats)}")
    if event.left:
        if seat not in draft.sitters:
            raise Illegal(f"nobody sits on seat {seat}")
        draft.give_back(seat)
        return
    if seat not in draft.sitters:
        draft.say("control", "seat", 0, raw({"seat": seat, "human": True}))
    draft.sitters[seat] = Sitter(queue=event.queue, seconds=event.seconds, then=event.then)


_ON: dict[type, Callable[["_Draft", Any], None]] = {
    log.Opened: _on_opened,
    log.Replied: _on_replied,
    log.TimerFired: _on_timer,
    log.Redelivered: _on_redelivered,
    log.Cancelled: _on_cancelled,
    log.Spoke: _on_spoke,
    log.Sat: _on_sat,
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
        self.timer_ns, self.stopped = session.timer_ns, session.stopped
        self.closed = False
        self.sitters = dict(session.sitters)
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

    def queue(self, seat: str) -> str:
        """Of the person who sits there; empty: nobody does."""
        return self.sitters[seat].queue if seat in self.sitters else ""

    def most(self, seat: str, caps: Caps, queue: str) -> Reservation:
        """What a turn may use at most: a person's, nothing."""
        return Reservation() if queue else reservation(self.seat(seat), caps)

    def end_ns(self) -> int | None:
        seconds = self.opened.budget.seconds
        return None if seconds is None else self.session.opened_ns + int(seconds * 1e9)

    def time_is_over(self) -> bool:
        end = self.end_ns()
        return end is not None and end <= self.at_ns

    def out_of_time(self) -> Unaffordable:
        return Unaffordable(what=f"budget.seconds: limit {figure(self.opened.budget.seconds or 0)} s", seconds=True)

    def reserved(self, final: bool) -> Reservation:
        """What turns in flight may use, and, until the final turn is asked, what is held back for it: also where a
        person is to answer it, who may leave."""
        out = total(self.most(t.ask.seat, t.ask.caps, t.ask.queue) for t in self.turns.values())
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
        more = total(self.most(a.seat, a.caps, self.queue(a.seat)) for a in self.asks)
        final = any(a.final for a in self.asks)
        what = shortfall(budget, self.ledger, self.reserved(final), more)
        return Unaffordable(what=what) if what else None

    def affords(self, turns: Iterable[tuple[str, Caps]]) -> str:
        """Which limit these turns together would pass; empty if they fit."""
        if self.time_is_over():
            return self.out_of_time().what
        more = total(self.most(seat, caps, self.queue(seat)) for seat, caps in turns)
        return shortfall(self.opened.budget, self.ledger, self.reserved(False), more)

    # -- doing
    def handle(self, event: Inner) -> None:
        """Give one event to the protocol's table; what it wishes for and cannot have comes back as Unaffordable."""
        for _ in range(4):
            cell = self.protocol.table[self.inner.phase].get(type(event))
            if cell is None:
                what = f"{type(event).__name__} has no place in phase {self.inner.phase}"
                raise Illegal("nobody may speak up now" if isinstance(event, Heard) else what)
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
        """Turns asked in this step were never sent: they are forgotten, not lost."""
        new = {self.name(i) for i in range(len(self.commands))}
        for turn in self.turns.values():
            if turn.id not in new:
                self.lose(turn)
        self.turns.clear()
        self.asks.clear()
        self.commands = [c for c in self.commands if not isinstance(c, log.Ask)]

    def lose(self, turn: OpenTurn, times: int = 1) -> None:
        if not turn.ask.queue:
            self.ledger = self.ledger.lose(reservation(self.seat(turn.ask.seat), turn.ask.caps), times)

    def give_back(self, seat: str) -> None:
        """The seat is its agent's again, and so are the turns that the person has; those that the budget does not hold
        are missed."""
        del self.sitters[seat]
        self.say("control", "seat", 0, raw({"seat": seat, "human": False}))
        for turn in [t for t in self.turns.values() if t.ask.seat == seat and t.ask.queue]:
            if self.turns.pop(turn.id, None) is None:
                continue  # withdrawn by what an earlier one led to
            a = msgspec.structs.replace(
                turn.ask, queue="", attempt=1, error="", deadline_ns=self.deadline(seat, turn.ask.window_s)
            )
            mine = OpenTurn(id=turn.id, ask=a)
            short = self.out_of_time().what if self.time_is_over() else self.no_more(mine)
            if short:
                self.miss(mine, f"nobody sits there any more, and the agent's turn does not fit: {short}", short)
            else:
                self.ask(a)

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
            late = self.deadline(a.seat) if a.queue or a.window_s is None else a.deadline_ns
            self.ask(msgspec.structs.replace(a, attempt=a.attempt + 1, error=error, deadline_ns=late))
        else:
            self.miss(turn, error, short)

    def no_more(self, turn: OpenTurn) -> str:
        """Which limit one more turn like this would pass; empty if it fits."""
        a = turn.ask
        more = self.most(a.seat, a.caps, a.queue)
        return shortfall(self.opened.budget, self.ledger, self.reserved(a.final), more)

    def seconds(self, seat: str, queue: str, window_s: float | None) -> float:
        """For a turn: a person's own, else the session's, or the window where that is shorter."""
        if queue:
            return _WAIT_S if self.sitters[seat].then == "wait" else self.sitters[seat].seconds
        return min(self.opened.turn_timeout_s if window_s is None else window_s, self.opened.turn_timeout_s)

    def deadline(self, seat: str, window_s: float | None = None) -> int:
        at = self.at_ns + int(self.seconds(seat, self.queue(seat), window_s) * 1e9)
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

    def name(self, index: int) -> str:
        """A turn's identity: the place of its command."""
        return f"{self.session.n}-{index}"

    def ask(self, a: log.Ask) -> None:
        turn = OpenTurn(id=self.name(len(self.commands)), ask=a)
        self.turns[turn.id] = turn
        self.commands.append(a)

    def done(self) -> Taken:
        for a in self.asks:
            self.ask(
                log.Ask(
                    seat=a.seat, kind=a.kind, round=a.round, brief=a.brief, sees=a.sees, own=a.own, caps=a.caps,
                    deadline_ns=self.deadline(a.seat, a.window_s), stream=a.stream, final=a.final, channel=a.channel,
                    window_s=a.window_s, queue=self.queue(a.seat),
                )
            )  # fmt: skip
        if self.closed != (self.inner.phase == self.protocol.done) or self.closed == bool(self.turns):
            raise BrokenTable(f"phase {self.inner.phase}, closed: {self.closed}, turns out: {len(self.turns)}")
        self.arm()
        session = Session(
            sid=self.session.sid, opened=self.opened, settings=self.session.settings, question=self.question,
            n=self.session.n + 1, opened_ns=self.session.opened_ns, at_ns=self.at_ns, turns=self.turns,
            posts=tuple(self.posts), ledger=self.ledger, timer_ns=self.timer_ns, stopped=self.stopped,
            closed=self.closed, inner=self.inner, sitters=self.sitters,
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
