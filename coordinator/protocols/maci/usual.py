"""maci: the turns of a usual course: all agree, a devil's advocate argues, and the others answer. Rounds beyond these
two are of arguments, and come before.

Sizes are those of parley/demos/diagnosis.yaml, as tests/played/test_estimates.py prints them. A round of arguments
is taken to be as that of the advocate, with an argument from each debater.
"""

from parley.coordinator.protocols.maci.state import ANALYST, DEBATER, HELPER, JUDGE, only_seat
from parley.coordinator.protocols.maci.turns import (
    ANSWER,
    ARGUE,
    ATTACK,
    BLIND,
    CRIT,
    MEASURE,
    MERGE,
    PLAN,
    RETRIEVE,
    look_ups,
)
from parley.coordinator.table import Usual, View

_ROUNDS = 2
_SHOWN, _STAND, _ARGUMENT = 400, 200, 200
"""Tokens of the passages' marks and of what a form names of them and of outcomes; of where the debate stands; of an
argument as others are shown it."""
_SCORED, _SCORE = 230, 40
"""Tokens of what a judge is shown beside arguments, and of its score of one."""


def usual(v: View, rounds: int | None) -> tuple[Usual, ...]:
    """The turns of so many rounds."""
    settings = v.settings
    rounds = min(rounds or _ROUNDS, settings.round_limit)
    helper, analyst = only_seat(v, HELPER), only_seat(v, ANALYST)
    debaters, judges = ([s.seat for s in v.seats(role)] for role in (DEBATER, JUDGE))
    turns = [Usual(helper, RETRIEVE), *(Usual(seat, BLIND, 1, _SHOWN, 235) for seat in debaters)]
    if not settings.outcomes:
        turns.append(Usual(analyst, MERGE, 1, len(debaters) * 200))
    tested = min(rounds, 2) if settings.agreement_ends else 0
    advocate, *others = debaters
    argued = 0
    for kind in (*[ARGUE] * (rounds - tested), *(ATTACK, ANSWER)[:tested]):
        heard = _SHOWN + _STAND + argued * _ARGUMENT
        if kind == ANSWER:
            turns += [Usual(seat, ANSWER, 1, heard, 135) for seat in others]
            continue
        seats = [advocate] if kind == ATTACK else debaters
        argued += len(seats)
        turns += [Usual(seat, kind, 1, heard, 345) for seat in seats]
        scores = (_SCORED + len(seats) * _ARGUMENT, (1 + len(seats)) * _SCORE)
        turns += [Usual(helper, MEASURE), *(Usual(seat, CRIT, 1, *scores) for seat in judges)]
    between = rounds - 1 if settings.close_the_loop else 0
    plan = _SHOWN + argued * _ARGUMENT
    turns = [turn.looking(look_ups(settings, turn.kind)) for turn in turns]
    return (*turns, Usual(analyst, PLAN, 1 + between, plan, 340), Usual(helper, RETRIEVE, between))
