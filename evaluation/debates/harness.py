"""Runs methods over debates: hides the gold, fits on the fit half, and keeps one scored outcome a debate and method."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from evaluation.debates.method import UNLIMITED, Budget, Method, Needs, Outcome, checked
from evaluation.debates.record import RecordedDebate
from evaluation.debates.registry import DataSet


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """One debate under one method."""

    debate: str
    question: str
    group: str
    kind: str
    outcome: Outcome
    gold: int
    credit: float
    """1: right; 0: wrong or abstained; between: the right answer is among so many that are tied."""


class NotRun(msgspec.Struct, frozen=True):
    """A cell of a table that is empty, and why."""

    method: str
    why: str


def credit(outcome: Outcome, gold: int) -> float:
    """Of a right answer, where one of the leading options is drawn."""
    return 1 / len(outcome.leading) if gold in outcome.leading else 0.0


def scored(debate: RecordedDebate, outcome: Outcome) -> Scored:
    """The outcome beside the gold."""
    return Scored(
        debate=debate.id,
        question=debate.question,
        group=debate.group,
        kind=debate.kind,
        outcome=outcome,
        gold=debate.gold,
        credit=credit(outcome, debate.gold),
    )


def missing(method: Method, data_set: DataSet, debates: Sequence[RecordedDebate]) -> list[Needs]:
    """What the method needs and the data has not."""
    has: dict[str, bool] = {name: True for name in data_set.records}
    has["members"] = "samples" not in data_set.records and any(len(d.members) > 1 for d in debates)
    return sorted(need for need in method.needs if not has.get(need, False))


def fitted(method: Method, debates: Iterable[RecordedDebate]) -> Mapping[str, Method]:
    """By group, the method after it learned from that group's debates of the fit half, which show their gold."""
    groups: dict[str, list[RecordedDebate]] = {}
    for debate in debates:
        groups.setdefault(debate.group, []).append(debate)
    return {group: method.fit(mine) for group, mine in groups.items()}


def run(
    method: Method, fit: Sequence[RecordedDebate], test: Sequence[RecordedDebate], budget: Budget = UNLIMITED
) -> list[Scored]:
    """The method on the test debates, after it learned from the fit debates where it does.

    A debate of a group without fit debates is left out where the method learns.
    """
    by_group = fitted(method, fit) if method.fits else {}
    results = []
    for debate in test:
        if method.fits and debate.group not in by_group:
            continue
        playing = by_group.get(debate.group, method)
        shown = debate if method.hindsight else debate.hidden()
        results.append(scored(debate, checked(playing.run(shown, budget), debate)))
    return results
