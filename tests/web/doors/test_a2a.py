"""The door for A2A, asked by the protocol's own client, and an A2A agent in a seat."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

pytest.importorskip("a2a", reason="the extra a2a is not installed: pip install 'parley[a2a]'")

from a2a.client import Client, ClientConfig, create_client
from a2a.helpers import get_artifact_text, get_message_text, new_raw_part, new_text_message
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from tests.parley.support import ANSWER, QUESTION, TEXTS
from tests.support.gateway import Served
from tests.web.doors.support import ASKS, TASK

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@contextlib.asynccontextmanager
async def client(served: Served, *, streaming: bool = True) -> AsyncIterator[Client]:
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {served.token}"}, timeout=60) as http:
        async with await create_client(served.url, ClientConfig(httpx_client=http, streaming=streaming)) as found:
            yield found


def said(text: str, *, task: str = "", context: str = "", **metadata: Any) -> pb.SendMessageRequest:
    message = new_text_message(text, task_id=task or None, context_id=context or None, role=pb.ROLE_USER)
    message.metadata.update(metadata)
    return pb.SendMessageRequest(message=message)


def documented(request: pb.SendMessageRequest) -> pb.SendMessageRequest:
    request.message.parts.extend(new_raw_part(text.encode(), filename=name) for name, text in TEXTS.items())
    return request


async def told(client: Client, request: pb.SendMessageRequest) -> tuple[str, list[pb.TaskStatus], str]:
    """(the task, what was told of it, the verdict)"""
    events = [event async for event in client.send_message(request)]
    verdict = [get_artifact_text(e.artifact_update.artifact) for e in events if e.HasField("artifact_update")]
    return events[0].task.id, [e.status_update.status for e in events if e.HasField("status_update")], "".join(verdict)


def words(statuses: list[pb.TaskStatus]) -> str:
    return "\n".join(get_message_text(status.message) for status in statuses)


async def test_a_task_is_streamed_post_by_post_and_its_verdict_is_an_artifact(served: Served) -> None:
    async with client(served) as c:
        sid, statuses, verdict = await told(c, documented(said(QUESTION, protocol="consensus")))
        task = await c.get_task(pb.GetTaskRequest(id=sid))
        listed = await c.list_tasks(pb.ListTasksRequest())
    assert [s.state for s in statuses[:-1]] == [pb.TASK_STATE_WORKING] * (len(statuses) - 1)
    assert len(statuses) > 4 and statuses[-1].state == pb.TASK_STATE_COMPLETED
    assert verdict.startswith(ANSWER) and ANSWER in words(statuses)
    assert get_artifact_text(task.artifacts[0]) == verdict and task.status.state == pb.TASK_STATE_COMPLETED
    assert dict(task.artifacts[0].parts[1].data.struct_value)["status"] == "finished"
    assert [get_message_text(m) for m in task.history] == [get_message_text(s.message) for s in statuses[:-1]]
    assert sid in [t.id for t in listed.tasks]
    assert served.front.json("explain", sid, "--json")["result"]["status"] == "finished"


async def test_a_message_in_its_context_goes_on_from_a_task_and_its_files_are_evidence(served: Served) -> None:
    async with client(served, streaming=False) as c:
        (first,) = [e.task async for e in c.send_message(documented(said(QUESTION, protocol="consensus")))]
        (second,) = [e.task async for e in c.send_message(said("On which river?", context=first.context_id))]
    assert second.id != first.id and second.context_id == first.context_id
    exported = served.front.run("sessions", "export", second.id, "--format", "json")[1]
    assert first.id in exported and TEXTS["b.md"] in exported


async def test_an_open_item_needs_input_and_the_answer_goes_on_with_the_task(served: Served) -> None:
    async with client(served) as c:
        sid, statuses, verdict = await told(c, said(TASK, protocol="madp", settings=ASKS))
        asked = statuses[-1]
        assert asked.state == pb.TASK_STATE_INPUT_REQUIRED and not verdict
        assert "stop" in list(asked.message.metadata["choices"]) and "Without an answer: " in words([asked])
        assert (await c.get_task(pb.GetTaskRequest(id=sid))).status.state == pb.TASK_STATE_INPUT_REQUIRED
        with pytest.raises(InvalidParamsError, match=r"takes .*stop"):
            await told(c, said("perhaps", task=sid))
        again, after, verdict = await told(c, said("stop", task=sid))
        with pytest.raises(UnsupportedOperationError, match="asks nothing now"):
            await told(c, said("stop", task=sid))
    assert again == sid and after[-1].state == pb.TASK_STATE_FAILED and verdict.startswith("Failed: ")
    assert not set(words(statuses).split("\n\n")) & set(words(after[1:]).split("\n\n")), "nothing is told twice"


async def test_a_task_that_is_cancelled_is_over(served: Served) -> None:
    async with client(served) as c:
        telling = c.send_message(said("Tea or coffee?", protocol="slow"))
        sid = (await anext(telling)).task.id
        cancelled = await c.cancel_task(pb.CancelTaskRequest(id=sid))
        rest = [event async for event in telling]
        with pytest.raises(TaskNotCancelableError, match="is cancelled"):
            await c.cancel_task(pb.CancelTaskRequest(id=sid))
    assert cancelled.status.state == rest[-1].status_update.status.state == pb.TASK_STATE_CANCELED
    assert served.front.json("explain", sid, "--json")["result"]["status"] == "cancelled"


async def test_one_who_comes_back_is_told_the_rest_of_a_task(served: Served) -> None:
    async with client(served) as c:
        telling: Any = c.send_message(said("Tea or coffee?", protocol="slow"))
        sid = (await anext(telling)).task.id
        await telling.aclose()
        subscribed = c.subscribe(pb.SubscribeToTaskRequest(id=sid))
        assert (await anext(subscribed)).task.id == sid
        assert (await anext(subscribed)).status_update.status.state == pb.TASK_STATE_WORKING
        await c.cancel_task(pb.CancelTaskRequest(id=sid))
        assert [e async for e in subscribed][-1].status_update.status.state == pb.TASK_STATE_CANCELED


@pytest.mark.parametrize(("wrong", "says"), [
    ({"protocol": "stedy"}, "known: "),
    ({"settings": {"treshold": 3}}, "treshold"),
    ({"budget": {"calls": -1}}, "budget"),
])  # fmt: skip
async def test_what_is_wrong_is_named(served: Served, wrong: dict[str, Any], says: str) -> None:
    async with client(served) as c:
        with pytest.raises(InvalidParamsError, match=says):
            await told(c, said("Tea or coffee?", **wrong))


async def test_a_part_that_is_not_read_is_refused_and_not_left_out(served: Served) -> None:
    request = said("Tea or coffee?")
    request.message.parts.append(pb.Part(url="http://127.0.0.1/notes.txt"))
    async with client(served) as c:
        with pytest.raises(ContentTypeNotSupportedError, match="with their bytes"):
            await told(c, request)


async def test_a_task_that_is_not_there_is_not_found(served: Served) -> None:
    async with client(served) as c:
        with pytest.raises(TaskNotFoundError):
            await c.get_task(pb.GetTaskRequest(id="f" * 20))
        with pytest.raises(TaskNotFoundError):
            await told(c, said("stop", task="f" * 20))
