"""Boards of what sessions come to: coordination and debates."""

from deploy.monitoring.panels import BARS, FIGURE, RANGE, Board, Panel, Query, Row, increase, mean, panel
from deploy.monitoring.slos import COPIES, SLOS, Slo


def _budget(slo: Slo) -> Panel:
    return panel(
        slo.title,
        f"1 - ({slo.bad_share(RANGE)}) / {1 - slo.objective:g}",
        "",
        f"What is left of the error budget over the range. {slo.why} At least {slo.objective * 100:g} % must be good.",
        kind=FIGURE,
        unit="percentunit",
        wide=6,
        floor=0.0,
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
                panel(
                    "Tasks by depth",
                    increase("tasks_total", "depth"),
                    "{{depth}}",
                    "How deep the coordination went. Most should be instant or quick.",
                    kind=BARS,
                ),
                panel(
                    "How the lead was found",
                    increase("tasks_total", "how"),
                    "{{how}}",
                    "By a match, by consensus, by a person, or by default. Many by default: specifications are thin.",
                    kind=BARS,
                ),
                panel(
                    "Overrides among ended tasks",
                    f"sum(increase(parley:overrides_total:max[{RANGE}]))"
                    f" / (sum(increase(parley:tasks_ended_total:max[{RANGE}])) > 0)",
                    "",
                    "Share of tasks for which a person chose another expert.",
                    kind=FIGURE,
                    bar=0.05,
                    unit="percentunit",
                ),
                panel(
                    "Tokens of coordination, mean by depth",
                    mean("coordination_tokens", "depth"),
                    "{{depth}}",
                    "Model tokens from a task to its first assignment. The source allows 400.",
                    kind=BARS,
                    bar=400,
                ),
                panel(
                    "Seconds of coordination, mean by depth",
                    mean("coordination_seconds", "depth"),
                    "{{depth}}",
                    "From a task's being taken to its first assignment.",
                    kind=BARS,
                    unit="s",
                ),
                panel(
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
                panel(
                    "Questions that wait for a person",
                    "sum(parley:items_opened_total:max) - sum(parley:items_closed_total:max)",
                    "waiting",
                    "Open items of the inbox.",
                ),
                panel(
                    "Escalations",
                    increase("escalations_total", "kind"),
                    "{{kind}}",
                    "Tasks that were handed to a person, by the reason.",
                    kind=BARS,
                ),
                Panel(
                    title="Circuit breaker",
                    help="1: tasks are assigned by keywords alone. Below it, how often that began and ended.",
                    queries=(
                        Query("max(parley_breaker_degraded)", "degraded"),
                        Query(increase("breaker_changes_total", "to", "1h"), "changed to {{to}} in the last hour"),
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
                panel(
                    "Sessions that ended",
                    increase("sessions_closed_total", "protocol"),
                    "{{protocol}}",
                    "By protocol, over the range.",
                    kind=BARS,
                ),
                panel(
                    "Why they stopped",
                    increase("sessions_closed_total", "reason"),
                    "{{reason}}",
                    "By stop reason (docs/stops.md).",
                    kind=BARS,
                ),
                panel(
                    "Share that converged",
                    f'sum by (protocol) (increase(parley:sessions_closed_total:max{{converged="yes"}}[{RANGE}]))'
                    f" / (sum by (protocol) (increase(parley:sessions_closed_total:max[{RANGE}])) > 0)",
                    "{{protocol}}",
                    "What stopped at a cap, stuck or out of budget did not converge.",
                    kind=BARS,
                    unit="percentunit",
                ),
                panel(
                    "Share that ended at a cap",
                    f"sum by (protocol) (increase("
                    f'parley:sessions_closed_total:max{{reason=~"round_limit|review_limit|budget"}}[{RANGE}]))'
                    f" / (sum by (protocol) (increase(parley:sessions_closed_total:max[{RANGE}])) > 0)",
                    "{{protocol}}",
                    "Rounds or budget ran out before anything else ended them.",
                    kind=BARS,
                    unit="percentunit",
                ),
                panel(
                    "Rounds a session, mean",
                    mean("session_rounds", "protocol"),
                    "{{protocol}}",
                    "Rounds that sessions played.",
                    kind=BARS,
                ),
                panel(
                    "Seconds a session, mean",
                    mean("session_seconds", "protocol"),
                    "{{protocol}}",
                    "From the opening to the end.",
                    kind=BARS,
                    unit="s",
                ),
                panel(
                    "Questions refused in the last hour",
                    "sum by (protocol, reason) (increase(parley_sessions_refused_total[1h])) > 0",
                    "{{protocol}}: {{reason}}",
                    "worker: nobody could answer; late: no moderator took it; fault: a protocol's code; input: the "
                    "asker's.",
                    wide=24,
                ),
                panel(
                    "Seconds a session, 95th percentile of the last hour",
                    f"histogram_quantile(0.95, sum by (le, protocol) (max without ({COPIES})"
                    " (rate(parley_session_seconds_bucket[1h]))))",
                    "{{protocol}}",
                    "An estimate between bucket bounds. Each diamond is a traced session, and leads to its trace.",
                    unit="s",
                    wide=24,
                ),
            ),
        ),
        Row(
            "Signals",
            (
                panel(
                    "Agreement at the end, mean",
                    mean("agreement", "protocol"),
                    "{{protocol}}",
                    "0: all differ; 1: all agree.",
                    kind=BARS,
                    unit="percentunit",
                ),
                panel(
                    "Disagreement at the end, mean",
                    mean("disagreement", "protocol"),
                    "{{protocol}}",
                    "As the protocol measures it. High at the end: the question is open.",
                    kind=BARS,
                ),
                panel(
                    "Plateaus",
                    increase("plateaus_total", "protocol"),
                    "{{protocol}}",
                    "Sessions that ended since nothing moved any more.",
                    kind=BARS,
                ),
                Panel(
                    title="Arguments refused and objections repeated",
                    help="Of maci by judges and the gate on evidence; of critic by the judge.",
                    queries=(
                        Query(f"sum(increase(parley:arguments_refused_total:max[{RANGE}]))", "refused"),
                        Query(f"sum(increase(parley:objections_repeated_total:max[{RANGE}]))", "repeated"),
                    ),
                    kind=BARS,
                ),
                panel(
                    "Changes of answer",
                    increase("flips_total", "because"),
                    "{{because}}",
                    "By what moved a seat. Many unexplained ones: seats follow each other, not arguments.",
                    kind=BARS,
                ),
                panel(
                    "Variance among judges, mean",
                    mean("judge_variance", "protocol"),
                    "{{protocol}}",
                    "Of the scores that judges gave to one argument. High: judges do not measure the same.",
                    kind=BARS,
                ),
            ),
        ),
        Row(
            "Cost",
            (
                panel(
                    "Tokens a session, mean",
                    mean("session_tokens", "protocol"),
                    "{{protocol}}",
                    "Tokens of models in whole sessions.",
                    kind=BARS,
                ),
                panel(
                    "US dollars a session, mean",
                    mean("session_cost_usd", "protocol"),
                    "{{protocol}}",
                    "At the prices that are known.",
                    kind=BARS,
                    unit="currencyUSD",
                ),
                panel(
                    "US dollars by model",
                    increase("cost_usd_total", "model"),
                    "{{model}}",
                    "Over the range, at the prices that are known.",
                    kind=BARS,
                    unit="currencyUSD",
                ),
                panel(
                    "Tokens without a price",
                    increase("unpriced_tokens_total", "model"),
                    "{{model}}",
                    "Over the range. The cost is without them.",
                    kind=BARS,
                ),
                panel(
                    "Tokens by model",
                    "sum by (model, kind) (rate(parley:tokens_total:max[1h])) * 3600",
                    "{{model}} {{kind}}",
                    "Tokens an hour.",
                ),
                panel(
                    "Calls that early stops saved",
                    increase("calls_saved_total", "protocol"),
                    "{{protocol}}",
                    "Calls up to the cap less those that were made.",
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
