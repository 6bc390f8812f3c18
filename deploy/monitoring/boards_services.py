"""Boards of the services: specialists, and the bus with its models."""

from deploy.monitoring.panels import BARS, RANGE, RATE, Board, Panel, Query, Row, panel, quantile

SPECIALISTS = Board(
    uid="parley-specialists",
    title="Parley: specialists",
    help="Load, errors, latency and copies of every queue: which one needs more copies.",
    rows=(
        Row(
            "Load",
            (
                panel(
                    "Share of room that is busy",
                    "sum by (queue) (parley_worker_busy) / (sum by (queue) (parley_worker_room) > 0)",
                    "{{queue}}",
                    "Near 100 % for long: start more copies of this queue.",
                    unit="percentunit",
                ),
                panel("Copies", "max by (queue) (parley_queue_workers)", "{{queue}}", "Living workers of a queue."),
                panel(
                    "Different models on one queue",
                    "max by (queue) (parley_queue_models) > 1",
                    "{{queue}}",
                    "Copies share one seat, so its answers then depend on chance. Empty is good.",
                ),
                panel(
                    "Turns that wait",
                    "max by (queue) (parley_queue_pending)",
                    "{{queue}}",
                    "Not yet taken by a copy. A scaler adds copies by this figure.",
                ),
                panel(
                    "Turns that are being served",
                    "max by (queue) (parley_queue_unacknowledged)",
                    "{{queue}}",
                    "Taken and not yet answered.",
                ),
                panel(
                    "Age of the oldest turn",
                    "max by (queue) (parley_queue_oldest_seconds)",
                    "{{queue}}",
                    "Of those that wait or are being served.",
                    unit="s",
                ),
                panel(
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
                panel(
                    "Turns by how they ended",
                    f"sum by (outcome) (rate(parley_worker_turns_total[{RATE}]))",
                    "{{outcome}}",
                    "accepted is good; refused and expired came too late; failed had no usable reply.",
                ),
                panel(
                    "Share of turns that failed",
                    f'sum by (queue) (rate(parley_worker_turns_total{{outcome=~"failed|expired"}}[{RATE}]))'
                    f" / (sum by (queue) (rate(parley_worker_turns_total[{RATE}])) > 0)",
                    "{{queue}}",
                    "By queue.",
                    unit="percentunit",
                ),
                panel(
                    "Turns missed, by role",
                    f'sum by (role) (rate(parley_turns_total{{outcome="missed"}}[{RATE}]))',
                    "{{role}}",
                    "As moderators count them: the deadline came first, or the reply could not be used.",
                ),
                panel(
                    "Redeliveries",
                    f"sum by (queue) (rate(parley_redeliveries_total[{RATE}]))",
                    "{{queue}}",
                    "Turns that came again, since a copy died or was silent.",
                ),
                panel(
                    "Late calls",
                    "sum by (queue) (increase(parley_late_calls_total[1h]))",
                    "{{queue}}",
                    "Calls of the last hour whose reply was not taken: the turn had been answered.",
                ),
                panel(
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
                panel(
                    "Calls a second", f"sum by (model) (rate(parley_model_calls_total[{RATE}]))", "{{model}}",
                    "Calls that began.",
                ),
                panel(
                    "Share of calls that fail",
                    f"sum by (model) (rate(parley_model_errors_total[{RATE}]))"
                    f" / (sum by (model) (rate(parley_model_calls_total[{RATE}])) > 0)",
                    "{{model}}", "An alert tells above 50 %.", unit="percentunit",
                ),
                panel(
                    "Failures by kind", f"sum by (kind) (rate(parley_model_errors_total[{RATE}]))", "{{kind}}",
                    "unavailable and deadline are the endpoint's; misconfigured is ours; refused is the reply's form.",
                ),
                Panel(
                    title="Seconds a call",
                    help="Median and 95th percentile, estimated between bucket bounds. Points are traces.",
                    queries=(
                        Query(quantile(0.5, "parley_model_seconds", "model"), "{{model}} p50"),
                        Query(quantile(0.95, "parley_model_seconds", "model"), "{{model}} p95"),
                    ),
                    unit="s",
                ),
                panel(
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
                panel(
                    "Transitions a second", f"sum by (event) (rate(parley_transitions_total[{RATE}]))", "{{event}}",
                    "What is appended to the log.",
                ),
                Panel(
                    title="What Parley adds to a turn",
                    help="From the append that asks to the append that answers, less the model's time.",
                    queries=(
                        Query(quantile(0.5, "parley_turn_overhead_seconds", ""), "p50"),
                        Query(quantile(0.99, "parley_turn_overhead_seconds", ""), "p99"),
                    ),
                    unit="s",
                    bar=0.25,
                ),
                panel(
                    "Seconds an append", quantile(0.99, "parley_append_seconds", ""), "p99",
                    "To the server's acknowledgement. A slow disk shows here first.", unit="s",
                ),
                panel(
                    "Submissions", f"sum by (verdict) (rate(parley_submissions_total[{RATE}]))", "{{verdict}}",
                    "busy: the author's queue at the moderator was full.",
                ),
                panel(
                    "Put aside", "sum by (kind) (increase(parley_aside_total[1h]))", "{{kind}}",
                    "Messages of the last hour that could not be read or handled: `parley doctor`.",
                ),
                panel(
                    "Sessions in memory", "sum(parley_sessions_cached)", "cached",
                    "Sessions that moderators hold folded.",
                ),
                panel(
                    "Turns that wait by owner", "sum by (owner) (parley_turns_held)", "{{owner}}",
                    "Beyond the owner's share of a queue. Others' turns go before them.",
                ),
                panel(
                    "Turns handed back", "sum(increase(parley_turns_handed_back_total[1h]))", "turns",
                    "Of workers whose connections ended, in the last hour.",
                ),
            ),
        ),
        Row(
            "Bus",
            (
                panel(
                    "Bytes by stream", "max by (stream) (parley_stream_bytes)", "{{stream}}", "On disk.",
                    unit="bytes",
                ),
                panel(
                    "Messages by stream", "max by (stream) (parley_stream_messages)", "{{stream}}",
                    "WORK and IN should be near zero.",
                ),
                panel(
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
                panel(
                    "Memory of nats-server", "max(parley_nats_memory_bytes)", "memory", "Resident.", unit="bytes",
                ),
                panel(
                    "Services without the bus", "count(parley_bus_connected == 0) or vector(0)", "disconnected",
                    "Services whose connection does not stand.",
                ),
                panel(
                    "Entries that `parley metrics` has not counted yet", "max(parley_outcomes_lag)", "behind",
                    "Objectives are as old as that.",
                ),
            ),
        ),
    ),
)  # fmt: skip
