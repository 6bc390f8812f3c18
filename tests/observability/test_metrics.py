"""Every series declared once, with bounded labels, and cheap to make."""

import re

from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from parley.observability.metrics import MAX_VALUES, Bounded, Metrics, ReadGauge

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


def test_a_label_that_comes_from_outside_is_bounded() -> None:
    bounded = Bounded(most=2)
    assert [bounded(v) for v in ("a", "b", "c", "a", "d")] == ["a", "b", "other", "a", "other"]
    assert len(Bounded()("x" * 500)) == 64
    m = Metrics()
    for i in range(10 * MAX_VALUES):
        m.model_calls.labels(model=m.model(f"model-{i}")).inc()
    (family,) = m.model_calls.collect()
    assert len({s.labels["model"] for s in family.samples}) == MAX_VALUES + 1


def test_a_bucket_carries_the_trace_of_a_value_that_fell_into_it() -> None:
    m = Metrics()
    spread = m.model_seconds.labels(model="m")
    spread.observe(0.02)
    spread.observe(0.03, {"trace_id": "a" * 32})
    shown = generate_openmetrics(m.registry).decode()  # type: ignore[no-untyped-call]
    (line,) = [x for x in shown.splitlines() if "trace_id" in x]
    assert line.startswith('parley_model_seconds_bucket{le="0.05",model="m"} 2.0 # {trace_id="' + "a" * 32 + '"} 0.03')
