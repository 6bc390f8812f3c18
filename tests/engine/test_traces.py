"""Spans cross processes through NATS headers: one session is one trace, whatever processes took part."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.observability.receiver import Receiver


@pytest.mark.slow
def test_a_session_is_one_trace_over_all_its_processes(tmp_path: Path) -> None:
    question = Path("examples/factual/question.txt").read_text()
    with Receiver() as receiver:
        env = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "PARLEY_STATE": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-m", "parley", "ask", question, "--protocol", "consensus", "--evidence",
             "examples/factual/evidence", "--json", "--round-limit", "2"],
            env=env, capture_output=True, text=True, timeout=50, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 3), done.stderr
        session = json.loads(done.stdout)["session"]
        receiver.spans(8)
        spans = [
            (service, span)
            for service, span in receiver._spans
            if any(a.key == "gen_ai.conversation.id" and a.value.string_value == session for a in span.attributes)
        ]
    services = {service for service, _ in spans}
    assert {"parley-moderator-1", "parley-panelist_1-1", "parley-panelist_2-1", "parley-analyst-1"} <= services
    assert len({span.trace_id for _, span in spans}) == 1
    by_id = {span.span_id: service for service, span in spans}
    crossings = {(by_id[s.parent_span_id], service) for service, s in spans if s.parent_span_id in by_id}
    assert ("parley-moderator-1", "parley-panelist_1-1") in crossings, "a turn carries the moderator's span"
    assert ("parley-panelist_1-1", "parley-moderator-1") in crossings, "a reply carries the worker's"
    assert any(span.name.startswith("invoke_agent") for _, span in spans)
