"""consensus: the figures that are counted when a session is closed."""

from collections import Counter

from parley.coordinator.protocols.consensus.state import (
    PANELIST,
    Round,
    State,
    groups,
    labelled,
    sides,
    voters,
    weights,
)
from parley.coordinator.table import Measured, Session, SessionCounts, View

_BECAUSE = {"quotation": "quoted", "argument": "argued", "unexplained": "unexplained"}
NO_DEBATE, UNANIMITY, UNCHANGED = "no_debate", "unanimity", "unchanged"


def measured(session: Session, view: View) -> Measured:
    """Agreement is the last score; disagreement the share of the weight that stands against the leading answer."""
    s: State = session.inner
    scores, answer_groups = s.trend(), sides(s, view)
    weight = sum(g.weight for g in answer_groups)
    return Measured(
        agreement=scores[-1] / 100 if scores else None,
        disagreement=1 - answer_groups[0].weight / weight if weight else None,
        plateau=session.stopped is not None and session.stopped.reason == "stuck",
        flips=_flips(s),
        rules=_rules(s, view),
    )


def _flips(s: State) -> dict[str, int]:
    counts = Counter(_BECAUSE[by] for r in s.rounds for by in r.moved.values())
    return {because: n for because, n in counts.items() if n}


def _rules(s: State, view: View) -> dict[str, int]:
    """A round that was not played to its end is not looked at."""
    complete = [r for r in s.rounds if r.posts]
    counts = {}
    if complete:
        counts[NO_DEBATE] = complete[0].number
    for name, holds in ((UNANIMITY, _unanimous), (UNCHANGED, _unchanged)):
        first = next((r.number for r in complete if holds(s, view, r)), None)
        if first is not None:
            counts[name] = first
    return counts


def _unanimous(s: State, view: View, r: Round) -> bool:
    """Every seat has an answer in this round, and all the same."""
    positions = voters(view, r.posts)
    if len(positions) < len(view.seats(PANELIST)):
        return False
    return len(groups(positions, weights(view), labelled(s, r.posts))) == 1


def _unchanged(s: State, view: View, r: Round) -> bool:
    return r.number > 1 and not r.flips and not r.missing


COUNTED = SessionCounts(measured=measured, rules=(NO_DEBATE, UNANIMITY, UNCHANGED))
