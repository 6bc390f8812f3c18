"""Agents of other houses in a seat: each is served by its own protocol's library."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette

pytest.importorskip("a2a", reason="the extra a2a is not installed: pip install 'parley[a2a]'")

from a2a.helpers import new_task, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as pb

from tests.parley.support import QUESTION, Front

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
SAYS = {"answer": "Vilnius, says the guest.", "reasoning": "The guest read it.", "confidence": 0.9}


class Guest(AgentExecutor):
    """An agent of somebody else's. It ends each task as it is told."""

    def __init__(self, ends: str) -> None:
        self.ends = ends
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.cancelled = threading.Event()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.heard.append((context.get_user_input(), dict(context.call_context.state["headers"])))
        assert context.task_id and context.context_id
        await event_queue.enqueue_event(new_task(context.task_id, context.context_id, pb.TASK_STATE_SUBMITTED))
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        await task.start_work()
        if self.ends == "asks":
            await task.requires_input(task.new_agent_message([new_text_part("Which one?")]))
            return
        text = json.dumps(SAYS)
        await task.add_artifact([new_text_part(text[:20])], artifact_id="a", last_chunk=False)
        await task.add_artifact([new_text_part(text[20:])], artifact_id="a", append=True, last_chunk=True)
        await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id and context.context_id
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()
        self.cancelled.set()


@pytest.fixture(params=["answers", "asks"])
def guest(request: pytest.FixtureRequest) -> Iterator[tuple[Guest, str]]:
    """The agent, and where it is."""
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    executor = Guest(request.param)
    card = pb.AgentCard(
        name="Guest", description="A guest.", version="1", capabilities=pb.AgentCapabilities(streaming=True),
        supported_interfaces=[pb.AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        default_input_modes=["text/plain"], default_output_modes=["text/plain"],
        skills=[pb.AgentSkill(id="answer", name="Answer", description="Answers.", tags=["answer"])],
    )  # fmt: skip
    handler = DefaultRequestHandler(agent_executor=executor, task_store=InMemoryTaskStore(), agent_card=card)
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    serving = threading.Thread(target=lambda: server.run(sockets=[listening]))
    serving.start()
    yield executor, url
    server.should_exit = True
    serving.join()


def test_an_a2a_agent_holds_a_seat_and_one_that_asks_back_is_cancelled(
    guest: tuple[Guest, str], tmp_path: Path
) -> None:
    executor, url = guest
    front = Front(tmp_path, env={"GUEST_KEY": "sesame"})
    panel = tmp_path / "panel.yaml"
    options = json.dumps({"url": url, "key_variable": "GUEST_KEY"})
    panel.write_text(
        "protocol: consensus\nseats:\n"
        f'  panelist_1: {{model: "parley.agents.remote.a2a:make", options: {options}}}\n'
        "  panelist_2: {}\n  panelist_3: {}\n  analyst: {}\n"
    )
    code, out, err = front.run("ask", QUESTION, "--panel-file", str(panel), "--evidence", str(front.evidence), "--json")
    assert code in (0, 3), err
    prompt, headers = executor.heard[0]
    assert QUESTION in prompt and headers["authorization"] == "Bearer sesame"
    assert ("Vilnius, says the guest." in front.run("sessions", "show", json.loads(out)["session"])[1]) == (
        executor.ends == "answers"
    )
    assert executor.cancelled.is_set() == (executor.ends == "asks")
    front.assert_nothing_left()
