"""Records of members from recorded debates, and methods that answer by them.

Fitted on the fit half, by group and by kind of question: how often each member was right in the blind round. The
posteriors, their priors and the weights are those of sessions (parley.client.learned.verdicts,
parley.coordinator.signals).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import partial

from parley.client.learned.verdicts import KIND_PRIOR, PRIOR, posterior_mean
from parley.coordinator.signals.reliability import weight
from parley_research.debates.method import Budget, Method, Needs, Outcome
from parley_research.debates.methods.played import after
from parley_research.debates.methods.votes import nothing
from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import add_method

Records = Mapping[str, tuple[float, ...]]
"""By kind of question, `""` for all kinds: for each member, how often it is right."""


def blind(debate: RecordedDebate) -> tuple[int | None, ...]:
    """What each member answered alone."""
    return next(iter(debate.standing()))


def counted(debates: Iterable[RecordedDebate]) -> Records:
    """The posterior means, by kind and over all kinds. An answer that could not be read is wrong."""
    counts: dict[str, list[list[int]]] = defaultdict(list)
    for debate in debates:
        for kind in dict.fromkeys(("", debate.kind)):
            table = counts[kind]
            table += [[0, 0] for _ in range(len(debate.members) - len(table))]
            for member, answer in enumerate(blind(debate)):
                table[member][0 if answer in debate.right else 1] += 1
    means = {"": tuple(posterior_mean(right, wrong, PRIOR) for right, wrong in counts[""])}
    for kind, table in counts.items():
        if kind:
            priors = [(KIND_PRIOR * p, KIND_PRIOR * (1 - p)) for p in means[""]]
            means[kind] = tuple(posterior_mean(r, w, prior) for (r, w), prior in zip(table, priors, strict=True))
    return means


def posterior(answers: Sequence[int | None], means: Sequence[float], options: int) -> tuple[float, ...]:
    """How likely each option is, if members err apart from each other and wrong answers are equally likely.

    Examples
    --------
    >>> [round(p, 3) for p in posterior((0, 1), (0.8, 0.6), 2)]
    [0.727, 0.273]
    """
    votes = [0.0] * options
    for answer, mean in zip(answers, means, strict=True):
        if answer is not None:
            votes[answer] += weight(mean, options)
    most = max(votes)
    parts = [math.exp(vote - most) for vote in votes]
    return tuple(part / sum(parts) for part in parts)


class ByRecord(Method):
    """Members weigh by their records; nothing, or everything, of the debate is played."""

    family = "learned"
    needs: frozenset[Needs] = frozenset({"members"})
    fits = True
    records: Records

    def __init__(self, name: str, title: str, *, play: bool = False, kinds: bool = True) -> None:
        self.name, self.title, self.play, self.kinds = name, title, play, kinds
        if play:
            self.needs = self.needs | {"rounds"}

    def fit(self, debates: Sequence[RecordedDebate]) -> "ByRecord":
        learned = copy(self)
        learned.records = self.learned_from(debates)
        return learned

    def learned_from(self, debates: Sequence[RecordedDebate]) -> Records:
        """The records, with the gold of these debates."""
        return counted(debates)

    def means(self, debate: RecordedDebate) -> tuple[float, ...]:
        """For each member, its record on this kind of question."""
        return self.records.get(debate.kind if self.kinds else "", self.records[""])

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        last = budget.rounds(debate, len(debate.rounds) - 1 if self.play else 0)
        if last < 0:
            return nothing(debate)
        standing = tuple(debate.standing())[last]
        probabilities = posterior(standing, self.means(debate), len(debate.options))
        silent = all(answer is None for answer in standing)
        return after(debate, last, probabilities, answers=() if silent else None, stop="" if self.play else "blind")


class BestByRecord(ByRecord):
    """The member with the best record on this kind of question, alone; where its answer cannot be read, the next."""

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        means, answers = self.means(debate), blind(debate)
        spoken = {said.member: said for said in debate.rounds[0].statements}
        words = tokens = calls = 0
        for member in sorted(spoken, key=lambda place: -means[place]):
            words, tokens = words + spoken[member].words, tokens + spoken[member].tokens
            calls += 1
            if not budget.allows(words, tokens, calls):
                return nothing(debate)
            answer = answers[member]
            if answer is not None:
                rest = (1 - means[member]) / (len(debate.options) - 1)
                probabilities = tuple(
                    means[member] if place == answer else rest for place in range(len(debate.options))
                )
                return Outcome(
                    probabilities=probabilities, leading=(answer,), words=words, tokens=tokens, calls=calls, early=True,
                    stop="blind", unexplained=0,
                )  # fmt: skip
        silent = nothing(debate)
        return Outcome(
            probabilities=silent.probabilities, leading=(), words=words, tokens=tokens, calls=calls, early=True
        )


for _method, _name, _title, _how in (
    (BestByRecord, "record_alone", "member with the best record on this kind, alone", {}),
    (ByRecord, "record_vote", "blind vote, members weigh by record on this kind", {}),
    (ByRecord, "record_vote_all", "blind vote, members weigh by record over all kinds", {"kinds": False}),
    (ByRecord, "record_full", "full debate, members weigh by record on this kind", {"play": True}),
):
    add_method(_name, partial(_method, _name, _title, **_how))
