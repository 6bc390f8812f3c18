"""Records of members from agreement alone, where no gold is there: Dawid and Skene (1979), by crowd-kit.

A member that often agrees with what the others, weighted in turn, hold is taken to be right. Its record is the mean of
the diagonal of its confusion matrix, weighted by how often each answer is the right one. crowd-kit is in the extra
`eval`.
"""

import warnings
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import add_method, add_missing
from parley_research.learned.records import ByRecord, Records, blind

ITERATIONS = 100


class NoLibrary(Exception):
    """crowd-kit is not installed. The environment's: names the extra."""


def agreed(answers: Sequence[tuple[str, str, int]], members: Sequence[str]) -> dict[str, float]:
    """How often each member is right, by agreement.

    Parameters
    ----------
    answers
        (question, member, place of the answer); equal places mean the same answer in all questions.
    members
        Whose records are wanted; one that answered nothing has none.

    Raises
    ------
    NoLibrary
    """
    try:
        import pandas as pd
        from crowdkit.aggregation import DawidSkene
    except ImportError as error:
        raise NoLibrary(f"crowd-kit is not installed ({error}); pip install 'parley-research[agreement]'") from error
    table = pd.DataFrame(answers, columns=["task", "worker", "label"])
    with warnings.catch_warnings():  # crowd-kit 1.4 calls what pandas 3 is about to drop
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        fitted: Any = DawidSkene(n_iter=ITERATIONS).fit(table)
    priors = fitted.priors_
    rates = {}
    for member in members:
        if member in fitted.errors_.index.get_level_values("worker"):
            matrix = fitted.errors_.loc[member]
            rates[member] = float(sum(priors[y] * matrix.loc[y, y] for y in priors.index if y in matrix.index))
    return rates


def by_agreement(debates: Sequence[RecordedDebate]) -> Records:
    """The records by kind and over all kinds. The gold is not looked at. A kind in which fewer than two members
    answered has the record over all kinds."""
    answers: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
    members = debates[0].members
    for debate in debates:
        for member, answer in zip(members, blind(debate), strict=True):
            if answer is not None:
                row = (debate.id, member, answer)
                answers[debate.kind].append(row)
    rows = [row for mine in answers.values() for row in mine]
    means = {"": agreed(rows, members)} | {kind: agreed(mine, members) for kind, mine in answers.items() if kind}
    return {kind: tuple(rates.get(member, means[""].get(member, 0.5)) for member in members)
            for kind, rates in means.items()}  # fmt: skip


class ByAgreement(ByRecord):
    """Members weigh by records that were learned without any gold."""

    def learned_from(self, debates: Sequence[RecordedDebate]) -> Records:
        """The gold of these debates is hidden first."""
        return by_agreement([debate.hidden() for debate in debates])


TITLE = "blind vote, members weigh by agreement (Dawid-Skene, no gold)"
if find_spec("crowdkit") is not None:
    add_method("agreement_vote", partial(ByAgreement, "agreement_vote", TITLE))
else:
    add_missing("agreement_vote", "crowd-kit is not installed; pip install 'parley-research[agreement]'")
