"""What the dashboards show: four boards, their rows and panels, as one table.

Outcome series are read as `parley:NAME:max` (observability.watching.slos). Times are over `$__rate_interval`, figures
of outcomes over the range that is looked at.
"""

from collections.abc import Iterator

import msgspec

from observability.watching.alerts import ALERTS
from observability.watching.slos import SLOS, Slo, outcome_series

LINES, FIGURE, BARS = "lines", "figure", "bars"
RATE = "$__rate_interval"
RANGE = "$__range"


class Query(msgspec.Struct, frozen=True):
    """One expression of a panel, and how its values are named."""

    expr: str
    legend: str = ""


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One panel."""

    title: str
    help: str
    """What it says, and what to look for: one or two sentences."""
    queries: tuple[Query, ...]
    kind: str = LINES
    unit: str = "short"
    """As Grafana names units: short, percentunit, s, bytes, currencyUSD, reqps."""
    wide: int = 8
    """Of 24 columns."""
    bar: float | None = None
    """A threshold that is drawn."""


class Row(msgspec.Struct, frozen=True):
    """Some panels under a heading."""

    title: str
    panels: tuple[Panel, ...]


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """One dashboard."""

    uid: str
    title: str
    help: str
    rows: tuple[Row, ...]


def _of(title: str, expr: str, legend: str, help: str, **more: object) -> Panel:
    return Panel(title=title, help=help, queries=(Query(expr, legend),), **more)  # type: ignore[arg-type]


def _increase(series: str, by: str, window: str = RANGE) -> str:
    return f"sum by ({by}) (increase(parley:{series}:max[{window}]))"


def _mean(series: str, by: str) -> str:
    """Mean of what a histogram of outcomes observed in the range, where it observed something."""
    total, count = (f"sum by ({by}) (increase(parley:{series}_{what}:max[{RANGE}]))" for what in ("sum", "count"))
    return f"{total} / ({count} > 0)"


def _quantile(quantile: float, series: str, by: str, window: str = RATE) -> str:
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({quantile}, sum by ({labels}) (rate({series}_bucket[{window}])))"


def _budget(slo: Slo) -> Panel:
    return _of(
        slo.title,
        f"1 - ({slo.bad_share(RANGE)}) / {1 - slo.objective:g}",
        "",
        f"What is left of the error budget over the range. {slo.why} At least {slo.objective * 100:g} % must be good.",
        kind=FIGURE,
        unit="percentunit",
        wide=6,
    )


COORDINATION = Board(
    uid="parley-coordination",
    title="Parley: coordination",
    help="Objectives and their error budgets, who takes tasks, and what waits for people.",
    rows=(
        Row("Error budgets that are left", tuple(_budget(s) for s in SLOS)),
        Row(
            "Tasks",
            (
                _of(
                    "Tasks by depth",
                    _increase("tasks_total", "depth"),
                    "{{depth}}",
                    "How deep the coordination went. Most should be instant or quick.",
                    kind=BARS,
                ),
                _of(
                    "How the lead was found",
                    _increase("tasks_total", "how"),
                    "{{how}}",
                    "By a match, by consensus, by a person, or by default. Many by default: specifications are thin.",
                    kind=BARS,
                ),
                _of(
                    "Overrides among ended tasks",
                    f"sum(increase(parley:overrides_total:max[{RANGE}]))"
                    f" / (sum(increase(parley:tasks_ended_total:max[{RANGE}])) > 0)",
                    "",
                    "Share of tasks for which a person chose another expert.",
                    kind=FIGURE,
                    unit="percentunit",
                ),
                _of(
                    "Tokens of coordination, mean by depth",
                    _mean("coordination_tokens", "depth"),
                    "{{depth}}",
                    "Model tokens from a task to its first assignment. The source allows 400.",
                    kind=BARS,
                    bar=400,
                ),
                _of(
                    "Seconds of coordination, mean by depth",
                    _mean("coordination_seconds", "depth"),
                    "{{depth}}",
                    "From a task's being taken to its first assignment.",
                    kind=BARS,
                    unit="s",
                ),
                _of(
                    "Revisions a reviewed task",
                    f"sum(increase(parley:review_revisions_sum:max[{RANGE}]))"
                    f" / (sum(increase(parley:review_revisions_count:max[{RANGE}])) > 0)",
                    "",
                    "How often work was revised after reviews. The source allows two.",
                    kind=FIGURE,
                    bar=2,
                ),
            ),
        ),
        Row(
            "People and faults",
            (
                _of(
                    "Questions that wait for a person",
                    "sum(parley:items_opened_total:max) - sum(parley:items_closed_total:max)",
                    "waiting",
                    "Open items of the inbox.",
                ),
                _of(
                    "Escalations",
                    _increase("escalations_total", "kind"),
                    "{{kind}}",
                    "Tasks that were handed to a person, by the reason.",
                    kind=BARS,
                ),
                Panel(
                    title="Circuit breaker",
                    help="1: tasks are assigned by keywords alone. Below it, how often that began and ended.",
                    queries=(
                        Query("max(parley_breaker_degraded)", "degraded"),
                        Query(_increase("breaker_changes_total", "to", "1h"), "changed to {{to}} in the last hour"),
                    ),
                ),
            ),
        ),
    ),
)

DEBATES = Board(
    uid="parley-debates",
    title="Parley: debates",
    help="How sessions end, how far they agree, and what they cost.",
    rows=(
        Row(
            "Endings",
            (
                _of(
                    "Sessions that ended",
                    _increase("sessions_closed_total", "protocol"),
                    "{{protocol}}",
                    "By protocol, over the range.",
                    kind=BARS,
                ),
                _of(
                    "Why they stopped",
                    _increase("sessions_closed_total", "reason"),
                    "{{reason}}",
                    "By stop reason (docs/stops.md).",
                    kind=BARS,
                ),
                _of(
                    "Share that converged",
                    f'sum by (protocol) (increase(parley:sessions_closed_total:max{{converged="yes"}}[{RANGE}]))'
                    f" / (sum by (protocol) (increase(parley:sessions_closed_total:max[{RANGE}])) > 0)",
                    "{{protocol}}",
                    "What stopped at a cap, stuck or out of budget did not converge.",
                    kind=BARS,
                    unit="percentunit",
                ),
                _of(
                    "Share that ended at a cap",
                    f"sum by (protocol) (increase("
                    f'parley:sessions_closed_total:max{{reason=~"round_limit|review_limit|budget"}}[{RANGE}]))'
                    f" / (sum by (protocol) (increase(parley:sessions_closed_total:max[{RANGE}])) > 0)",
                    "{{protocol}}",
                    "Rounds or budget ran out before anything else ended them.",
                    kind=BARS,
                    unit="percentunit",
                ),
                _of(
                    "Rounds a session, mean",
                    _mean("session_rounds", "protocol"),
                    "{{protocol}}",
                    "Rounds that sessions played.",
                    kind=BARS,
                ),
                _of(
                    "Seconds a session, mean",
                    _mean("session_seconds", "protocol"),
                    "{{protocol}}",
                    "From the opening to the end.",
                    kind=BARS,
                    unit="s",
                ),
            ),
        ),
        Row(
            "Signals",
            (
                _of(
                    "Agreement at the end, mean",
                    _mean("agreement", "protocol"),
                    "{{protocol}}",
                    "0: all differ; 1: all agree.",
                    kind=BARS,
                    unit="percentunit",
                ),
                _of(
                    "Disagreement at the end, mean",
                    _mean("disagreement", "protocol"),
                    "{{protocol}}",
                    "As the protocol measures it. High at the end: the question is open.",
                    kind=BARS,
                ),
                _of(
                    "Plateaus",
                    _increase("plateaus_total", "protocol"),
                    "{{protocol}}",
                    "Sessions that ended since nothing moved any more.",
                    kind=BARS,
                ),
                _of(
                    "Changes of answer",
                    _increase("flips_total", "because"),
                    "{{because}}",
                    "By what moved a seat. Many unexplained ones: seats follow each other, not arguments.",
                    kind=BARS,
                ),
                _of(
                    "Variance among judges, mean",
                    _mean("judge_variance", "protocol"),
                    "{{protocol}}",
                    "Of the scores that judges gave to one argument. High: judges do not measure the same.",
                    kind=BARS,
                ),
            ),
        ),
        Row(
            "Cost",
            (
                _of(
                    "Tokens a session, mean",
                    _mean("session_tokens", "protocol"),
                    "{{protocol}}",
                    "Tokens of models in whole sessions.",
                    kind=BARS,
                ),
                _of(
                    "US dollars a session, mean",
                    _mean("session_cost_usd", "protocol"),
                    "{{protocol}}",
                    "At the prices that are known.",
                    kind=BARS,
                    unit="currencyUSD",
                ),
                _of(
                    "US dollars by model",
                    _increase("cost_usd_total", "model"),
                    "{{model}}",
                    "Over the range.",
                    kind=BARS,
                    unit="currencyUSD",
                ),
                _of(
                    "Tokens by model",
                    "sum by (model, kind) (rate(parley:tokens_total:max[1h])) * 3600",
                    "{{model}} {{kind}}",
                    "Tokens an hour.",
                ),
                _of(
                    "Calls that early stops saved",
                    _increase("calls_saved_total", "protocol"),
                    "{{protocol}}",
                    "Calls up to the cap less those that were made.",
                    kind=BARS,
                ),
                _of(
                    "Calls that other stop rules would have saved",
                    _increase("rule_calls_saved_total", "protocol, rule"),
                    "{{protocol}}: {{rule}}",
                    "On the same records. It says nothing of whether the answer would have been as good.",
                    kind=BARS,
                ),
                Panel(
                    title="Spent today, and the budget",
                    help="By tenant, in US dollars; days are of UTC. An alert tells at 80 %.",
                    queries=(
                        Query("max by (tenant) (parley_spend_today_usd)", "{{tenant}} spent"),
                        Query("max by (tenant) (parley_budget_today_usd)", "{{tenant}} budget"),
                    ),
                    unit="currencyUSD",
                ),
            ),
        ),
    ),
)

SPECIALISTS = Board(
    uid="parley-specialists",
    title="Parley: specialists",
    help="Load, errors, latency and copies of every queue: which one needs more copies.",
    rows=(
        Row(
            "Load",
            (
                _of(
                    "Share of room that is busy",
                    "sum by (queue) (parley_worker_busy) / (sum by (queue) (parley_worker_room) > 0)",
                    "{{queue}}",
                    "Near 100 % for long: start more copies of this queue.",
                    unit="percentunit",
                ),
                _of("Copies", "max by (queue) (parley_queue_workers)", "{{queue}}", "Living workers of a queue."),
                _of(
                    "Turns that wait",
                    "max by (queue) (parley_queue_pending)",
                    "{{queue}}",
                    "Not yet taken by a copy. A scaler adds copies by this figure.",
                ),
                _of(
                    "Turns that are being served",
                    "max by (queue) (parley_queue_unacknowledged)",
                    "{{queue}}",
                    "Taken and not yet answered.",
                ),
                _of(
                    "Age of the oldest turn",
                    "max by (queue) (parley_queue_oldest_seconds)",
                    "{{queue}}",
                    "Of those that wait or are being served.",
                    unit="s",
                ),
                _of(
                    "Turns a second",
                    f"sum by (queue) (rate(parley_worker_turns_total[{RATE}]))",
                    "{{queue}}",
                    "Turns that ended, each copy's added up.",
                ),
            ),
        ),
        Row(
            "Errors and latency",
            (
                _of(
                    "Turns by how they ended",
                    f"sum by (outcome) (rate(parley_worker_turns_total[{RATE}]))",
                    "{{outcome}}",
                    "accepted is good; refused and expired came too late; failed had no usable reply.",
                ),
                _of(
                    "Share of turns that failed",
                    f'sum by (queue) (rate(parley_worker_turns_total{{outcome=~"failed|expired"}}[{RATE}]))'
                    f" / (sum by (queue) (rate(parley_worker_turns_total[{RATE}])) > 0)",
                    "{{queue}}",
                    "By queue.",
                    unit="percentunit",
                ),
                _of(
                    "Turns missed, by role",
                    f'sum by (role) (rate(parley_turns_total{{outcome="missed"}}[{RATE}]))',
                    "{{role}}",
                    "As moderators count them: the deadline came first, or the reply could not be used.",
                ),
                _of(
                    "Redeliveries",
                    f"sum by (queue) (rate(parley_redeliveries_total[{RATE}]))",
                    "{{queue}}",
                    "Turns that came again, since a copy died or was silent.",
                ),
                _of(
                    "Late calls",
                    "sum by (queue) (increase(parley_late_calls_total[1h]))",
                    "{{queue}}",
                    "Calls of the last hour whose reply was not taken: the turn had been answered.",
                ),
                _of(
                    "Turns dropped before a call",
                    f"sum by (queue) (rate(parley_turns_skipped_total[{RATE}]))",
                    "{{queue}}",
                    "No longer open: nothing was paid for them.",
                ),
            ),
        ),
    ),
)

BUS = Board(
    uid="parley-bus",
    title="Parley: bus and models",
    help="Moderators, streams, nats-server, and the endpoints of models.",
    rows=(
        Row(
            "Models",
            (
                _of(
                    "Calls a second", f"sum by (model) (rate(parley_model_calls_total[{RATE}]))", "{{model}}",
                    "Calls that began.",
                ),
                _of(
                    "Share of calls that fail",
                    f"sum by (model) (rate(parley_model_errors_total[{RATE}]))"
                    f" / (sum by (model) (rate(parley_model_calls_total[{RATE}])) > 0)",
                    "{{model}}", "An alert tells above 50 %.", unit="percentunit",
                ),
                _of(
                    "Failures by kind", f"sum by (kind) (rate(parley_model_errors_total[{RATE}]))", "{{kind}}",
                    "unavailable and deadline are the endpoint's; misconfigured is ours; refused is the reply's form.",
                ),
                Panel(
                    title="Seconds a call",
                    help="Median and 95th percentile, estimated between bucket bounds. Points are traces.",
                    queries=(
                        Query(_quantile(0.5, "parley_model_seconds", "model"), "{{model}} p50"),
                        Query(_quantile(0.95, "parley_model_seconds", "model"), "{{model}} p95"),
                    ),
                    unit="s",
                ),
                _of(
                    "Input tokens from the endpoint's cache",
                    f"sum by (model) (increase(parley:cached_tokens_total:max[{RANGE}]))"
                    f' / (sum by (model) (increase(parley:tokens_total:max{{kind="input"}}[{RANGE}])) > 0)',
                    "{{model}}", "Share of the input tokens of the range.", kind=BARS, unit="percentunit",
                ),
            ),
        ),
        Row(
            "Moderators",
            (
                _of(
                    "Transitions a second", f"sum by (event) (rate(parley_transitions_total[{RATE}]))", "{{event}}",
                    "What is appended to the log.",
                ),
                Panel(
                    title="What Parley adds to a turn",
                    help="From the append that asks to the append that answers, less the model's time.",
                    queries=(
                        Query(_quantile(0.5, "parley_turn_overhead_seconds", ""), "p50"),
                        Query(_quantile(0.99, "parley_turn_overhead_seconds", ""), "p99"),
                    ),
                    unit="s",
                    bar=0.25,
                ),
                _of(
                    "Seconds an append", _quantile(0.99, "parley_append_seconds", ""), "p99",
                    "To the server's acknowledgement. A slow disk shows here first.", unit="s",
                ),
                _of(
                    "Submissions", f"sum by (verdict) (rate(parley_submissions_total[{RATE}]))", "{{verdict}}",
                    "busy: the author's queue at the moderator was full.",
                ),
                _of(
                    "Put aside", "sum by (kind) (increase(parley_aside_total[1h]))", "{{kind}}",
                    "Messages of the last hour that could not be read or handled: `parley doctor`.",
                ),
                _of(
                    "Sessions in memory", "sum(parley_sessions_cached)", "cached",
                    "Sessions that moderators hold folded.",
                ),
            ),
        ),
        Row(
            "Bus",
            (
                _of("Bytes by stream", "max by (stream) (parley_stream_bytes)", "{{stream}}", "On disk.", unit="bytes"),
                _of(
                    "Messages by stream", "max by (stream) (parley_stream_messages)", "{{stream}}",
                    "WORK and IN should be near zero.",
                ),
                _of(
                    "How full the store is",
                    "max(parley_store_used_bytes) / (max(parley_store_limit_bytes) > 0)",
                    "used", "An alert tells above 80 %.", unit="percentunit", bar=0.8,
                ),
                Panel(
                    title="nats-server",
                    help="Connections, and those that do not read fast enough.",
                    queries=(
                        Query("max(parley_nats_connections)", "connections"),
                        Query("max(parley_nats_slow_consumers)", "slow consumers"),
                    ),
                ),
                _of(
                    "Memory of nats-server", "max(parley_nats_memory_bytes)", "memory", "Resident.", unit="bytes",
                ),
                _of(
                    "Services without the bus", "count(parley_bus_connected == 0) or vector(0)", "disconnected",
                    "Services whose connection does not stand.",
                ),
                _of(
                    "Entries that `parley metrics` has not counted yet", "max(parley_outcomes_lag)", "behind",
                    "Objectives are as old as that.",
                ),
            ),
        ),
    ),
)  # fmt: skip

BOARDS = (COORDINATION, DEBATES, SPECIALISTS, BUS)


def expressions() -> Iterator[tuple[str, str]]:
    """Every expression of every panel with the panel's name."""
    for board in BOARDS:
        for row in board.rows:
            for panel in row.panels:
                for query in panel.queries:
                    yield f"{board.uid}: {panel.title}", query.expr


def outcomes() -> list[str]:
    """Series of outcomes, without `parley_`, that panels and rules read."""
    rules = (text for slo in SLOS for text in (slo.total, slo.good, slo.bad))
    alerts = (alert.expr for alert in ALERTS)
    return outcome_series((*(expr for _, expr in expressions()), *rules, *alerts))
