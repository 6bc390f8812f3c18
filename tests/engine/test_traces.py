"""A session is one whole trace, from its client to its calls, in every protocol and whatever process is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from parley.stack.lease import read_running
from tests.observability.receiver import Receiver, attributes
from tests.parley.support import QUESTION, Front, until
from tests.support.expert_model import expert_model

EXAMPLES = Path(__file__).parents[2] / "examples"
ASKED = {
    "consensus": (QUESTION,),
    "madp": ("add JWT authentication to the API gateway and refactor the backend code",),
}  # fmt: skip
DEEPEST = 8
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


def depth(span: Span, by_id: dict[bytes, Span]) -> int:
    return 1 + (depth(by_id[span.parent_span_id], by_id) if span.parent_span_id else 0)


def check(spans: list[Span], session: str, protocol: str) -> Span:
    """What holds of a session's trace; its own span. Of every protocol: tests/coordinator/test_spans.py."""
    by_id = {s.span_id: s for s in spans}
    assert len(by_id) == len(spans), [n for n, c in Counter(s.name for s in spans).items() if c > 1]
    assert len({s.trace_id for s in spans}) == 1
    (root,) = [s for s in spans if not s.parent_span_id]
    assert root.name == "parley ask"
    assert max(depth(s, by_id) for s in spans) <= DEEPEST
    (own,) = named(spans, "invoke_workflow")
    assert own.name == f"invoke_workflow {protocol}" and own.parent_span_id == root.span_id
    assert attributes(own)["gen_ai.conversation.id"] == session
    rounds = {s.span_id: attributes(s)["parley.round"] for s in named(spans, "round")}
    turns = named(spans, "invoke_agent")
    assert rounds and turns
    for turn in turns:
        told = attributes(turn)
        assert rounds[turn.parent_span_id] == told["turn.round"], "a turn lies under its round"
        assert {"gen_ai.operation.name", "gen_ai.agent.name", "turn.kind", "turn.id", "turn.outcome"} <= told.keys()
    for span in (*turns, *(s for s in named(spans, "round"))):
        around = by_id[span.parent_span_id]
        assert around.start_time_unix_nano <= span.start_time_unix_nano
    (stop,) = own.events
    assert stop.name == "parley.stop"
    said = attributes(stop)
    assert said["parley.stop.reason"] == attributes(own)["parley.stop.reason"] and "parley.stop.converged" in said
    posts = {s.span_id: s for s in named(spans, "publish")}
    ids = set(by_id)
    assert all(link.span_id in ids for s in spans for link in s.links), "no link leads nowhere"
    shown = [link.span_id in posts for turn in turns for link in turn.links]
    assert all(shown) and (bool(shown) or protocol == "madp"), "turns are linked to the posts that they were shown"
    # What tracing costs is counted: the turn, the step that took its reply, and its posts; and a few for the session.
    assert len(spans) <= 2 * len(turns) + len(posts) + len(rounds) + len(named(spans, "process")) - len(turns) + 8
    return own


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    with expert_model() as env:
        yield Front(tmp_path, protocol="", env=env)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_session_is_one_whole_trace_from_its_client(front: Front) -> None:
    with Receiver() as receiver:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
        up = front.start("up", env=env)
        until(lambda: (r := read_running(front.state)) and r.ready, "it is not up", 60)
        for protocol, asked in ASKED.items():
            evidence = ("--evidence", str(front.evidence)) if protocol == "consensus" else ()
            code, out, err = front.run("ask", *asked, "--protocol", protocol, *evidence, "--json", env=env)
            assert code in (0, 3), err
            session = json.loads(out)["session"]
            found = receiver.until(partial(is_whole, session=session))
            spans = of(found, session)
            check(spans, session, protocol)
            services = {service for service, s in found if s.trace_id == spans[0].trace_id}
            assert {"parley-ask", "parley-moderator-1"} < services
            if protocol == "madp":
                follows(spans)
        up.terminate()
        up.communicate(timeout=20)
    lines = [json.loads(x) for f in front.state.rglob("*.jsonl") for x in f.read_text().splitlines() if x[:1] == "{"]
    answered = [line for line in lines if line["message"] == "turn answered"]
    assert answered
    for line in answered:
        assert {"session", "turn", "seat", "trace_id", "span_id"} <= line.keys(), line


def follows(spans: list[Span]) -> None:
    """From the claims, what answers them is found by links alone, to the work and its review."""
    posts = {s.span_id: s for s in named(spans, "publish")}

    def answers(kind: str) -> set[str]:
        return {
            posts[link.span_id].name
            for s in posts.values() if s.name == f"publish {kind}" for link in s.links if link.span_id in posts
        }  # fmt: skip

    assert "publish task" in answers("claims")
    assert "publish claims" in answers("consensus")
    assert "publish consensus" in answers("work")
    heard = [s for s in spans if s.name == "process post"]
    assert heard and all(posts[s.parent_span_id].name in ("publish task", "publish claims") for s in heard)
    said = [s for s in spans if s.name == "process say"]
    assert {s.parent_span_id for s in said} <= {s.span_id for s in heard}, "a claim goes on with the post that it heard"


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_moderator_that_is_killed_loses_no_span_of_the_session(front: Front) -> None:
    with Receiver() as receiver:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
        config = str(front.slow_agents(0.7))
        up = front.start("up", "--config", config, env=env)
        running = until(lambda: (r := read_running(front.state)) and r.ready and r, "it is not up", 60)
        asking = front.start("ask", QUESTION, "--protocol", "consensus", "--json", "--config", config, env=env)
        receiver.until(lambda found: any(s.name.startswith("invoke_agent") for _, s in found), 40)
        moderator = psutil.Process(running.services["moderator-1"].pid)
        os.kill(moderator.pid, signal.SIGKILL)
        out, err = asking.communicate(timeout=60)
        assert asking.returncode in (0, 3), err
        session = json.loads(out)["session"]
        spans = of(receiver.until(partial(is_whole, session=session)), session)
        up.terminate()
        up.communicate(timeout=20)
    own = {s.span_id: s for s in named(spans, "invoke_workflow")}
    assert len(own) == 1, "written twice it has the same id"
    (span,) = own.values()
    assert span.end_time_unix_nano < time.time_ns() and attributes(span)["parley.turns"] >= 4
    assert not psutil.pid_exists(moderator.pid) or moderator.status() == psutil.STATUS_ZOMBIE


CALLER = """
import asyncio, sys
from opentelemetry import trace
from parley.observability.setup import setup_tracing
import parley
stop = setup_tracing("caller")
async def main():
    async with parley.local(protocol="consensus", state=sys.argv[1]) as p:
        with trace.get_tracer("caller").start_as_current_span("mine"):
            session = await p.start("What is the capital of Lithuania?", evidence=sys.argv[2])
            await session.result()
        print(session.sid)
asyncio.run(main())
stop()
"""


@pytest.mark.slow
def test_a_callers_own_trace_goes_on_through_the_library(front: Front) -> None:
    with Receiver() as receiver:
        env = {**front.environment, "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
        done = subprocess.run(
            [sys.executable, "-c", CALLER, str(front.state), str(front.evidence)],
            env=env, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        session = done.stdout.strip()
        spans = of(receiver.until(partial(is_whole, session=session, root="mine")), session)
    by_id = {s.span_id: s for s in spans}
    (own,) = named(spans, "invoke_workflow")
    assert by_id[own.parent_span_id].name == "mine"
    assert [s.name for s in spans if not s.parent_span_id] == ["mine"]
