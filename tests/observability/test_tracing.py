"""A span crosses processes in headers; without an SDK nothing is written, nothing imported, nothing paid."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from observability import setup, tracing
from tests.observability.receiver import Receiver

ROOT = Path(__file__).parents[2]

SENDER = """
import io, json, sys
from observability import logs, setup, tracing
stop = setup.setup_tracing("sender", instance="one")
headers = {}
with (
    tracing.process("in", "in.s1", headers=None, session="s1", begins=True),
    tracing.publish("work.*", "work.a", headers=headers, session="s1", message_id="m1"),
):
    out = io.StringIO()
    logs.setup_logging(stream=out)
    import logging; logging.getLogger("x").info("inside")
stop()
print(json.dumps({"headers": headers, "line": json.loads(out.getvalue().splitlines()[0])}))
"""

TAKER = """
import json, sys
from observability import setup, tracing
stop = setup.setup_tracing("taker")
headers = json.loads(sys.argv[1])
try:
    with tracing.process(
        "work.*", "work.a", headers=headers, session="s1", attributes={"deliveries": 2}, begins=len(sys.argv) > 2
    ):
        with tracing.span("step", {"n": 1}):
            raise ValueError("no")
except ValueError:
    pass
stop()
"""


def run(code: str, *args: str, endpoint: str = "") -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    if endpoint:
        env["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *args],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def attributes(span: Span) -> dict[str, str | int]:
    return {a.key: a.value.string_value or a.value.int_value for a in span.attributes}


def test_a_span_crosses_two_processes() -> None:
    with Receiver() as receiver:
        sent = json.loads(run(SENDER, endpoint=receiver.url))
        run(TAKER, json.dumps(sent["headers"]), endpoint=receiver.url)
        spans = receiver.spans(4)
    publish = spans["sender", "publish work.*"]
    process = spans["taker", "process work.*"]
    step = spans["taker", "step"]
    assert publish.trace_id == process.trace_id == step.trace_id
    assert process.parent_span_id == publish.span_id
    assert [link.span_id for link in process.links] == [publish.span_id]
    assert step.parent_span_id == process.span_id
    assert (publish.kind, process.kind) == (Span.SPAN_KIND_PRODUCER, Span.SPAN_KIND_CONSUMER)
    assert attributes(publish) == {
        "messaging.system": "nats",
        "messaging.operation.name": "publish",
        "messaging.operation.type": "send",
        "messaging.destination.name": "work.a",
        "messaging.destination.template": "work.*",
        "messaging.message.id": "m1",
        "messaging.message.conversation_id": "s1",
        "gen_ai.conversation.id": "s1",
        "session.id": "s1",
    }
    assert attributes(process)["deliveries"] == 2
    assert [e.name for e in step.events] == ["exception"]
    assert sent["line"]["trace_id"] == publish.trace_id.hex()
    assert sent["line"]["span_id"] == publish.span_id.hex()


DECIDED = """
import json
from observability import setup, tracing
stop = setup.setup_tracing("decides")
told = []
def took(sid, headers=None, begins=False):
    out = {}
    with tracing.process("in", "in.x", headers=headers, session=sid, begins=begins):
        with tracing.publish("work", "work.x", headers=out, session=sid), tracing.span("inside"):
            told.append("traceparent" in out)
    return out
first = took("s1", begins=True)
took("s1")                                    # a timer carries no context
took("s2")                                    # it began elsewhere, and is not traced there
took("s2", headers=first)                     # it is traced there: the decision travels
for n in range(30):
    took(f"more-{n}", begins=True)
stop()
print(json.dumps(told))
"""


def test_a_session_is_traced_whole_or_not_at_all_and_so_many_a_minute() -> None:
    with Receiver() as receiver:
        told = json.loads(run(DECIDED, endpoint=receiver.url))
        receiver.spans(3)
    assert told[:4] == [True, True, False, True]
    assert told[4:] == [True] * (tracing.A_MINUTE - 1) + [False] * (31 - tracing.A_MINUTE)


def test_the_sampler_lets_through_so_many_a_minute() -> None:
    now = [0.0]
    takes = tracing.Sampler(2, lambda: now[0])
    assert [takes() for _ in range(3)] == [True, True, False]
    now[0] = 31.0
    assert [takes(), takes()] == [True, False]
    now[0] = 1_000.0
    assert [takes() for _ in range(3)] == [True, True, False]


def test_a_message_without_a_context_or_with_a_broken_one_starts_a_trace() -> None:
    with Receiver() as receiver:
        run(TAKER, json.dumps({"traceparent": "00-nonsense"}), "begins", endpoint=receiver.url)
        span = receiver.spans(2)["taker", "process work.*"]
    assert (span.parent_span_id, len(span.links)) == (b"", 0)


def test_without_an_endpoint_nothing_is_written_and_nothing_slow_imported() -> None:
    code = (
        SENDER + "\nprint(sorted(m for m in sys.modules if m.startswith(('opentelemetry.sdk', 'requests', 'google'))))"
    )
    first, second = run(code).splitlines()
    assert json.loads(first)["headers"] == {}
    assert "trace_id" not in json.loads(first)["line"]
    assert second == "[]"


def test_a_receiver_that_is_not_there_delays_no_exit_for_long() -> None:
    start = time.monotonic()
    env = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:9"
    done = subprocess.run([sys.executable, "-c", SENDER], cwd=ROOT, env=env, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert "traceparent" in json.loads(done.stdout)["headers"]
    assert time.monotonic() - start < 20


def test_no_sdk_costs_next_to_nothing() -> None:
    assert not tracing.enabled(), "this process must have no SDK"
    headers: dict[str, str] = {}

    def microseconds() -> float:
        start = time.perf_counter()
        for _ in range(1_000):
            tracing.inject(headers)
        return (time.perf_counter() - start) * 1e3

    assert min(microseconds() for _ in range(20)) < 2
    with tracing.publish("t", "t", headers=headers), tracing.process("t", "t", headers=headers), tracing.span("x"):
        assert tracing.ids() is None
    assert headers == {}


def test_set_up_without_an_endpoint_gives_something_to_call() -> None:
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" not in os.environ
    stop = setup.setup_tracing("nobody")
    stop()
    assert not tracing.enabled()
