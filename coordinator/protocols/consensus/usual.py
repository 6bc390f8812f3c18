"""consensus: the turns of the shortest and the longest course, and of a usual one: two rounds, after which all but one
sign the words of one of them.

Sizes are those of parley/demos/consensus.yaml; tests/played/test_sessions.py compares.
"""

from parley.coordinator.protocol_parts import caps, seat_of
from parley.coordinator.protocols.consensus.deciding import is_ruled, last_turns
from parley.coordinator.protocols.consensus.state import ANALYST, PANELIST
from parley.coordinator.protocols.consensus.turns import ANSWER, COMPARE, CONCLUDE, REVISE, panel_caps
from parley.coordinator.table import Planned, TurnPlan, Usual, View

_ROUNDS = 2
_POST, _ASSESSMENT, _SENTENCE = 690, 430, 175
"""Tokens of an answer as others are shown it, of what the analyst said of a round with the fields that say what
changed, and of a sentence to sign."""


def usual(v: View, rounds: int | None) -> tuple[Usual, ...]:
    """The turns of so many rounds."""
    panel = [s.seat for s in v.seats(PANELIST)]
    rounds = min(rounds or _ROUNDS, v.settings.round_limit)
    heard = len(panel) * _POST
    turns = [Usual(seat, ANSWER, answer=515) for seat in panel]
    if rounds > 1:
        turns += [Usual(seat, REVISE, rounds - 1, heard + _ASSESSMENT, 745) for seat in panel]
    turns = [turn.looking(v.settings.look_ups) for turn in turns]
    turns += [Usual(seat_of(v, ANALYST), COMPARE, 1, heard + (heard if n else 0), 345) for n in range(rounds)]
    closing = [(seat, kind) for seat, kind, _ in last_turns(v)]
    heard = _SENTENCE if not is_ruled(v) else heard
    return (*turns, *(Usual(seat, kind, 1, heard, 45) for seat, kind in closing[0 if is_ruled(v) else 1 :]))


def plan(v: View) -> TurnPlan:
    """The least: every panelist answers, they are compared, and all may sign, or cast a ballot. The most: every round
    is compared and put, and one sentence goes back."""
    most, rounds, attempts = caps(v), v.settings.round_limit, v.attempts
    answers = panel_caps(v)
    panel = [s.seat for s in v.seats(PANELIST)]
    last, closing, ruled = seat_of(v, ANALYST), last_turns(v), is_ruled(v)
    again = attempts if ruled else (rounds + 1) * attempts
    return TurnPlan(
        rounds=rounds,
        least=(
            *(Planned(seat, ANSWER, answers) for seat in panel),
            *(Planned(*turn) for turn in closing),
            Planned(last, COMPARE, most),
        ),
        most=(
            *(Planned(seat, ANSWER, answers, attempts) for seat in panel),
            *(Planned(seat, REVISE, answers, (rounds - 1) * attempts) for seat in panel),
            *(Planned(*turn, again) for turn in closing),
            Planned(last, COMPARE, most, rounds * attempts),
            *(() if ruled else (Planned(last, CONCLUDE, most, again),)),
        ),
    )
