"""A learned stop over recorded debates: a rule (parley_research/learned/round_value.py), fitted here.

The fit is ridge regression of what one more round changed: 1 where the leading answer became right, -1 where it became
wrong. Features are those that a session has. Members weigh by their records, or in debates before a judge the judge's
belief counts. Recorded debates say words and no tokens: a word is priced as a token.

The probability of the answer is read by isotonic regression of (stated, right) over all rounds of the fit half.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from scipy.optimize import isotonic_regression

from parley.coordinator.schedulers.controller import advance, begin
from parley.coordinator.signals.reliability import calibrated, shares
from parley.schemas.control import Signals
from parley.schemas.past_sessions.learned import MOST_KNOTS, Calibration
from parley_research.debates.method import Budget, Method, Needs, Outcome, leading
from parley_research.debates.methods.controlled import Seen, control, seen
from parley_research.debates.methods.played import after
from parley_research.debates.methods.votes import nothing
from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import add_method
from parley_research.learned import round_value
from parley_research.learned.records import Records, counted, posterior
from parley_research.learned.round_value import FEATURES, RoundValue, ridge

CONTROL = control({})
PRICES: dict[str, float] = {"learned_stop": 0.85, "learned_stop_free": 0.0}
"""Points of a share for 1,000 words. Chosen on the fit half alone (python -m parley_research.learned.choose)."""
JUDGE_PRICES: dict[str, float] = {"judge_learned": 0.25, "judge_learned_free": 0.0}


class Step(msgspec.Struct, frozen=True):
    """What is known after one round."""

    features: Mapping[str, float]
    cost: int
    """Words of the dearest round so far."""
    probabilities: tuple[float, ...]
    """By option, by record or as the judge believes."""


@lru_cache(maxsize=50_000)
def _signals(options: int, course: tuple[Seen, ...], trust: tuple[float, ...]) -> tuple[Signals, ...]:
    """The controller's signals after each round. Many debates take the same course."""
    names = tuple(f"o{place}" for place in range(options))
    weights = {f"m{place}": factor for place, factor in enumerate(trust)} or None
    state = begin(CONTROL, names, course[0].observation(), trust=weights)
    for step in course[1:]:
        state = advance(CONTROL, state, step.observation())
    return state.rounds


def steps(debate: RecordedDebate, means: Sequence[float] = ()) -> list[Step]:
    """After each round.

    Parameters
    ----------
    means
        Each member's record; none: a judge believes, or all weigh the same.
    """
    options = len(debate.options)
    named = {f"m{place}": mean for place, mean in enumerate(means)}
    trust = tuple(shares(named, options).values()) if means else ()
    course = tuple(islice(seen(debate, tokens=False), len(debate.rounds)))
    signals = _signals(options, course, trust)
    steps_of: list[Step] = []
    most = before = 0
    for last, standing in enumerate(debate.standing()):
        words = debate.words(last)
        most, before = max(most, words - before), words
        verdict = debate.rounds[last].verdict
        probabilities = verdict or posterior(standing, means or (0.6,) * len(standing), options)
        steps_of.append(Step(round_value.features(signals[: last + 1]), most, probabilities))
    return steps_of


def right(debate: RecordedDebate, step: Step) -> float:
    """1 where the leading answer is right; between where it is one of several."""
    first = leading(step.probabilities)
    return sum(place in debate.right for place in first) / len(first)


def fitted(debates: Sequence[RecordedDebate], records: Records | None, price: float, version: str) -> RoundValue:
    """The coefficients, from every round after which another was played."""
    rows, gains, words = [], [], []
    for debate in debates:
        known = steps(debate, () if records is None else records.get(debate.kind, records[""]))
        now = [right(debate, step) for step in known]
        for last in range(len(known) - 1):
            rows.append([known[last].features[name] for name in FEATURES])
            gains.append(now[last + 1] - now[last])
            words.append(debate.words(last + 1) - debate.words(last))
    coefficients = ridge(np.array(rows), np.array(gains)) if rows else np.zeros(len(FEATURES))
    return RoundValue(
        version=version,
        coefficients={name: round(float(c), 6) for name, c in zip(FEATURES, coefficients, strict=True)},
        price=price,
        tokens=round(float(np.mean(words)), 1) if words else 0.0,
        fitted_on=f"{len(debates):,} debates of the fit half",
        debates=len(debates),
    )


def isotonic(stated: Sequence[float], right: Sequence[float], version: str, on: str, protocol: str = "") -> Calibration:
    """Rising knots from stated confidence to the share that was right; equal confidences have one knot.

    Parameters
    ----------
    stated, right
        Of as many answers, one or more; 0 to 1.
    """
    places, inverse, counts = np.unique(
        np.round(np.asarray(stated, dtype=np.float64), 9), return_inverse=True, return_counts=True
    )
    means = np.bincount(inverse, weights=np.asarray(right, dtype=np.float64)) / counts
    shares = np.clip(isotonic_regression(means, weights=counts.astype(np.float64)).x, 0, 1)
    knots = list(zip(places.tolist(), shares.tolist(), strict=True))
    inner = [
        knots[i] for i in range(1, len(knots) - 1) if not (knots[i - 1][1] == knots[i][1] == knots[i + 1][1])
    ]  # on a level stretch its ends suffice
    kept = [knots[0], *inner, *knots[1:][-1:]]
    if len(kept) > MOST_KNOTS:
        at = np.linspace(0, len(kept) - 1, MOST_KNOTS).round().astype(int)
        kept = [kept[place] for place in at.tolist()]
    return Calibration(
        version=version, protocol=protocol, method="isotonic", knots=tuple(kept), fitted_on=on, outcomes=len(stated)
    )


class LearnedStop(Method):
    """Plays while one more round is worth its words, and answers by record, or as the judge believes then."""

    family = "learned"
    fits = True
    records: Records | None = None
    value: RoundValue
    reading: Calibration | None = None

    def __init__(self, name: str, title: str, price: float, *, judged: bool = False, read: bool = True) -> None:
        self.name, self.title, self.price, self.judged, self.read = name, title, price, judged, read
        needs: set[Needs] = {"verdicts"} if judged else {"rounds", "members"}
        self.needs = frozenset(needs)

    def fit(self, debates: Sequence[RecordedDebate]) -> "LearnedStop":
        learned = copy(self)
        learned.records = None if self.judged else counted(debates)
        learned.value = fitted(debates, learned.records, self.price, self.name)
        pairs = [(step, right(debate, step)) for debate in debates for step in learned.steps(debate)]
        stated, outcomes = [max(step.probabilities) for step, _ in pairs], [was for _, was in pairs]
        learned.reading = isotonic(stated, outcomes, self.name, f"{len(debates):,} debates") if self.read else None
        return learned

    def steps(self, debate: RecordedDebate) -> list[Step]:
        """After each round, with the records that were learned."""
        return steps(debate, () if self.records is None else self.records.get(debate.kind, self.records[""]))

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        most = budget.rounds(debate, len(debate.rounds) - 1)
        if most < 0:
            return nothing(debate)
        known = self.steps(debate)
        last = 0
        while last < most and self.worth(known[last]):
            last += 1
        probabilities = known[last].probabilities
        first = leading(probabilities)
        standing = tuple(debate.standing())[last]
        silent = not debate.rounds[last].verdict and all(answer is None for answer in standing)
        return after(
            debate, last, read_as(self.reading, probabilities), answers=() if silent else first,
            stop="no_gain" if last < most else "",
        )  # fmt: skip

    def worth(self, step: Step) -> bool:
        """Whether one more round is worth more than it costs."""
        cost = self.value.price * step.cost / 1_000
        return round_value.gain(self.value, step.features) > cost


def read_as(fit: Calibration | None, probabilities: tuple[float, ...]) -> tuple[float, ...]:
    """The probabilities with the leading one as the fit reads it; the others keep their ratios."""
    if fit is None:
        return probabilities
    most = max(probabilities)
    best = probabilities.index(most)
    now = calibrated(fit, most)
    if most >= 1:
        return tuple(
            now if place == best else (1 - now) / (len(probabilities) - 1) for place in range(len(probabilities))
        )
    return tuple(now if place == best else p * (1 - now) / (1 - most) for place, p in enumerate(probabilities))


class JudgeRead(LearnedStop):
    """The judge's last belief, as past outcomes say it should be read."""

    def worth(self, step: Step) -> bool:
        """It plays to the end."""
        return True


def _add(name: str, make: Any, *arguments: Any, **more: Any) -> None:
    add_method(name, partial(make, name, *arguments, **more))


_add("learned_stop", LearnedStop, "learned stop, with records, words have a price", PRICES["learned_stop"])
_add("learned_stop_free", LearnedStop, "learned stop, with records, words are free", PRICES["learned_stop_free"])
_add("judge_read", JudgeRead, "the judge's last belief, recalibrated", 0.0, judged=True)
_add("judge_learned", LearnedStop, "learned stop on the judge's belief", JUDGE_PRICES["judge_learned"], judged=True)
_add("judge_learned_free", LearnedStop, "the same, words are free", JUDGE_PRICES["judge_learned_free"], judged=True)
