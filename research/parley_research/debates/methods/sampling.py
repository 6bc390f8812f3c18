"""Self-consistency: the vote of k samples of one model, and a single one of them."""

from functools import partial

from parley_research.debates.method import Budget, Method, Needs, Outcome
from parley_research.debates.methods.votes import nothing, stated, voted
from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import add_method

SIZES = (3, 5, 10, 20, 40)


class SelfConsistency(Method):
    """The vote of the first k samples, fewer where the budget allows fewer."""

    family = "vote"
    needs: frozenset[Needs] = frozenset({"samples"})

    def __init__(self, k: int) -> None:
        self.k = k
        self.name = f"sc{k}"
        self.title = f"self-consistency, {k} samples"

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        taken = debate.rounds[0].statements[: self.k]
        while taken and not budget.allows(sum(s.words for s in taken), sum(s.tokens for s in taken), len(taken)):
            taken = taken[:-1]
        if not taken:
            return nothing(debate)
        probabilities, answers = voted([s.answer for s in taken], len(debate.options))
        return Outcome(
            probabilities=probabilities,
            leading=answers,
            words=sum(s.words for s in taken),
            tokens=sum(s.tokens for s in taken),
            calls=len(taken),
            early=len(taken) < len(debate.rounds[0].statements),
            unexplained=0,
        )


class OneSample(Method):
    """One sample, with the confidence that it states."""

    name, title, family = "sample", "single model (one sample)", "alone"
    needs: frozenset[Needs] = frozenset({"samples"})

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        said = debate.rounds[0].statements[0]
        if not budget.allows(said.words, said.tokens, 1):
            return nothing(debate)
        return Outcome(
            probabilities=stated(said, len(debate.options)),
            leading=() if said.answer is None else (said.answer,),
            words=said.words,
            tokens=said.tokens,
            calls=1,
            early=True,
            unexplained=0,
        )


add_method(OneSample.name, OneSample)
for _k in SIZES:
    add_method(f"sc{_k}", partial(SelfConsistency, _k))
