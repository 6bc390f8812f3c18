"""Estimates what a session may cost before it runs: turns, calls, tokens and money, from the caps and prices by which
the machine reserves.

A protocol says which turns a session has at least (one round) and at most (its cap of rounds, every turn asked as often
as it may be); each counts with what the machine would reserve for it (parley.coordinator.budget). So no session comes
to more than `most`, and a budget that holds `shortest_most` pays for one whole round whatever its turns come to. Both
are upper bounds. A session may come to less than `shortest_most`; how little is not known before.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec

from parley.coordinator.budget import (
    PROMPT_TOKENS,
    Ledger,
    PlannedTurn,
    Reservation,
    most_calls,
    reservation,
    shortfall,
    total,
    widest,
)
from parley.coordinator.budget import (
    least as budget_least,
)
from parley.coordinator.table import Inadmissible, Planned, Protocol, TurnPlan, Usual, View, WorkerChoice
from parley.schemas import log
from parley.schemas.session import Budget, Document, Seat
from parley.schemas.turn import Caps

Instructions = Callable[[str, bool], int]
"""Tokens of a kind of turn's prompt without what it is filled with, and of the form of its reply, for a seat that holds
documents or none."""
_AROUND = 40
"""Tokens of the lines around texts, of the roles and of the form's name, as played prompts have them in which nobody
was heard."""


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """What some turns come to if each uses all that it may."""

    turns: int
    calls: int
    tokens: int
    """Input and output together, of models that are metered."""
    cost_usd: float


class SeatEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """One seat's part."""

    seat: str
    role: str
    queue: str
    model: str
    metered: bool
    usd_per_million_input: float
    usd_per_million_output: float
    shortest_most: Amount
    """Its turns of the shortest course, each with all that it may use."""
    most: Amount


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What a session may come to."""

    protocol: str
    rounds: int
    """The cap."""
    shortest_most: Amount
    """The upper bound of the shortest course: one round and the end, if each turn uses all that it may."""
    likely: Amount
    """A usual course: its turns asked once each, with usual prompts and answers."""
    likely_most: Amount
    """All rounds of the cap as they usually come."""
    most: Amount
    """All rounds of the cap, and each turn as often as it may be asked."""
    seats: tuple[SeatEstimate, ...]
    budget: Budget
    chosen: tuple[Any, ...]
    """Who sits and why, where more could have sat (Protocol.chosen)."""
    shortfall: str
    """Why the budget does not hold one round, or the least turn of work with the cheapest worker; empty if it does."""
    work: Amount | None = None
    """Where the task chooses who works: what one turn of work comes to with the dearest worker that is there, as far as
    the budget goes. `shortest_most` and `most` are without such turns. How many there will be is not known before."""


def estimate(
    protocol: Protocol, opened: log.Opened, instructions: Instructions = lambda kind, documents: PROMPT_TOKENS
) -> Estimate:
    """What a session that is opened like this may come to."""
    settings: Any = msgspec.convert(opened.settings, protocol.settings)
    view = View(opened, settings, (), 0, (), 0, attempts=protocol.attempts)
    plan = protocol.plan(view)
    seats = {s.seat: s for s in opened.seats}
    thinks, budget = opened.reasoning_tokens, opened.budget
    usual = protocol.usual or (lambda v, rounds: tuple(Usual(p.seat, p.kind, p.turns) for p in plan.least))
    likely, likely_most = (_likely(usual(view, rounds), plan, opened, instructions) for rounds in (None, plan.rounds))
    plan = _thinking(plan, thinks)
    least = _reserved(plan.least if opened.fits is msgspec.UNSET else _least(plan.least, opened), seats)
    if opened.fits is not msgspec.UNSET:
        short = [dataclasses.replace(w, least=budget_least(w.least, 0)) for w in plan.workers]
        plan = dataclasses.replace(plan, workers=tuple(short))
    return Estimate(
        protocol=protocol.name,
        rounds=plan.rounds,
        shortest_most=_amount(plan.least, seats),
        likely=likely,
        likely_most=likely_most,
        most=_amount(plan.most, seats),
        seats=tuple(_seat(s, plan.least, plan.most) for s in opened.seats),
        budget=budget,
        chosen=protocol.chosen(opened),
        shortfall=shortfall(budget, Ledger(), Reservation(), least) or _cannot_work(budget, least, plan.workers),
        work=_work(opened, plan.workers) if protocol.experts else None,
    )


def _thinking(plan: TurnPlan, tokens: int | msgspec.UnsetType) -> TurnPlan:
    """The plan, each turn with what its model may think, as the machine asks it."""
    replace = msgspec.structs.replace

    def caps(own: Caps) -> Caps:
        return replace(own, reasoning_tokens=tokens) if own.output_tokens else own

    def turns(planned: tuple[Planned, ...]) -> tuple[Planned, ...]:
        return tuple(dataclasses.replace(p, caps=caps(p.caps)) for p in planned)

    workers = tuple(dataclasses.replace(w, least=caps(w.least), most=caps(w.most)) for w in plan.workers)
    return dataclasses.replace(plan, least=turns(plan.least), most=turns(plan.most), workers=workers)


def _likely(usual: tuple[Usual, ...], plan: TurnPlan, opened: log.Opened, instructions: Instructions) -> Amount:
    """What turns come to as they usually come, within their caps."""
    seats = {w.seat.seat: w.seat for w in plan.workers} | {s.seat: s for s in opened.seats}
    caps = {p.kind: p.caps for p in plan.most} | {p.kind: p.caps for p in plan.least}
    each = [
        (u.turns, reservation(seats[u.seat], msgspec.structs.replace(
            most := caps.get(u.kind, Caps(input_tokens=24_000)), calls=u.steps, reasoning_tokens=0,
            input_tokens=min(
                most.input_tokens,
                instructions(u.kind, bool(_documents(u.seat, opened))) + _AROUND + _content(u.seat, opened) // 4
                + u.heard,
            ),
            output_tokens=min(most.output_tokens, u.answer),
        )))
        for u in usual
    ]  # fmt: skip
    sum_ = total(r.times(n) for n, r in each)
    return Amount(
        turns=sum(n for n, _ in each), calls=sum_.calls, tokens=sum_.tokens, cost_usd=round(sum_.cost_usd, 10)
    )


def _least(planned: tuple[Planned, ...], opened: log.Opened) -> tuple[Planned, ...]:
    """The turns as they are asked at least."""
    return tuple(dataclasses.replace(p, caps=budget_least(p.caps, _content(p.seat, opened))) for p in planned)


def _content(seat: str, opened: log.Opened) -> int:
    """Bytes of the question and of documents that the seat holds; those that only a helper holds are shown to all."""
    return len(opened.question.encode()) + sum(len(d.text.encode()) for d in _documents(seat, opened))


def _documents(seat: str, opened: log.Opened) -> list[Document]:
    counted = {s.seat for s in opened.seats if s.metered}
    return [d for d in opened.documents if seat in d.holders or counted.isdisjoint(d.holders)]


def _cannot_work(budget: Budget, first: Reservation, workers: tuple[WorkerChoice, ...]) -> str:
    """Why nobody could be paid for a turn of work beside the first turns; empty where somebody could, or nobody is
    there to ask."""
    ways = sorted((reservation(w.seat, w.least) for w in workers), key=lambda r: (r.cost_usd, r.tokens, r.calls))
    short = [shortfall(budget, Ledger(), Reservation(), first + way) for way in ways]
    return short[0] if short and all(short) else ""


def _work(opened: log.Opened, workers: tuple[WorkerChoice, ...]) -> Amount:
    """One turn of work with the dearest of these, with as much as the budget may hold."""

    def most(w: WorkerChoice) -> Reservation:
        def of(caps: Caps) -> Reservation:
            return reservation(w.seat, caps)

        def fits(caps: Caps) -> bool:
            return not shortfall(opened.budget, Ledger(), Reservation(), of(caps))

        if opened.fits is not msgspec.UNSET:
            return of(widest([PlannedTurn(w.most, 0)], lambda each: fits(each[0]))[0])
        calls = most_calls(w.most.calls, w.least.calls, lambda n: fits(msgspec.structs.replace(w.most, calls=n)))
        return of(msgspec.structs.replace(w.most, calls=calls))

    each = [most(w) for w in workers]
    return Amount(
        turns=1,
        calls=max((r.calls for r in each), default=0),
        tokens=max((r.tokens for r in each), default=0),
        cost_usd=round(max((r.cost_usd for r in each), default=0.0), 10),
    )


def check(protocol: Protocol, opened: log.Opened) -> None:
    """Refuse a session whose budget does not hold what it has at least: one round, or its whole fixed course. Raises
    Inadmissible: names the limit and what that may take."""
    budget = opened.budget
    if budget.tokens is None and budget.calls is None and budget.cost_usd is None:
        return  # there is nothing that could be short
    expected = estimate(protocol, opened)
    if expected.shortfall:
        field, why = refusal(expected, protocol)
        raise Inadmissible(field, f"{field}: {why}")


def refusal(estimate: Estimate, protocol: Protocol) -> tuple[str, str]:
    """(the limit, its figure and what the session may take at least), of an estimate with a shortfall."""
    field, _, figures = estimate.shortfall.partition(": ")
    limit, _, wants = figures.partition(", used or reserved 0, the next turns may take ")
    return field, f"{limit}, {describe_minimum(protocol)} may take {wants}"


def describe_minimum(protocol: Protocol) -> str:
    """What a session has at least, in words."""
    if protocol.experts:
        return "the match and one turn of work"
    return "the whole debate" if protocol.fixed else "one round"


def _reserved(planned: tuple[Planned, ...], seats: dict[str, Seat]) -> Reservation:
    return total(reservation(seats[p.seat], p.caps).times(p.turns) for p in planned)


def _amount(planned: tuple[Planned, ...], seats: dict[str, Seat]) -> Amount:
    sum_ = _reserved(planned, seats)
    return Amount(
        turns=sum(p.turns for p in planned), calls=sum_.calls, tokens=sum_.tokens, cost_usd=round(sum_.cost_usd, 10)
    )


def _seat(seat: Seat, least: tuple[Planned, ...], most: tuple[Planned, ...]) -> SeatEstimate:
    mine = {seat.seat: seat}
    return SeatEstimate(
        seat=seat.seat,
        role=seat.role,
        queue=seat.queue,
        model=seat.model,
        metered=seat.metered,
        usd_per_million_input=seat.usd_per_million_input,
        usd_per_million_output=seat.usd_per_million_output,
        shortest_most=_amount(tuple(p for p in least if p.seat == seat.seat), mine),
        most=_amount(tuple(p for p in most if p.seat == seat.seat), mine),
    )
