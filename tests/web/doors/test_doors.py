"""What holds at each door that ships beside the page (A2A, agents on NATS, editors by ACP), and what each has beside
the others: tasks that are looked up and cancelled, plans and links."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import acp
import pytest
from a2a.helpers import get_artifact_text, get_message_text
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from tests.engine.test_traces import Found
from tests.observability.receiver import Receiver
from tests.parley.support import ANSWER, QUESTION, TEXTS
from tests.support.gateway import Served, serving
from tests.web.doors.clients import DOORS, Told, Zed, a2a_client, a2a_said, a2a_told, acp_opened
from tests.web.doors.support import ASKS, NATS, TASK, somebodys_nats

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
each = pytest.mark.parametrize("door", DOORS)


@pytest.fixture(scope="package")
def first() -> list[tuple[list[str], str]]:
    return []


def alike(text: str) -> str:
    """A text without what differs from run to run: the session's id, and how long it took."""
    return re.sub(r"\b[0-9a-f]{20}\b|\d+\.\d s\b", "…", text).strip()


@each
async def test_everybody_is_told_the_same_posts_and_verdict_and_goes_on_from_it(
    served: Served, first: list[Any], door: str
) -> None:
    async with DOORS[door](served) as conversation:
        told: Told = await conversation.ask(QUESTION, "consensus", TEXTS, "")
        later = await conversation.ask("On which river?", "", {}, "")
    assert told.verdict.startswith(ANSWER) and len(told.posts) > 3 and ANSWER in "".join(told.posts)
    first.append(([alike(text) for text in told.posts], alike(told.verdict)))
    assert first[-1] == first[0]
    assert served.front.json("explain", told.session, "--json")["result"]["status"] == "finished"
    exported = served.front.run("sessions", "export", later.session, "--format", "json")[1]
    assert later.session != told.session and told.session in exported and TEXTS["b.md"] in exported


@each
async def test_a_person_is_asked_and_the_answer_goes_on_with_the_session(served: Served, door: str) -> None:
    async with DOORS[door](served) as conversation:
        told: Told = await conversation.ask(TASK, "madp", {}, "stop", settings=ASKS)
    (asked,) = told.asked
    assert "Without an answer: " in asked and "stop" in asked and told.verdict.startswith("Failed: ")
    assert len(set(told.posts)) == len(told.posts), "nothing is told twice"


WRONG = {
    "A2A": ("'stedy' is not a protocol; known: ", "stedy", {}),
    "NATS": ("400.*treshold", "", {"settings": {"treshold": 3}}),
    "ACP": ("question", "", {}),
}


@each
async def test_what_is_wrong_is_an_error_of_the_protocol_that_names_it(served: Served, door: str) -> None:
    why, protocol, more = WRONG[door]
    async with DOORS[door](served) as conversation:
        with pytest.raises(Exception, match=f"(?s){why}"):
            await conversation.ask("" if door == "ACP" else "Tea?", protocol, {}, "", **more)


async def test_the_callers_trace_goes_on(tmp_path: Path) -> None:
    with Receiver() as receiver, somebodys_nats() as url:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, NATS: url}
        named_doors = ("--door", "a2a", "--door", "nats-agents", "--set", f"doors.nats-agents.url={url}")
        with serving(tmp_path, *named_doors, env=env) as served:
            for n, door in enumerate(DOORS.values(), 1):
                trace = f"{n:032x}"
                async with door(served, traceparent=f"00-{trace}-b7ad6b7169203331-01") as conversation:
                    await conversation.ask(QUESTION, "consensus", TEXTS, "")
                receiver.until(partial(opened_in, trace))


def opened_in(trace: str, found: Found) -> bool:
    """Whether a session was opened in this trace, and played by a moderator."""
    names = {span.name for _, span in found if span.trace_id.hex() == trace}
    return "parley gateway" in names and any(name.startswith("invoke_workflow") for name in names)


async def test_a_task_is_streamed_and_looked_up(served: Served) -> None:
    async with a2a_client(served) as c:
        task, statuses, verdict = await a2a_told(c, a2a_said(QUESTION, protocol="consensus", files=TEXTS))
        found = await c.get_task(pb.GetTaskRequest(id=task.id))
        listed = await c.list_tasks(pb.ListTasksRequest())
    assert [s.state for s in statuses] == [pb.TASK_STATE_WORKING] * (len(statuses) - 1) + [pb.TASK_STATE_COMPLETED]
    assert get_artifact_text(found.artifacts[0]) == verdict and found.status.state == pb.TASK_STATE_COMPLETED
    assert dict(found.artifacts[0].parts[1].data.struct_value)["status"] == "finished"
    assert [get_message_text(m) for m in found.history] == [get_message_text(s.message) for s in statuses[:-1]]
    assert task.id in [t.id for t in listed.tasks]


async def test_a_task_that_needs_input_takes_what_is_offered_and_only_then(served: Served) -> None:
    async with a2a_client(served) as c:
        task, statuses, verdict = await a2a_told(c, a2a_said(TASK, protocol="madp", settings=ASKS))
        assert "stop" in list(statuses[-1].message.metadata["choices"]) and not verdict
        assert (await c.get_task(pb.GetTaskRequest(id=task.id))).status.state == pb.TASK_STATE_INPUT_REQUIRED
        with pytest.raises(InvalidParamsError, match=r"takes .*stop"):
            await a2a_told(c, a2a_said("perhaps", task=task.id))
        _, after, _ = await a2a_told(c, a2a_said("stop", task=task.id))
        assert after[-1].state == pb.TASK_STATE_FAILED
        with pytest.raises(UnsupportedOperationError, match="asks nothing now"):
            await a2a_told(c, a2a_said("stop", task=task.id))


async def test_who_comes_back_is_told_the_rest_of_a_task_until_it_is_cancelled(served: Served) -> None:
    async with a2a_client(served) as c:
        telling: Any = c.send_message(a2a_said("Tea or coffee?", protocol="slow"))
        sid = (await anext(telling)).task.id
        await telling.aclose()
        subscribed = c.subscribe(pb.SubscribeToTaskRequest(id=sid))
        assert (await anext(subscribed)).task.id == sid
        assert (await anext(subscribed)).status_update.status.state == pb.TASK_STATE_WORKING
        cancelled = await c.cancel_task(pb.CancelTaskRequest(id=sid))
        last = [e async for e in subscribed][-1].status_update
        assert cancelled.status.state == last.status.state == pb.TASK_STATE_CANCELED
        with pytest.raises(TaskNotCancelableError, match="is cancelled"):
            await c.cancel_task(pb.CancelTaskRequest(id=sid))
    assert served.front.json("explain", sid, "--json")["result"]["status"] == "cancelled"


async def test_what_a2a_does_not_take_is_refused_by_its_own_errors(served: Served) -> None:
    linked = a2a_said("Tea or coffee?")
    linked.message.parts.append(pb.Part(url="http://127.0.0.1/notes.txt"))
    async with a2a_client(served) as c:
        with pytest.raises(ContentTypeNotSupportedError, match="with their bytes"):
            await a2a_told(c, linked)
        with pytest.raises(InvalidParamsError, match="budget"):
            await a2a_told(c, a2a_said("Tea or coffee?", budget={"calls": -1}))
        with pytest.raises(TaskNotFoundError):
            await c.get_task(pb.GetTaskRequest(id="f" * 20))
        with pytest.raises(TaskNotFoundError):
            await a2a_told(c, a2a_said("stop", task="f" * 20))


async def test_an_editor_has_rounds_as_a_plan_and_no_file_is_read_that_it_only_names(
    served: Served, tmp_path: Path
) -> None:
    zed, secret = Zed(), tmp_path / "secret.txt"
    secret.write_text("sesame")
    async with acp_opened(served.front, zed) as (agent, session, _):
        link = acp.resource_link_block("secret.txt", secret.as_uri())
        texts = [acp.resource_block(acp.embedded_text_resource(f"file:///{n}", text)) for n, text in TEXTS.items()]
        await agent.prompt(session_id=session, prompt=[acp.text_block(f"/consensus {QUESTION}"), link, *texts])
        assert zed.plan()[-1] == ("verdict", "completed") and {s for _, s in zed.plan()} == {"completed"}
        assert ANSWER in "".join(zed.told("agent_message_chunk"))
        thoughts = "".join(zed.told("agent_thought_chunk"))
        assert f"Not read: resource_link {secret.as_uri()}" in thoughts and "sesame" not in thoughts
        with pytest.raises(acp.RequestError):
            await agent.prompt(session_id="nobody's", prompt=[acp.text_block("Tea?")])
