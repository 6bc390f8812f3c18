"""Every series that a service exposes of itself, declared once, over a registry that the caller brings.

What sessions came to is not among them: it outlives processes (parley.observability.outcomes).

Labels are bounded: protocols, roles, event kinds, outcomes, and model names up to a limit. Never a session, a turn, an
instance or anything else that a client chooses.  Names are units first-class: `_seconds`, `_total`, `_usd_total`.

    metrics = Metrics()
    metrics.transitions.labels(event="replied").inc()
    metrics.step_seconds.observe(0.0002)
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

disable_created_metrics()  # type: ignore[no-untyped-call]

FAST = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
"""Bucket bounds in seconds for what the moderator does itself."""
CALLS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Bucket bounds in seconds for model calls."""
LATE = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
"""Bucket bounds in seconds by which a timer came late."""

MAX_VALUES = 32
"""Distinct values of one label whose values come from outside (models, protocols, roles); the rest are `other`."""

UNREADABLE = ("protocol", "version", "digest", "entry", "gap")
"""Why a moderator cannot run a session (parley.coordinator.sessions)."""
LIMITS = ("open_sessions", "openings_per_minute", "tokens_per_day", "usd_per_day")
REFUSALS = ("worker", "late", "fault", "input", *LIMITS)
"""Why an opening is refused: nobody is there who could answer it, no moderator took it before its asker gave up, its
protocol's code fails, it is not in order, or its owner or the tenant is at this limit."""
VERDICTS = ("accepted", "refused", "busy")
TURN_OUTCOMES = ("accepted", "retried", "missed", "withdrawn")
WORKER_OUTCOMES = ("accepted", "refused", "cancelled", "expired", "failed")
MODEL_FAULTS = ("misconfigured", "unavailable", "refused", "deadline", "raised", "other")
"""Why a model call gave no reply."""
MAX_QUEUES = 512
"""Distinct queues, which the operator names; the rest are `other`."""


class Bounded:
    """Lets the first `most` distinct values of a label through and calls every later one `other`."""

    def __init__(self, most: int = MAX_VALUES) -> None:
        self._most = most
        self._labels: dict[str, str] = {}

    def __call__(self, value: str) -> str:
        label = self._labels.get(value)
        if label is not None:
            return label
        if len(self._labels) >= self._most:
            return "other"
        name = value[:64] or "none"
        self._labels[value] = name
        return name


class ReadGauge(Collector):
    """A gauge of one label, whose numbers are read at each scrape."""

    def __init__(self, name: str, text: str, label: str, registry: CollectorRegistry) -> None:
        self._described = (name, text, label)
        self.read: Callable[[], Mapping[str, float]] = dict
        """Value of the label -> how much."""
        registry.register(self)

    def describe(self) -> Iterable[Metric]:
        name, text, label = self._described
        return [GaugeMetricFamily(name, text, labels=[label])]

    def collect(self) -> Iterable[Metric]:
        name, text, label = self._described
        family = GaugeMetricFamily(name, text, labels=[label])
        for value, number in self.read().items():
            family.add_metric([value], number)
        return [family]


@cache
def parley_version() -> str:
    """Of the installed distribution; `unknown` where Parley runs from a folder."""
    try:
        return version("parley")
    except PackageNotFoundError:
        return "unknown"


class Metrics:
    """All series of one process, registered with `registry` (a fresh one by default).

    Values of the labels `protocol`, `role`, `model` and `queue` go through `metrics.protocol(...)` and its like, which
    bound them.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        build = self._gauge("build_info", "Parley's build: always 1.", ("version",))
        build.labels(parley_version()).set(1)
        self.protocol = Bounded()
        self.role = Bounded()
        self.model = Bounded()
        self.queue = Bounded(MAX_QUEUES)
        self.owner = Bounded()
        self._sessions()
        self._moderator()
        self._turns()
        self._worker()
        self._gateway()
        self._bus()

    def _counter(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Counter:
        return Counter(f"parley_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Gauge:
        return Gauge(f"parley_{name}", text, labels, registry=self.registry)

    def _read(self, name: str, text: str, label: str) -> ReadGauge:
        return ReadGauge(f"parley_{name}", text, label, self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], labels: tuple[str, ...] = ()) -> Histogram:
        return Histogram(f"parley_{name}", text, labels, buckets=buckets, registry=self.registry)

    def _sessions(self) -> None:
        self.sessions_refused = self._counter(
            "sessions_refused_total", "Openings refused, by why.", ("protocol", "reason")
        )
        self.sessions_cached = self._gauge("sessions_cached", "Sessions in this moderator's memory.")
        self.sessions_unreadable = self._gauge(
            "sessions_unreadable",
            "Sessions of the last minute that this moderator cannot run.",
            ("reason",),
        )
        self.sessions_revived = self._counter(
            "sessions_revived_total",
            "Stranded sessions that were set going again.",
        )
        self.logs_damaged = self._gauge("logs_damaged", "Sessions met whose logs lost something.")
        self.left_to_others = self._counter(
            "left_total",
            "Requests left to another moderator.",
            ("reason",),
        )
        for reason in UNREADABLE:
            self.left_to_others.labels(reason=reason)

    def _moderator(self) -> None:
        self.transitions = self._counter("transitions_total", "Transitions appended.", ("event",))
        self.step_seconds = self._histogram("step_seconds", "One step of the pure machine.", FAST)
        self.append_seconds = self._histogram("append_seconds", "One append, to its acknowledgement.", FAST)
        self.append_conflicts = self._counter(
            "append_conflicts_total", "Appends refused, since another moderator was faster."
        )
        self.effects = self._counter("effects_total", "Turns, posts, timers and words sent.", ("kind",))
        self.effects_reissued = self._counter("effects_reissued_total", "Transitions whose effects were sent again.")
        self.turns_handed_back = self._counter(
            "turns_handed_back_total", "Turns put back after a worker's connection ended."
        )
        self.turns_held = self._read("turns_held", "Messages with turns that wait for their owner's share.", "owner")
        self.submissions = self._counter(
            "submissions_total", "Submissions answered; busy: the author's queue was full.", ("kind", "verdict")
        )
        for verdict in VERDICTS:
            self.submissions.labels(kind="reply", verdict=verdict)
        self.aside = self._counter("aside_total", "Messages put aside.", ("kind",))
        for kind in ("undecodable", "raised"):
            self.aside.labels(kind=kind)
        self.queue_workers = self._read("queue_workers", "Living workers that this moderator hears.", "queue")
        self.moderator = self._read("moderator", "1 while it is in this state.", "state")
        self.queue_models = self._read("queue_models", "Different models of a queue's workers.", "queue")
        self.openings = self._counter("openings_total", "Openings that arrived.", ("owner",))
        self.checks = self._counter("checks_total", "Questions whether a turn is open.", ("open",))
        self.reads = self._counter("reads_total", "Requests for history, documents and lists.", ("kind",))
        self.timers_fired = self._counter("timers_fired_total", "Timers taken; early: nothing was due yet.", ("early",))
        self.timer_late_seconds = self._histogram("timer_late_seconds", "Lateness of timers.", LATE)

        self.notifications = self._counter("notifications_total", "Calls for people.", ("severity",))
        self.webhooks = self._counter("webhooks_total", "Notifications at the webhook.", ("outcome",))
        for outcome in ("sent", "failed"):
            self.webhooks.labels(outcome=outcome)

    def _turns(self) -> None:
        self.turns = self._counter("turns_total", "Turns that ended, at the moderator.", ("role", "outcome"))
        self.turn_overhead_seconds = self._histogram(
            "turn_overhead_seconds",
            "A turn's time at worker and moderator, without its model's calls.",
            FAST,
        )

    def _worker(self) -> None:
        by_turn = ("queue", "role")
        self.worker_room = self._gauge("worker_room", "Turns that this process may serve at once.", by_turn)
        self.worker_busy = self._gauge("worker_busy", "Turns that this process is serving.", by_turn)
        self.worker_turns = self._counter("worker_turns_total", "Turns that this process ended.", (*by_turn, "outcome"))
        self.model_seconds = self._histogram("model_seconds", "One model call.", CALLS, ("model",))
        self.model_calls = self._counter("model_calls_total", "Model calls begun.", ("model",))
        self.model_errors = self._counter("model_errors_total", "Failed model calls.", ("model", "kind"))
        self.model_retries = self._counter("model_retries_total", "Failed calls that are repeated.", ("model",))
        self.redeliveries = self._counter("redeliveries_total", "Turns delivered here more than once.", ("queue",))
        self.turns_skipped = self._counter(
            "turns_skipped_total", "Turns no longer open, dropped before a model call.", ("queue",)
        )
        self.late_calls = self._counter(
            "late_calls_total",
            "Model calls whose reply came too late.",
            ("queue",),
        )
        self.lane = self._counter("lane_total", "Replies by the warm lane, and others.", ("outcome",))
        for outcome in ("hit", "miss"):
            self.lane.labels(outcome=outcome)

    def _gateway(self) -> None:
        self.gateway_requests = self._counter("gateway_requests_total", "Requests answered.", ("door", "status"))
        self.gateway_streams = self._gauge("gateway_streams", "Open streams of events.")
        self.gateway_feeds = self._gauge("gateway_feeds", "Sessions that somebody watches.")
        self.gateway_events = self._counter("gateway_events_total", "Events sent to viewers.", ("event",))
        self.gateway_slow = self._counter("gateway_slow_total", "Viewers cut as too slow.")
        self.gateway_lag_seconds = self._histogram(
            "gateway_lag_seconds", "From a post's append to its sending to a viewer.", LATE
        )

    def _bus(self) -> None:
        self.bus_connected = self._gauge("bus_connected", "1 while the connection to the bus stands.")
        self.bus_unstored_seconds = self._gauge(
            "bus_unstored_seconds", "For how long the bus has stored nothing; 0: it stores."
        )
        self.bus_reconnects = self._counter("bus_reconnects_total", "Reconnections to the bus.")
        self.bus_denied = self._counter("bus_denied_total", "Operations that the broker refused.")
