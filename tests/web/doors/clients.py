"""The protocols' own clients, and one way to ask by each: a conversation whose questions go on from each other."""

import asyncio
import base64
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple, Protocol, cast

import acp
import httpx
import nats
import pytest
from acp import schema

pytest.importorskip("a2a", reason="the extra a2a is not installed: pip install 'parley[a2a]'")
pytest.importorskip("synadia_ai", reason="the extra nats-agents is not installed: pip install 'parley[nats-agents]'")

from a2a.client import Client, ClientConfig, create_client
from a2a.helpers import get_artifact_text, get_message_text, new_raw_part, new_text_message
from a2a.types import a2a_pb2 as pb
from synadia_ai.agents import Agent, Agents, Attachment, DiscoverFilter, Envelope, Query, ResponseChunk

from tests.parley.support import Front
from tests.support.gateway import Served
from tests.web.doors.support import NATS


class Told(NamedTuple):
    """What somebody who asked was told."""

    session: str
    posts: list[str]
    asked: list[str]
    """What a person was asked."""
    verdict: str


class Conversation(Protocol):
    async def ask(self, text: str, protocol: str, files: Mapping[str, str], answer: str, **more: Any) -> Told:
        """Ask, and answer what is asked back. `more`: options of a session."""


Door = Callable[[Served], AbstractAsyncContextManager[Conversation]]


# -- A2A
@asynccontextmanager
async def a2a_client(served: Served, **headers: str) -> AsyncIterator[Client]:
    known = {"Authorization": f"Bearer {served.token}", **headers}
    async with httpx.AsyncClient(headers=known, timeout=60) as http:
        async with await create_client(served.url, ClientConfig(httpx_client=http, streaming=True)) as found:
            yield found


def a2a_said(
    text: str, *, task: str = "", context: str = "", files: Mapping[str, str] | None = None, **metadata: Any
) -> pb.SendMessageRequest:
    message = new_text_message(text, task_id=task or None, context_id=context or None, role=pb.ROLE_USER)
    message.metadata.update(metadata)
    message.parts.extend(new_raw_part(text.encode(), filename=name) for name, text in (files or {}).items())
    return pb.SendMessageRequest(message=message)


async def a2a_told(client: Client, request: pb.SendMessageRequest) -> tuple[pb.Task, list[pb.TaskStatus], str]:
    """(the task, what was told of it, the verdict)"""
    events = [event async for event in client.send_message(request)]
    verdict = [get_artifact_text(e.artifact_update.artifact) for e in events if e.HasField("artifact_update")]
    return events[0].task, [e.status_update.status for e in events if e.HasField("status_update")], "".join(verdict)


class _A2A:
    def __init__(self, client: Client) -> None:
        self._client, self._context = client, ""

    async def ask(self, text: str, protocol: str, files: Mapping[str, str], answer: str, **more: Any) -> Told:
        request = a2a_said(text, context=self._context, protocol=protocol, files=files, **more)
        task, statuses, verdict = await a2a_told(self._client, request)
        self._context, posts, asked = task.context_id, [get_message_text(s.message) for s in statuses[:-1]], []
        while statuses[-1].state == pb.TASK_STATE_INPUT_REQUIRED:
            asked.append(get_message_text(statuses[-1].message))
            _, statuses, verdict = await a2a_told(self._client, a2a_said(answer, task=task.id))
            posts += [get_message_text(s.message) for s in statuses[1:-1]]
        return Told(task.id, posts, asked, verdict)


@asynccontextmanager
async def a2a(served: Served, **headers: str) -> AsyncIterator[Conversation]:
    async with a2a_client(served, **headers) as client:
        yield _A2A(client)


# -- ACP
class Zed:
    """An editor. `permits`: what its person answers."""

    def __init__(self, permits: str = "") -> None:
        self.permits = permits
        self.updates: list[Any] = []
        self.asked: list[str] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.asked.append(f"{tool_call.content[0].content.text} {[o.option_id for o in options]}")
        chosen = next(o.option_id for o in options if o.option_id == self.permits)
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))

    def on_connect(self, conn: Any) -> None:
        pass

    def told(self, kind: str) -> list[str]:
        return [u.content.text for u in self.updates if u.session_update == kind]

    def plan(self) -> list[tuple[str, str]]:
        plans = [u for u in self.updates if u.session_update == "plan"]
        return [(entry.content, entry.status) for entry in plans[-1].entries]


@asynccontextmanager
async def acp_opened(front: Front, zed: Zed, *arguments: str) -> AsyncIterator[tuple[Any, str, Any]]:
    """(the agent, a session of it, its process)"""
    command = (sys.executable, "-m", "parley", "acp", *arguments)
    async with acp.spawn_agent_process(
        cast(acp.Client, zed), *command, env=front.environment, cwd=str(front.folder)
    ) as (agent, process):
        found = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert found.protocol_version == 1 and found.agent_info and found.agent_info.name == "parley"
        session = await agent.new_session(cwd=str(front.folder), mcp_servers=[])
        yield agent, session.session_id, process


class _Acp:
    """A process a conversation: settings are options of it."""

    def __init__(self, served: Served, agent: Any, session: str, zed: Zed, trace: dict[str, str]) -> None:
        self._front, self._agent, self._id, self._zed, self._trace = served.front, agent, session, zed, trace

    async def ask(self, text: str, protocol: str, files: Mapping[str, str], answer: str, **more: Any) -> Told:
        self._zed.permits = answer
        for heard in (self._zed.updates, self._zed.asked):
            heard.clear()
        texts = [acp.embedded_text_resource(f"file:///notes/{name}", text) for name, text in files.items()]
        words = [acp.text_block(f"/{protocol} {text}" if protocol else text), *map(acp.resource_block, texts)]
        done = await self._agent.prompt(session_id=self._id, prompt=words, **self._trace)
        (verdict,) = self._zed.told("agent_message_chunk")
        if done.stop_reason != "end_turn":
            raise ValueError(verdict)
        sid = self._front.json("sessions", "list", "--json")["sessions"][0]["session"]
        return Told(sid, self._zed.told("agent_thought_chunk"), list(self._zed.asked), verdict)


SET_THERE = ("--set", "seed=7", "--set", "madp.security_confidence=1", "--set", "madp.item_s=60")
"""What the gateway's sessions have, for a process of its own."""


@asynccontextmanager
async def acp_agent(served: Served, **trace: str) -> AsyncIterator[Conversation]:
    zed = Zed()
    async with acp_opened(served.front, zed, *SET_THERE) as (agent, session, _):
        yield _Acp(served, agent, session, zed, trace)


# -- NATS
@asynccontextmanager
async def nats_agent(url: str, name: str) -> AsyncIterator[Agent]:
    """Parley's agent of this name, as a caller finds it."""
    connection = await nats.connect(url)
    agents = Agents(nc=connection)
    try:
        wanted = DiscoverFilter(agent="parley", session_name=name)
        async with asyncio.timeout(60):
            while not (found := await agents.discover(filter=wanted)):
                pass
        yield found[0]
    finally:
        await agents.close()
        await connection.close()


class _Nats:
    def __init__(self, agent: Agent) -> None:
        self._agent, self._last = agent, ""

    async def ask(self, text: str, protocol: str, files: Mapping[str, str], answer: str, **more: Any) -> Told:
        attached = [Attachment.from_bytes(name, text.encode()) for name, text in files.items()] or None
        given = {**more, **({"protocol": protocol} if protocol else {"continues": self._last})}
        said, asked, verdict = [], [], ""
        async for chunk in self._agent.prompt(Envelope(prompt=text, attachments=attached, **given)):
            if isinstance(chunk, ResponseChunk):
                verdict += chunk.text
            elif isinstance(chunk, Query):
                asked.append(chunk.prompt)
                await chunk.reply(answer)
            elif chunk.status != "ack":
                said.append(chunk.status)
        self._last = said[0].removeprefix("session ")
        return Told(self._last, said[1:], asked, verdict)


class _Traced:
    """By bare messages: the library sends no headers."""

    def __init__(self, url: str, subject: str, headers: dict[str, str]) -> None:
        self._url, self._subject, self._headers = url, subject, headers

    async def ask(self, text: str, protocol: str, files: Mapping[str, str], answer: str, **more: Any) -> Told:
        connection = await nats.connect(self._url)
        inbox = connection.new_inbox()
        replies = await connection.subscribe(inbox)
        attached = [{"filename": n, "content": base64.b64encode(t.encode()).decode()} for n, t in files.items()]
        prompt = json.dumps({"prompt": text, "protocol": protocol, "attachments": attached}).encode()
        await connection.publish(self._subject, prompt, reply=inbox, headers=self._headers)
        while (await replies.next_msg(timeout=60)).data:
            pass
        await connection.close()
        return Told("", [], [], "")


@asynccontextmanager
async def by_nats(served: Served, **headers: str) -> AsyncIterator[Conversation]:
    url = served.front.env[NATS]
    async with nats_agent(url, "consensus") as found:
        yield _Traced(url, found.prompt_subject, headers) if headers else _Nats(found)


# -- OpenAI


DOORS: dict[str, Any] = {"A2A": a2a, "NATS": by_nats, "ACP": acp_agent}
