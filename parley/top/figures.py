"""Computes the figures of `parley top` from two snapshots: objectives, queues, protocols, models, the bus."""

from typing import Any

from parley.observability.metrics import LIMITS
from parley.observability.outcomes import OUTCOMES as SERIES
from parley.observability.slos import SLOS, Slo
from parley.top.scraping import Snapshot, rate

OUTCOMES = frozenset(
    series
    for name, declared in SERIES.items()
    for series in ((f"{name}_bucket", f"{name}_count", f"{name}_sum") if declared.bounds else (name,))
)
"""Series of which the largest copy counts."""


def figures(now: Snapshot, before: Snapshot | None) -> dict[str, Any]:
    """All figures, as `--json` prints them. A rate is None where there is no earlier snapshot to take it from."""
    return {
        "services": [{"url": s.url, "up": not s.error, **({"error": s.error} if s.error else {})} for s in now.sources],
        "outcomes": now.has("parley_outcomes_position"),
        "objectives": [_objective(now, slo) for slo in SLOS],
        "queues": _queues(now, before),
        "protocols": _protocols(now),
        "models": _models(now, before),
        "bus": _bus(now, before),
    }


def _objective(now: Snapshot, slo: Slo) -> dict[str, Any]:
    events = now.total(slo.total)
    bad = now.total(slo.bad) if slo.bad else events - now.total(slo.good)
    share = None if not events else 1 - bad / events
    left = None if share is None else 1 - (1 - share) / (1 - slo.objective)
    return {
        "name": slo.name,
        "title": slo.title,
        "wanted": slo.objective,
        "events": int(events),
        "good_share": share,
        "budget_left": left,
    }


def _queues(now: Snapshot, before: Snapshot | None) -> list[dict[str, Any]]:
    room, busy = now.by("parley_worker_room", "queue"), now.by("parley_worker_busy", "queue")
    workers = now.largest("parley_queue_workers", "queue")
    waiting = now.largest("parley_queue_pending", "queue")
    taken = now.largest("parley_queue_unacknowledged", "queue")
    oldest = now.largest("parley_queue_oldest_seconds", "queue")
    ended = rate(now, before, "parley_worker_turns_total", "queue")
    failed = now.by('parley_worker_turns_total{outcome=~"failed|expired"}', "queue")
    return [
        {
            "queue": queue,
            "workers": _whole(workers, queue),
            "room": _whole(room, queue),
            "busy": _whole(busy, queue),
            "waiting": _whole(waiting, queue),
            "served": _whole(taken, queue),
            "oldest_s": oldest.get(queue),
            "turns_a_second": ended.get(queue),
            "failed": _whole(failed, queue),
        }
        for queue in sorted({*room, *workers, *waiting})
    ]


def _protocols(now: Snapshot) -> list[dict[str, Any]]:
    opened = now.largest("parley:sessions_opened_total:max", "protocol")
    ended = now.by("parley:sessions_closed_total:max", "protocol")
    converged = now.by('parley:sessions_closed_total:max{converged="yes"}', "protocol")
    failed = now.by('parley:sessions_closed_total:max{status="failed"}', "protocol")
    return [
        {
            "protocol": name,
            "opened": _whole(opened, name),
            "ended": _whole(ended, name),
            "converged": _whole(converged, name),
            "failed": _whole(failed, name),
        }
        for name in sorted({*opened, *ended})
    ]


def _models(now: Snapshot, before: Snapshot | None) -> list[dict[str, Any]]:
    calls = now.by("parley_model_calls_total", "model")
    errors = now.by("parley_model_errors_total", "model")
    speed = rate(now, before, "parley_model_calls_total", "model")
    took, count = now.by("parley_model_seconds_sum", "model"), now.by("parley_model_seconds_count", "model")
    cost = now.by("parley:cost_usd_total:max", "model")
    unpriced = now.by("parley:unpriced_tokens_total:max", "model")
    return [
        {
            "model": name,
            "calls": _whole(calls, name),
            "calls_a_second": speed.get(name),
            "failed": _whole(errors, name),
            "mean_s": took.get(name, 0.0) / count[name] if count.get(name) else None,
            "cost_usd": cost.get(name),
            "unpriced_tokens": _whole(unpriced, name),
        }
        for name in sorted({*calls, *cost})
    ]


def _bus(now: Snapshot, before: Snapshot | None) -> dict[str, Any]:
    used, limit = (now.largest(f"parley_store_{what}_bytes", "").get("") for what in ("used", "limit"))
    transitions = rate(now, before, "parley_transitions_total")
    connected = now.by("parley_bus_connected", "")
    over = now.by("parley_sessions_refused_total", "reason")
    return {
        "connected": int(connected.get("", 0)),
        "transitions_a_second": transitions.get(""),
        "over_limits": {limit: int(over[limit]) for limit in LIMITS if over.get(limit)},
        "store_used_bytes": used,
        "store_limit_bytes": limit,
        "waiting_items": int(now.total("parley:items_opened_total:max") - now.total("parley:items_closed_total:max")),
        "degraded": now.largest("parley_breaker_degraded", "").get("", 0.0) > 0,
        "behind": now.largest("parley_outcomes_lag", "").get(""),
    }


def _whole(values: dict[str, float], key: str) -> int | None:
    return None if key not in values else int(values[key])
