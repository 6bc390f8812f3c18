"""Agents of other houses in a seat: each is served by its own protocol's library."""

import json
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
import pytest
import uvicorn
from starlette.applications import Starlette

pytest.importorskip("a2a", reason="the extra a2a is not installed: pip install 'parley[a2a]'")
pytest.importorskip("synadia_ai", reason="the extra nats-agents is not installed: pip install 'parley[nats-agents]'")

import asyncio

from a2a.helpers import new_task, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as pb
from synadia_ai.agent_service import AgentService, PromptStream
from synadia_ai.agents import Envelope

from tests.parley.support import QUESTION, Front
from tests.web.doors.support import somebodys_nats

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
SAYS = json.dumps({"answer": "Vilnius, says the guest.", "reasoning": "The guest read it.", "confidence": 0.9})


class Guest(AgentExecutor):
    """An agent of somebody else's, in either protocol: what it heard, and what became of what it asked back."""

    def __init__(self, *, asks: bool) -> None:
        self.asks = asks
        self.heard: list[str] = []
        self.key = ""
        self.became = threading.Event()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.heard.append(context.get_user_input())
        self.key = context.call_context.state["headers"]["authorization"]
        assert context.task_id and context.context_id
        await event_queue.enqueue_event(new_task(context.task_id, context.context_id, pb.TASK_STATE_SUBMITTED))
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        await task.start_work()
        if self.asks:
            await task.requires_input(task.new_agent_message([new_text_part("Which one?")]))
            return
        await task.add_artifact([new_text_part(SAYS[:20])], artifact_id="a", last_chunk=False)
        await task.add_artifact([new_text_part(SAYS[20:])], artifact_id="a", append=True, last_chunk=True)
        await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id and context.context_id
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()
        self.became.set()

    async def answer(self, prompt: Envelope, stream: PromptStream) -> None:
        self.heard.append(prompt.prompt)
        if self.asks:
            reply = (await stream.ask("Which one?", timeout=10)).prompt
            assert reply.startswith("Nobody can answer that here.")
            self.became.set()
        await stream.send(SAYS[:20])
        await stream.send(SAYS[20:])


@asynccontextmanager
async def by_a2a(guest: Guest) -> AsyncIterator[dict[str, Any]]:
    """Options of a seat that it holds."""
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    card = pb.AgentCard(
        name="Guest", description="A guest.", version="1", capabilities=pb.AgentCapabilities(streaming=True),
        supported_interfaces=[pb.AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        default_input_modes=["text/plain"], default_output_modes=["text/plain"],
        skills=[pb.AgentSkill(id="answer", name="Answer", description="Answers.", tags=["answer"])],
    )  # fmt: skip
    handler = DefaultRequestHandler(agent_executor=guest, task_store=InMemoryTaskStore(), agent_card=card)
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    serving = threading.Thread(target=lambda: server.run(sockets=[listening]))
    serving.start()
    yield {"url": url, "key_variable": "GUEST_KEY"}
    server.should_exit = True
    serving.join()


@asynccontextmanager
async def by_nats_agents(guest: Guest) -> AsyncIterator[dict[str, Any]]:
    with somebodys_nats() as url:
        connection = await nats.connect(url)
        service = AgentService(agent="guest", owner="ann", session_name="main", nc=connection, max_concurrent_prompts=4)
        service.on_prompt(guest.answer)
        await service.start()
        yield {"url": url, "agent": "guest"}
        await service.stop()
        await connection.close()


@pytest.mark.parametrize(
    ("serve", "module", "asks", "speaks"),
    [(by_a2a, "a2a", False, True), (by_a2a, "a2a", True, False), (by_nats_agents, "nats_agents", True, True)],
    ids=["A2A", "A2A that asks back", "NATS"],
)
async def test_an_agent_of_another_house_holds_a_seat_and_nobody_answers_what_it_asks(
    tmp_path: Path, serve: Any, module: str, asks: bool, speaks: bool
) -> None:
    """One that asks by A2A is cancelled; one that asks on NATS is told so."""
    front, guest = Front(tmp_path, env={"GUEST_KEY": "sesame"}), Guest(asks=asks)
    panel = tmp_path / "panel.yaml"
    async with serve(guest) as options:
        seat = {"model": f"parley.agents.remote.{module}:make", "options": options}
        seats = {"panelist_1": seat, "panelist_2": {}, "panelist_3": {}, "analyst": {}}
        panel.write_text(json.dumps({"protocol": "consensus", "seats": seats}))
        asked = ("ask", QUESTION, "--panel-file", str(panel), "--evidence", str(front.evidence), "--json")
        code, out, err = await asyncio.to_thread(front.run, *asked)
    assert code in (0, 3), err
    assert QUESTION in guest.heard[0] and guest.key == ("Bearer sesame" if module == "a2a" else "")
    assert guest.became.is_set() == asks
    assert ("Vilnius, says the guest." in front.run("sessions", "show", json.loads(out)["session"])[1]) == speaks
    front.assert_nothing_left()
