"""Shows what a session may cost before it runs, in words and as JSON values."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from parley.client.errors import BadInput, bad_input
from parley.client.protocols import show_of
from parley.client.text import count, line
from parley.coordinator.admission import admit, build_settings, check_language_models
from parley.coordinator.estimate import Amount, Estimate, SeatEstimate, describe_minimum, estimate, refusal
from parley.coordinator.machine import Inadmissible
from parley.coordinator.presence import known_of
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas.expert import ROLE
from parley.schemas.presence import Announcement
from parley.schemas.session import Budget, OpenSession
from parley.schemas.wire import figure


def of(opening: OpenSession, workers: Sequence[Announcement]) -> Estimate:
    """What this session comes to with these workers: seated as a moderator would seat it. Raises BadInput: it could not
    be opened with them, and why."""
    protocol = PROTOCOLS[opening.protocol]
    with bad_input("", Inadmissible):
        there = [w for w in workers if ROLE in w.roles] if protocol.experts else []
        there.sort(key=lambda w: (w.usd_per_million_input, w.usd_per_million_output))  # of copies, the dearest counts
        thinks = [w.reasoning_tokens for w in workers if w.reasoning_tokens is not msgspec.UNSET]
        try:
            opened = admit(
                protocol, opening, tuple(workers), 0, "", experts=tuple(map(known_of, there)),
                reasoning_tokens=max(thinks, default=msgspec.UNSET), fits=True,
            )  # fmt: skip
        except Inadmissible as error:
            if error.field == "evidence" and not opening.waits:
                check_language_models(protocol, workers)  # said first: documents alone would not be enough
            raise
        from parley.agents.openai.instructions import instructions  # reads prompts, which nothing else here needs

        own = estimate(protocol, opened, partial(instructions, protocol.name))
        settings = build_settings(protocol, opening.settings)
        usual, most = protocol.beneath_count(settings)
        child = protocol.beneath(opening, settings) if most else None
        if child is None:
            return own
        return _with_children(own, of(_sharing(child, opening.budget, usual, own.shortest_most), workers), usual, most)


def _with_children(own: Estimate, child: Estimate, usual: int, most: int) -> Estimate:
    """With what so many sessions beneath it come to."""

    def plus(mine: Amount, one: Amount, times: int) -> Amount:
        return Amount(
            turns=mine.turns + times * one.turns,
            calls=mine.calls + times * one.calls,
            tokens=mine.tokens + times * one.tokens,
            cost_usd=round(mine.cost_usd + times * one.cost_usd, 10),
        )

    return msgspec.structs.replace(
        own,
        shortest_most=plus(own.shortest_most, child.shortest_most, usual),
        likely=plus(own.likely, child.likely, usual),
        likely_most=plus(own.likely_most, child.likely_most, usual),
        most=plus(own.most, child.most, most),
        shortfall=_of_all(child, own, usual) or own.shortfall,
    )


def _sharing(child: OpenSession, budget: Budget, among: int, own: Amount) -> OpenSession:
    """A session beneath another one, with its share of the budget that the other one's turns leave."""
    share = Budget(
        tokens=budget.tokens and max(1, (budget.tokens - own.tokens) // among),
        calls=budget.calls and max(1, (budget.calls - own.calls) // among),
        cost_usd=budget.cost_usd and max(1e-9, (budget.cost_usd - own.cost_usd) / among),
    )
    return msgspec.structs.replace(child, budget=share)


def _of_all(child: Estimate, own: Estimate, times: int) -> str:
    """Why the budget does not hold one round of so many sessions; empty if it does. It names the whole budget."""
    if not child.shortfall:
        return ""
    field, _, wants = child.shortfall.partition(": ")[0], *child.shortfall.rpartition(" ")[1:]
    name = field.removeprefix("budget.")
    limit, all_of_it = getattr(own.budget, name), times * float(wants) + getattr(own.shortest_most, name)
    return f"{field}: limit {figure(limit)}, used or reserved 0, the next turns may take {figure(all_of_it)}"


def refuse(estimate: Estimate) -> None:
    """Raise BadInput where the budget does not hold one round."""
    if estimate.shortfall:
        field, why = refusal(estimate, PROTOCOLS[estimate.protocol])
        raise BadInput(field, f"{why}; nothing was started")


def costs(estimate: Estimate) -> bool:
    """Whether it is worth a word before it begins: some model counts tokens."""
    return any(s.metered for s in estimate.seats) or bool(estimate.work and estimate.work.tokens)


def document(estimate: Estimate) -> dict[str, Any]:
    """As JSON values; `most` is null where it is not known."""
    told = {**msgspec.to_builtins(estimate), "fits_one_round": not estimate.shortfall}
    return told if estimate.work is None else {**told, "most": None}


def seating_lines(estimate: Estimate) -> Iterator[str]:
    """Who was chosen to sit, and why, a line each; nothing where nobody else could have sat."""
    show = show_of(estimate.protocol)
    for one in estimate.chosen:
        yield f"parley: {show.seated(one)}"


def estimate_lines(estimate: Estimate) -> Iterator[str]:
    """The estimate in lines of text."""
    yield "This session may come to (most sessions stay far below the upper bounds):"
    if PROTOCOLS[estimate.protocol].fixed:
        yield f"  likely:               {_amount(estimate.likely)}"
        yield f"  upper bound:          {_amount(estimate.most)}"
    elif estimate.work is not None:
        yield f"  likely:               {_amount(estimate.likely)}"
        yield f"  a turn of work:       upper bound {_amount(estimate.work).partition(', ')[2]}"
        yield "  upper bound:          not known before the task has chosen its experts; a budget limits it"
    else:
        yield f"  likely:               {_amount(estimate.likely)}"
        if estimate.rounds > 1:
            yield f"  all {estimate.rounds} rounds, likely: {_amount(estimate.likely_most)}"
        yield f"  upper bound:          {_amount(estimate.most)}"
    yield f"  budget:               {_budget(estimate.budget)}"
    if estimate.shortfall:
        yield f"  The budget does not hold {describe_minimum(PROTOCOLS[estimate.protocol])}: {estimate.shortfall}"
    unpriced = [s.seat for s in estimate.seats if s.metered and not s.usd_per_million_input + s.usd_per_million_output]
    if unpriced:
        yield f"  Counted as free, since no price is known (or none is taken): {', '.join(map(line, unpriced))}"


def table(estimate: Estimate) -> Iterator[str]:
    """The same with a line a seat."""
    yield from seating_lines(estimate)
    yield from estimate_lines(estimate)
    yield ""
    yield f"  {'seat':14} {'model':24} {'USD per million tokens':>24} {'turns':>8}  most USD"
    for s in estimate.seats:
        price = _price(s)
        turns = f"{s.shortest_most.turns} to {s.most.turns}"
        yield f"  {line(s.seat):14} {line(s.model, 24):24} {price:>24} {turns:>8}  {_most_usd(s)}"


def _most_usd(s: SeatEstimate) -> str:
    return "not known" if s.metered and not s.most.cost_usd else f"{s.most.cost_usd:.4f}"


def _price(s: SeatEstimate) -> str:
    if not s.metered:
        return "not metered"
    if not s.usd_per_million_input and not s.usd_per_million_output:
        return "free, or not known"
    return f"{s.usd_per_million_input:g} in, {s.usd_per_million_output:g} out"


def _amount(a: Amount) -> str:
    cost = "free, or price not known" if a.tokens and not a.cost_usd else f"{a.cost_usd:.4f} USD"
    return f"{count(a.turns, 'turn')}, {count(a.calls, 'call')}, {count(a.tokens, 'token')}, {cost}"


def _budget(budget: Budget) -> str:
    limits = {
        "tokens": budget.tokens,
        "calls": budget.calls,
        "USD": budget.cost_usd,
        "seconds": budget.seconds,
    }
    return ", ".join(f"{figure(value)} {name}" for name, value in limits.items() if value is not None) or "no limit"
