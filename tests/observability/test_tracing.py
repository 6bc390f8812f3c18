"""A span crosses processes in headers; without an SDK nothing is written, nothing imported, nothing paid."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from parley.observability import tracing
from tests.observability.receiver import Receiver, attributes

ROOT = Path(__file__).parents[2]

SENDER = """
import io, json, sys
from parley.observability import logs, setup, tracing
stop = setup.setup_tracing("sender", instance="one")
headers = {}
with tracing.asking("parley open", "s1") as asked:
    with tracing.process("in", "in.s1", headers=asked, session="s1"):
        tracing.inject(headers)
        out = io.StringIO()
        logs.setup_logging(stream=out)
        import logging; logging.getLogger("x").info("inside")
stop()
print(json.dumps({"headers": headers, "line": json.loads(out.getvalue().splitlines()[0])}))
"""

TAKER = """
import json, sys
from parley.observability import setup, tracing
stop = setup.setup_tracing("taker")
headers = json.loads(sys.argv[1])
try:
    with tracing.process("work.*", "work.a", headers=headers, session="s1"):
        with tracing.span("step", {"n": 1}):
            raise ValueError("no")
except ValueError:
    pass
stop()
"""


def run(code: str, *args: str, endpoint: str = "", complains: bool = False) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    if endpoint:
        env["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
    command = [sys.executable, "-W", "error", "-c", code, *args]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert complains or done.stderr == ""
    return done.stdout


def test_a_span_crosses_two_processes() -> None:
    with Receiver() as receiver:
        sent = json.loads(run(SENDER, endpoint=receiver.url))
        run(TAKER, json.dumps(sent["headers"]), endpoint=receiver.url)
        spans = {(service, s.name): s for service, s in receiver.until(lambda found: len(found) == 4)}
    root, taken = spans["sender", "parley open"], spans["sender", "process in"]
    process, step = spans["taker", "process work.*"], spans["taker", "step"]
    assert {s.trace_id for s in (root, taken, process, step)} == {root.trace_id}
    assert (root.parent_span_id, taken.parent_span_id) == (b"", root.span_id)
    assert process.parent_span_id == taken.span_id
    assert step.parent_span_id == process.span_id
    assert process.kind == Span.SPAN_KIND_CONSUMER
    assert attributes(process) == {
        "messaging.system": "nats",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "work.a",
        "messaging.destination.template": "work.*",
        "messaging.message.conversation_id": "s1",
        "gen_ai.conversation.id": "s1",
        "session.id": "s1",
    }
    assert [e.name for e in step.events] == ["exception"]
    assert sent["line"]["trace_id"] == taken.trace_id.hex()
    assert sent["line"]["span_id"] == taken.span_id.hex()


DECIDED = """
import json
from opentelemetry import trace
from parley.observability import setup, tracing
stop = setup.setup_tracing("decides")
ids = tracing.trace_of("s1"), tracing.span_of("s1", "session")
own = tracing.text(trace.SpanContext(*ids, is_remote=True, trace_flags=trace.TraceFlags(1)))
told = [tracing.begin("s1", {}) == own]                                   # it begins the trace itself
told.append(tracing.begin("s2", {"traceparent": own}) == own)             # it goes on with its asker's
told.append(tracing.begin("s3", {"traceparent": own[:-2] + "00"}) == "")  # its asker decided that it is not traced
told.append(tracing.begin("s4", {"traceparent": "00-nonsense"}) != "")
for n in range(30):
    told.append(tracing.begin(f"more-{n}", {}) != "")
print(json.dumps(told))
"""


def test_a_session_is_traced_as_its_asker_decided_or_so_many_a_minute() -> None:
    told = json.loads(run(DECIDED, endpoint="http://127.0.0.1:9"))
    assert told[:4] == [True] * 4
    assert told[4:] == [True] * (tracing.A_MINUTE - 2) + [False] * (32 - tracing.A_MINUTE)


SAID = """
import asyncio, json
from parley.observability import setup, tracing
stop = setup.setup_tracing("agent")
from tests.llm.server import fails, model_server, raw, says
from tests.llm.support import FULL, asked, model, silent
whole = {"id": "chatcmpl-1", "model": "m-2026", "object": "chat.completion",
         "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": json.dumps(FULL)}}],
         "usage": {"prompt_tokens": 100, "completion_tokens": 20}}
price = {"usd_per_million_input": 1, "usd_per_million_output": 1}
async def main():
    async with model_server(fails(503), raw(json.dumps(whole).encode())) as server, model(server.url, **price) as made:
        with tracing.root("parley ask"):
            await made.reply(asked(), silent)
        print(server.url)
asyncio.run(main())
stop()
"""


def test_a_call_of_a_model_has_the_attributes_that_the_conventions_require() -> None:
    with Receiver() as receiver:
        url = run(SAID, endpoint=receiver.url).strip()
        chats = [s for _, s in receiver.until(lambda found: len(found) == 3) if s.name.startswith("chat")]
    failed, answered = sorted(chats, key=lambda s: s.start_time_unix_nano)
    assert (failed.name, failed.kind, answered.kind) == ("chat m", Span.SPAN_KIND_CLIENT, Span.SPAN_KIND_CLIENT)
    common = {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai_compatible", "gen_ai.request.model": "m",
        "server.address": "127.0.0.1", "server.port": int(url.split(":")[2].split("/")[0]),
    }  # fmt: skip
    told = attributes(failed)
    assert common.items() <= told.items()
    assert (told["error.type"], told["parley.error"]) == ("503", True)
    told = attributes(answered)
    wanted = {
        "gen_ai.response.id": "chatcmpl-1", "gen_ai.response.model": "m-2026",
        "gen_ai.response.finish_reasons": ("stop",), "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20, "gen_ai.usage.cache_read.input_tokens": 0,
    }  # fmt: skip
    assert {**common, **wanted}.items() <= told.items()
    assert told["gen_ai.request.max_tokens"] > 0
    assert "error.type" not in told
    assert not any("measured" in str(value) for value in told.values()), "no text of the reply"


def test_the_sampler_lets_through_so_many_a_minute() -> None:
    now = [0.0]
    takes = tracing.Sampler(2, lambda: now[0])
    assert [takes() for _ in range(3)] == [True, True, False]
    now[0] = 31.0
    assert [takes(), takes()] == [True, False]
    now[0] = 1_000.0
    assert [takes() for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize("headers", [{}, {"traceparent": "00-nonsense"}])
def test_a_message_without_a_context_or_with_a_broken_one_begins_no_trace(headers: dict[str, str]) -> None:
    with Receiver() as receiver:
        run(TAKER, json.dumps(headers), endpoint=receiver.url)
        run(SENDER, endpoint=receiver.url)
        assert {service for service, _ in receiver.until(lambda found: len(found) >= 2)} == {"sender"}


def test_without_an_endpoint_nothing_is_written_and_nothing_slow_imported() -> None:
    code = (
        SENDER + "\nprint(sorted(m for m in sys.modules if m.startswith(('opentelemetry.sdk', 'requests', 'google'))))"
    )
    first, second = run(code).splitlines()
    assert json.loads(first)["headers"] == {}
    assert "trace_id" not in json.loads(first)["line"]
    assert second == "[]"
