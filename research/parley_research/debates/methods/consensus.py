"""The consensus protocol's own stop, over recorded answers.

The score is computed by `parley.coordinator.protocols.consensus.score`. Two of its three parts are an analyst's, and
nobody recorded an analyst: so the part that is computed, `facts`, stands for the whole score.
"""

from parley.coordinator.protocols.consensus.score import facts, is_stuck
from parley.schemas.protocols.consensus import Settings
from parley_research.debates.method import Budget, Method, Needs, Outcome
from parley_research.debates.methods.played import by_vote
from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import add_method

SETTINGS = Settings()


class Consensus(Method):
    """Rounds until the score reaches its threshold, or makes no progress."""

    name, title, family = "consensus", "consensus (threshold or stuck)", "protocol"
    needs: frozenset[Needs] = frozenset({"members", "rounds"})

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        most = budget.rounds(debate, len(debate.rounds) - 1)
        trend: list[float] = []
        for last, answers in zip(range(most + 1), debate.standing(), strict=False):
            sides = [[1.0] * answers.count(place) for place in range(len(debate.options)) if place in answers]
            sides += [[1.0] for answer in answers if answer is None]
            trend.append(facts(sides))
            if trend[-1] >= SETTINGS.threshold:
                return by_vote(debate, last, stop="threshold")
            if is_stuck(trend, SETTINGS):
                return by_vote(debate, last, stop="stuck")
        return by_vote(debate, most, stop="budget" if most < len(debate.rounds) - 1 else "")


add_method(Consensus.name, Consensus)
