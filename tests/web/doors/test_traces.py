"""The caller's trace goes on in the session, whichever door it came through."""

import base64
import json
from functools import partial
from pathlib import Path

import httpx
import nats
import pytest

pytest.importorskip("a2a", reason="the extra a2a is not installed: pip install 'parley[a2a]'")
pytest.importorskip("synadia_ai", reason="the extra nats-agents is not installed: pip install 'parley[nats-agents]'")

from a2a.client import ClientConfig, create_client

from tests.engine.test_traces import Found
from tests.observability.receiver import Receiver
from tests.parley.support import QUESTION, TEXTS
from tests.support.gateway import Served, serving
from tests.web.doors.support import NATS, somebodys_nats
from tests.web.doors.test_a2a import documented as a2a_documented
from tests.web.doors.test_a2a import said as a2a_said
from tests.web.doors.test_a2a import told as a2a_told
from tests.web.doors.test_acp import Zed, documented
from tests.web.doors.test_acp import opened as acp_opened
from tests.web.doors.test_nats_agents import agent as nats_agent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def traceparent(n: int) -> tuple[str, str]:
    """(the trace of one who asks, its header)"""
    trace = f"{n:032x}"
    return trace, f"00-{trace}-b7ad6b7169203331-01"


async def by_a2a(served: Served, header: str) -> None:
    headers = {"Authorization": f"Bearer {served.token}", "traceparent": header}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        async with await create_client(served.url, ClientConfig(httpx_client=http)) as client:
            await a2a_told(client, a2a_documented(a2a_said(QUESTION, protocol="consensus")))


async def by_nats(served: Served, header: str) -> None:
    async with nats_agent(served.front.env[NATS], "consensus") as found:
        subject = found.prompt_subject
    connection = await nats.connect(served.front.env[NATS])
    inbox = connection.new_inbox()
    replies = await connection.subscribe(inbox)
    attached = [{"filename": n, "content": base64.b64encode(t.encode()).decode()} for n, t in TEXTS.items()]
    prompt = json.dumps({"prompt": QUESTION, "attachments": attached}).encode()
    await connection.publish(subject, prompt, reply=inbox, headers={"traceparent": header})
    while (await replies.next_msg(timeout=60)).data:
        pass
    await connection.close()


async def by_acp(served: Served, header: str) -> None:
    async with acp_opened(served.front, Zed()) as (agent, session, _):
        prompt = documented(f"/consensus {QUESTION}")
        await agent.prompt(session_id=session, prompt=prompt, traceparent=header)


async def test_the_callers_trace_goes_on(tmp_path: Path) -> None:
    with Receiver() as receiver, somebodys_nats() as url:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, NATS: url}
        named_doors = ("--door", "a2a", "--door", "nats-agents", "--set", f"doors.nats-agents.url={url}")
        with serving(tmp_path, *named_doors, env=env) as served:
            for n, ask in enumerate((by_a2a, by_nats, by_acp), 1):
                trace, header = traceparent(n)
                await ask(served, header)
                receiver.until(partial(opened_in, trace))


def opened_in(trace: str, found: Found) -> bool:
    """Whether a session was opened in this trace, and played by a moderator."""
    names = {span.name for _, span in found if span.trace_id.hex() == trace}
    return "parley gateway" in names and any(name.startswith("invoke_workflow") for name in names)
