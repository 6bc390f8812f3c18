"""Alerts that no objective covers: something is broken or about to be, and somebody can mend it. One table."""

import msgspec

from deploy.monitoring.slos import PAGE, TICKET

WHO = "{{ with $labels.service }}{{ . }} at {{ end }}{{ $labels.instance }}"
"""Who it is: with the service's name where the scrape says it (deploy/prometheus.yml)."""


APART, BUS, MODERATORS, CAUSE, EFFECT, BUDGET = range(6)
"""How deep what an alert tells of lies: one that is on and calls somebody silences those above it
(deploy/observability/alertmanager.yml). APART: it silences none, and none silences it."""


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One alert."""

    name: str
    expr: str
    """True, that is: it has a value, where the alert is on."""
    for_s: int
    """So long it must be true before anybody is told, in seconds."""
    severity: str
    depth: int = APART
    summary: str
    """One sentence; `{{ $labels.x }}` and `{{ $value }}` are filled in by Prometheus."""
    steps: tuple[str, ...]
    """The runbook: what to look at first."""


_FAILED = (
    '(sum by (model) ({0}(parley_model_errors_total{{model!="extractive"}}[{1}]))'
    " + sum by (model) ({0}(parley_model_retries_total[{1}])))"
)
"""Calls that failed; a model that quotes fails where it cannot judge, which nobody can mend."""
_CALLED = (
    "(sum by (model) (rate(parley_model_calls_total[2m])) + sum by (model) (rate(parley_model_retries_total[2m])))"
)

ALERTS = (
    Alert(
        name="ParleyQuestionsRefused",
        expr='sum by (protocol, reason) (increase(parley_sessions_refused_total{reason=~"worker|fault"}[2m])) > 1.5',
        for_s=60,
        severity=PAGE,
        depth=EFFECT,
        summary="Questions for {{ $labels.protocol }} are refused ({{ $labels.reason }}).",
        steps=(
            "`worker`: `parley doctor` names the seat without a worker or model, and says what to do.",
            "`fault`: the protocol's code failed. The moderators' log has file and line.",
        ),
    ),
    Alert(
        name="ParleyQuestionsUnanswered",
        expr='sum(increase(parley_asked_total{outcome=~"failed|unanswered"}[4m])) > 1.5',
        for_s=0,
        severity=PAGE,
        depth=EFFECT,
        summary="The synthetic questions of `parley metrics` are not answered, and no other alert says why.",
        steps=("`parley doctor` tells what is missing.",),
    ),
    Alert(
        name="ParleyQueueWithoutWorker",
        expr="label_replace(((max by (queue) (parley_queue_workers) == 0 and on (queue)"
        " max by (queue) (parley_queue_pending + parley_queue_unacknowledged) > 0)"
        " or (max by (queue) (parley_queue_expected) unless on (queue) max by (queue) (parley_queue_workers) > 0))"
        ' and on () count(parley_moderator), "service", "$1", "queue", "(.*)")',
        for_s=40,
        severity=PAGE,
        depth=CAUSE,
        summary="No worker of the queue {{ $labels.queue }} is alive, and turns wait there or it is expected.",
        steps=(
            "Start the queue's service. If it is up but silent, restart it.",
            "On its machine, `parley doctor --nats URL --creds KEYS/QUEUE.json` says whether it reaches the bus.",
        ),
    ),
    Alert(
        name="ParleyQueueWaits",
        expr="max by (queue) (parley_queue_oldest_seconds) > 120 and on (queue) max by (queue) "
        "(parley_queue_pending) > 0",
        for_s=120,
        severity=TICKET,
        depth=EFFECT,
        summary="The oldest turn on the queue {{ $labels.queue }} waits for {{ $value | humanizeDuration }}.",
        steps=(
            "Copies are busy (dashboard *specialists*): start more, or give each more room.",
            "Copies are idle: read the worker's log.",
        ),
    ),
    Alert(
        name="ParleyQueueFull",
        expr="max by (queue) (parley_queue_pending) > 200",
        for_s=120,
        severity=PAGE,
        depth=EFFECT,
        summary="{{ $value }} turns wait on the queue {{ $labels.queue }}.",
        steps=(
            "Start more copies of its worker (docs/operations/scale.md).",
            "Or give sessions budgets, or limit who opens them.",
        ),
    ),
    Alert(
        name="ParleyEndpointFailing",
        expr=f"{_FAILED.format('rate', '2m')} / ({_CALLED} > 0) > 0.5"
        f" and on (model) {_FAILED.format('increase', '5m')} >= 5",
        for_s=20,
        severity=PAGE,
        depth=CAUSE,
        summary="{{ $value | humanizePercentage }} of the calls of the model {{ $labels.model }} fail.",
        steps=(
            "The dashboard *bus and models* shows the kind of error.",
            "`parley doctor --probe` with that service's variables (`LLM_PROVIDER` and others), without `--nats`, asks "
            "each model once.",
        ),
    ),
    Alert(
        name="ParleySpendNearBudget",
        expr="max by (tenant) (parley_spend_today_usd) / (max by (tenant) (parley_budget_today_usd) > 0) >= 0.8",
        for_s=0,
        severity=TICKET,
        summary="The tenant {{ $labels.tenant }} has spent {{ $value | humanizePercentage }} of its budget of today.",
        steps=(
            "The dashboard *debates* shows which sessions cost most. Raise the day's budget, or give sessions budgets "
            "(`--budget-usd`).",
        ),
    ),
    Alert(
        name="ParleyCoordinationDegraded",
        expr="max(parley_breaker_degraded) == 1",
        for_s=60,
        severity=TICKET,
        depth=EFFECT,
        summary="Tasks are assigned by keywords alone: coordination failed too often.",
        steps=("Is the helper up? See ParleyQueueWithoutWorker. Coordination recovers by itself.",),
    ),
    Alert(
        name="ParleyItemsWait",
        expr="max(parley_items_waited_share) > 0.25",
        for_s=0,
        severity=PAGE,
        summary="A question waits for a person, and {{ $value | humanizePercentage }} of its time is gone.",
        steps=("`parley inbox` lists it, with its deadline and default.",),
    ),
    Alert(
        name="ParleyClientRunsAway",
        expr="sum by (owner) (increase(parley_openings_total[2m])) > 500 and on () max(parley_queue_pending) > 200",
        for_s=0,
        severity=PAGE,
        depth=CAUSE,
        summary="{{ $labels.owner }} has opened {{ $value | humanize }} sessions in two minutes, and queues are full.",
        steps=(
            "`parley sessions list` shows them, and `parley sessions cancel ID` ends one. If it goes on: `parley bus "
            "user revoke NAME`.",
        ),
    ),
    Alert(
        name="ParleyPoison",
        expr="sum by (kind) (increase(parley_aside_total[2m])) > 100",
        for_s=0,
        severity=TICKET,
        depth=APART,
        summary="{{ $value | humanize }} messages of two minutes were put aside ({{ $labels.kind }}).",
        steps=(
            "`undecodable`: the sender, whom the moderators' log names, is of another release, or means harm.",
            "`raised`: our code failed; report it.",
        ),
    ),
    Alert(
        name="ParleyQueueMixed",
        expr="max by (queue) (parley_queue_models) > 1",
        for_s=600,
        severity=TICKET,
        summary="Workers of the queue {{ $labels.queue }} have {{ $value }} different models.",
        steps=("Give all copies the same variables.",),
    ),
    Alert(
        name="ParleyLogsDamaged",
        expr="max(parley_logs_damaged) > 0",
        for_s=0,
        severity=PAGE,
        summary="The logs of {{ $value }} sessions have lost something.",
        steps=(
            "`parley doctor` names them. Restore a backup (docs/operations/backup.md), or ask these questions again.",
        ),
    ),
    Alert(
        name="ParleySessionsUnreadable",
        expr="sum by (reason) (parley_sessions_unreadable) > 0",
        for_s=300,
        severity=TICKET,
        summary="{{ $value }} sessions cannot be run by these moderators ({{ $labels.reason }}).",
        steps=("A moderator of another release opened them (docs/compatibility.md).",),
    ),
    Alert(
        name="ParleyBusDisconnected",
        expr="parley_bus_connected == 0 unless on () max(parley_nats_up) == 0",
        for_s=60,
        severity=PAGE,
        depth=CAUSE,
        summary=f"{WHO} has no connection to the bus.",
        steps=(
            "All services: nats-server is down or full. Read its log.",
            "One: check its credentials and its network.",
        ),
    ),
    Alert(
        name="ParleyStoreNearlyFull",
        expr="max(parley_store_used_bytes) / (max(parley_store_limit_bytes) > 0) > 0.8",
        for_s=300,
        severity=PAGE,
        depth=CAUSE,
        summary="The store of the bus is {{ $value | humanizePercentage }} full.",
        steps=("Shorten `retention.log_days`, or give the store more room. At the limit sessions wait.",),
    ),
    Alert(
        name="ParleyLateCalls",
        expr="sum(increase(parley_late_calls_total[1h])) > 10",
        for_s=0,
        severity=TICKET,
        depth=EFFECT,
        summary="{{ $value }} model calls of the last hour began after their turn had been answered.",
        steps=("Workers were frozen just before their call. Are machines short of CPU or memory?",),
    ),
    Alert(
        name="ParleyServiceDown",
        expr='up{job="parley"} == 0',
        for_s=60,
        severity=PAGE,
        depth=CAUSE,
        summary=f"{WHO} does not answer Prometheus.",
        steps=("If the process ended, its last log lines say why.",),
    ),
    Alert(
        name="ParleyOutcomesMissing",
        expr="absent(parley_outcomes_position) or max(parley_outcomes_lag) > 10000",
        for_s=600,
        severity=TICKET,
        depth=CAUSE,
        summary="`parley metrics` is not there, or far behind: objectives are not measured.",
        steps=(
            "Not there: start a copy. It continues where the last one stopped.",
            "Behind: its connection is slow, or it is short of CPU.",
        ),
    ),
    Alert(
        name="ParleyBusStoresNothing",
        expr="(min(parley_nats_stores) == 0 or max(parley_bus_unstored_seconds) > 5)"
        " unless on () max(parley_nats_up) == 0",
        for_s=10,
        severity=PAGE,
        depth=BUS,
        summary="The bus does not store what it is given: its disk is full, read-only, or fails. Nothing can be asked.",
        steps=(
            "The log of nats-server, and `/healthz` on its monitor's port, name stream and error.",
            "Make room, or mend the disk. The supervisor or `deploy/nats-health.sh` restarts nats-server within a "
            "minute; without these, restart it yourself.",
        ),
    ),
    Alert(
        name="ParleyModeratorsGone",
        expr="parley_outcomes_position unless on () (count(parley_moderator) > 0)",
        for_s=30,
        severity=PAGE,
        depth=MODERATORS,
        summary="No moderator is there: nothing can be asked, and open sessions stand still.",
        steps=(
            "Start the moderators. Sessions go on.",
            "If they are up, they are frozen, or Prometheus does not reach them.",
        ),
    ),
    Alert(
        name="ParleyNatsDown",
        expr="max(parley_nats_up) == 0",
        for_s=20,
        severity=PAGE,
        depth=BUS,
        summary="The monitor of nats-server does not answer.",
        steps=("Start nats-server. Services wait for it.",),
    ),
    Alert(
        name="ParleyCertificateEnds",
        expr="min(parley_nats_certificate_ends_seconds) - time() < 60 * 86400",
        for_s=60,
        severity=TICKET,
        summary="A certificate of nats-server ends in {{ $value | humanizeDuration }}.",
        steps=(
            "Between servers: `parley bus certificates --dir KEYS`, and copy the files. For clients: put your new one "
            "in its place.",
            "Send each server SIGHUP, one after another.",
        ),
    ),
    Alert(
        name="ParleyTokensTried",
        expr='sum(rate(parley_gateway_requests_total{door=~"web|openai|mcp|login",status="401"}[5m])) > 1',
        for_s=300,
        severity=TICKET,
        summary="The gateway refuses {{ $value | humanize }} requests a second that bring no valid token or cookie.",
        steps=(
            "A program may use a replaced token. The log of your proxy has its address.",
            "Else somebody tries tokens (20, then one a second): block the address.",
        ),
    ),
    Alert(
        name="ParleyGatewayBusy",
        expr='sum by (door) (rate(parley_gateway_requests_total{status="429"}[5m])) > 1',
        for_s=300,
        severity=TICKET,
        summary="The gateway refuses {{ $value | humanize }} requests a second as too many (door {{ $labels.door }}).",
        steps=(
            "A program in a loop should wait as `Retry-After` says.",
            "People who share a token share its limit: make one for each with `parley bus token`.",
        ),
    ),
)
