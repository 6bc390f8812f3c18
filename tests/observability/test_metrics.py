"""Every series declared once, with bounded labels, and cheap to make."""

import re
import time

from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from parley.observability.metrics import MAX_VALUES, TURN_OUTCOMES, Bounded, Metrics, ReadGauge, parley_version

FORBIDDEN_LABELS = {"session", "sid", "seat", "turn", "instance", "author", "worker", "question"}


def families(metrics: Metrics) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Name -> (type, label names) of all series."""
    out = {}
    for metric in vars(metrics).values():
        if hasattr(metric, "describe"):
            (family,) = metric.describe()
            labels = (metric._described[2],) if isinstance(metric, ReadGauge) else metric._labelnames
            out[family.name] = (family.type, labels)
    return out


def test_every_series_is_ours_and_none_has_an_unbounded_label() -> None:
    found = families(Metrics())
    assert len(found) >= 30
    for name, (_, labels) in found.items():
        assert re.fullmatch(r"parley_[a-z_]+", name), name
        assert not FORBIDDEN_LABELS & set(labels), (name, labels)


def test_what_is_counted_is_exposed() -> None:
    m = Metrics()
    m.transitions.labels(event="replied").inc()
    m.turns.labels(role=m.role("panelist"), outcome=TURN_OUTCOMES[0]).inc(2)
    m.turn_overhead_seconds.observe(0.003)
    get = m.registry.get_sample_value
    assert get("parley_transitions_total", {"event": "replied"}) == 1
    assert get("parley_turns_total", {"role": "panelist", "outcome": "accepted"}) == 2
    assert get("parley_turn_overhead_seconds_bucket", {"le": "0.0025"}) == 0
    assert get("parley_turn_overhead_seconds_bucket", {"le": "0.005"}) == 1
    assert "_created" not in generate_latest(m.registry).decode()


def test_every_service_says_what_it_is() -> None:
    get = Metrics().registry.get_sample_value
    assert get("parley_build_info", {"version": parley_version()}) == 1
    assert (get("process_resident_memory_bytes") or 0) > 1e6
    assert "python_info" in generate_latest(Metrics().registry).decode()


def test_ratios_do_not_start_as_nothing() -> None:
    get = Metrics().registry.get_sample_value
    assert get("parley_submissions_total", {"kind": "reply", "verdict": "busy"}) == 0
    assert get("parley_aside_total", {"kind": "undecodable"}) == 0


def test_a_label_that_comes_from_outside_is_bounded() -> None:
    bounded = Bounded(most=2)
    assert [bounded(v) for v in ("a", "b", "c", "a", "d")] == ["a", "b", "other", "a", "other"]
    assert len(Bounded()("x" * 500)) == 64
    m = Metrics()
    for i in range(10 * MAX_VALUES):
        m.model_calls.labels(model=m.model(f"model-{i}")).inc()
    (family,) = m.model_calls.collect()
    assert len({s.labels["model"] for s in family.samples}) == MAX_VALUES + 1


def test_declaring_all_of_them_takes_less_than_five_milliseconds() -> None:
    def seconds() -> float:
        start = time.perf_counter()
        Metrics()
        return time.perf_counter() - start

    assert min(seconds() for _ in range(20)) < 0.005


def test_a_bucket_carries_the_trace_of_a_value_that_fell_into_it() -> None:
    m = Metrics()
    spread = m.model_seconds.labels(model="m")
    spread.observe(0.02)
    spread.observe(0.03, {"trace_id": "a" * 32})
    shown = generate_openmetrics(m.registry).decode()  # type: ignore[no-untyped-call]
    (line,) = [x for x in shown.splitlines() if "trace_id" in x]
    assert line.startswith('parley_model_seconds_bucket{le="0.05",model="m"} 2.0 # {trace_id="' + "a" * 32 + '"} 0.03')


def test_a_gauge_may_ask_for_its_numbers_at_each_scrape() -> None:
    m = Metrics()
    known = {"sre": 2.0}
    m.queue_workers.read = lambda: known
    get = m.registry.get_sample_value
    assert get("parley_queue_workers", {"queue": "sre"}) == 2
    known = {"sre": 0.0, "qa": 1.0}
    assert get("parley_queue_workers", {"queue": "sre"}) == 0
    assert get("parley_queue_workers", {"queue": "qa"}) == 1
