"""critic: confidence as a function of the final state, in points (docs/critic.md, "Confidence").

confidence = ground * product over open objections of (1 - weight)
ground     = 90 + 6 * (1 - 1/2^survived) where something was tested; 70 where the critic was silent alone; else `start`
"""

import re
from collections.abc import Iterable

import msgspec

from parley.coordinator.protocols.critic.state import Round, State
from parley.schemas.protocols.critic import START, Objection

WORTHLESS = 95.0
"""Score from which an objection has nothing to it."""
HALF = 0.5
"""Weight from which an objection may overturn an answer; and that of one that nobody ruled on: it may be sound."""
FATAL = 0.8
"""Weight from which an answer does not stand while the objection is open."""
SILENT = 70.0
"""Points at most where the critic raised nothing and showed no check that holds: nothing was tested."""
_REFUTES = re.compile(
    r"\b(?:answer|claim|statement|result)\b[^.]{0,80}\b"
    r"(?:(?:is|are|was) (?:wrong|false|incorrect|not (?:true|right|correct))|does not hold|fails)\b",
    re.I,
)
_GROUND = 90.0
_SURVIVED = 6.0


def confidence(open_weights: Iterable[float], *, survived: int, tested: int, start: float) -> float:
    """Points, 0 to 100.

    Parameters
    ----------
    open_weights
        Weights, 0 to 1, of the objections that are open.
    survived
        Tested rounds of which no objection is open.
    tested
        Rounds in which the judge ruled on a new objection, or confirmed the critic's check.
    start
        What stands as long as no round was tested.

    Examples
    --------
    >>> confidence([], survived=1, tested=1, start=50)
    93.0
    >>> confidence([0.34], survived=1, tested=2, start=50)
    61.38
    """
    points = _GROUND + _SURVIVED * (1 - 0.5**survived) if tested else start
    for weight in sorted(open_weights):  # in one order: a product of floats may depend on it
        points *= 1 - weight
    return round(points, 2)


def weight_of(objection: Objection) -> float:
    """What it weighs, 0 to 1."""
    return HALF if objection.weight is msgspec.UNSET else objection.weight


def overturning(s: State) -> tuple[int, ...]:
    """Numbers of the open objections that weigh half or more, those that nobody ruled on among them."""
    return tuple(o.number for o in s.profile if not o.answered and weight_of(o) >= HALF)


def refused_by(s: State) -> tuple[int, ...]:
    """Numbers of the open objections by which the answer is refused: the judge ruled that they leave next to nothing of
    it."""
    return tuple(o.number for o in s.profile if not o.answered and o.weight is not msgspec.UNSET and o.weight >= FATAL)


def refutes(check: str) -> bool:
    """Whether a check says in plain words that the answer is wrong: it confirms nothing, whatever a judge says."""
    return _REFUTES.search(check) is not None


def survived(s: State) -> tuple[int, int]:
    """(rounds survived, rounds tested)."""
    tested = [r for r in s.rounds if _tested(r)]
    still = {o.round for o in s.profile if not o.answered}
    return sum(r.number not in still for r in tested), len(tested)


def of_state(s: State) -> float:
    """Confidence in the state as it is, once its round has been counted."""
    weights = [weight_of(o) for o in s.profile if not o.answered]
    unbroken, tested = survived(s)
    return confidence(weights, survived=unbroken, tested=tested, start=SILENT if was_heard(s) else START)


def was_heard(s: State) -> bool:
    """Whether the critic said something in a round that was judged, if only that it has nothing new."""
    return any(r.source == "judge" and r.raised for r in s.rounds)


def _tested(r: Round) -> bool:
    return r.source == "judge" and (r.objection is not None or r.checked is True)
