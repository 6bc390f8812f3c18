"""Debates under every stopping rule, side by side."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from parley_research import stops
from parley_research.loaders import Debate
from parley_research.statistics import Counts, Interval, ratio, resampled
from parley_research.stops import WHOLE, Played, Rule

FULL, NO_DEBATE, UNANIMITY, UNCHANGED = "full debate", "no debate (vote of round 0)", "unanimity", "one unchanged round"
RELATIVE, ABSOLUTE = "equation 10, relative", "equation 10, absolute"
UNGATED, ORACLE = "equation 10, relative, gate off", "oracle stop (hindsight)"
STOPPING: dict[str, Rule] = {
    FULL: stops.full,
    UNANIMITY: stops.unanimity,
    UNCHANGED: stops.unchanged,
    RELATIVE: stops.equation_10(stops.RELATIVE),
    ABSOLUTE: stops.equation_10(stops.ABSOLUTE),
    UNGATED: stops.equation_10(stops.UNGATED),
    ORACLE: stops.oracle,
}


class Comparison:
    """Some debates under every rule, and the resampled sums."""

    def __init__(self, debates: Sequence[Debate], alone: Sequence[str]) -> None:
        """`alone`: what each agent is called where it answers alone."""
        self.debates = debates
        self.alone = [f"{name} alone" for name in alone]
        singles = {name: stops.alone(i) for i, name in enumerate(self.alone)}
        self.rules: dict[str, Rule] = {NO_DEBATE: stops.no_debate, **singles, **STOPPING}
        self.played: dict[str, list[Played]] = {n: [rule(d) for d in debates] for n, rule in self.rules.items()}

    @cached_property
    def _sums(self) -> dict[tuple[str, str], Counts]:
        columns = {("", ""): [WHOLE] * len(self.debates)}
        for rule in self.rules:
            for what in ("credit", "words"):
                columns[rule, what] = [getattr(p, what) for p in self.played[rule]]
        sums = resampled(np.array(list(columns.values()), dtype=np.int64).T, [d.question for d in self.debates])
        return dict(zip(columns, sums.T, strict=True))

    def accuracy(self, rule: str) -> Interval:
        """Share of right answers, in expectation over ties."""
        return ratio(self._sums[rule, "credit"], self._sums["", ""])

    def gain(self, rule: str, over: str) -> Interval:
        """Accuracy of one rule less that of another on the same debates."""
        return ratio(self._sums[rule, "credit"] - self._sums[over, "credit"], self._sums["", ""])

    def words(self, rule: str) -> Interval:
        """Words spoken until it stopped, of all words of the full debates."""
        return ratio(self._sums[rule, "words"], self._sums[FULL, "words"])

    def rounds(self, rule: str) -> float:
        """Mean, after the blind one."""
        return sum(p.rounds for p in self.played[rule]) / len(self.debates)

    def differ(self, rule: str, other: str) -> tuple[int, int]:
        """Debates in which its answer is better than the other's, and worse."""
        pairs = [(a.credit, b.credit) for a, b in zip(self.played[rule], self.played[other], strict=True)]
        return sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)

    def early(self, rule: str) -> int:
        """Debates that it stopped before they ended."""
        return sum(p.early for p in self.played[rule])

    def best_alone(self) -> str:
        """The single agent with the most right answers, picked in hindsight."""
        return max(self.alone, key=lambda name: self.accuracy(name).value)
