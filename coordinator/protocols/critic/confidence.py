"""critic: confidence as a function of the final state, in points (docs/critic.md, "Confidence").

confidence = ground * product over open objections of (1 - weight)
ground     = 90 + 6 * (1 - 1/2^survived) where the answer that stands was tested; 70 where the critic has seen it and
             said nothing against it; else `start`

At the end it is 70 at most, unless more than the judge's word backs it: the critic's last look, or a check that holds.
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
"""Points at most where nothing but silence, or nothing but the judge's scores, speaks for the answer."""
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
        Rounds that tested the answer that stands.
    start
        What stands as long as no round did.

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
    """(rounds survived, rounds that tested the answer that stands)."""
    tested = [r for r in s.rounds if _tested(s, r)]
    still = {o.round for o in s.profile if not o.answered}
    return sum(r.number not in still for r in tested), len(tested)


def of_state(s: State) -> float:
    """Confidence in the state as it is, once its round has been counted."""
    weights = [weight_of(o) for o in s.profile if not o.answered]
    unbroken, tested = survived(s)
    return confidence(weights, survived=unbroken, tested=tested, start=SILENT if _was_seen(s) else START)


def at_the_end(s: State) -> float:
    """Confidence in the result: no more than silence is worth, where nothing but the judge's scores speaks for more."""
    checked = any(r.checked and r.stands == s.now.stands for r in s.rounds)
    points = of_state(s)
    return points if checked or s.countersigned else min(points, SILENT)


def _was_seen(s: State) -> bool:
    """Whether the critic spoke of the answer that stands, if only to say that it has nothing new."""
    spoke = any(r.raised is not None and r.source != "unjudged" and r.stands == s.now.stands for r in s.rounds)
    return spoke or s.countersigned is not None


def _tested(s: State, r: Round) -> bool:
    """Whether a round tested the answer that stands: by a check that holds, or an objection to it, or one to an earlier
    answer that this one meets. What an earlier answer won does not count for another."""
    if r.source != "judge" or not (r.objection is not None or r.checked):
        return False
    to_another = [o for o in s.profile if o.round == r.number and o.answered and not o.closed]
    return r.stands == s.now.stands or bool(to_another)
