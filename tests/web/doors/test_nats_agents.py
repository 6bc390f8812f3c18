"""The door for NATS agents, asked by the caller's library of the protocol, and such an agent in a seat."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
import pytest

pytest.importorskip("synadia_ai", reason="the extra nats-agents is not installed: pip install 'parley[nats-agents]'")

from synadia_ai.agent_service import AgentService, PromptStream
from synadia_ai.agents import Agent, Agents, Attachment, DiscoverFilter, Envelope, NatsAgentError, Query, ResponseChunk

from tests.parley.support import ANSWER, QUESTION, TEXTS, Front
from tests.support.gateway import Served
from tests.web.doors.support import ASKS, NATS, TASK, somebodys_nats

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
MODEL = "parley.agents.remote.nats_agents:make"
SAYS: dict[str, Any] = {"answer": "Vilnius, says the guest.", "reasoning": "The guest read it.", "confidence": 0.9}


@asynccontextmanager
async def agent(url: str, name: str) -> AsyncIterator[Agent]:
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


async def told(agent: Agent, prompt: str, answers: str = "", **extras: Any) -> tuple[str, list[str], list[str]]:
    """(the session, what was said, the verdict in pieces)"""
    files = [Attachment.from_bytes(name, text.encode()) for name, text in extras.pop("files", {}).items()]
    said, verdict = [], []
    async for chunk in agent.prompt(Envelope(prompt=prompt, attachments=files or None, **extras)):
        if isinstance(chunk, ResponseChunk):
            verdict.append(chunk.text)
        elif isinstance(chunk, Query):
            said.append(chunk.prompt)
            await chunk.reply(answers)
        elif chunk.status != "ack":
            said.append(chunk.status)
    return said[0].removeprefix("session "), said[1:], verdict


async def test_a_caller_is_told_posts_and_the_verdict_and_goes_on_from_a_session(served: Served) -> None:
    async with agent(served.front.env[NATS], "consensus") as found:
        sid, said, verdict = await told(found, QUESTION, files=TEXTS)
        later, _, _ = await told(found, "On which river?", continues=sid)
    assert len(said) > 3 and ANSWER in "".join(said) and "".join(verdict).startswith(ANSWER)
    assert served.front.json("explain", sid, "--json")["result"]["status"] == "finished"
    assert sid in served.front.run("sessions", "export", later, "--format", "json")[1]


async def test_an_open_item_is_a_query_and_its_reply_the_answer(served: Served) -> None:
    async with agent(served.front.env[NATS], "debate") as found:
        _, said, verdict = await told(found, TASK, "stop", protocol="madp", settings=ASKS)
    (asked,) = [text for text in said if "Without an answer: " in text]
    assert "Answer: " in asked and "stop" in asked and verdict[0].startswith("Failed: ")


@pytest.mark.parametrize(("prompt", "extras", "says"), [
    ("Tea?", {"settings": {"treshold": 3}}, "400"),
    ("Tea?", {"continues": "f" * 20}, "404"),
])  # fmt: skip
async def test_what_is_wrong_is_an_error_of_the_service(
    served: Served, prompt: str, extras: dict[str, Any], says: str
) -> None:
    async with agent(served.front.env[NATS], "consensus") as found:
        with pytest.raises(NatsAgentError, match=says):
            await told(found, prompt, **extras)


async def test_such_an_agent_holds_a_seat(tmp_path: Path) -> None:
    heard, replies = [], []

    async def answer(prompt: Envelope, stream: PromptStream) -> None:
        heard.append(prompt.prompt)
        replies.append((await stream.ask("Which one?", timeout=10)).prompt)
        text = json.dumps(SAYS)
        await stream.send(text[:20])
        await stream.send(text[20:])

    with somebodys_nats() as url:
        connection = await nats.connect(url)
        service = AgentService(agent="guest", owner="ann", session_name="main", nc=connection, max_concurrent_prompts=4)
        service.on_prompt(answer)
        await service.start()
        front = Front(tmp_path)
        panel = tmp_path / "panel.yaml"
        panel.write_text(
            "protocol: consensus\nseats:\n"
            f'  panelist_1: {{model: "{MODEL}", options: {{url: "{url}", agent: guest}}}}\n'
            "  panelist_2: {}\n  panelist_3: {}\n  analyst: {}\n"
        )
        asked = ("ask", QUESTION, "--panel-file", str(panel), "--evidence", str(front.evidence), "--json")
        code, out, err = await asyncio.to_thread(front.run, *asked)
        await service.stop()
        await connection.close()
    assert code in (0, 3), err
    assert QUESTION in heard[0] and replies[0].startswith("Nobody can answer that here.")
    assert SAYS["answer"] in front.run("sessions", "show", json.loads(out)["session"])[1]
    front.assert_nothing_left()
