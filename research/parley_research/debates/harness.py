"""Runs methods over debates: hides the gold, fits on the fit half, and keeps one scored outcome a debate and method."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from parley_research.debates.method import TIE, UNLIMITED, Budget, Method, Needs, Outcome, checked
from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import DataSet


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """One debate under one method."""

    debate: str
    question: str
    group: str
    kind: str
    outcome: Outcome
    right: float
    """Probability that it gave to what is right, 0 to 1."""
    confidence: float
    """Probability that it gave to its own answer, 0 to 1."""
    reciprocal_rank: float
    """1 over the place of the right option by probability, ties at their mean place; 0: none is right, or it named no
    option, so there is no order to rank by."""
    credit: float
    """1: right; 0: wrong or abstained; between: the right answer is among so many that are tied."""


class NotRun(msgspec.Struct, frozen=True):
    """A cell of a table that is empty, and why."""

    method: str
    why: str


def credit(outcome: Outcome, right: frozenset[int]) -> float:
    """The chance of a right answer, where one of the leading options is drawn; 0 where it abstained."""
    return sum(place in right for place in outcome.leading) / len(outcome.leading) if outcome.leading else 0.0


def reciprocal_rank(probabilities: Sequence[float], right: frozenset[int]) -> float:
    """1 over the place of the likeliest right option, from 1; tied options share the mean of their places."""
    if not right:
        return 0.0
    best = max(probabilities[place] for place in right)
    above = sum(p > best + TIE for p in probabilities)
    tied = sum(abs(p - best) <= TIE for p in probabilities)
    return 1 / (above + (tied + 1) / 2)


def reads_gold(method: Method, debates: Iterable[RecordedDebate]) -> bool:
    """Whether what the method says depends on the gold that a debate shows: it would if it looked at it."""
    for debate in debates:
        other = (max(debate.gold, 0) + 1) % len(debate.options)
        moved = msgspec.structs.replace(debate, gold=other, also_right=())
        plain = method.run(debate.hidden(), UNLIMITED)
        if any(method.run(shown, UNLIMITED) != plain for shown in (debate, moved)):
            return True
    return False


def scored(debate: RecordedDebate, outcome: Outcome) -> Scored:
    """The outcome beside the gold."""
    return Scored(
        debate=debate.id,
        question=debate.question,
        group=debate.group,
        kind=debate.kind,
        outcome=outcome,
        right=sum(outcome.probabilities[place] for place in debate.right),
        confidence=max(outcome.probabilities),
        reciprocal_rank=reciprocal_rank(outcome.probabilities, debate.right) if outcome.leading else 0.0,
        credit=credit(outcome, debate.right),
    )


def missing(method: Method, data_set: DataSet, debates: Sequence[RecordedDebate]) -> list[Needs]:
    """What the method needs and the data has not."""
    has: dict[str, bool] = {name: True for name in data_set.records}
    one_voice = data_set.records & {"samples", "assigned"}
    has["members"] = not one_voice and any(len(d.members) > 1 for d in debates)
    has["pair"] = any(len(d.members) > 1 for d in debates)
    return sorted(need for need in method.needs if not has.get(need, False))


def fitted(method: Method, debates: Iterable[RecordedDebate]) -> Mapping[str, Method]:
    """By group, the method after it learned from that group's debates of the fit half, which show their gold."""
    groups: dict[str, list[RecordedDebate]] = {}
    for debate in debates:
        groups.setdefault(debate.group, []).append(debate)
    return {group: method.fit(mine) for group, mine in groups.items()}


def apart(fit: Iterable[RecordedDebate], test: Iterable[RecordedDebate]) -> None:
    """Raises ValueError where a question lies in both halves: what is learned on it would be tested on it."""
    both = {debate.question for debate in fit} & {debate.question for debate in test}
    if both:
        raise ValueError(f"{len(both)} questions lie in both halves, such as {min(both)!r}")


def prepared(method: Method, fit: Iterable[RecordedDebate]) -> Mapping[str, Method] | None:
    """The method of each group, fitted; None: it does not fit, and is the same for all."""
    return fitted(method, fit) if method.fits else None


def play(
    method: Method,
    by_group: Mapping[str, Method] | None,
    test: Iterable[RecordedDebate],
    budget: Budget = UNLIMITED,
) -> list[Scored]:
    """The method on the test debates. A debate of a group without fit debates is left out where the method learns.

    Raises
    ------
    ValueError
        An outcome that cannot be; it names the debate.
    """
    results = []
    for debate in test:
        playing = method if by_group is None else by_group.get(debate.group)
        if playing is not None:
            shown = debate if method.hindsight else debate.hidden()
            results.append(scored(debate, checked(playing.run(shown, budget), debate)))
    return results


def run(
    method: Method, fit: Sequence[RecordedDebate], test: Sequence[RecordedDebate], budget: Budget = UNLIMITED
) -> list[Scored]:
    """Fit where it learns, then play."""
    return play(method, prepared(method, fit), test, budget)
