"""critic: the turns of a usual course: three rounds, the verdict, and the critic's last look.

Sizes are those of parley/demos/critic.yaml, as tests/played/test_estimates.py prints them.
"""

from parley.coordinator.protocols.critic.state import ANSWERER, CRITIC, JUDGE, seat_of
from parley.coordinator.protocols.critic.turns import ANSWER, COUNTERSIGN, CRITIQUE, JUDGING, REWRITE, VERDICT
from parley.coordinator.table import Usual, View

_ROUNDS = 3
_OBJECTION = 165
"""Tokens by which prompts grow with each round."""


def usual(v: View, rounds: int | None) -> tuple[Usual, ...]:
    """The turns of so many rounds."""
    rounds = min(rounds or _ROUNDS, v.settings.round_limit)
    answerer, critic, judge = (seat_of(v, role) for role in (ANSWERER, CRITIC, JUDGE))
    turns = [Usual(judge, REWRITE, answer=100)]
    for n in range(rounds):
        grown = n * _OBJECTION
        turns += [
            Usual(answerer, ANSWER, 1, 90 + grown, 190),
            Usual(critic, CRITIQUE, 1, 290 + grown, 165),
            Usual(judge, JUDGING, 2 if v.settings.measure_bias else 1, 560 + grown, 125),
        ]
    grown = rounds * _OBJECTION
    return (*turns, Usual(judge, VERDICT, 1, 220 + grown, 245), Usual(critic, COUNTERSIGN, 1, 330 + grown, 15))
