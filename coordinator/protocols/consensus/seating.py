"""consensus: who joins and who leaves a panel while it debates.

A person, or the analyst where the settings let it, decides during a round; it holds from the next round on. Whoever
joins answers blind before it reads anybody, and no sentence is agreed before it could. Whoever leaves is asked nothing
more. What it said stays: as a seat of those that must agree, and as dissent.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from parley.coordinator.commands import Invite, Notify, SayOn, Wish, Withdraw
from parley.coordinator.protocol_parts import say
from parley.coordinator.protocols.consensus import strategies
from parley.coordinator.protocols.consensus.choosing import SeatCandidate, choose, spare
from parley.coordinator.protocols.consensus.state import PANELIST, State, sitting
from parley.coordinator.table import Decided, Illegal, Step, View
from parley.schemas.protocols.consensus import MOST_PANEL, Proposal, Seating, Settled
from parley.schemas.session import Seat
from parley.schemas.turn import Caps

replace = msgspec.structs.replace

INBOX = "inbox"
SEAT, ITEM = "seat", "1"
"""What stands for the item of a decision: who sits, unasked; or the one question that a session may ask."""
_ANALYST = "the analyst"


class Sitting(NamedTuple):
    """Who sits in the round that begins."""

    state: State
    asked: tuple[str, ...]
    """In the order of the opening; who joined comes last."""
    wishes: tuple[Wish, ...]


def decided(s: State, e: Decided, v: View) -> Step:
    """Take what a person decided: `add NAME`, `remove NAME`, or `no` to the member that is proposed."""
    act, _, name = e.choice.strip().partition(" ")
    name = name.strip()
    if e.item == ITEM and (not s.proposed or s.answered):
        raise Illegal(f"item {ITEM} is not open")
    if e.item not in (SEAT, ITEM):
        raise Illegal(f"there is no item {e.item}; `{SEAT}` takes add NAME and remove NAME")
    settled: tuple[Wish, ...] = ()
    if e.item == ITEM:
        if e.choice.strip() not in ("no", f"add {s.proposed}"):
            raise Illegal(f"item {ITEM} takes add {s.proposed}, or no")
        answer = Settled(choice=e.choice.strip(), author=e.author)
        settled = (say("settled", s.round, answer, channel=INBOX),)
        s = replace(s, answered=True)
        if act == "no":
            return s, settled
    if act == "add" and e.seat:
        s, says = _joins(s, v, e.seat, e.author, e.note)
    elif act == "remove" and name:
        s, says = _leaves(s, v, name, e.author, e.note)
    else:
        raise Illegal(f"got {e.choice[:80]!r}; `{SEAT}` takes add NAME and remove NAME")
    return s, (*settled, *says)


def heard_first(s: State, v: View) -> bool:
    """Whether somebody joins in the next round, and nothing is agreed before."""
    return bool(s.joining) and not _is_last(s, v)


def changes(s: State, v: View) -> bool:
    """Whether somebody joins or leaves before the next round, so that the seats that fail now may not be too many."""
    return bool(s.joining or s.leaving) and not _is_last(s, v)


def _is_last(s: State, v: View) -> bool:
    return bool(s.ending) or s.round >= v.settings.round_limit


def _joins(s: State, v: View, seat: Seat, by: str, why: str) -> tuple[State, tuple[SayOn, ...]]:
    there = [x for x in sitting(s, v) if x not in s.leaving]
    if seat.seat in there or seat.seat in s.joining:
        raise Illegal(f"seat {seat.seat} sits there already")
    if _is_last(s, v):
        raise Illegal(f"round {s.round} is the last one: seat {seat.seat} would not be asked")
    if len(there) + len(s.joining) >= MOST_PANEL:
        raise Illegal(f"seat {seat.seat} would be one more than {MOST_PANEL}")
    if seat.seat in s.leaving:  # it goes on as if nothing had been said
        s = replace(s, leaving=tuple(x for x in s.leaving if x != seat.seat))
        return s, (_told(s, seat.seat, "joins", by, why),)
    panel = v.seats(PANELIST)
    if seat.seat not in {x.seat for x in panel}:
        sits = (*(x for x in panel if x.seat in there), *s.joining.values())
        first = sum(x.seat not in s.joined for x in panel)
        seat = strategies.joining(seat, sits, first, v.opened, v.settings)
    s = replace(s, joining={**s.joining, seat.seat: seat})
    return s, (_told(s, seat.seat, "joins", by, why, seat),)


def _leaves(s: State, v: View, name: str, by: str, why: str) -> tuple[State, tuple[SayOn, ...]]:
    if name in s.joining:
        joining = {seat: x for seat, x in s.joining.items() if seat != name}
        return replace(s, joining=joining), (_told(s, name, "stays", by, why),)
    there = [x for x in sitting(s, v) if x not in s.leaving]
    if name not in there:
        raise Illegal(f"there is no panelist {name[:64]}; panelists are {', '.join((*there, *s.joining))}")
    if _is_last(s, v):
        raise Illegal(f"round {s.round} is the last one: who sits stays as it is")
    least = max(2, v.settings.quorum)
    if len(there) + len(s.joining) - 1 < least:
        raise Illegal(f"without seat {name} the panel has {len(there) + len(s.joining) - 1} seats, least are {least}")
    return replace(s, leaving=(*s.leaving, name)), (_told(s, name, "leaves", by, why),)


def _told(s: State, seat: str, does: str, by: str, why: str, works: Seat | None = None) -> SayOn:
    """The post of a change. `works`: the seat that joins."""
    body = Seating(seat=seat, does=does, round=s.round + 1, by=by, why=why[:300])  # type: ignore[arg-type]  # one of its words
    if works is not None and works.strategy is not msgspec.UNSET:
        body = replace(body, strategy=works.strategy.name)
    return say("seating", s.round, body)


def begins(s: State, v: View, most: Caps, sign: Caps) -> Sitting:
    """Let a round begin: who leaves is asked nothing more, who joins is invited where the budget holds its turns.

    Parameters
    ----------
    most, sign
        What a turn of the round, and one to sign, may take.
    """
    n = s.round + 1
    wishes: list[Wish] = [Withdraw(seat=seat) for seat in s.leaving]
    left = {**s.left, **dict.fromkeys(s.leaving, n)}
    asked = [seat for seat in sitting(s, v) if seat not in left]
    joined = list(s.joined)
    known = {x.seat for x in v.seats(PANELIST)}
    for name, seat in s.joining.items():
        if short := v.affords([*_turns(s, asked, known, most), (seat, most), (seat, sign)]):
            wishes.append(_told(s, name, "stays", "", f"the budget does not hold its turns: {short}"))
            continue
        left.pop(name, None)
        if name not in known:
            wishes.append(Invite(seat=seat))
        asked.append(name)
        joined += [] if name in joined else [name]
    s = replace(s, joining={}, leaving=(), left=left, joined=tuple(joined))
    return Sitting(s, tuple(asked), tuple(wishes))


def _turns(s: State, asked: Iterable[str], known: set[str], most: Caps) -> list[tuple[str | Seat, Caps]]:
    """The turns of those who are asked; who is not invited yet stands for itself."""
    return [(seat if seat in known else s.joining[seat], most) for seat in asked]


# ---------------------------------------------------------------- what the analyst misses


def missable(s: State, v: View) -> tuple[str, ...]:
    """What members without a seat declare to know: the analyst may miss it, once in a session."""
    if v.settings.missing == "off" or s.proposed or _is_last(s, v):
        return ()
    return tuple(dict.fromkeys(words for m in _free(s, v) for words in m.expertise))


def _free(s: State, v: View) -> list[SeatCandidate]:
    return [m for m in spare(v.opened) if m.seat.seat not in s.joining]


def missed(s: State, v: View, expertise: str) -> Step:
    """The analyst misses an expertise: the member that has it joins, or a person is asked whether it does."""
    fit = [m for m in _free(s, v) if expertise in m.expertise]
    if not expertise or expertise not in missable(s, v) or not fit:
        return s, ()
    seat = choose(expertise, fit, 1)[0].seat
    s = replace(s, proposed=seat.seat)
    if v.settings.missing == "add":
        return _joins(replace(s, answered=True), v, seat, _ANALYST, f"nobody knows {expertise}")
    rounds = v.settings.round_limit - s.round
    item = Proposal(
        expertise=expertise, seat=seat.seat, deadline_ns=v.at_ns + int(rounds * v.opened.turn_timeout_s * 1e9)
    )
    told = f"the analyst misses {expertise}; {seat.seat} may join"
    return s, (
        say("proposal", s.round, item, channel=INBOX),
        Notify(severity="info", text=told),
    )
