"""A session that is opened on a page is one whole trace, and the gateway is its root."""

import json
from functools import partial
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.engine.test_traces import is_whole, named, of
from tests.observability.receiver import Receiver
from tests.parley.support import QUESTION, Front


@pytest.mark.timeout(120)
def test_a_session_that_a_page_opens_is_one_trace_from_the_gateway(tmp_path: Path) -> None:
    front = Front(tmp_path, protocol="")
    with Receiver() as receiver:
        serving = front.start("serve", "--json", env={"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url})
        assert serving.stdout is not None
        said = json.loads(serving.stdout.readline())
        with httpx.Client(base_url=said["url"], timeout=30) as page:
            assert page.get(said["link"]).status_code == 303
            asked = {"question": QUESTION, "protocol": "consensus"}
            files = [("evidence", (path.name, path.read_bytes())) for path in sorted(front.evidence.iterdir())]
            opened = page.post("/api/sessions", data={"request": json.dumps(asked)}, files=files)
            assert opened.status_code == 201, opened.text
            session = opened.json()["session"]
            found = receiver.until(partial(is_whole, session=session, root="parley gateway"))
        spans = of(found, session)
        (root,) = [span for span in spans if not span.parent_span_id]
        assert root.name == "parley gateway" and len({span.trace_id for span in spans}) == 1
        (own,) = named(spans, "invoke_workflow")
        assert own.parent_span_id == root.span_id
        services = {service for service, span in found if span.trace_id == root.trace_id}
        assert {"parley-gateway", "parley-moderator-1"} < services
        with httpx.Client(base_url=said["metrics"]) as metrics:
            shown = metrics.get("/metrics").text
        assert 'parley_gateway_requests_total{door="web",status="201"} 1.0' in shown
        serving.terminate()
        _, err = serving.communicate(timeout=20)
        assert serving.returncode == 0, err
