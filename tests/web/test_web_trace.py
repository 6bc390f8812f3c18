"""A session that is opened on a page is one whole trace, and the gateway is its root."""

import json
from functools import partial
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.engine.test_traces import Found, is_whole, named, of
from tests.observability.receiver import Receiver
from tests.parley.support import QUESTION, Front

PROGRAM = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
"""Trace and span of a program that traces its own calls."""


def _goes_on_in_the_trace_of_its_asker(said: dict[str, str], receiver: Receiver) -> None:
    """A program that sends `traceparent` finds the session under its own span, and one that sends nonsense does not."""
    headers = {"authorization": f"Bearer {said['token']}"}
    told = ("system", "We sell tea on Mondays."), ("user", "When do we sell tea?")
    asked = {"model": "parley/consensus", "messages": [{"role": role, "content": text} for role, text in told]}
    sids = []
    with httpx.Client(base_url=said["url"], headers=headers, timeout=60) as program:
        for traceparent in (f"00-{'-'.join(PROGRAM)}-01", "00-" + "z" * 900):
            answer = program.post("/v1/chat/completions", json=asked, headers={"traceparent": traceparent})
            assert answer.status_code == 200, answer.text
            sids.append(answer.headers["x-parley-session"])

    def there(found: Found) -> bool:
        return all(named(of(found, sid), name) for sid in sids for name in ("invoke_workflow", "parley"))

    mine, other = (of(receiver.until(there), sid) for sid in sids)
    assert {span.trace_id.hex() for span in mine} == {PROGRAM[0]}
    (own,) = [span for span in mine if span.name == "parley gateway"]
    assert own.parent_span_id.hex() == PROGRAM[1]
    assert [span.name for span in other if not span.parent_span_id] == ["parley gateway"]


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
        _goes_on_in_the_trace_of_its_asker(said, receiver)
        with httpx.Client(base_url=said["metrics"]) as metrics:
            shown = metrics.get("/metrics").text
        assert 'parley_gateway_requests_total{door="web",status="201"} 1.0' in shown
        assert "parley_bus_connected 1.0" in shown, "no alert says that it has no connection"
        serving.terminate()
        _, err = serving.communicate(timeout=20)
        assert serving.returncode == 0, err
