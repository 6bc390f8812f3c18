"""critic: confidence as a function of the final state, in points (docs/critic.md, "Confidence").

confidence = ground * product over open objections of (1 - weight)
ground     = 90 + 6 * (1 - 1/2^survived) + 3 if the answer quotes a document; `start` while no round was tested
"""

from collections.abc import Iterable

import msgspec

from parley.coordinator.protocols.critic.state import Round, State, answer
from parley.coordinator.table import View
from parley.schemas.protocols.critic import START, Objection

WORTHLESS = 95.0
"""Score from which an objection has nothing to it."""
UNJUDGED = 0.5
"""What an objection weighs that nobody ruled on: it may be sound."""
_GROUND = 90.0
_SURVIVED = 6.0
_QUOTED = 3.0


def confidence(open_weights: Iterable[float], *, survived: int, tested: int, quotes: bool, start: float) -> float:
    """Points, 0 to 100.

    Parameters
    ----------
    open_weights
        Weights, 0 to 1, of the objections that are open.
    survived
        Tested rounds of which no objection is open.
    tested
        Rounds in which the critic was heard and the judge ruled.
    quotes
        Whether the answer that stands quotes a document.
    start
        What stands as long as no round was tested.

    Examples
    --------
    >>> confidence([], survived=1, tested=1, quotes=False, start=50)
    93.0
    >>> confidence([0.34], survived=1, tested=2, quotes=False, start=50)
    61.38
    """
    points = _GROUND + _SURVIVED * (1 - 0.5**survived) + (_QUOTED if quotes else 0.0) if tested else start
    for weight in sorted(open_weights):  # in one order: a product of floats may depend on it
        points *= 1 - weight
    return round(points, 2)


def weight_of(objection: Objection) -> float:
    """What it weighs, 0 to 1."""
    return UNJUDGED if objection.weight is msgspec.UNSET else objection.weight


def overturning(s: State) -> tuple[int, ...]:
    """Numbers of the open objections that weigh half or more, those that nobody ruled on among them."""
    return tuple(o.number for o in s.profile if not o.answered and weight_of(o) >= UNJUDGED)


def survived(s: State) -> tuple[int, int]:
    """(rounds survived, rounds tested)."""
    tested = [r for r in s.rounds if _tested(r)]
    still = {o.round for o in s.profile if not o.answered}
    return sum(r.number not in still for r in tested), len(tested)


def of_state(s: State, v: View) -> float:
    """Confidence in the state as it is, once its round has been counted."""
    weights = [weight_of(o) for o in s.profile if not o.answered]
    standing = answer(v, s.answer)
    unbroken, tested = survived(s)
    quotes = standing is not None and bool(standing.citations)
    return confidence(weights, survived=unbroken, tested=tested, quotes=quotes, start=START)


def _tested(r: Round) -> bool:
    return r.source == "judge" and bool(r.raised)
