"""What a method comes to over many debates, and how two methods compare."""

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from parley_research.debates.calibration import Calibration, calibration, debiased_interval
from parley_research.debates.harness import Scored
from parley_research.debates.method import Method
from parley_research.debates.statistics import ALPHA, difference, equivalent, mcnemar, of_questions, share, wilcoxon
from parley_research.statistics import Interval

Word = Literal["better", "worse", "the same", "not decided"]


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a table. Shares are 0 to 1; counts are means a debate. None: not recorded."""

    method: str
    title: str
    family: str
    hindsight: bool
    fits: bool
    debates: int
    accuracy: Interval
    reciprocal_rank: float
    abstained: int
    """Answers that name no option."""
    coverage: float
    """Share of debates in which it named an option."""
    calibration: Calibration | None
    """Of the answers that name an option; log loss of all. None: no confidence is stated, all of them are the same."""
    ece: Interval | None
    """Debiased, of the answers that name an option."""
    words: float | None
    tokens: float | None
    calls: float
    rounds: float
    early: int
    flips: float
    unexplained: float | None
    same_as: str = ""
    """A method before it in the table that said and spent the same everywhere."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One method against another on the same debates."""

    method: str
    against: str
    gain: Interval
    better: int
    """Questions on which it is better."""
    worse: int
    wilcoxon: float
    mcnemar: float
    adjusted: float
    """Wilcoxon's p, adjusted for all comparisons of the data set (Benjamini and Hochberg)."""
    equivalent: float
    """p of the test that the two differ by more than the margin."""

    @property
    def word(self) -> Word:
        """What to call it. `better` or `worse`: the test finds a difference, and the interval lies on that side of 0.

        The test alone is not enough. Wilcoxon's ranks weigh many small differences against a few large ones, so its p
        may be small while the mean gain is not shown to differ from 0. `the same`: within the margin, by the
        equivalence test.
        """
        if self.adjusted < ALPHA and self.gain.low > 0:
            return "better"
        if self.adjusted < ALPHA and self.gain.high < 0:
            return "worse"
        return "the same" if self.equivalent < ALPHA else "not decided"


def measured(method: Method, results: Sequence[Scored], *, words: bool, same_as: str = "") -> Measures:
    """All figures of one method. `words`: whether the data records them."""
    questions = [f"{r.question}" for r in results]
    outcomes = [r.outcome for r in results]
    credits = [r.credit for r in results]
    answered = [r for r in results if r.outcome.leading]
    sure, right = [r.confidence for r in answered], [r.credit for r in answered]
    stated = bool(answered) and not method.hindsight and method.has_confidence
    tokens = [o.tokens for o in outcomes]
    unexplained = [o.unexplained for o in outcomes]
    return Measures(
        method=method.name,
        title=method.title,
        family=method.family,
        hindsight=method.hindsight,
        fits=method.fits,
        debates=len(results),
        accuracy=share(credits, questions),
        reciprocal_rank=float(np.mean([r.reciprocal_rank for r in results])),
        abstained=len(results) - len(answered),
        coverage=len(answered) / len(results),
        calibration=calibration(sure, right, [r.right for r in results]) if stated else None,
        ece=debiased_interval(sure, right, [r.question for r in answered]) if stated else None,
        words=float(np.mean([o.words for o in outcomes])) if words else None,
        tokens=float(np.mean(tokens)) if all(tokens) else None,
        calls=float(np.mean([o.calls for o in outcomes])),
        rounds=float(np.mean([o.rounds for o in outcomes])),
        early=sum(o.early for o in outcomes),
        flips=float(np.mean([o.flips for o in outcomes])),
        unexplained=None if None in unexplained else float(np.mean([u or 0 for u in unexplained])),
        same_as=same_as,
    )


def compared(method: str, results: Sequence[Scored], against: str, others: Sequence[Scored], margin: float) -> Compared:
    """The method against another, on the debates that both were run on; not adjusted yet.

    Parameters
    ----------
    margin
        Of the equivalence test, a share such as .01.
    """
    by_id = {(r.group, r.debate): r for r in others}
    pairs = [(r, by_id[r.group, r.debate]) for r in results if (r.group, r.debate) in by_id]
    first, second = [a.credit for a, _ in pairs], [b.credit for _, b in pairs]
    questions = [a.question for a, _ in pairs]
    differences = of_questions(first, second, questions)
    better, worse = int((differences > 1e-12).sum()), int((differences < -1e-12).sum())
    p = wilcoxon(differences)
    return Compared(
        method=method,
        against=against,
        gain=difference(first, second, questions),
        better=better,
        worse=worse,
        wilcoxon=p,
        mcnemar=mcnemar(better, worse),
        adjusted=p,
        equivalent=equivalent(differences, margin),
    )


def front(rows: Sequence[Measures]) -> list[str]:
    """Methods that no other beats in accuracy at as few words (or calls, where words are not recorded) or fewer.

    Bounds are left out: nobody can use them.
    """
    usable = [row for row in rows if not row.hindsight and not row.same_as]
    cost = {row.method: row.calls if row.words is None else row.words for row in usable}
    best: list[str] = []
    reached = -1.0
    for row in sorted(usable, key=lambda row: (cost[row.method], -row.accuracy.value)):
        if row.accuracy.value > reached:
            best.append(row.method)
            reached = row.accuracy.value
    return best
