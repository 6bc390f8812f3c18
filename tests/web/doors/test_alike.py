"""One debate, asked through each door: everybody is told the same posts and the same verdict."""

import re

import pytest

pytest.importorskip("a2a", reason="the extra a2a is not installed: pip install 'parley[a2a]'")
pytest.importorskip("synadia_ai", reason="the extra nats-agents is not installed: pip install 'parley[nats-agents]'")

from a2a.helpers import get_message_text

from tests.parley.support import ANSWER, QUESTION, TEXTS
from tests.support.gateway import Served
from tests.web.doors.support import NATS
from tests.web.doors.test_a2a import client as a2a_client
from tests.web.doors.test_a2a import documented as a2a_documented
from tests.web.doors.test_a2a import said as a2a_said
from tests.web.doors.test_a2a import told as a2a_told
from tests.web.doors.test_acp import Zed, documented
from tests.web.doors.test_acp import opened as acp_opened
from tests.web.doors.test_nats_agents import agent as nats_agent
from tests.web.doors.test_nats_agents import told as nats_told

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def alike(text: str) -> str:
    """A text without what differs from run to run: the session's id, and how long it took."""
    return re.sub(r"\b[0-9a-f]{20}\b|\d+\.\d s\b", "…", text).strip()


async def by_a2a(served: Served) -> tuple[list[str], str]:
    async with a2a_client(served) as client:
        _, statuses, verdict = await a2a_told(client, a2a_documented(a2a_said(QUESTION, protocol="consensus")))
    return [get_message_text(status.message) for status in statuses[:-1]], verdict


async def by_nats(served: Served) -> tuple[list[str], str]:
    async with nats_agent(served.front.env[NATS], "consensus") as agent:
        _, said, verdict = await nats_told(agent, QUESTION, files=TEXTS)
    return said, "".join(verdict)


async def by_acp(served: Served) -> tuple[list[str], str]:
    zed = Zed()
    async with acp_opened(served.front, zed, "--set", "seed=7") as (agent, session, _):
        assert (
            await agent.prompt(session_id=session, prompt=documented(f"/consensus {QUESTION}"))
        ).stop_reason == "end_turn"
    return zed.told("agent_thought_chunk"), "".join(zed.told("agent_message_chunk"))


@pytest.fixture(scope="package")
def first() -> list[tuple[list[str], str]]:
    return []


@pytest.mark.parametrize("ask", [by_a2a, by_nats, by_acp])
async def test_everybody_is_answered_alike(served: Served, first: list[tuple[list[str], str]], ask: object) -> None:
    posts, verdict = await ask(served)  # type: ignore[operator]
    told = [alike(text) for text in posts], alike(verdict)
    first.append(told)
    assert verdict.startswith(ANSWER) and len(posts) > 3
    assert told == first[0]
