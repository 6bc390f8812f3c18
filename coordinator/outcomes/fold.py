"""Totals that grow by what is counted. Pure: the same samples in the same order give the same totals, to the bit."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from parley.coordinator.table import Sample
from parley.observability.metrics import MAX_VALUES
from parley.observability.outcomes import GAUGES, OUTCOMES, SPEND, key
from parley.schemas.result import Example, Spread, Totals, UnansweredItem

_FROM_OUTSIDE = ("model", "protocol", "reason", "kind", "because", "depth", "how", "by", "to")
"""Labels whose values an installed package, a model or a log of another release may bring."""
_OTHER = "other"
_DAYS = 8
"""Days whose spending is kept."""
_DAY_NS = 86_400 * 10**9


def day_of(at_ns: int) -> int:
    """The day of a Unix time, in UTC, by its number since 1970."""
    return at_ns // _DAY_NS


class Traced(NamedTuple):
    """Which trace shows how something came about."""

    trace: str
    """Its id."""
    at_ns: int


class Fold:
    """Totals in the making."""

    def __init__(self, totals: Totals, tenant: str) -> None:
        self.position = totals.position
        """The place in LOG up to which was counted."""
        self.since_ns = totals.since_ns
        self._tenant = tenant
        self._numbers = {name: dict(numbers) for name, numbers in totals.numbers.items()}
        self._spreads = {name: dict(spreads) for name, spreads in totals.spreads.items()}
        self._examples = {name: dict(examples) for name, examples in totals.examples.items()}
        self._days = dict(totals.days)
        self._waiting = {sid: dict(items) for sid, items in totals.waiting.items()}
        self._label_values = {label: list(values) for label, values in totals.seen.items()}

    def add(self, samples: Iterable[Sample], traced: Traced | None = None) -> None:
        """Count these, of which a trace tells more. Raises KeyError for a series or a label that is not declared."""
        for sample in samples:
            declared = OUTCOMES[sample.series]
            values = key(self._bounded(label, sample.labels[label]) for label in declared.labels)
            if declared.bounds:
                spreads = self._spreads.setdefault(sample.series, {})
                spreads[values] = _observed(spreads.get(values), declared.bounds, sample.value)
                at = str(bisect_left(declared.bounds, sample.value))
                self._exemplify(sample, "\n".join((values, at)) if values else at, traced)
            else:
                numbers = self._numbers.setdefault(sample.series, {})
                before = 0.0 if sample.series in GAUGES else numbers.get(values, 0.0)
                numbers[values] = before + sample.value
                if sample.value and sample.series not in GAUGES:
                    self._exemplify(sample, values, traced)

    def _exemplify(self, sample: Sample, place: str, traced: Traced | None) -> None:
        if traced is not None:
            example = Example(trace=traced.trace, value=sample.value, at_ns=traced.at_ns)
            self._examples.setdefault(sample.series, {})[place] = example

    def spend(self, at_ns: int, usd: float) -> None:
        """Count what a call cost at this time."""
        if not usd:
            return
        self.add([Sample(SPEND, {"tenant": self._tenant}, usd)])
        day = str(day_of(at_ns))
        self._days[day] = self._days.get(day, 0.0) + usd
        for old in sorted(self._days, key=int)[:-_DAYS]:
            del self._days[old]

    def item_opened(self, sid: str, id: str, kind: str, waiting: UnansweredItem) -> None:
        """A session asked a human something."""
        self._waiting.setdefault(sid, {})[id] = waiting
        self.add([Sample("items_opened_total", {"kind": kind})])

    def item_closed(self, sid: str, id: str, by: str) -> None:
        """One of its questions was answered, or its default held."""
        self._waiting.get(sid, {}).pop(id, None)
        if not self._waiting.get(sid):
            self._waiting.pop(sid, None)
        self.add([Sample("items_closed_total", {"by": by})])

    def over(self, sid: str) -> None:
        """The session is over: what still waits is answered by nobody."""
        waiting = self._waiting.pop(sid, {})
        if waiting:
            self.add([Sample("items_closed_total", {"by": "session"}, len(waiting))])

    def totals(self) -> Totals:
        """As they stand."""
        return Totals(
            position=self.position,
            since_ns=self.since_ns,
            numbers={name: dict(numbers) for name, numbers in self._numbers.items()},
            spreads={name: dict(spreads) for name, spreads in self._spreads.items()},
            examples={name: dict(examples) for name, examples in self._examples.items()},
            days=dict(self._days),
            waiting={sid: dict(items) for sid, items in self._waiting.items()},
            seen={label: tuple(values) for label, values in self._label_values.items()},
        )

    def _bounded(self, label: str, value: str) -> str:
        """The value, or `other` once a label has had its share of them."""
        if label not in _FROM_OUTSIDE:
            return value
        value = value[:64] or "none"
        values = self._label_values.setdefault(label, [])
        if value in values:
            return value
        if len(values) >= MAX_VALUES:
            return _OTHER
        values.append(value)
        return value


def _observed(before: Spread | None, bounds: tuple[float, ...], value: float) -> Spread:
    """Of other bounds than these, as another release had them, it begins anew."""
    counts = [0] * (len(bounds) + 1)
    total = 0.0
    if before is not None and len(before.counts) == len(counts):
        counts, total = list(before.counts), before.total
    counts[bisect_left(bounds, value)] += 1
    return Spread(counts=tuple(counts), total=total + value)
