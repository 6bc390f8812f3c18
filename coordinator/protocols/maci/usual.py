"""maci: the turns of a usual course: two rounds after the blind one."""

from parley.coordinator.protocols.maci.state import ANALYST, DEBATER, HELPER, JUDGE, only_seat
from parley.coordinator.protocols.maci.turns import ARGUE, BLIND, CRIT, MEASURE, MERGE, PLAN, RETRIEVE
from parley.coordinator.table import Usual, View

_ROUNDS = 2
_FORM = 4_300
"""Tokens of the passages, and of the outcomes and sources that a belief is held to."""
_ROUND = 900
"""Tokens that a round adds to what a debater is shown."""


def usual(v: View, rounds: int | None) -> tuple[Usual, ...]:
    """The turns of so many rounds."""
    settings = v.settings
    rounds = min(rounds or _ROUNDS, settings.round_limit)
    helper, analyst = only_seat(v, HELPER), only_seat(v, ANALYST)
    debaters, judges = ([s.seat for s in v.seats(role)] for role in (DEBATER, JUDGE))
    turns = [Usual(helper, RETRIEVE), *(Usual(seat, BLIND, 1, _FORM, 235) for seat in debaters)]
    if not settings.outcomes:
        turns.append(Usual(analyst, MERGE, 1, len(debaters) * 200))
    for n in range(rounds):
        turns += [Usual(seat, ARGUE, 1, _FORM + 400 + n * _ROUND, 330) for seat in debaters]
        turns += [Usual(helper, MEASURE), *(Usual(seat, CRIT, 1, 1_100, 100) for seat in judges)]
    if settings.close_the_loop and rounds > 1:
        turns += [Usual(analyst, PLAN, rounds - 1, 1_500, 290), Usual(helper, RETRIEVE, rounds - 1)]
    return (*turns, Usual(analyst, PLAN, 1, 1_500, 290))
