"""Counters, gauges and histograms as plain numbers: counting is an addition, and whoever scrapes pays for the rest.

They are used and exposed as those of the client library (same names, labels, types and samples, without `_created`),
which locks and checks at each count. Every process counts in the thread of its event loop.
"""

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import ClassVar, Generic, TypeVar

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString

C = TypeVar("C", "CountSeries", "Level", "SpreadSeries")


def _bound(value: float) -> str:
    """A bound as it is exposed."""
    return str(floatToGoString(value))  # type: ignore[no-untyped-call]


def exemplar(trace: str, value: float, at_s: float) -> Exemplar:
    """What leads from a number to the trace with this id; `at_s`: Unix time."""
    return Exemplar({"trace_id": trace}, value, at_s)


class CountSeries:
    """A number that only grows."""

    __slots__ = ("example", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self.example: Exemplar | None = None
        """The last that was traced."""

    def inc(self, by: float = 1.0) -> None:
        """Add to it. Raises ValueError for less than nothing."""
        if by < 0:
            raise ValueError("Counters can only be incremented by non-negative amounts.")
        self.value += by


class Level:
    """A number that goes up and down."""

    __slots__ = ("_value",)

    def __init__(self) -> None:
        self._value: float | Callable[[], float] = 0.0

    @property
    def value(self) -> float:
        """As it is now."""
        return float(self._value() if callable(self._value) else self._value)

    def set(self, value: float) -> None:
        """Make it this."""
        self._value = value

    def inc(self, by: float = 1.0) -> None:
        """Add to it, less than nothing too."""
        now = self._value
        self._value = (float(now()) if callable(now) else now) + by

    def set_function(self, function: Callable[[], float]) -> None:
        """Ask for it at each scrape."""
        self._value = function


class SpreadSeries:
    """How often values fell into each of some ranges."""

    __slots__ = ("bounds", "counts", "examples", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """The last: above all bounds."""
        self.examples: dict[int, Exemplar] = {}
        """The last value of a range that was traced."""
        self.total = 0.0

    def observe(self, value: float, trace: str = "") -> None:
        """Count one value; `trace`: the id of the trace that shows how it came about."""
        self.total += value
        at = bisect_left(self.bounds, value)
        self.counts[at] += 1
        if trace:
            self.examples[at] = exemplar(trace, value, time.time())

    def stand(self, counts: tuple[int, ...], total: float) -> None:
        """Be what was counted elsewhere by the same bounds; counts by other bounds are left."""
        if len(counts) == len(self.counts):
            self.counts, self.total = list(counts), total


class Series(Generic[C]):
    """One metric: a number for each of the values that its labels have had."""

    kind: ClassVar[str]

    def __init__(self, name: str, text: str, labels: tuple[str, ...], registry: CollectorRegistry) -> None:
        self._name = name
        self._text = text
        self._labelnames = labels
        self._by_labels: dict[tuple[tuple[str, str], ...], C] = {}
        self._children: dict[tuple[str, ...], C] = {}
        if not labels:
            self._children[()] = self._new()
        registry.register(self)

    def _new(self) -> C:
        raise NotImplementedError

    def labels(self, **labels: str) -> C:
        """The number for these values. Raises ValueError where they are not the metric's labels."""
        key = tuple(labels.items())
        child = self._by_labels.get(key)
        if child is None:
            if sorted(labels) != sorted(self._labelnames):
                raise ValueError("Incorrect label names")
            values = tuple(str(labels[name]) for name in self._labelnames)
            child = self._children.get(values)
            if child is None:
                child = self._children[values] = self._new()
            self._by_labels[key] = child
        return child

    def of(self, *values: str) -> C:
        """The number for these values, in the order of the metric's labels: the quick way."""
        child = self._children.get(values)
        return self.labels(**dict(zip(self._labelnames, values, strict=True))) if child is None else child

    def describe(self) -> Iterable[Metric]:
        """The metric without numbers, as a registry asks for it."""
        return [Metric(self._name, self._text, self.kind)]

    def collect(self) -> Iterable[Metric]:
        """The metric with its numbers of now."""
        metric = Metric(self._name, self._text, self.kind)
        for values, child in list(self._children.items()):
            self._add(metric, dict(zip(self._labelnames, values, strict=True)), child)
        return [metric]

    def _add(self, metric: Metric, labels: dict[str, str], child: C) -> None:
        raise NotImplementedError


class Counter(Series[CountSeries]):
    """A metric that counts; its name ends in `_total`, which its family's does not."""

    kind = "counter"

    def __init__(self, name: str, text: str, labels: tuple[str, ...], registry: CollectorRegistry) -> None:
        super().__init__(name.removesuffix("_total"), text, labels, registry)
        if not labels:
            self.inc = self._children[()].inc

    def _new(self) -> CountSeries:
        return CountSeries()

    def _add(self, metric: Metric, labels: dict[str, str], child: CountSeries) -> None:
        metric.add_sample(f"{self._name}_total", labels, child.value, exemplar=child.example)


class Gauge(Series[Level]):
    """A metric that says how much there is now."""

    kind = "gauge"

    def __init__(self, name: str, text: str, labels: tuple[str, ...], registry: CollectorRegistry) -> None:
        self._read_values: Callable[[], Mapping[str, float]] | None = None
        super().__init__(name, text, labels, registry)
        if not labels:
            only = self._children[()]
            self.set, self.inc, self.set_function = only.set, only.inc, only.set_function

    def _new(self) -> Level:
        return Level()

    def follow(self, read_values: Callable[[], Mapping[str, float]]) -> None:
        """Ask at each scrape for the numbers of a metric with one label, by its value."""
        self._read_values = read_values

    def collect(self) -> Iterable[Metric]:
        """The metric with its numbers of now."""
        if self._read_values is not None:
            for value, number in self._read_values().items():
                self.labels(**{self._labelnames[0]: value}).set(number)
        return super().collect()

    def replace(self, readings: Mapping[tuple[str, ...], float]) -> None:
        """Let these be its numbers, and no other: values of its labels -> how much."""
        self._children = {values: self._new() for values in readings}
        self._by_labels = {}
        for values, value in readings.items():
            self._children[values].set(value)

    def _add(self, metric: Metric, labels: dict[str, str], child: Level) -> None:
        metric.add_sample(self._name, labels, child.value)


class Histogram(Series[SpreadSeries]):
    """A metric that says how values are spread."""

    kind = "histogram"

    def __init__(
        self, name: str, text: str, labels: tuple[str, ...], bounds: tuple[float, ...], registry: CollectorRegistry
    ) -> None:
        self._bounds = tuple(map(float, bounds))
        super().__init__(name, text, labels, registry)
        if not labels:
            self.observe = self._children[()].observe

    def _new(self) -> SpreadSeries:
        return SpreadSeries(self._bounds)

    def _add(self, metric: Metric, labels: dict[str, str], child: SpreadSeries) -> None:
        so_far = 0
        for at, (bound, count) in enumerate(zip((*self._bounds, inf), child.counts, strict=True)):
            so_far += count
            le = {**labels, "le": _bound(bound)}
            metric.add_sample(f"{self._name}_bucket", le, so_far, exemplar=child.examples.get(at))
        metric.add_sample(f"{self._name}_count", labels, so_far)
        metric.add_sample(f"{self._name}_sum", labels, child.total)
