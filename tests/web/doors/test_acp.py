"""`parley acp`, used by the client of the protocol's own library."""

import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import acp
import pytest
from acp import schema

from tests.parley.support import ANSWER, QUESTION, TEXTS, Front
from tests.support.gateway import Served
from tests.web.doors.support import ASKS, TASK

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


class Zed:
    def __init__(self, permits: str = "") -> None:
        self.permits = permits
        self.updates: list[Any] = []
        self.asked: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.asked.append((tool_call, options))
        chosen = next(o.option_id for o in options if o.option_id == self.permits)
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))

    def on_connect(self, conn: Any) -> None:
        pass

    def told(self, kind: str) -> list[str]:
        return [u.content.text for u in self.updates if u.session_update == kind]

    def plan(self) -> list[tuple[str, str]]:
        plans = [u for u in self.updates if u.session_update == "plan"]
        return [(entry.content, entry.status) for entry in plans[-1].entries]


@contextlib.asynccontextmanager
async def opened(front: Front, zed: Zed, *arguments: str) -> AsyncIterator[tuple[Any, str, Any]]:
    """(the agent, a session of it, its process)"""
    command = (sys.executable, "-m", "parley", "acp", *arguments)
    async with acp.spawn_agent_process(
        cast(acp.Client, zed), *command, env=front.environment, cwd=str(front.folder)
    ) as (agent, process):
        found = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert found.protocol_version == 1 and found.agent_info and found.agent_info.name == "parley"
        session = await agent.new_session(cwd=str(front.folder), mcp_servers=[])
        yield agent, session.session_id, process


def documented(question: str) -> list[Any]:
    texts = [acp.embedded_text_resource(f"file:///notes/{name}", text) for name, text in TEXTS.items()]
    return [acp.text_block(question), *(acp.resource_block(text) for text in texts)]


async def test_posts_are_thoughts_rounds_the_plan_and_the_verdict_the_message(served: Served) -> None:
    zed = Zed()
    async with opened(served.front, zed) as (agent, session, _):
        done = await agent.prompt(session_id=session, prompt=documented(f"/consensus {QUESTION}"))
        (verdict,) = zed.told("agent_message_chunk")
        assert done.stop_reason == "end_turn" and verdict.startswith(ANSWER)
        assert len(zed.told("agent_thought_chunk")) > 3 and ANSWER in "".join(zed.told("agent_thought_chunk"))
        assert zed.plan()[-1] == ("verdict", "completed") and {s for _, s in zed.plan()} == {"completed"}
        first = served.front.json("sessions", "list", "--json")["sessions"][0]["session"]
        again = await agent.prompt(session_id=session, prompt=[acp.text_block("On which river?")])
        second = served.front.json("sessions", "list", "--json")["sessions"][0]["session"]
        assert again.stop_reason == "end_turn" and second != first
        assert first in served.front.run("sessions", "export", second, "--format", "json")[1], (
            "it goes on from the first"
        )


async def test_an_item_is_a_permission_request_and_its_answer_is_the_persons(served: Served) -> None:
    zed = Zed("stop")
    settings = [word for name, value in ASKS.items() for word in ("--set", f"madp.{name}={value}")]
    async with opened(served.front, zed, *settings) as (agent, session, _):
        done = await agent.prompt(session_id=session, prompt=[acp.text_block(f"/madp {TASK}")])
    ((call, options),) = zed.asked
    assert "stop" in [o.option_id for o in options] and "Without an answer: " in call.content[0].content.text
    assert done.stop_reason == "end_turn" and zed.told("agent_message_chunk")[0].startswith("Failed: ")


async def test_what_is_wrong_is_a_refusal_with_its_reason_and_files_elsewhere_are_not_read(
    served: Served, tmp_path: Path
) -> None:
    zed = Zed()
    secret = tmp_path / "secret.txt"
    secret.write_text("sesame")
    async with opened(served.front, zed) as (agent, session, _):
        done = await agent.prompt(session_id=session, prompt=[acp.text_block("")])
        assert done.stop_reason == "refusal" and "question" in zed.told("agent_message_chunk")[0]
        link = acp.resource_link_block("secret.txt", secret.as_uri())
        await agent.prompt(session_id=session, prompt=[acp.text_block("/consensus What is the word?"), link])
        assert "sesame" not in "".join(zed.told("agent_thought_chunk") + zed.told("agent_message_chunk"))
        assert f"Not read: resource_link {secret.as_uri()}" in "".join(zed.told("agent_thought_chunk"))
        with pytest.raises(acp.RequestError):
            await agent.prompt(session_id="nobody's", prompt=[acp.text_block("Tea?")])
