"""What a reply used, before its event is appended: completed here for every worker, so that all who read the log read
the same.

A worker tells what it knows: tokens, calls, money, or none of it, whoever wrote it and in whatever language. Of a seat
that is metered, tokens that it does not tell are estimated from the texts, and a cost that it does not tell is its
tokens times the prices that were announced. Where there are none, the usage is marked: tokens never cost nothing
unmarked.
"""

import msgspec

from parley.coordinator.machine import Protocol, Session
from parley.coordinator.table import seat_of
from parley.coordinator.transition import TransitionDraft
from parley.schemas import log
from parley.schemas.session import Seat
from parley.schemas.turn import Usage

_BYTES = 3
"""Of a text, for a token: counted on the high side (parley.agents.text.tokens)."""
ESTIMATED, UNPRICED = "estimated", "unpriced"
"""Flags of a reply (parley.agents.model.base.Completion.flags)."""


def counted(protocol: Protocol, session: Session, event: log.Event) -> log.Event:
    """The event with its usage complete, and flagged where it is an estimate or has no price. Any other event as it
    is."""
    turn = session.turns.get(event.turn) if isinstance(event, log.Replied) else None
    if turn is None or turn.ask.queue or not isinstance(event, log.Replied):
        return event
    seat, ask, usage = seat_of(session.opened, turn.ask.seat), turn.ask, event.usage
    silent = usage.unpriced is msgspec.UNSET and not usage.input_tokens + usage.output_tokens
    if seat.metered and silent and not event.error:
        shown = TransitionDraft(protocol, session, session.at_ns).shown(ask)
        usage = msgspec.structs.replace(
            usage, input_tokens=min(ask.caps.input_tokens, -(-shown // _BYTES)),
            output_tokens=min(ask.caps.output_tokens, -(-len(bytes(event.body)) // _BYTES)),
            calls=max(1, usage.calls), estimated=True,
        )  # fmt: skip
    usage = priced(seat, usage)
    flags = {ESTIMATED: usage.estimated, UNPRICED: bool(usage.unpriced)}
    more = tuple(flag for flag, is_so in flags.items() if is_so and flag not in event.flags)
    return msgspec.structs.replace(event, usage=usage, flags=(*event.flags, *more))


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
