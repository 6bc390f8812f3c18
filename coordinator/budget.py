"""Budgets: what was used, what is reserved, and whether more fits.

A turn reserves the most that it may use: its caps times the calls that a repair may add, or the tokens that it is
given for all of them, at the price that its worker announced. What fits is decided against used + unaccounted +
reserved + held back. So a budget is kept whatever the turns in flight come to. Where it is short, a turn is given what
such turns of the session have taken, and room beside it.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import msgspec

from parley.schemas import log
from parley.schemas.result import ResultUsage, SeatUsage
from parley.schemas.session import Budget, Seat, SessionEnded
from parley.schemas.turn import Caps, Usage
from parley.schemas.wire import figure


class Reservation(msgspec.Struct, frozen=True, gc=False):
    """The most that something may use: tokens (input and output), calls, US dollars."""

    tokens: int = 0
    calls: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: "Reservation") -> "Reservation":
        return Reservation(self.tokens + other.tokens, self.calls + other.calls, self.cost_usd + other.cost_usd)

    def times(self, n: int) -> "Reservation":
        """The sum of n such."""
        return Reservation(self.tokens * n, self.calls * n, self.cost_usd * n)


def reservation(seat: Seat, caps: Caps) -> Reservation:
    """What one turn of this seat may use at most: as much of its tokens as may be are the dearer ones."""
    if not seat.metered:
        return Reservation(0, caps.calls, 0.0)
    tokens, of_input, of_output = caps.all_tokens, seat.usd_per_million_input, seat.usd_per_million_output
    per_call = caps.all_output if of_output >= of_input else caps.input_tokens
    dear = min(tokens, per_call * caps.calls)
    price = dear * max(of_input, of_output) + (tokens - dear) * min(of_input, of_output)
    return Reservation(tokens, caps.calls, price / 1e6)


PROMPT_TOKENS = 900
"""Instructions, rules and the form of a reply, where nobody measured them."""
_LEAST_PROMPT, _LEAST_ANSWER, _LEAST_THOUGHT = 2_500, 700, 1_000
"""What a call is given at least where the budget is short, and nothing is known of such turns."""
BYTES_PER_TOKEN = 3
"""Of what a turn is shown, for a token: counted on the high side."""
_SPARE = 1.25
"""Times what such turns have taken: the next one may be longer."""
_ROOM = 4
"""Times that again: the most that is reserved while the budget is short."""
_STEPS = 1_024
"""So fine is what a turn gets of the tokens between its least and its most."""
KEPT = 8
"""The last turns of a kind whose tokens are remembered."""


def least(caps: Caps, content: int, taken: int | None = None) -> Caps:
    """What a turn is given at least where the budget is short: tokens for its prompt, counted on the high side, and for
    a short answer. A turn with tools takes one step with them at least, and the last one.

    Parameters
    ----------
    content
        Bytes of everything that it is shown.
    taken
        The most that such a turn of this session has taken beside its content (`beside`); None: there was none.
    """
    steps = 1 if caps.calls <= 2 else 2
    thought = min(caps.reasoning_tokens or 0, _LEAST_THOUGHT)
    prompt = min(caps.input_tokens, _LEAST_PROMPT + content // BYTES_PER_TOKEN)
    tokens = (prompt + min(caps.output_tokens, _LEAST_ANSWER) + thought) * steps
    if taken is not None:
        known = int(taken * _SPARE) + content // BYTES_PER_TOKEN
        tokens = known if steps == 1 else min(tokens, known)  # how many steps it takes is the model's own choice
    caps = _with_output(msgspec.structs.replace(caps, calls=_calls(caps)), 0)
    return msgspec.structs.replace(caps, tokens=min(caps.all_tokens, tokens))


def _with_output(caps: Caps, step: int) -> Caps:
    """The caps with less output in each call: at step 0 the least, at the last all of it."""
    more = {}
    for name, low in (("output_tokens", _LEAST_ANSWER), ("reasoning_tokens", _LEAST_THOUGHT)):
        most = getattr(caps, name)
        if most is not msgspec.UNSET:
            more[name] = min(most, low) + (most - min(most, low)) * step // _STEPS
    return msgspec.structs.replace(caps, **more)


def own_tokens(usage: Usage, content: int) -> int:
    """Tokens that a turn took beside the bytes that it was shown."""
    return max(0, usage.input_tokens + usage.output_tokens - content // BYTES_PER_TOKEN)


def _calls(caps: Caps) -> int:
    """A repair is what is saved first; steps with tools are not."""
    return 1 if caps.calls <= 2 else caps.calls


class PlannedTurn(NamedTuple):
    """A turn that is to be asked, and what is known of its size."""

    caps: Caps
    content: int
    """Bytes of everything that it is shown."""
    taken: int | None = None
    """The most that such turns have taken beside their content; None: there was none."""


def widest(wanted: list[PlannedTurn], fits: Callable[[list[Caps]], bool]) -> list[Caps]:
    """Caps of turns that are asked together: whole if they fit; else with as many tokens as fit, and no more than their
    least several times over, so that a try that is lost does not cost the whole budget; how many steps a turn with
    tools takes nobody knows. Where money is short, with less output too, which is dear.
    One call each is what is tried last; if that does not fit, nothing does."""
    whole = [w.caps for w in wanted]
    if fits(whole):
        return whole

    def narrowed(each: list[Caps], less: bool, step: int) -> list[Caps]:
        result = []
        for w, caps in zip(wanted, each, strict=True):
            low = least(caps, w.content, w.taken).all_tokens
            high = caps.all_tokens if w.caps.calls > 2 else min(caps.all_tokens, low * _ROOM)
            caps = _with_output(caps, step) if less else caps
            result.append(msgspec.structs.replace(caps, tokens=low + (high - low) * step // _STEPS))
        return result

    alone = [msgspec.structs.replace(caps, calls=min(caps.calls, 1)) for caps in whole]
    for each, less in ((whole, False), (whole, True), (alone, True)):
        if fits(narrowed(each, less, 0)):
            short = partial(narrowed, each, less)
            return short(bisect_left(range(1, _STEPS + 1), True, key=lambda n: not fits(short(n))))
    return narrowed(alone, True, 0)


def priced(seat: Seat, usage: Usage) -> Usage:
    """With what its tokens cost at the prices that the seat's model was announced with, where it tells no cost; marked
    where none is known, and where a seat that is not metered tells of tokens or money, which nobody can book."""
    of_input, of_output = (seat.usd_per_million_input, seat.usd_per_million_output) if seat.metered else (0.0, 0.0)
    tokens = usage.input_tokens + usage.output_tokens
    if of_input + of_output:
        if usage.cost_usd or usage.unpriced is not msgspec.UNSET:
            marked = bool(usage.unpriced)
        else:
            cost = (usage.input_tokens * of_input + usage.output_tokens * of_output) / 1e6
            return msgspec.structs.replace(usage, cost_usd=cost)
    else:
        marked = bool(usage.cost_usd or (tokens and usage.unpriced is not False))
    return msgspec.structs.replace(usage, unpriced=marked or msgspec.UNSET)


ESTIMATED, UNPRICED = "estimated", "unpriced"
"""Flags of a reply (parley.agents.model.base.Completion.flags)."""
OVERSTATED = "overstated"
"""Flag of a reply whose worker reported more than its turn was allowed."""


def booked(seat: Seat, caps: Caps, usage: Usage, *, person: bool) -> Usage:
    """What is booked of a turn's reported usage: at most what was reserved for it, so that no participant decides over
    the session's budget. `person`: one answers, who reserves nothing."""
    most = Reservation() if person else reservation(seat, caps)
    cents = usage.cost_usd <= most.cost_usd * (1 + 1e-9)  # the same sum, added up in another order
    if (
        cents
        and usage.output_tokens <= min(caps.all_output * most.calls, most.tokens)
        and usage.input_tokens <= most.tokens - usage.output_tokens
        and usage.calls <= most.calls
        and (usage.cached_tokens or 0) <= usage.input_tokens
    ):
        return usage
    output = min(usage.output_tokens, caps.all_output * most.calls, most.tokens)
    capped = msgspec.structs.replace(
        usage,
        input_tokens=min(usage.input_tokens, most.tokens - output),
        output_tokens=output,
        calls=min(usage.calls, most.calls),
        cost_usd=min(usage.cost_usd, most.cost_usd),
    )
    if capped.cached_tokens:
        capped = msgspec.structs.replace(
            capped, cached_tokens=min(capped.cached_tokens, capped.input_tokens) or msgspec.UNSET
        )
    return usage if cents and msgspec.structs.replace(capped, cost_usd=usage.cost_usd) == usage else capped


def pays_for_tries(seat: Seat, budget: Budget) -> bool:
    """Whether each try of a turn of this seat is announced before it is begun: it may cost tokens or money, or calls
    are limited. Else a try that is lost costs nothing."""
    return seat.metered or budget.calls is not None


def total(parts: Iterable[Reservation]) -> Reservation:
    """Sum of reservations."""
    result = Reservation()
    for part in parts:
        result = result + part
    return result


_UNUSED = SeatUsage()


def seat_usage(used: Usage | ResultUsage, turns: int) -> SeatUsage:
    """What was used, as a row of a seat."""
    return SeatUsage(
        turns=turns,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        calls=used.calls,
        cost_usd=used.cost_usd,
        cached_tokens=used.cached_tokens or msgspec.UNSET,
        unpriced=bool(used.unpriced) or msgspec.UNSET,
    )


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """What a session has used so far."""

    turns: int = 0
    by_seat: dict[str, SeatUsage] = {}
    estimated: bool = False
    unaccounted_turns: int = 0
    lost: Reservation = Reservation()
    """The most that tries may have used which were begun and gave no reply: counts against the budget, reported
    apart."""

    def used(self) -> Reservation:
        """Tokens, calls and money accounted for."""
        seats = self.by_seat.values()
        return Reservation(
            sum(s.input_tokens + s.output_tokens for s in seats),
            sum(s.calls for s in seats),
            sum(s.cost_usd for s in seats),
        )

    def add(self, seat: str, usage: Usage, answered: bool) -> "Ledger":
        """Book what a turn reported."""
        new = self.by_seat.get(seat, _UNUSED) + seat_usage(usage, turns=int(answered))
        return msgspec.structs.replace(
            self,
            turns=self.turns + answered,
            by_seat={**self.by_seat, seat: new},
            estimated=self.estimated or usage.estimated,
        )

    def lose(self, most: Reservation) -> "Ledger":
        """Book a turn of which calls may have been lost: at its reservation, since nothing better is known."""
        return msgspec.structs.replace(self, unaccounted_turns=self.unaccounted_turns + 1, lost=self.lost + most)

    def child(self, session: str, ended: SessionEnded) -> "Ledger":
        """Book what a session beneath this one used, under a name of its own."""
        if ended.result is None:
            return self
        used = ended.result.usage
        row = seat_usage(used, turns=used.turns)
        lost = Reservation(used.unaccounted_tokens, ended.unaccounted_calls, ended.unaccounted_cost_usd)
        return msgspec.structs.replace(
            self,
            by_seat={**self.by_seat, f"session {session}": row},
            estimated=self.estimated or used.estimated,
            unaccounted_turns=self.unaccounted_turns + used.unaccounted_turns,
            lost=self.lost + lost,
        )

    def report(self, everybody: Iterable[str] = ()) -> ResultUsage:
        """The figures of the result frame; seats of `everybody` that used nothing are there with zeros."""
        used = sum(self.by_seat.values(), _UNUSED)
        return ResultUsage(
            turns=self.turns,
            calls=used.calls,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            estimated=self.estimated,
            cost_usd=self.used().cost_usd,
            unaccounted_turns=self.unaccounted_turns,
            unaccounted_tokens=self.lost.tokens,
            by_seat=dict(sorted({**dict.fromkeys(everybody, _UNUSED), **self.by_seat}.items())),
            cached_tokens=used.cached_tokens,
            unpriced=used.unpriced,
        )


def shortfall(
    budget: Budget, ledger: Ledger, reserved: Reservation, more: Reservation,
    words: str = "the next turns may take {wants}",
) -> str:  # fmt: skip
    """Empty if `more` fits beside what is used, lost and reserved; else which limit it would pass, with the figures."""
    bound = ledger.used() + ledger.lost + reserved
    for name, limit, has, wants in (
        ("tokens", budget.tokens, bound.tokens, more.tokens),
        ("calls", budget.calls, bound.calls, more.calls),
        ("cost_usd", budget.cost_usd, bound.cost_usd, more.cost_usd),
    ):
        if limit is not None and wants and has + wants > limit * (1 + 1e-12):
            told = words.format(wants=figure(wants))
            return f"budget.{name}: limit {figure(limit)}, used or reserved {figure(has)}, {told}"
    return ""


def most_calls(most: int, least: int, fits: Callable[[int], bool]) -> int:
    """How many calls a turn is given: as many as fit, at most `most`, and never fewer than `least`."""
    return next((n for n in range(most, least, -1) if fits(n)), least)


def nothing_left(budget: Budget, ledger: Ledger, reserved: Reservation, among: int = 1) -> str:
    """Which limit leaves nothing for so many sessions beneath this one; empty if all do."""
    least = Reservation(1, 1, 1e-9).times(among)
    return shortfall(budget, ledger, reserved, least, "nothing is left for another session")


def lend(
    own: Budget, budget: Budget, ledger: Ledger, reserved: Reservation, seconds: float | None, among: int = 1
) -> Budget:
    """What a session beneath this one may use: its own limits, and at most what is left here (`nothing_left` is empty).

    Parameters
    ----------
    seconds
        Left here; None: no limit.
    among
        Sessions that share what is left, but for the seconds.
    """
    bound = ledger.used() + ledger.lost + reserved

    def least(mine: float | None, limit: float | None, has: float) -> float | None:
        limits = [x for x in (mine, None if limit is None else (limit - has) / among) if x is not None]
        return min(limits, default=None)

    tokens = least(own.tokens, budget.tokens, bound.tokens)
    calls = least(own.calls, budget.calls, bound.calls)
    return Budget(
        tokens=None if tokens is None else int(tokens),
        calls=None if calls is None else int(calls),
        cost_usd=least(own.cost_usd, budget.cost_usd, bound.cost_usd),
        seconds=min((x for x in (own.seconds, seconds) if x is not None), default=None),
    )


def as_recorded(opened: log.Opened, n: int) -> log.Opened:
    """What carries another session's record has that one's limits as long as it repeats it: that one paid."""
    fork = opened.fork
    if fork is msgspec.UNSET or n > fork.carried:
        return opened
    return msgspec.structs.replace(opened, budget=msgspec.convert(fork.limits, Budget))


def keeping(opened: log.Opened, before: log.Opened) -> log.Opened:
    """The opening as a step left it, with the session's own limits."""
    return opened if opened.budget is before.budget else msgspec.structs.replace(opened, budget=before.budget)
