"""Methods that read answers and count votes: no debate, one member alone, the full debate."""

from evaluation.debates.method import Budget, Method, Outcome
from evaluation.debates.methods.played import by_vote
from evaluation.debates.record import RecordedDebate
from evaluation.debates.registry import add_method


class BlindVote(Method):
    """The vote of what each member answered alone."""

    name, title, family = "vote", "majority vote, no debate", "vote"
    needs = frozenset({"members"})

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        return by_vote(debate, budget.rounds(debate, 0))


class FullDebate(Method):
    """Every recorded round, then the vote."""

    name, title, family = "full", "full debate", "debate"
    needs = frozenset({"members", "rounds"})

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        return by_vote(debate, budget.rounds(debate, len(debate.rounds) - 1))


add_method("vote", BlindVote)
add_method("full", FullDebate)
