"""Every series that Parley exposes, declared once, over a registry that the caller brings.

Labels are bounded: protocols, roles, event kinds, outcomes, and model names up to a limit. Never a session, a turn, an
instance or anything else that a client chooses.  Names are units first-class: `_seconds`, `_total`, `_usd_total`.

    metrics = Metrics()
    metrics.transitions.labels(event="replied").inc()
    metrics.step_seconds.observe(0.0002)
"""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry

from observability.series import Counter, Gauge, Histogram, Spread

FAST = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
"""Bucket bounds in seconds for what the moderator does itself."""
CALLS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Bucket bounds in seconds for model calls."""
SESSIONS = (0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
"""Bucket bounds in seconds for whole sessions."""
ROUNDS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 50)
TOKENS = (0, 20, 50, 100, 150, 200, 250, 300, 400, 500, 600, 1_000, 2_000, 5_000, 10_000)
"""Bucket bounds in tokens for coordination (seeds/madp.md 7.1: the 95th percentile below 400; 8.1)."""
COORDINATION = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0)
"""Bucket bounds in seconds for coordination."""
REVISIONS = (0, 1, 2, 3, 4, 5, 10, 20)
LATE = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
"""Bucket bounds in seconds by which a timer came late."""

MAX_VALUES = 32
"""Distinct values of one label whose values come from outside (models, protocols, roles); the rest are `other`."""

UNREADABLE = ("protocol", "version", "digest", "entry", "gap")
"""Why a moderator cannot run a session (coordinator.folded)."""
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
        self._seen: dict[str, str] = {}

    def __call__(self, value: str) -> str:
        known = self._seen.get(value)
        if known is not None:
            return known
        if len(self._seen) >= self._most:
            return "other"
        name = value[:64] or "none"
        self._seen[value] = name
        return name


class Metrics:
    """All series of one process, registered with `registry` (a fresh one by default).

    Values of the labels `protocol`, `role`, `model` and `queue` go through `metrics.protocol(...)` and its like, which
    bound them.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        self.protocol = Bounded()
        self.role = Bounded()
        self.model = Bounded()
        self.queue = Bounded(MAX_QUEUES)
        self._added: dict[str, Counter | Histogram] = {}
        self._sessions()
        self._moderator()
        self._turns()
        self._tasks()
        self._worker()
        self._bus()

    def _counter(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Counter:
        made = self._added[name] = Counter(f"parley_{name}", text, labels, self.registry)
        return made

    def _gauge(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Gauge:
        return Gauge(f"parley_{name}", text, labels, self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], labels: tuple[str, ...] = ()) -> Histogram:
        made = Histogram(f"parley_{name}", text, labels, buckets, self.registry)
        self._added[name] = made
        return made

    def add(self, series: str, labels: Mapping[str, str], value: float = 1.0) -> None:
        """Raise a counter by `value`, or have a histogram observe it, by the name of the series without `parley_`.

        Raises
        ------
        KeyError
            There is no such counter or histogram.
        """
        child = self._added[series].labels(**labels)
        if isinstance(child, Spread):
            child.observe(value)
        else:
            child.inc(value)

    def _sessions(self) -> None:
        self.sessions_opened = self._counter("sessions_opened_total", "Sessions opened.", ("protocol",))
        self.sessions_refused = self._counter("sessions_refused_total", "Openings refused.", ("protocol",))
        self.sessions_closed = self._counter(
            "sessions_closed_total", "Sessions closed, by the reason of their stop.", ("protocol", "reason")
        )
        self.sessions_cached = self._gauge("sessions_cached", "Sessions that this moderator holds folded in memory.")
        self.sessions_unreadable = self._gauge(
            "sessions_unreadable",
            "Sessions met in the last minute that this moderator cannot run and leaves to another one.",
            ("reason",),
        )
        self.sessions_revived = self._counter(
            "sessions_revived_total",
            "Open sessions for which nothing was due any more, and which were set going again.",
        )
        self.logs_damaged = self._gauge(
            "logs_damaged", "Sessions whose logs lost something, as far as this moderator has met them."
        )
        self.left = self._counter(
            "left_total", "Submissions and requests left to another moderator, since this one cannot run the session.",
            ("reason",),
        )  # fmt: skip
        for reason in UNREADABLE:
            self.left.labels(reason=reason)
        self.session_seconds = self._histogram(
            "session_seconds", "From the first entry of a session to its last.", SESSIONS, ("protocol",)
        )
        self.session_rounds = self._histogram("session_rounds", "Rounds that a session played.", ROUNDS, ("protocol",))

    def _moderator(self) -> None:
        self.transitions = self._counter("transitions_total", "Transitions appended to the log.", ("event",))
        self.step_seconds = self._histogram("step_seconds", "One step of the pure machine.", FAST)
        self.append_seconds = self._histogram("append_seconds", "One append to the log, to its acknowledgement.", FAST)
        self.append_conflicts = self._counter(
            "append_conflicts_total", "Appends refused because another moderator had moved the session."
        )
        self.effects = self._counter(
            "effects_total", "Effects carried out: turns, posts, timers, words to other sessions.", ("kind",)
        )
        self.effects_reissued = self._counter("effects_reissued_total", "Transitions whose effects were sent again.")
        self.submissions = self._counter(
            "submissions_total", "Submissions answered. busy: the author's queue was full.", ("kind", "verdict")
        )
        for verdict in VERDICTS:
            self.submissions.labels(kind="reply", verdict=verdict)
        self.aside = self._counter("aside_total", "Messages recorded and put aside.", ("kind",))
        for kind in ("undecodable", "raised"):
            self.aside.labels(kind=kind)
        self.queue_workers = self._gauge(
            "queue_workers", "Living workers of a queue, as this moderator has heard them.", ("queue",)
        )
        self.checks = self._counter("checks_total", "Questions whether a turn is still open.", ("open",))
        self.reads = self._counter("reads_total", "Requests for history, documents and lists.", ("kind",))
        self.timers_fired = self._counter("timers_fired_total", "Timers taken; early: nothing was due yet.", ("early",))
        self.timer_late_seconds = self._histogram("timer_late_seconds", "By how much a due timer came late.", LATE)

        self.notifications = self._counter("notifications_total", "Calls for people, by sessions.", ("severity",))
        self.webhooks = self._counter("webhooks_total", "Notifications at the webhook.", ("outcome",))
        for outcome in ("sent", "failed"):
            self.webhooks.labels(outcome=outcome)

    def _turns(self) -> None:
        self.turns = self._counter("turns_total", "Turns that ended, at the moderator.", ("role", "outcome"))
        self.turn_overhead_seconds = self._histogram(
            "turn_overhead_seconds",
            "From the append that asks to the append that answers, less the model's time.",
            FAST,
        )
        self.tokens = self._counter(
            "tokens_total", "Tokens reported by workers. estimated: counted by us.", ("model", "kind", "estimated")
        )
        self.cached_tokens = self._counter(
            "cached_tokens_total", "Of the input tokens, those that the endpoint had in its cache.", ("model",)
        )
        self.cost_usd = self._counter("cost_usd_total", "Cost at the prices that are known.", ("model",))
        self.unaccounted_calls = self._counter(
            "unaccounted_calls_total", "Model calls that may have been paid for and were never reported."
        )

    def _tasks(self) -> None:
        self.tasks = self._counter(
            "tasks_total",
            "Tasks that were assigned, or that nobody took, by depth and by how who leads was found.",
            ("depth", "how"),
        )
        self.coordination_tokens = self._histogram(
            "coordination_tokens", "Model tokens from a task to its first assignment.", TOKENS, ("depth",)
        )
        self.coordination_seconds = self._histogram(
            "coordination_seconds", "From a task's being taken to its first assignment.", COORDINATION, ("depth",)
        )
        self.review_revisions = self._histogram(
            "review_revisions", "Revisions of a task's work after reviews, of tasks that were reviewed.", REVISIONS
        )
        self.overrides = self._counter(
            "overrides_total", "Tasks that ended in which a human chose another expert, or named it beforehand."
        )
        self.items_opened = self._counter("items_opened_total", "Questions to a human that were opened.", ("kind",))
        self.items_closed = self._counter(
            "items_closed_total", "Those that a human answered, and those whose default held.", ("by",)
        )
        for by in ("human", "default"):
            self.items_closed.labels(by=by)
        self.breaker_changes = self._counter(
            "breaker_changes_total", "Times that coordination was degraded, and recovered.", ("to",)
        )
        for to in ("degraded", "recovered"):
            self.breaker_changes.labels(to=to)

    def _worker(self) -> None:
        by_turn = ("queue", "role")
        self.worker_room = self._gauge("worker_room", "Turns that this process serves at once.", by_turn)
        self.worker_busy = self._gauge("worker_busy", "Turns that this process is serving.", by_turn)
        self.worker_turns = self._counter("worker_turns_total", "Turns that this process ended.", (*by_turn, "outcome"))
        self.model_seconds = self._histogram("model_seconds", "One model call.", CALLS, ("model",))
        self.model_calls = self._counter("model_calls_total", "Model calls begun.", ("model",))
        self.model_errors = self._counter("model_errors_total", "Model calls that failed.", ("model", "kind"))
        self.redeliveries = self._counter(
            "redeliveries_total", "Turns delivered to this process more than once.", ("queue",)
        )
        self.turns_skipped = self._counter(
            "turns_skipped_total", "Turns dropped before a model call, because they were no longer open.", ("queue",)
        )
        self.late_calls = self._counter(
            "late_calls_total",
            "Model calls whose reply was not taken: by then the turn had been answered, or was over.",
            ("queue",),
        )
        self.lane = self._counter(
            "lane_total", "Replies that went by the warm lane, and those that did not.", ("outcome",)
        )
        for outcome in ("hit", "miss"):
            self.lane.labels(outcome=outcome)

    def _bus(self) -> None:
        self.bus_connected = self._gauge("bus_connected", "1 while the connection to the bus stands.")
        self.bus_reconnects = self._counter("bus_reconnects_total", "Times the connection to the bus came back.")
        self.bus_denied = self._counter(
            "bus_denied_total", "Operations that the broker refused for want of permission."
        )
