"""The example for the OpenTelemetry Collector: its parts fit each other, and its rules look at what our spans say."""

from pathlib import Path
from typing import Any

import yaml

from parley.observability.tracing import ERROR

CONFIG: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "deploy/observability/collector.yaml").read_text())
KNOWN: dict[str, dict[str, Any]] = {
    "boolean_attribute": {"key": str, "value": bool, "invert_match": bool},
    "latency": {"threshold_ms": int, "upper_threshold_ms": int},
    "probabilistic": {"sampling_percentage": (int, float), "hash_salt": str},
}
"""Policies and their fields, as the schema of the tail sampling processor has them (contrib, 2026)."""
FIELDS = {"decision_wait", "num_traces", "policies", "decision_cache", "expected_new_traces_per_sec"}


def test_pipelines_are_made_of_parts_that_are_there() -> None:
    for pipeline in CONFIG["service"]["pipelines"].values():
        for kind in ("receivers", "processors", "exporters"):
            assert set(pipeline[kind]) == set(CONFIG[kind])
        assert pipeline["processors"][0] == "memory_limiter" and pipeline["processors"][-1] == "batch"


def test_each_policy_has_the_fields_of_its_type() -> None:
    tail = CONFIG["processors"]["tail_sampling"]
    assert tail.keys() <= FIELDS and tail["decision_wait"].endswith("s")
    assert tail["decision_cache"]["sampled_cache_size"] >= 10 * tail["num_traces"]
    assert len({p["name"] for p in tail["policies"]}) == len(tail["policies"])
    for policy in tail["policies"]:
        assert policy.keys() == {"name", "type", policy["type"]}
        for field, value in policy[policy["type"]].items():
            assert isinstance(value, KNOWN[policy["type"]][field]), (policy, field)


def test_what_failed_is_kept_by_the_attribute_that_spans_have() -> None:
    kept = [p["boolean_attribute"] for p in CONFIG["processors"]["tail_sampling"]["policies"] if p["name"] == "failed"]
    assert kept == [{"key": ERROR, "value": True}]
