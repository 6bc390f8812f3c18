"""consensus: builds the turns: what each seat is asked, and what it is shown."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from parley.coordinator.commands import AskSeat, Invite, Wish
from parley.coordinator.protocol_parts import ask, caps, seat_of
from parley.coordinator.protocols.consensus.seating import begins, missable
from parley.coordinator.protocols.consensus.signing import offers, own_answer, second_first, tally
from parley.coordinator.protocols.consensus.state import (
    ANALYST,
    PANELIST,
    Phase,
    State,
    position,
    shown_order,
    sides,
    voters,
    weighted,
)
from parley.coordinator.protocols.consensus.strategies import instructions_of
from parley.coordinator.table import Step, View
from parley.schemas.protocols.consensus import (
    CompareBrief,
    ConcludeBrief,
    Moved,
    Named,
    PanelBrief,
    Position,
    SignBrief,
    SoFar,
    Stood,
)
from parley.schemas.session import Seat
from parley.schemas.turn import Caps
from parley.schemas.wire import raw

replace = msgspec.structs.replace

ANSWER, REVISE, COMPARE, CONCLUDE, SIGN = "answer", "revise", "compare", "conclude", "sign"
_SIGN_TOKENS = 3_000
"""Tokens of a usual prompt to sign, beside the question."""
_SIGN_FRAME = 1_500
"""Those of them that are not what is put."""


def panel_caps(v: View) -> Caps:
    """Tokens that a turn of a panelist may take."""
    return caps(v).looking(v.settings.look_ups)


def sign_caps(v: View, shown: int = 0) -> Caps:
    """Tokens that a turn to sign may take: it shows the question, two sentences and two lines. `shown`: bytes of its
    brief, where they are known."""
    prompt = max(_SIGN_TOKENS, _SIGN_FRAME + shown // 2) + len(v.opened.question.encode()) // 2
    return Caps(input_tokens=min(v.settings.max_input_tokens, prompt), output_tokens=v.settings.max_output_tokens)


def ask_panelist(v: View, seat: Seat, kind: str, round_: int, so_far: SoFar | None = None, **more: Any) -> AskSeat:
    """A turn to answer, blind, or to revise."""
    brief = PanelBrief(
        iteration=round_,
        round_limit=v.settings.round_limit,
        so_far=so_far,
        strategy=instructions_of(seat, blind=kind == ANSWER),
        look_ups=v.settings.look_ups or msgspec.UNSET,
    )
    return ask(v, seat.seat, kind, round_, brief, caps=panel_caps(v), **more)


def ask_ballot(s: State, v: View, seat: str, kind: str, brief: object, *, final: bool) -> AskSeat:
    """A turn to sign, or to cast a ballot."""
    most = sign_caps(v, len(bytes(raw(brief))))
    return ask(v, seat, kind, len(s.rounds), brief, own=s.held[seat], caps=most, final=final)


def ask_revise(s: State, v: View, speaking: Iterable[str], so_far: SoFar | None) -> Step:
    """The next round: every seat is shown every other's current position, without names, its own, and what the analyst
    found. A seat that joined, and has not answered yet, is shown nothing. One whose position of the last round came
    late has answered this one with it.

    Parameters
    ----------
    speaking
        Seats that hold an answer.
    so_far
        None: the round before was not scored.
    """
    n = s.round + 1
    speaking = tuple(speaking)
    s, sits, wishes = begins(s, v, panel_caps(v), sign_caps(v))
    asks: list[Wish] = [*wishes]
    seats = {x.seat: x for x in (*v.seats(PANELIST), *(w.seat for w in wishes if isinstance(w, Invite)))}
    for me in sits:
        if me in s.late:
            continue
        if me in s.joined and me not in s.held:
            asks.append(ask_panelist(v, seats[me], ANSWER, n))
            continue
        mine = so_far
        if so_far is not None:  # in an order of the reader's own, so that no place is favoured
            order = tuple(shown_order(v, n, me, so_far.key_disagreements))
            mine = replace(so_far, key_disagreements=order)
        peers = shown_order(v, n, me, (other for other in speaking if other != me))
        sees, own = tuple(s.held[p] for p in peers), s.held.get(me)
        asks.append(ask_panelist(v, seats[me], REVISE, n, mine, sees=sees, own=own, stream=True))
    s = replace(s, phase=Phase.REVISING, round=n, ending="", pending=s.late, late={})
    return s, tuple(asks)


def ask_analyst(s: State, v: View, current: Mapping[str, Position]) -> AskSeat:
    """Ask the analyst to compare the positions. `current`: seat -> position, of those with an answer."""
    order = shown_order(v, s.round, seat_of(v, ANALYST), current)
    moved = moves(s, current)
    brief = CompareBrief(
        iteration=s.round,
        round_limit=v.settings.round_limit,
        positions=weighted(v, s.held, order),
        labels=tuple(
            Named(label=label, answer=position(v, int(post)).answer)
            for label, post in {label: post for post, label in s.labels.items()}.items()
        ),
        moves=moved,
        key_disagreements=s.rounds[-2].key_disagreements if len(s.rounds) > 1 else (),
        spare=missable(s, v),
    )
    posts = dict.fromkeys([*(s.held[p] for p in order), *(m.by.post for m in moved)])
    return ask(v, seat_of(v, ANALYST), COMPARE, s.round, brief, sees=tuple(posts))


def moves(s: State, current: Mapping[str, Position]) -> tuple[Moved, ...]:
    """Positions of this round that name the argument that moved them. `current`: seat -> its position; seats that
    abstain have none."""
    positions = ((post, current[seat]) for seat, post in s.rounds[-1].posts.items() if seat in current)
    return tuple(Moved(post=post, by=p.argument) for post, p in positions if p.argument)


def ask_conclusion(s: State, v: View) -> AskSeat:
    """Ask the analyst for a sentence that those who hold the first answer can sign; where too few signed one, for
    another that meets what differs."""
    order = shown_order(v, len(s.rounds) + 1, seat_of(v, ANALYST), voters(v, s.held))
    best = sides(s, v)[0]
    brief = ConcludeBrief(
        label=best.label,
        answer=best.answer,
        positions=weighted(v, s.held, order),
        stood=_stood(s, v),
        key_disagreements=s.rounds[-1].key_disagreements,
    )
    if s.reworded:
        stands = tally(s, v, sentence := s.puts[-1].sentence).stands
        brief = replace(
            brief,
            put=sentence,
            differs=tuple(x.differs for x in stands if x.differs),
            reservations=tuple(x.reservation for x in stands if x.reservation),
        )
    sees = tuple(s.held[p] for p in order)
    return ask(v, seat_of(v, ANALYST), CONCLUDE, len(s.rounds), brief, sees=sees, stream=True)


def ask_signatures(s: State, v: View, sentence: str, seats: Iterable[str]) -> tuple[AskSeat, ...]:
    """Ask these seats which of two sentences states their answer, or whether the only one does."""
    offered, other = offers(s, v, sentence)
    asks = []
    for seat in seats:
        first, second = (other, offered) if other and second_first(v, len(s.rounds), seat) else (offered, other)
        brief = SignBrief(yours=own_answer(s, v, seat), first=first, second=second)
        asks.append(ask_ballot(s, v, seat, SIGN, brief, final=bool(s.ending)))
    return tuple(asks)


def _stood(s: State, v: View) -> tuple[Stood, ...]:
    """Every answer that was held in some round, the one that most seats hold now first. Arguments that stand in the
    last positions are not repeated."""
    shown = {position(v, post).reasoning for post in s.held.values()}
    holds = Counter(s.label(post) for post in s.held.values())
    best: dict[str, tuple[Position, int]] = {}
    moving: dict[str, Position] = {}
    reasons_left: dict[str, list[str]] = {}
    before: dict[str, str] = {}
    for played in s.rounds:
        for seat, post in played.posts.items():
            label, p = s.label(post), position(v, post)
            if not label or not p.speaks:
                continue
            if label not in best or (p.confidence > best[label][0].confidence and best[label][1] == played.number):
                best[label] = p, played.number
            if p.argument and played.moved.get(seat) == "argument" and s.label(p.argument.post) == label:
                moving.setdefault(label, position(v, p.argument.post))
            if before.get(seat, label) != label:
                reasons_left.setdefault(before[seat], []).append(p.change_reason)
            before[seat] = label
    ranked = sorted(best, key=lambda label: -holds[label])
    arguments = {x: moving.get(x, best[x][0]).reasoning for x in ranked}
    return tuple(
        Stood(
            label=x,
            seats=holds[x],
            argument="" if arguments[x] in shown else arguments[x],
            left=tuple(filter(None, reasons_left.get(x, ()))),
        )
        for x in ranked
    )
