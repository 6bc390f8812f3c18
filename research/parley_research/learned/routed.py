"""When to debate at all: each kind of question goes to one member, a vote or a debate, by expected gain at its cost.

On the fit half, each of the three is tried on every kind by five-fold cross-validation. The kind goes to the one with
the greatest share of right answers less the price of its words. A kind with fewer than `LEAST` debates goes where all
kinds together go.
"""

from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from functools import partial
from hashlib import sha256

import msgspec
import numpy as np

from parley_research.debates.harness import credit
from parley_research.debates.method import UNLIMITED, Budget, Method, Needs, Outcome
from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import add_method
from parley_research.learned.records import BestByRecord, ByRecord
from parley_research.learned.stopping import LearnedStop

FOLDS = 5
LEAST = 20
PRICE = 0.85
"""As of the learned stop: what one would give for 1,000 words, in points of a share."""


class Expected(msgspec.Struct, frozen=True):
    """What a way of answering came to on one kind of question, in cross-validation."""

    accuracy: float
    words: float

    def worth(self, price: float) -> float:
        """Its accuracy less the price of its words."""
        return self.accuracy - price * self.words / 1_000


def fold(debate: RecordedDebate) -> int:
    """Of its question: debates about one question are in one fold."""
    return sha256(f"fold/{debate.question}".encode()).digest()[0] % FOLDS


def crossed(method: Method, debates: Sequence[RecordedDebate]) -> dict[str, Outcome]:
    """By debate: the outcome of the method, fitted on the other folds."""
    by_debate: dict[str, Outcome] = {}
    for part in range(FOLDS):
        mine = [debate for debate in debates if fold(debate) == part]
        others = [debate for debate in debates if fold(debate) != part]
        if mine and others:
            fitted = method.fit(others)
            by_debate |= {debate.id: fitted.run(debate.hidden(), UNLIMITED) for debate in mine}
    return by_debate


class Routed(Method):
    """By kind of question: the best member alone, the blind vote by record, or a debate with a learned stop."""

    name, title, family = "auto", "routed: one member, a vote or a debate, by kind", "learned"
    needs: frozenset[Needs] = frozenset({"rounds", "members", "words"})
    fits = True

    def __init__(self, price: float = PRICE) -> None:
        self.price = price
        self.ways: dict[str, Method] = {
            "one member": BestByRecord("record_alone", ""),
            "vote": ByRecord("record_vote", ""),
            "debate": LearnedStop("learned_stop", "", price),
        }
        self.expected: dict[str, dict[str, Expected]] = {}
        """By kind and way; kind `""`: all together."""

    def fit(self, debates: Sequence[RecordedDebate]) -> "Routed":
        learned = copy(self)
        outcomes = {way: crossed(method, debates) for way, method in self.ways.items()}
        by_kind: dict[str, list[RecordedDebate]] = defaultdict(list)
        for debate in debates:
            by_kind[debate.kind].append(debate)
        known = {kind: mine for kind, mine in by_kind.items() if len(mine) >= LEAST}
        learned.expected = {
            kind: {way: expected(by_debate, mine) for way, by_debate in outcomes.items()}
            for kind, mine in {**known, "": list(debates)}.items()
        }
        learned.ways = {way: method.fit(debates) for way, method in self.ways.items()}
        return learned

    def way(self, kind: str) -> str:
        """Where a kind of question goes."""
        ways = self.expected.get(kind, self.expected[""])
        return max(ways, key=lambda way: ways[way].worth(self.price))

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        return self.ways[self.way(debate.kind)].run(debate, budget)


def expected(outcomes: dict[str, Outcome], debates: Sequence[RecordedDebate]) -> Expected:
    """Mean share of right answers, and mean words."""
    pairs = [(outcomes[debate.id], debate) for debate in debates if debate.id in outcomes]
    if not pairs:
        return Expected(0.0, 0.0)
    right = [credit(outcome, debate.right) for outcome, debate in pairs]
    return Expected(float(np.mean(right)), float(np.mean([outcome.words for outcome, _ in pairs])))


add_method("auto", partial(Routed))
