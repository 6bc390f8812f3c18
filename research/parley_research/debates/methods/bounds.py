"""Bounds that know the answer: no method can be better than the first two, and nobody can use them."""

from functools import partial

from parley_research.debates.harness import credit
from parley_research.debates.method import Budget, Method, Needs, Outcome
from parley_research.debates.methods.played import after, by_vote
from parley_research.debates.methods.votes import alone, nothing
from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import add_method


class OracleStop(Method):
    """The round whose vote is best, of several the first."""

    name, title, family = "oracle_stop", "oracle stop (knows the answer)", "bound"
    needs: frozenset[Needs] = frozenset({"members", "rounds"})
    hindsight = True

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        most = budget.rounds(debate, len(debate.rounds) - 1)
        played = [by_vote(debate, last) for last in range(most + 1)]
        return max(played, key=lambda outcome: credit(outcome, debate.right)) if played else nothing(debate)


class OracleMember(Method):
    """A member that is right when alone, if there is one."""

    name, title, family = "oracle_member", "oracle member (knows who is right)", "bound"
    needs: frozenset[Needs] = frozenset({"members"})
    hindsight = True

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        right = [s.member for s in debate.rounds[0].statements if s.answer in debate.right]
        return alone(debate, right[0] if right else 0, budget)


class OracleSample(Method):
    """A right sample, if there is one among the first k ("best of k", pass@k)."""

    family = "bound"
    needs: frozenset[Needs] = frozenset({"samples"})
    hindsight = True

    def __init__(self, k: int) -> None:
        self.k = k
        self.name, self.title = f"best_of_{k}", f"oracle: best of {k} samples"

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        taken = debate.rounds[0].statements[: self.k]
        answers = [s.answer for s in taken if s.answer is not None]
        if not answers or not budget.allows(sum(s.words for s in taken), sum(s.tokens for s in taken), len(taken)):
            return nothing(debate)
        best = next((a for a in answers if a in debate.right), answers[0])
        given = tuple(float(place == best) for place in range(len(debate.options)))
        return Outcome(
            probabilities=given, leading=(best,), words=sum(s.words for s in taken),
            tokens=sum(s.tokens for s in taken), calls=len(taken), unexplained=0,
        )  # fmt: skip


class OracleVerdict(Method):
    """The round after which the judge was nearest to the answer, of several the first."""

    name, title, family = "oracle_judge", "oracle stop of the judge (knows the answer)", "bound"
    needs: frozenset[Needs] = frozenset({"verdicts"})
    hindsight = True

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        most = budget.rounds(debate, len(debate.rounds) - 1)
        played = [after(debate, last, debate.rounds[last].verdict) for last in range(most + 1)]
        return max(played, key=lambda o: sum(o.probabilities[p] for p in debate.right)) if played else nothing(debate)


for _method in (OracleStop, OracleMember, OracleVerdict):
    add_method(_method.name, _method)
for _k in (10, 100):
    add_method(f"best_of_{_k}", partial(OracleSample, _k))
