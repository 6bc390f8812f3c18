"""Methods that read the blind round alone, and the full debate."""

from collections import Counter
from collections.abc import Sequence

from parley_research.debates.method import Budget, Method, Needs, Outcome, leading
from parley_research.debates.methods.played import after, by_vote, shares
from parley_research.debates.record import RecordedDebate, Statement
from parley_research.debates.registry import add_method


def nothing(debate: RecordedDebate) -> Outcome:
    """It abstains, and has spent nothing."""
    options = len(debate.options)
    return Outcome(probabilities=(1 / options,) * options, leading=())


def stated(said: Statement, options: int) -> tuple[float, ...]:
    """What a statement says of each option: its belief; its confidence, the rest shared; all on its answer; even."""
    if said.belief:
        return said.belief
    if said.answer is None:
        return (1 / options,) * options
    sure = 1.0 if said.confidence is None else said.confidence
    rest = (1 - sure) / (options - 1)
    return tuple(sure if place == said.answer else rest for place in range(options))


def alone(debate: RecordedDebate, member: int, budget: Budget) -> Outcome:
    """What one member said in the blind round, at the cost of that statement."""
    said = next((s for s in debate.rounds[0].statements if s.member == member), None)
    if said is None or not budget.allows(said.words, said.tokens, 1):
        return nothing(debate)
    given = stated(said, len(debate.options))
    return Outcome(
        probabilities=given,
        leading=() if said.answer is None else (said.answer,),
        words=said.words,
        tokens=said.tokens,
        calls=1,
        early=True,
        unexplained=0,
    )


class FirstMember(Method):
    """The first member's answer, alone."""

    name, title, family = "single", "single model (the first member)", "alone"
    needs: frozenset[Needs] = frozenset({"members"})

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        return alone(debate, 0, budget)


class BestMember(Method):
    """The member that was right most often when alone, in the fit half, whatever the question."""

    name, title, family = "best", "best member (known from the fit half)", "alone"
    needs: frozenset[Needs] = frozenset({"members"})
    fits = True

    def __init__(self, member: int = 0) -> None:
        self.member = member

    def fit(self, debates: Sequence[RecordedDebate]) -> "BestMember":
        right: Counter[int] = Counter()
        for debate in debates:
            right.update(s.member for s in debate.rounds[0].statements if s.answer in debate.right)
        return BestMember(max(right, key=lambda member: (right[member], -member), default=0))

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        return alone(debate, self.member, budget)


class BlindVote(Method):
    """The vote of what each member answered alone."""

    name, title, family = "vote", "majority vote, no debate", "vote"
    needs: frozenset[Needs] = frozenset({"members"})

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        return by_vote(debate, budget.rounds(debate, 0))


class ConfidenceVote(Method):
    """The mean of what each stated: beliefs or confidences, not answers alone."""

    name, title, family = "confidence", "vote weighted by stated confidence", "vote"
    needs: frozenset[Needs] = frozenset({"confidence"})

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        if budget.rounds(debate, 0) < 0:
            return nothing(debate)
        options = len(debate.options)
        given = [s for s in debate.rounds[0].statements if s.answer is not None and s.confidence is not None]
        weights = [sum(s.confidence or 0.0 for s in given if s.answer == place) for place in range(options)]
        total = sum(weights)
        if total <= 0:
            return by_vote(debate, 0)
        return after(debate, 0, tuple(weight / total for weight in weights))


class FullDebate(Method):
    """Every recorded round, then the vote."""

    name, title, family = "full", "full debate, then the vote", "debate"
    needs: frozenset[Needs] = frozenset({"members", "rounds"})

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        return by_vote(debate, budget.rounds(debate, len(debate.rounds) - 1))


def voted(answers: Sequence[int | None], options: int) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """(shares by option, what is answered) of some answers."""
    given = shares(tuple(answers), options)
    return given, () if all(answer is None for answer in answers) else leading(given)


for _method in (FirstMember, BestMember, BlindVote, ConfidenceVote, FullDebate):
    add_method(_method.name, _method)
