"""The series of outcomes, and those of the bus, that `parley metrics` exposes: declared once.

Outcomes are totals of what LOG says of all sessions (parley.coordinator.outcomes). They outlive restarts, and every
copy of `parley metrics` shows the same: rules and dashboards read the largest (`max without (instance, pod, job)`).

Labels are bounded: protocols, reasons, models up to a limit, queues of the operator's. Never a session.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString

from parley.schemas.result import Example, Spread, Totals, UnansweredItem

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
"""Bucket bounds of what lies between 0 and 1."""
VARIANCES = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25)
SESSIONS = (0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
"""Bucket bounds in seconds for whole sessions."""
ROUNDS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 50)
SESSION_TOKENS = (0, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000)
SESSION_USD = (0.0, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 50.0)
TOKENS = (0, 20, 50, 100, 150, 200, 250, 300, 400, 500, 600, 1_000, 2_000, 5_000, 10_000)
"""Bucket bounds in tokens for coordination (seeds/madp.md 7.1: the 95th percentile below 400; 8.1)."""
COORDINATION = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0)
"""Bucket bounds in seconds for coordination."""
REVISIONS = (0, 1, 2, 3, 4, 5, 10, 20)

SPEND = "spend_usd_total"
PROTOCOL = ("protocol",)


class Declared(NamedTuple):
    """One series."""

    text: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    """A histogram's; none: it is a counter, or a gauge."""


OUTCOMES: dict[str, Declared] = {
    "sessions_opened_total": Declared("Sessions opened.", PROTOCOL),
    "sessions_closed_total": Declared(
        "Sessions closed, by the reason of their stop.", ("protocol", "reason", "converged", "status")
    ),
    "session_seconds": Declared("From its first entry to its last.", PROTOCOL, SESSIONS),
    "session_rounds": Declared("Rounds played.", PROTOCOL, ROUNDS),
    "session_tokens": Declared("Tokens of its own calls.", PROTOCOL, SESSION_TOKENS),
    "session_cost_usd": Declared("Cost of its own calls.", PROTOCOL, SESSION_USD),
    "session_calls_total": Declared("Model calls of closed sessions.", PROTOCOL),
    "calls_saved_total": Declared("Calls that sessions saved by ending before the last round.", PROTOCOL),
    "tokens_total": Declared("Tokens reported by workers, or estimated.", ("model", "kind", "estimated")),
    "cached_tokens_total": Declared("Input tokens from the endpoint's cache.", ("model",)),
    "cost_usd_total": Declared("Cost at known prices.", ("model",)),
    "unpriced_tokens_total": Declared("Tokens without a known price.", ("model",)),
    "unaccounted_calls_total": Declared("Model calls that may have been paid and were never reported."),
    SPEND: Declared("Cost of closed sessions.", ("tenant",)),
    "agreement": Declared("Agreement at the end.", PROTOCOL, SHARES),
    "disagreement": Declared("Disagreement at the end.", PROTOCOL, SHARES),
    "plateaus_total": Declared("Sessions in which nothing moved any more.", PROTOCOL),
    "flips_total": Declared("Changes of an answer, by cause.", ("protocol", "because")),
    "arguments_refused_total": Declared("Arguments that a judge or gate refused."),
    "objections_repeated_total": Declared("Objections that repeated an earlier one."),
    "judge_variance": Declared("Variance across a round's judges.", PROTOCOL, VARIANCES),
    "tasks_total": Declared("Tasks assigned, or taken by nobody.", ("depth", "how")),
    "coordination_tokens": Declared("Model tokens until the first assignment.", ("depth",), TOKENS),
    "coordination_seconds": Declared("Time until the first assignment.", ("depth",), COORDINATION),
    "review_revisions": Declared("Revisions of a reviewed task's work.", (), REVISIONS),
    "tasks_ended_total": Declared("Tasks that ended."),
    "overrides_total": Declared("Ended tasks whose expert a human chose."),
    "selections_total": Declared("Experts chosen, right or not.", ("by", "verdict")),
    "items_opened_total": Declared("Questions to humans.", ("kind",)),
    "items_closed_total": Declared("Such questions closed: by a human, the default, or the session's end.", ("by",)),
    "escalations_total": Declared("Ended tasks in which a human was asked.", ("kind",)),
    "breaker_changes_total": Declared("Times that coordination degraded or recovered.", ("to",)),
    "breaker_degraded": Declared("1 while coordination is degraded."),
}
ASKED = ("answered", "failed", "refused", "unanswered")
"""What becomes of a synthetic question. unanswered: no moderator took it in time, or it did not end in time."""
GAUGES = frozenset({"breaker_degraded"})
"""Those of OUTCOMES that say how it stands."""

BUS: dict[str, Declared] = {
    "queue_pending": Declared("Turns that no worker has yet.", ("queue",)),
    "queue_unacknowledged": Declared("Turns that workers have.", ("queue",)),
    "queue_oldest_seconds": Declared("Age of the oldest turn.", ("queue",)),
    "queue_redelivered": Declared("Turns delivered again.", ("queue",)),
    "stream_messages": Declared("Messages in it.", ("stream",)),
    "stream_bytes": Declared("Bytes in it.", ("stream",)),
    "stream_limit_bytes": Declared("Bytes that it may hold; 0: no own limit.", ("stream",)),
    "store_used_bytes": Declared("Bytes of JetStream on disk."),
    "store_limit_bytes": Declared("Bytes that JetStream may hold; 0: unknown."),
    "nats_up": Declared("1 while nats-server's monitor answers."),
    "nats_stores": Declared("1 while all streams store what they are given."),
    "nats_certificate_ends_seconds": Declared("When its first certificate ends: Unix time."),
    "nats_connections": Declared("Connections of nats-server."),
    "nats_slow_consumers": Declared("Connections that nats-server dropped as too slow."),
    "nats_memory_bytes": Declared("Memory of nats-server."),
    "nats_cpu_percent": Declared("CPU of nats-server, percent of one."),
}
"""Gauges of what the bus says of itself; those of which it said nothing are not there."""


class Outcomes(Collector):
    """All series of one copy of `parley metrics`, registered with `registry`. Totals are exposed from the first `show`
    on: before it they are not known, and a total that seemed to fall to 0 would be counted once more.

    Parameters
    ----------
    children
        (series, labels) of numbers that are there from the start, with 0.
    tenant, budget_usd
        Whose sessions they are, and what a day of them may cost; 0: none named.
    expected
        Queues that must have a worker.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        children: Iterable[tuple[str, Mapping[str, str]]] = (),
        *,
        tenant: str = "default",
        budget_usd: float = 0.0,
        expected: Iterable[str] = (),
    ) -> None:
        self.registry = registry
        self._tenant = tenant
        self._budget_usd = budget_usd
        self._expected = tuple(expected)
        self._from_start = defaultdict(set, {SPEND: {tenant}})
        for name, labels in children:
            self._from_start[name].add(key(labels[label] for label in OUTCOMES[name].labels))
        self._totals: Totals | None = None
        self._day = ""
        self._bus: Mapping[str, Mapping[tuple[str, ...], float]] = {}
        self.lag = 0
        """Messages of LOG not counted yet."""
        self.asked = Counter(
            "parley_asked_total",
            "Synthetic questions of this process.",
            ("outcome",),
            registry=registry,
        )
        for outcome in ASKED:
            self.asked.labels(outcome)
        registry.register(self)

    @property
    def counted_to(self) -> int:
        """Messages of LOG that are counted."""
        return self._totals.position if self._totals is not None else 0

    def show(self, totals: Totals, day: int) -> None:
        """Expose these totals; `day`: today, by its number since 1970."""
        self._totals, self._day = totals, str(day)

    def bus(self, readings: Mapping[str, Mapping[tuple[str, ...], float]]) -> None:
        """Expose what the bus says of itself: series -> values of its labels -> how much. What is left out is gone."""
        self._bus = readings

    def describe(self) -> Iterable[Metric]:
        """Nothing beforehand, as a registry asks for it."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """What the bus says, and the totals, once they are known."""
        tenant: tuple[str, ...] = (self._tenant,)
        yield _gauge("budget_today_usd", "What today may cost; 0: no budget.", ("tenant",), {tenant: self._budget_usd})
        must: dict[tuple[str, ...], float] = {(queue,): 1.0 for queue in self._expected}
        yield _gauge("queue_expected", "1: it must have a worker (watch.expect).", ("queue",), must)
        for name, row in BUS.items():
            yield _gauge(name, row.text, row.labels, self._bus.get(name, {}))
        totals = self._totals
        if totals is None:
            return
        for name, row in OUTCOMES.items():
            yield _family(name, row, totals, self._from_start[name])
        today = {tenant: totals.days.get(self._day, 0.0)}
        yield _gauge("spend_today_usd", "Cost of today, in UTC.", ("tenant",), today)
        waited = max((_waited(item) for items in totals.waiting.values() for item in items.values()), default=0.0)
        share = "Share of time gone of the question to a human nearest to its default."
        yield _gauge("items_waited_share", share, (), {(): waited})
        counted = "Messages of LOG that are counted."
        yield _gauge("outcomes_position", counted, (), {(): float(totals.position)})
        yield _gauge("outcomes_lag", "Messages of LOG not counted yet.", (), {(): float(self.lag)})


def _gauge(
    name: str, text: str, labels: tuple[str, ...], readings: Mapping[tuple[str, ...], float]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"parley_{name}", text, labels=labels)
    for values, number in readings.items():
        family.add_metric(values, number)
    return family


def _family(name: str, row: Declared, totals: Totals, from_start: Iterable[str]) -> Metric:
    """A series of outcomes with its numbers, and 0 for those that it has from the start."""
    numbers = {**dict.fromkeys(from_start, 0.0), **totals.numbers.get(name, {})}
    if not row.labels:
        numbers.setdefault("", 0.0)
    if name in GAUGES:
        return _gauge(name, row.text, row.labels, {_values(place): number for place, number in numbers.items()})
    examples = {place: _exemplar(example) for place, example in totals.examples.get(name, {}).items()}
    if not row.bounds:
        counter = CounterMetricFamily(f"parley_{name}", row.text, labels=row.labels)
        for place, number in numbers.items():
            counter.add_metric(_values(place), number, exemplar=examples.get(place))
        return counter
    histogram = HistogramMetricFamily(f"parley_{name}", row.text, labels=row.labels)
    bounds = [str(floatToGoString(bound)) for bound in (*row.bounds, float("inf"))]  # type: ignore[no-untyped-call]
    nothing = Spread(counts=(0,) * len(bounds), total=0.0)
    spreads = totals.spreads.get(name, {})
    for place in {**numbers, **spreads}:
        spread = spreads.get(place, nothing)
        if len(spread.counts) != len(bounds):  # another release counted by other bounds
            spread = nothing
        buckets: list[tuple[str, float] | tuple[str, float, Exemplar]] = []
        for at, (bound, so_far) in enumerate(zip(bounds, accumulate(spread.counts), strict=True)):
            example = examples.get(f"{place}\n{at}" if place else str(at))
            buckets.append((bound, so_far, example) if example is not None else (bound, so_far))
        histogram.add_metric(_values(place), buckets, spread.total)
    return histogram


def _exemplar(example: Example) -> Exemplar:
    """What leads from a number to the trace of a session."""
    return Exemplar({"trace_id": example.trace}, example.value, example.at_ns / 1e9)


def _waited(waiting: UnansweredItem) -> float:
    """Share of a question's time that is gone, 0 to 1."""
    lasts_ns = waiting.due_ns - waiting.since_ns
    return min(1.0, max(0.0, (time.time_ns() - waiting.since_ns) / lasts_ns)) if lasts_ns > 0 else 0.0


def key(values: Iterable[str]) -> str:
    """Values of labels as they stand in totals."""
    return "\n".join(v.replace("\n", " ") for v in values)


def _values(key: str) -> tuple[str, ...]:
    return tuple(key.split("\n")) if key else ()
