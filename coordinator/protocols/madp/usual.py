"""madp: the turns of a usual course: the match, the work and once more after a handover or a review, and a review."""

from parley.coordinator.protocols.madp.state import CHECK, HELPER
from parley.coordinator.protocols.madp.turns import MATCH, REVIEW, RUN_CHECK, WORK, has_helper, workers
from parley.coordinator.table import Usual, View

_TOOLS, _REVIEWED = 3_900, 4_100
"""Tokens of the folder's files, of the tools, and of what they returned; of the work that is reviewed."""


def usual(v: View, rounds: int | None) -> tuple[Usual, ...]:
    """The turns of a task, its experts being like the dearest of those that may lead."""
    turns = []
    if has_helper(v):
        turns.append(Usual(v.seats(HELPER)[0].seat, MATCH))
    if v.settings.check:
        turns.append(Usual(v.seats(CHECK)[0].seat, RUN_CHECK, 2))
    who = max(workers(v), key=lambda w: (w.seat.metered, w.seat.usd_per_million_input, w.most.calls), default=None)
    if who is None:
        return tuple(turns)
    steps = 1 if who.most.calls <= 2 else 3
    work = Usual(who.seat.seat, WORK, 2, _TOOLS if steps > 1 else _TOOLS // 2, 255, steps)
    return (*turns, work, Usual(who.seat.seat, REVIEW, 1, _REVIEWED, 180))
