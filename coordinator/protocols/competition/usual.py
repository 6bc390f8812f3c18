"""competition: the turns of a usual course: the whole format, each turn shown what was said before it.

Sizes are those of parley/demos/competition.yaml, as tests/played/test_estimates.py prints them.
"""

from parley.coordinator.protocols.competition.plan import plan
from parley.coordinator.protocols.competition.turns import (
    ANSWER,
    BID,
    CAPTAIN,
    CONFER,
    QUESTION,
    REVIEW,
    SCORE,
    SPEAK,
    SUMMARIZE,
)
from parley.coordinator.table import Usual, View

_POST = 280
"""Tokens of something said, as others are shown it with its marks."""
_SAID = {SPEAK, QUESTION, ANSWER}
_AT_THE_END = {REVIEW, SUMMARIZE}
_ANSWERS = {
    CONFER: 130,
    SPEAK: 90,
    QUESTION: 65,
    ANSWER: 115,
    CAPTAIN: 40,
    BID: 40,
    SCORE: 80,
    SUMMARIZE: 170,
    REVIEW: 235,
}


def usual(v: View, rounds: int | None) -> tuple[Usual, ...]:
    """The turns of the format; it has always the same rounds."""
    least = plan(v).least
    said = sum(p.turns for p in least if p.kind in _SAID)

    def heard(kind: str) -> int:
        if kind in _AT_THE_END:
            return said * _POST
        return _POST // 2 if kind == CONFER else (said + (kind == SCORE)) * _POST // 2

    return tuple(Usual(p.seat, p.kind, p.turns, heard(p.kind), _ANSWERS.get(p.kind, 150)) for p in least)
