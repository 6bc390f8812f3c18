"""A session is one whole trace, from its client to its calls."""

import json
from functools import partial
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from parley.stack.lease import read_running
from tests.observability.receiver import Receiver, attributes
from tests.parley.support import QUESTION, Front, until

Found = list[tuple[str, Span]]


def of(found: Found, session: str) -> list[Span]:
    """The spans of the traces that a session is in."""
    traces = {s.trace_id for _, s in found if attributes(s).get("session.id") == session}
    return [s for _, s in found if s.trace_id in traces]


def named(spans: list[Span], name: str) -> list[Span]:
    return [s for s in spans if s.name.split()[0] == name]


def is_whole(found: Found, session: str, root: str = "parley ask") -> bool:
    """Whether the session's own span came, a span of each turn that it counts, and of every span the parent."""
    spans = of(found, session)
    own = named(spans, "invoke_workflow")
    ids = {s.span_id for s in spans}
    turns = {s.span_id for s in named(spans, "invoke_agent")}
    return (
        bool(own)
        and len(turns) >= attributes(own[0])["parley.turns"]
        and all(not s.parent_span_id or s.parent_span_id in ids for s in spans)
        and any(s.name == root for s in spans)
    )


@pytest.fixture
def front(tmp_path: Path) -> Front:
    return Front(tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_session_is_one_whole_trace_from_its_client(front: Front) -> None:
    """What each protocol's session writes of itself: tests/coordinator/test_spans.py."""
    with Receiver() as receiver:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
        up = front.start("up", env=env)
        until(lambda: (r := read_running(front.state)) and r.ready, "it is not up", 60)
        code, out, err = front.run("ask", QUESTION, "--evidence", str(front.evidence), "--json", env=env)
        assert code in (0, 3), err
        session = json.loads(out)["session"]
        found = receiver.until(partial(is_whole, session=session))
        up.terminate()
        up.communicate(timeout=20)
    spans = of(found, session)
    by_id = {s.span_id: s for s in spans}
    assert len(by_id) == len(spans) and len({s.trace_id for s in spans}) == 1, "each came once"
    (root,) = [s for s in spans if not s.parent_span_id]
    (own,) = named(spans, "invoke_workflow")
    assert (root.name, own.name) == ("parley ask", "invoke_workflow consensus") and own.parent_span_id == root.span_id
    assert [e.name for e in own.events] == ["parley.stop"] and "parley.stop.converged" in attributes(own.events[0])
    rounds = {s.span_id: attributes(s)["parley.round"] for s in named(spans, "round")}
    for turn in named(spans, "invoke_agent"):
        told = attributes(turn)
        assert rounds[turn.parent_span_id] == told["turn.round"], "a turn lies under its round"
        assert {"gen_ai.operation.name", "gen_ai.agent.name", "turn.kind", "turn.id", "turn.outcome"} <= told.keys()
    linked = {by_id[link.span_id].name for s in named(spans, "invoke_agent") for link in s.links}
    assert linked and all(name.startswith("publish") for name in linked), "to the posts that they were shown"
    assert {"parley-ask", "parley-moderator-1"} < {service for service, s in found if s.trace_id == root.trace_id}
    lines = [json.loads(x) for f in front.state.rglob("*.jsonl") for x in f.read_text().splitlines() if x[:1] == "{"]
    answered = [line for line in lines if line["message"] == "turn answered"]
    assert answered and all({"session", "turn", "seat", "trace_id", "span_id"} <= line.keys() for line in answered)
