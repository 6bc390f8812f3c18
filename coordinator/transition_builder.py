"""A session's step while it is built: what the steps of every protocol share, done to a copy of the state."""

from typing import Any

import msgspec

from parley.coordinator.budget import (
    KEPT,
    Reservation,
    keeping,
    lend,
    own_tokens,
    reservation,
)
from parley.coordinator.commands import (
    AskSeat,
    CancelChild,
    CloseWindow,
    Finish,
    Invite,
    Notify,
    OpenWindow,
    Rephrase,
    SayOn,
    StartChild,
    Stop,
    Tell,
    Wish,
    Withdraw,
)
from parley.coordinator.package_endings import ours, unsigned
from parley.coordinator.signals import reliability
from parley.coordinator.signals.grace import WHY_CHARS, cause
from parley.coordinator.signals.witnesses import keyless
from parley.coordinator.table import (
    CONTROL,
    AnsweredLate,
    BrokenTable,
    Illegal,
    Inner,
    Missed,
    OpenTurn,
    Session,
    Spoke,
    Stopped,
    Unaffordable,
)
from parley.coordinator.transition_state import TransitionState, took_name
from parley.schemas import log, registry
from parley.schemas.past_sessions.fork import fork_words
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.result import Stop as StopReport
from parley.schemas.session import MAX_SEATS, Document, Seat, child_id
from parley.schemas.stops import STOPS
from parley.schemas.tools import LookUpResult
from parley.schemas.turn import Usage
from parley.schemas.wire import decode, raw

STOP_RULES = "parley.stop_rules"
"""The group of entry points."""
_ERROR_CHARS = 2_000
"""Characters of a fault that are shown to the model that made it."""
MOST_STARTS = 8
"""Sessions that one step starts beneath its own."""
_WAIT_S = 86_400.0
"""Seconds of a turn whose person is waited for."""

Transition = tuple[Session, tuple[log.Command, ...]]


class TransitionBuilder(TransitionState):
    """One step in the making. It lives inside one call and shares nothing: a step that raises changes nothing."""

    # -- doing
    def handle(self, event: Inner) -> None:
        """Give one event to the protocol's table. Wishes that do not fit come back to it as Unaffordable."""
        for _ in range(4):
            self.event = event
            cell = self.protocol.table[self.inner.phase].get(type(event))
            if cell is None and isinstance(event, AnsweredLate):
                return
            if cell is None:
                what = f"{type(event).__name__} has no place in phase {self.inner.phase}"
                raise Illegal("nobody may speak up now" if isinstance(event, Spoke) else what)
            inner, wishes = cell.handler(self.inner, event, self.view())
            if inner.phase not in cell.targets:
                raise BrokenTable(f"{cell.handler.__name__} led to {inner.phase}, its cell names {cell.targets}")
            self.inner = inner
            self.wish(wishes)
            if not self.asks and not self.starts:
                return
            short = self.short()
            if short is None:
                return
            self.asks.clear()
            self.starts.clear()
            event = short
        raise BrokenTable("the protocol goes on wishing for turns that it cannot have")

    def follow_rule(self) -> None:
        """After a step that ended a round: end the session, as if its time were over, where its stop rule says so."""
        if not self.opened.stop_rule or self.stopped is not None or self.closed:
            return
        if any(type(c) is log.Say and self.protocol.ends_round(c) for c in self.commands):
            rule = registry.load(STOP_RULES, self.opened.stop_rule)
            if why := rule.holds(self.view()):
                self.ruled = rule.reason
                self.handle(Unaffordable(what=f"{rule.name}: {why}", seconds=True))

    def wish(self, wishes: tuple[Wish, ...]) -> None:
        for w in wishes:
            match w:
                case AskSeat():
                    if w.kind not in self.protocol.replies:
                        raise BrokenTable(f"protocol {self.protocol.name} asks a {w.kind!r}, a kind without a reply")
                    (self.kept_from if self.aside(w.seat) else self.asks).append(w)
                case SayOn():
                    if w.channel == CONTROL and not ours(self.protocol.name):
                        raise BrokenTable(f"protocol {self.protocol.name} posts on {w.channel!r}, which is not its own")
                    self.post(w)
                case Rephrase():
                    self.question = w.question
                case OpenWindow():
                    self.windows[w.name] = self.until(w.seconds)
                case CloseWindow():
                    self.windows.pop(w.name, None)
                case Invite():
                    self.invite(w)
                case Withdraw():
                    self.withdraw_seat(w.seat)
                case StartChild():
                    if len(self.starts) == MOST_STARTS or self.stopped is not None:
                        raise BrokenTable(f"a step starts {MOST_STARTS} sessions at most, none after the stop decision")
                    self.starts.append(w)
                case CancelChild():
                    if w.session in self.children:
                        self.commands.append(w)
                case Tell() | Notify():
                    self.commands.append(w)
                case Stop():
                    self.stop(w)
                case Finish():
                    self.close()

    def post(self, w: SayOn) -> None:
        k = 0
        for before in reversed(self.posts):
            if before.channel == w.channel:
                k = before.k + 1
                break
        post = Post(
            session=self.session.sid, channel=w.channel, k=k, n=len(self.posts), transition=self.session.n,
            at_ns=self.at_ns, seat=w.seat, kind=w.kind, round=w.round, body=w.body,
        )  # fmt: skip
        self.posts.append(post)
        self.commands.append(w)

    def tell(self, kind: str, body: object) -> None:
        """Post what the machine itself says, on `control`."""
        self.post(SayOn(channel=CONTROL, kind=kind, round=0, body=raw(body)))

    def stop(self, w: Stop) -> Stopped:
        """Post the decision where every agent hears it. Open turns are withdrawn and children cancelled, both booked as
        lost; windows close."""
        if self.stopped is not None:
            raise BrokenTable(f"stopped twice: {self.stopped.reason}, then {w.reason}")
        if w.reason not in STOPS:
            raise BrokenTable(f"protocol {self.protocol.name} stopped with {w.reason!r}, which is no stop reason")
        self.withdraw()
        reason = w.reason
        if w.reason == "budget":
            reason = self.ruled or ("answered_now" if self.hurried else w.reason)
        converged = STOPS[reason].converged and w.converged
        more = {} if self.opened.fork is msgspec.UNSET else {"record": fork_words(self.opened.fork)}
        told = decode(w.certificate, dict[str, Any])
        if converged and (why := unsigned(self.protocol.name, self.opened, self.ledger, self.event, told)):
            converged, more = False, {**more, "unsigned": why}
        if reason != w.reason and "reason" in told:
            more |= {"reason": reason}
        more |= reliability.certified(self.opened, self.protocol.trusts, told.pop("trust", {}))
        certificate = raw({**told, **more}) if more else w.certificate
        stopped = Stopped(reason=reason, certificate=certificate, converged=converged, transition=self.session.n)
        body = {"reason": reason, "converged": converged, "transition": self.session.n, "certificate": certificate}
        self.tell("stop", body)
        self.stopped = stopped
        return stopped

    def withdraw(self) -> None:
        """Withdraw all turns, windows and children. Turns asked in this step were never sent: none is lost."""
        for turn in self.turns.values():
            if not self.is_new(turn):
                self.lose(turn)
        self.turns.clear()
        self.asks.clear()
        self.kept_from.clear()
        self.commands = [c for c in self.commands if not isinstance(c, log.Ask)]
        self.windows.clear()
        self.starts.clear()
        for child, most in self.children.items():
            self.commands.append(log.CancelChild(session=child))
            self.ledger = self.ledger.lose(most)
        self.children.clear()

    def withdraw_seat(self, seat: str) -> None:
        """Withdraw a seat's turns. One asked in this step was never sent: its command stays, and has no effect."""
        gone: list[str] = []
        for turn in [t for t in self.turns.values() if t.ask.seat == seat]:
            del self.turns[turn.id]
            if not self.is_new(turn):
                self.lose(turn)
                gone.append(turn.id)
        if gone:
            self.withdrawn.append((seat, gone))
        self.asks = [a for a in self.asks if a.seat != seat]
        self.kept_from = [a for a in self.kept_from if a.seat != seat]

    def invite(self, w: Invite) -> None:
        seat = w.seat
        if any(s.seat == seat.seat for s in self.opened.seats):
            return
        if len(self.opened.seats) >= MAX_SEATS:
            raise BrokenTable(f"seat {seat.seat} would be one more than {MAX_SEATS}")
        self.opened = msgspec.structs.replace(self.opened, seats=(*self.opened.seats, seat), documents=self.dealt(seat))
        self.commands.append(w)

    def dealt(self, new: Seat) -> tuple[Document, ...]:
        """The documents, with a new seat as holder of the background, and, if it reads, of what only readers hold; of
        all of them where no role reads everything."""
        reads = new.role in self.protocol.readers
        others = {s.seat for s in self.opened.seats if s.role not in self.protocol.readers}
        return tuple(
            msgspec.structs.replace(d, holders=(*d.holders, new.seat))
            if d.background is True or not self.protocol.readers or (reads and not others & set(d.holders))
            else d
            for d in self.opened.documents
        )

    def take_found(self, ask: log.Ask, found: tuple[LookUpResult, ...]) -> None:
        """Make documents of what a seat looked up, as many as its turn may bring."""
        most = self.protocol.look_ups(self.session.settings, ask.kind)
        self.opened = self.opened.with_found(ask, found[:most], self.at_ns)

    def start_child(self, w: StartChild, place: int) -> None:
        """Start a child. Its budget is at most its share of what is left; it is reserved here if this session has a
        limit."""
        limits, sid = self.opened.budget, child_id(self.session.sid, self.session.n, place)
        end = self.end_ns()
        seconds = None if end is None else (end - self.at_ns) / 1e9
        among = len(self.starts) - place
        lent = lend(w.opening.budget, limits, self.ledger, self.reserved(False), seconds, among)
        self.children[sid] = Reservation(
            tokens=0 if limits.tokens is None else lent.tokens or 0,
            calls=0 if limits.calls is None else lent.calls or 0,
            cost_usd=0.0 if limits.cost_usd is None else lent.cost_usd or 0.0,
        )
        opening = msgspec.structs.replace(w.opening, parent=self.session.sid, budget=lent)
        self.commands.append(log.StartChild(session=sid, opening=opening))

    def note_taken(self, turn: OpenTurn, usage: Usage) -> None:
        """Remember what a turn took."""
        a, seat = turn.ask, self.seat(turn.ask.seat)
        if self.opened.fits is msgspec.UNSET or not seat.metered or not usage.calls:
            return
        tokens = own_tokens(usage, self.shown(a))
        for name in (took_name(seat, ""), took_name(seat, a.kind)):
            self.took[name] = (*self.took.get(name, ()), tokens)[-KEPT:]

    def lose(self, turn: OpenTurn) -> None:
        """Book the try that was begun and gave no reply, if there was one."""
        if turn.begun:
            self.ledger = self.ledger.lose(reservation(self.seat(turn.ask.seat), turn.ask.caps))

    def give_back(self, seat: str) -> None:
        """Give the seat back to its agent, with the person's open turns. Those that the budget does not hold are
        missed."""
        del self.sitters[seat]
        self.tell("seat", {"seat": seat, "human": False})
        for turn in [t for t in self.turns.values() if t.ask.seat == seat and t.ask.queue]:
            if self.turns.pop(turn.id, None) is None:
                continue  # withdrawn while an earlier turn was handled
            a = msgspec.structs.replace(
                turn.ask, queue="", attempt=1, error="", deadline_ns=self.deadline(seat, turn.ask.window_s)
            )
            mine = OpenTurn(id=turn.id, ask=a)
            short = self.out_of_time().what if self.time_is_over() else self.no_more(a)
            if short:
                self.miss(mine, f"nobody sits there any more, and the agent's turn does not fit: {short}", short)
            else:
                self.ask(a)

    def miss(self, turn: OpenTurn, why: str, short: str = "", *, late: bool = False, gone: bool = False) -> None:
        a = turn.ask
        self.handle(
            Missed(turn=turn.id, seat=a.seat, kind=a.kind, round=a.round, why=why, short=short, late=late, gone=gone)
        )

    def again(self, turn: OpenTurn, error: str, reply: bytes = b"null") -> None:
        """Ask a turn with a bad reply again, with the error and that reply, if attempts, time and budget allow; else it
        is missed."""
        a = msgspec.structs.replace(turn.ask, caps=self.anew(turn.ask))
        attempts_remain = a.attempt < self.protocol.attempts
        short = (self.out_of_time().what if self.time_is_over() else self.no_more(a)) if attempts_remain else ""
        if attempts_remain and not short:
            error = error[:_ERROR_CHARS]
            late = self.deadline(a.seat) if a.queue or a.window_s is None else a.deadline_ns
            refused = self.protocol.refused(reply)
            again = msgspec.structs.replace(a, attempt=a.attempt + 1, error=error, refused=refused, deadline_ns=late)
            fails = self.protocol.may_close is not None and not a.queue
            self.ask(again, failing_ns=self.failing_ns(turn) if fails else 0, why=error if fails else "")
        else:
            self.miss(turn, error, short)

    def seconds(self, seat: str, queue: str, window_s: float | None) -> float:
        """Seconds for a turn: the person's own; else the session's, or those of a shorter window."""
        if queue:
            return _WAIT_S if self.sitters[seat].then == "wait" else self.sitters[seat].seconds
        return min(self.opened.turn_timeout_s if window_s is None else window_s, self.opened.turn_timeout_s)

    def deadline(self, seat: str, window_s: float | None = None) -> int:
        return self.until(self.seconds(seat, self.queue(seat), window_s))

    def until(self, seconds: float) -> int:
        """So many seconds from now, but not after the budget's end. Unix time, ns."""
        at = self.at_ns + int(seconds * 1e9)
        end = None if self.opened.budget.seconds is None else self.end_ns()
        return at if end is None else min(at, end)

    def close(self) -> None:
        if self.stopped is None or self.inner.phase != self.protocol.done:
            raise BrokenTable("a session finishes after its stop decision, in its last phase")
        self.finish(self.stopped, *self.protocol.outcome(self.inner, self.view()))

    def finish(self, stopped: Stopped, outcome: dict[str, Any], rounds: tuple[dict[str, Any], ...]) -> None:
        """Post the result, and take nothing more."""
        self.withdraw()
        self.closed = True
        row = STOPS[stopped.reason]
        certificate = decode(stopped.certificate, dict[str, Any])
        result = Result(
            session=self.session.sid,
            protocol=self.protocol.name,
            status=row.status,
            outcome=outcome,
            stop=StopReport(reason=stopped.reason, converged=stopped.converged, certificate=certificate),
            rounds=rounds,
            usage=self.ledger.report(s.seat for s in self.opened.seats),
            duration_s=max(0, self.at_ns - self.began_ns()) / 1e9,
            fork=self.opened.fork,
            calibrated=reliability.of(self.opened, outcome),
            keyless=keyless(self.opened) or msgspec.UNSET,
        )
        self.tell("closed", result)
        self.commands.append(log.Close(status=row.status, reason=stopped.reason))

    # -- grace
    def fails(self, turn: OpenTurn, why: str, since_ns: int) -> None:
        """Note that a turn fails."""
        self.turns[turn.id] = msgspec.structs.replace(turn, failing_ns=since_ns, why=why[:WHY_CHARS])

    def set_aside(self, turn: OpenTurn) -> None:
        """Let the step go on without a turn, which stays open until its deadline."""
        self.turns[turn.id] = msgspec.structs.replace(turn, aside=True)
        self.miss(turn, cause(turn.why, turn.failing_ns or turn.asked_ns, self.at_ns))

    def miss_kept(self) -> None:
        """Miss the turns of this step whose seats have a turn aside. What that leads to is asked as well."""
        while self.kept_from:
            self.send()
            a = self.kept_from.pop(0)
            late = self.aside(a.seat)
            assert late is not None, "a seat is kept from its turn by one that is aside"
            failed = cause(late.why, late.failing_ns or late.asked_ns, self.at_ns)
            why = f"{failed}; still at its turn of round {late.ask.round}"
            self.handle(Missed(turn=late.id, seat=a.seat, kind=a.kind, round=a.round, why=why))

    def look_for_quorum(self) -> None:
        """Note when the step could go on without the turns that are open."""
        may_close = self.protocol.may_close
        if may_close is None:
            return
        waits = not self.closed and any(not t.aside for t in self.turns.values())
        if not waits or not may_close(self.inner, self.view()):
            self.quorum_ns = 0
        elif not self.quorum_ns:
            self.quorum_ns = self.at_ns

    def ask(self, a: log.Ask, failing_ns: int = 0, why: str = "") -> None:
        id = f"{self.session.n}-{len(self.commands)}"  # the place of its command
        turn = OpenTurn(id=id, ask=a, asked_ns=self.at_ns, failing_ns=failing_ns, why=why[:WHY_CHARS])
        self.turns[turn.id] = turn
        self.commands.append(a)

    def send(self) -> None:
        """Ask the turns that were wished."""
        usual = self.until(self.opened.turn_timeout_s) if self.asks else 0
        asks, self.asks = self.asks, []
        for a in asks:
            queue = self.queue(a.seat) if self.sitters else ""
            late = self.deadline(a.seat, a.window_s) if queue or a.window_s is not None else usual
            self.ask(
                log.Ask(
                    seat=a.seat, kind=a.kind, round=a.round, brief=a.brief, sees=a.sees, own=a.own,
                    caps=self.thinking(a.caps), deadline_ns=late, stream=a.stream, final=a.final, channel=a.channel,
                    window_s=a.window_s, queue=queue,
                )
            )  # fmt: skip

    def done(self) -> Transition:
        self.miss_kept()
        for seat, gone in self.withdrawn if not self.closed else ():
            self.tell("withdrawn", {"seat": seat, "turns": gone})
        self.send()
        for place, start in enumerate(self.starts):
            self.start_child(start, place)
        self.look_for_quorum()
        awaited = sum(not t.aside for t in self.turns.values()) + len(self.windows) + len(self.children)
        wrong = awaited > 0 if self.closed else not awaited and not self.protocol.standing
        if wrong or self.closed != (self.inner.phase == self.protocol.done):
            raise BrokenTable(f"phase {self.inner.phase}, closed: {self.closed}, turns, windows, children: {awaited}")
        self.arm()
        opened = self.opened if self.opened is self.session.opened else keeping(self.opened, self.session.opened)
        session = msgspec.structs.replace(
            self.session, opened=opened, question=self.question, n=self.session.n + 1,
            at_ns=self.at_ns, turns=self.turns, posts=tuple(self.posts), ledger=self.ledger, timer_ns=self.timer_ns,
            quorum_ns=self.quorum_ns, lasted=self.lasted,
            stopped=self.stopped, closed=self.closed, inner=self.inner, sitters=self.sitters, windows=self.windows,
            children=self.children, taken=self.took, hurried=self.hurried,
        )  # fmt: skip
        return session, tuple(self.commands)

    def arm(self) -> None:
        """Set the one timer if there is none, or if it would be late. A timer that fires early finds nothing due, and
        is set again."""
        if self.closed:
            if self.timer_ns is not None:
                self.timer_ns = None
                self.commands.append(log.ClearTimer())
            return
        due = min(self.windows.values()) if self.windows else None
        for turn in self.turns.values():
            at = self.due_ns(turn)
            if due is None or at < due:
                due = at
        end = self.end_ns() if self.children else None  # turns and windows never end after the budget's seconds
        if end is not None and (due is None or end < due):
            due = end
        if due is not None and (self.timer_ns is None or due < self.timer_ns):
            self.timer_ns = due
            self.commands.append(log.SetTimer(at_ns=due))
