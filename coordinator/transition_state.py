"""A session while one step of it is built: what there is, and what the budget still holds."""

from collections.abc import Iterable
from statistics import median

import msgspec

from parley.coordinator.budget import (
    PlannedTurn,
    Reservation,
    as_recorded,
    least,
    nothing_left,
    reservation,
    shortfall,
    total,
    widest,
)
from parley.coordinator.commands import AskSeat, StartChild
from parley.coordinator.signals.grace import SECOND
from parley.coordinator.table import Inner, OpenTurn, Protocol, Session, Unaffordable, View, seat_of
from parley.schemas import log
from parley.schemas.session import Seat, is_human
from parley.schemas.turn import Caps
from parley.schemas.wire import Json, figure

_HELD_BYTES = 12_000
"""Bytes of earlier posts for which the budget of the final turn is held back."""


def took_name(seat: Seat, kind: str) -> str:
    """The name under which it is kept what turns took."""
    return f"{seat.model} {kind}"


class TransitionState:
    """A copy of a session, as a step has changed it so far. Nothing here changes it."""

    def __init__(self, protocol: Protocol, session: Session, at_ns: int) -> None:
        self.protocol = protocol
        self.session = session
        self.opened = as_recorded(session.opened, session.n) if session.opened.fork else session.opened
        self.at_ns = at_ns
        self.inner = session.inner
        self.question = session.question
        self.turns = dict(session.turns)
        self.posts = list(session.posts)
        self.ledger = session.ledger
        self.timer_ns = session.timer_ns
        self.quorum_ns = session.quorum_ns
        self.lasted = session.lasted
        self.stopped = session.stopped
        self.closed = False
        self.sitters = dict(session.sitters)
        self.windows = dict(session.windows)
        self.hurried = session.hurried
        self.ruled = ""
        """The reason of the stop rule that ends it in this step."""
        self.children = dict(session.children)
        self.took = dict(session.taken)
        self.event: Inner | None = None
        """What the protocol is told in this step."""
        self.starts: list[StartChild] = []
        """Children that this step starts."""
        self.commands: list[log.Command] = []
        self.asks: list[AskSeat] = []
        self.kept_from: list[AskSeat] = []
        """Turns of this step whose seats have a turn aside: they are not asked, and missed."""
        self.withdrawn: list[tuple[str, list[str]]] = []
        """(seat, its turns), announced at the end of the step: handlers can then count on the numbers of posts."""

    # -- looking
    def view(self) -> View:
        posts = tuple(self.posts)
        kept = {a.seat for a in self.kept_from}  # the step is told of each of them
        open_turns = tuple(t for t in self.turns.values() if not t.aside or t.ask.seat in kept)
        return View(
            self.opened,
            self.session.settings,
            posts,
            len(posts),
            open_turns,
            self.at_ns,
            self.ledger,
            self.affords,
            sid=self.session.sid,
            windows=dict(self.windows),
            n=self.session.n,
            attempts=self.protocol.attempts,
        )

    def seat(self, seat: str) -> Seat:
        return seat_of(self.opened, seat)

    def queue(self, seat: str) -> str:
        """The queue of the person who has the seat; empty: nobody has it."""
        return self.sitters[seat].queue if seat in self.sitters else ""

    def thinking(self, caps: Caps) -> Caps:
        """A turn's caps, with the tokens that its model may think. Without output there is no thinking."""
        more = self.opened.reasoning_tokens
        if more is msgspec.UNSET or not caps.output_tokens or caps.reasoning_tokens is not msgspec.UNSET:
            return caps
        return msgspec.structs.replace(caps, reasoning_tokens=more)

    def most(self, seat: str, caps: Caps, queue: str) -> Reservation:
        """The most that a turn may use; a person's turn uses nothing."""
        return Reservation() if queue else reservation(self.seat(seat), self.thinking(caps))

    def content(self, seat: str, sees: Iterable[int] = (), brief: Json | None = None) -> int:
        """Bytes of what a turn of this seat is shown."""
        documents = sum(len(d.text.encode()) for d in self.opened.documents if seat in d.holders)
        posts = sum(len(bytes(self.posts[n].body)) for n in sees)
        return documents + posts + len(self.question.encode()) + (0 if brief is None else len(bytes(brief)))

    def fitted(self, asks: list[AskSeat]) -> list[AskSeat]:
        """The wished turns, with the widest caps that fit the budget; unchanged if no caps may get narrower."""
        if self.opened.fits is msgspec.UNSET:
            return asks
        reserved = self.reserved(any(a.final for a in asks))
        later = total(reservation(seat, self.at_least(seat, caps)) for a in asks for seat, caps in a.before)

        def fits(each: list[Caps]) -> bool:
            more = total(self.most(a.seat, caps, self.queue(a.seat)) for a, caps in zip(asks, each, strict=True))
            return not shortfall(self.opened.budget, self.ledger, reserved + later, more)

        wanted = [
            PlannedTurn(self.thinking(a.caps), self.shown(a), self.taken(self.seat(a.seat), a.kind)) for a in asks
        ]
        return [msgspec.structs.replace(a, caps=c) for a, c in zip(asks, widest(wanted, fits), strict=True)]

    def anew(self, ask: log.Ask) -> Caps:
        """Caps of a turn that is asked again, after what it has taken so far."""
        if self.opened.fits is msgspec.UNSET or ask.caps.tokens is msgspec.UNSET:
            return ask.caps
        reserved = self.reserved(ask.final)
        wanted = PlannedTurn(
            msgspec.structs.replace(ask.caps, tokens=msgspec.UNSET),
            self.shown(ask),
            self.taken(self.seat(ask.seat), ask.kind),
        )

        def fits(each: list[Caps]) -> bool:
            more = self.most(ask.seat, each[0], ask.queue)
            return not shortfall(self.opened.budget, self.ledger, reserved, more)

        return widest([wanted], fits)[0]

    def no_more(self, ask: log.Ask) -> str:
        """The limit that one more turn like this would pass; empty if it fits."""
        more = self.most(ask.seat, ask.caps, ask.queue)
        return shortfall(self.opened.budget, self.ledger, self.reserved(ask.final), more)

    def shown(self, ask: AskSeat | log.Ask) -> int:
        """Bytes of what an asked turn is shown."""
        return self.content(ask.seat, ask.sees if ask.own is None else (*ask.sees, ask.own), ask.brief)

    def taken(self, seat: Seat, kind: str = "") -> int | None:
        """The most that turns of this kind took with this seat's model beside what they were shown, of any kind if
        none is named; None: there was none."""
        return max(self.took.get(took_name(seat, kind), ()), default=None)

    def held_back(self, seat: str, caps: Caps) -> Reservation:
        """What is held back for the final turn. If caps may get narrower: the least that this turn needs."""
        caps = self.thinking(caps)
        if self.opened.fits is not msgspec.UNSET:
            caps = self.floor(self.seat(seat), caps, min(self.content(seat, range(len(self.posts))), _HELD_BYTES))
        return reservation(self.seat(seat), caps)

    def end_ns(self) -> int | None:
        seconds = self.opened.budget.seconds
        return None if seconds is None else self.began_ns() + int(seconds * 1e9)

    def began_ns(self) -> int:
        """When this session began, after the part that a fork carries."""
        fork = self.opened.fork
        before = 0.0 if fork is msgspec.UNSET or self.session.n <= fork.carried else fork.seconds
        return self.session.opened_ns + round(before * 1e9)

    def time_is_over(self) -> bool:
        if self.hurried:
            return True
        end = None if self.opened.budget.seconds is None else self.end_ns()
        return end is not None and end <= self.at_ns

    def out_of_time(self) -> Unaffordable:
        if self.hurried:
            return Unaffordable(what=f"{self.hurried} asked for the answer now", seconds=True)
        return Unaffordable(what=f"budget.seconds: limit {figure(self.opened.budget.seconds or 0)} s", seconds=True)

    def reserved(self, final: bool) -> Reservation:
        """What open turns and children may use. Until the final turn is asked, also what is held back for it, even if a
        person is to answer it: the person may leave."""
        out = total(self.most(t.ask.seat, t.ask.caps, t.ask.queue) for t in self.turns.values())
        out += total(self.children.values())
        if final or self.stopped or any(t.ask.final for t in self.turns.values()):
            return out
        return out + total(self.held_back(s, caps) for s, caps in self.protocol.final(self.view()))

    def short(self) -> Unaffordable | None:
        """Why the turns wished so far cannot be asked; None if they can."""
        if not self.asks and not self.starts:
            return None
        if self.time_is_over():
            return self.out_of_time()
        budget = self.opened.budget
        if budget.tokens is None and budget.calls is None and budget.cost_usd is None:
            return None
        self.asks = self.fitted(self.asks)
        more = total(self.most(a.seat, a.caps, self.queue(a.seat)) for a in self.asks)
        final = any(a.final for a in self.asks)
        what = shortfall(budget, self.ledger, self.reserved(final), more)
        if not what and self.starts:
            what = nothing_left(budget, self.ledger, self.reserved(final) + more, len(self.starts))
        return Unaffordable(what=what) if what else None

    def affords(self, turns: Iterable[tuple[str | Seat, Caps]]) -> str:
        """The limit that these turns together would pass; empty if they fit."""
        if self.time_is_over():
            return self.out_of_time().what
        more = total(
            Reservation() if self.queue(seat.seat) else reservation(seat, self.at_least(seat, caps))
            for seat, caps in ((self.seat(x) if isinstance(x, str) else x, caps) for x, caps in turns)
        )
        return shortfall(self.opened.budget, self.ledger, self.reserved(False), more)

    def at_least(self, seat: Seat, caps: Caps) -> Caps:
        """The least caps that a turn may get, as far as they are known before it is asked."""
        caps = self.thinking(caps)
        return caps if self.opened.fits is msgspec.UNSET else self.floor(seat, caps, self.content(seat.seat))

    def floor(self, seat: Seat, caps: Caps, content: int) -> Caps:
        """The least caps of a turn whose kind is not known yet: usual ones, or less where this model has taken less."""
        usual, taken = least(caps, content), self.taken(seat)
        known = usual if taken is None else least(caps, content, taken)
        return min(usual, known, key=lambda caps: caps.all_tokens)

    # -- grace
    def aside(self, seat: str) -> OpenTurn | None:
        """The seat's turn that was set aside; None: there is none."""
        return next((t for t in self.turns.values() if t.aside and t.ask.seat == seat), None)

    def failing_ns(self, turn: OpenTurn) -> int:
        """Since when a turn fails whose reply was not good: at the latest since it was silent for too long."""
        silent_ns = self.protocol.grace.silent_ns(turn.asked_ns, self.usual_s(turn))
        return turn.failing_ns or min(self.at_ns, silent_ns)

    def usual_s(self, turn: OpenTurn) -> float | None:
        """m of a turn (parley.coordinator.signals.grace)."""
        seat = turn.ask.seat
        queue = self.seat(seat).queue
        for worker in self.opened.workers:
            if worker.queue == queue and worker.turn_s is not msgspec.UNSET:
                return worker.turn_s
        if seat in self.lasted:
            return self.lasted[seat] / SECOND
        return median(self.lasted.values()) / SECOND if turn.failing_ns and self.lasted else None

    def grace_ns(self, turn: OpenTurn, quorum_ns: int) -> int | None:
        """When the grace of a turn ends if the others answered at `quorum_ns`; None: it has none."""
        if self.protocol.may_close is None or turn.aside or turn.ask.queue or is_human(self.seat(turn.ask.seat).queue):
            return None
        return self.protocol.grace.end_ns(turn.asked_ns, turn.failing_ns, quorum_ns, self.usual_s(turn))

    def due_ns(self, turn: OpenTurn) -> int:
        """When a turn is to be looked at: at its deadline, or when its grace may be over."""
        deadline, end = turn.ask.deadline_ns, self.grace_ns(turn, self.quorum_ns)
        if end is None or (not self.quorum_ns and (turn.failing_ns or end <= self.at_ns)):
            return deadline
        return min(deadline, max(end, self.at_ns))

    def is_new(self, turn: OpenTurn) -> bool:
        """Whether it was asked in this step, and thus not sent yet."""
        return turn.id.startswith(f"{self.session.n}-")
