"""critic: the turns of a usual course: three rounds, and the verdict, which the answerer signs."""

from parley.coordinator.protocols.critic.state import ANSWERER, CRITIC, JUDGE, seat_of
from parley.coordinator.protocols.critic.turns import ANSWER, CRITIQUE, JUDGING, REWRITE, SIGN, VERDICT
from parley.coordinator.table import Usual, View

_ROUNDS = 3
_OBJECTION = 150
"""Tokens by which prompts grow with each round."""


def usual(v: View, rounds: int | None) -> tuple[Usual, ...]:
    """The turns of so many rounds."""
    rounds = min(rounds or _ROUNDS, v.settings.round_limit)
    answerer, critic, judge = (seat_of(v, role) for role in (ANSWERER, CRITIC, JUDGE))
    turns = [Usual(judge, REWRITE, answer=100)]
    for n in range(rounds):
        grown = n * _OBJECTION
        turns += [
            Usual(answerer, ANSWER, 1, grown, 195), Usual(critic, CRITIQUE, 1, 210 + grown, 170),
            Usual(judge, JUDGING, 2 if v.settings.measure_bias else 1, 540 + grown, 140),
        ]  # fmt: skip
    return (*turns, Usual(judge, VERDICT, 1, 400 + rounds * 100, 245), Usual(answerer, SIGN, 1, 165, 10))
