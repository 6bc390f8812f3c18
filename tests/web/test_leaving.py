"""Doors by ways to leave: whoever stops waiting has the session cancelled, and no model call begins any more; what is
detached, and what waits at a gateway that is stopped, goes on."""

import asyncio
import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import acp
import httpx2 as httpx
import pytest
from a2a.types import a2a_pb2 as pb

import parley
from parley.stack.lease import OWNER, read_running
from tests.parley.support import Front, until
from tests.support.gateway import Served, copy, mcp_client, panel, serving
from tests.support.model import read_journal
from tests.web.doors.support import NATS, SECRET, Receiver, somebodys_nats
from tests.web.doors.test_a2a import client as a2a_client
from tests.web.doors.test_a2a import said as a2a_said
from tests.web.doors.test_acp import Zed
from tests.web.doors.test_acp import opened as acp_opened
from tests.web.doors.test_nats_agents import agent as nats_agent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
CALL_S = 0.5
"""What a model call takes here: a session that is not cancelled goes on calling."""
LONG = ("--set", "consensus.round_limit=50", "--set", "consensus.stuck_rounds=50")
GRACE_S = 2.0
"""No call begins so long after somebody left."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway whose panel would debate for a minute, and which counts its calls."""
    folder = tmp_path_factory.mktemp("leaving")
    panels = folder / "panels"
    panels.mkdir()
    journal = str(folder / "journal")
    panel(panels / "steady.yaml", latency_s=CALL_S, agree_from=99, journal=journal)
    with somebodys_nats() as nats_url, Receiver() as receiver:
        opened = ("--door", "a2a", "--door", "nats-agents", "--set", f"doors.nats-agents.url={nats_url}",
                  "--door", "webhook", "--set", f"doors.webhook.url={receiver.url}")  # fmt: skip
        env = {NATS: nats_url, "PARLEY_WEBHOOK_SECRET": SECRET}
        with serving(folder, "--set", "protocol=consensus", *opened, "--panels", str(panels), *LONG, env=env) as found:
            yield found


class Session:
    """The one that was opened since, and its calls."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._before = self._rows()

    def _rows(self) -> dict[str, str]:
        rows = self._front.json("sessions", "list", "--json")["sessions"]
        return {row["session"]: row["status"] for row in rows}

    def opened(self) -> str:
        """Its id, once it is open and has called a model."""
        (sid,) = until(lambda: set(self._rows()) - set(self._before), "nothing was opened", 30.0)
        until(lambda: self.calls(sid), lambda: f"no model was called: {self._front.run('explain', sid)}", 30.0)
        return str(sid)

    def calls(self, sid: str) -> list[int]:
        """When each model call of it began, in Unix ns."""
        return [call.at_ns for call in read_journal(self._front.journal) if call.session == sid]

    def is_cancelled(self, sid: str, left_ns: int) -> None:
        """It is, and no call begins when the grace is over."""
        until(lambda: self._rows()[sid] == "cancelled", f"session {sid} goes on", 10.0)
        until(lambda: time.time_ns() > left_ns + 2 * GRACE_S * 1e9, "time stands still")
        assert [at for at in self.calls(sid) if at > left_ns + GRACE_S * 1e9] == []

    def goes_on(self, sid: str, left_ns: int) -> None:
        """It does: calls begin after the grace. It is ended then."""
        until(lambda: any(at > left_ns + GRACE_S * 1e9 for at in self.calls(sid)), f"session {sid} stands", 30.0)
        assert self._rows()[sid] == "open"
        assert self._front.run("sessions", "cancel", sid)[0] == 0


def _detached(served: Served) -> None:
    """A debate that nobody waits for."""

    async def started() -> None:
        async with mcp_client(served, "http") as client:
            await client.call_tool("start_debate", {"question": "Tea or coffee?", "protocol": "steady"})

    asyncio.run(started())


def _headers(served: Served) -> dict[str, str]:
    return {"Authorization": f"Bearer {served.token}"}


# ---------------------------------------------------------------- the command line


@pytest.mark.parametrize("signals", [(signal.SIGTERM,), (signal.SIGINT, signal.SIGINT), (signal.SIGHUP,)])
def test_a_command_that_is_ended_cancels(served: Served, signals: tuple[signal.Signals, ...]) -> None:
    found = Session(served.front)
    file = str(served.front.folder / "panels" / "steady.yaml")
    child = served.front.start("ask", "Tea or coffee?", "--panel-file", file, "--plain", *LONG)
    assert child.stderr is not None
    errors = child.stderr
    sid = found.opened()
    for number in signals:
        child.send_signal(number)
        if number == signal.SIGINT:  # the first one asks
            until(lambda: "Ctrl-C again" in errors.readline() or child.poll() is not None, "it does not ask")
    _, told = child.communicate(timeout=30)
    assert child.returncode == 130, told
    found.is_cancelled(sid, time.time_ns())


def test_a_command_that_only_watches_cancels_nothing(served: Served) -> None:
    found = Session(served.front)
    _detached(served)
    sid = found.opened()
    child = served.front.start("sessions", "watch", sid, "--plain")
    assert child.stdout is not None
    child.stdout.readline()
    child.terminate()
    child.communicate(timeout=30)
    found.goes_on(sid, time.time_ns())


# ---------------------------------------------------------------- Python


MADE: dict[str, Any] = {"protocol": "consensus", "model": "tests.support.model:make"}
MANY: dict[str, Any] = {"round_limit": 50, "stuck_rounds": 50}


@pytest.mark.parametrize("way", ["timeout", "cancelled", "raised", "detached"])
async def test_a_program_that_waits_no_longer_cancels_unless_it_detached(tmp_path: Path, way: str) -> None:
    front = Front(tmp_path)
    options = {"latency_s": CALL_S, "agree_from": 99, "journal": str(front.journal)}

    def raises(post: parley.Post) -> None:
        raise ZeroDivisionError(post.session)

    async with parley.local(**MADE, options=options, state=front.state) as p:
        found = await asyncio.to_thread(Session, front)
        on_post = raises if way == "raised" else None
        asking = asyncio.ensure_future(p.ask("Tea?", detach=way == "detached", on_post=on_post, settings=MANY))
        sid = await asyncio.to_thread(found.opened)
        if way == "raised":
            with pytest.raises(ZeroDivisionError, match=sid):
                await asking
        elif way == "timeout":
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(asking, 0.1)
        else:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        await asyncio.to_thread(found.goes_on if way == "detached" else found.is_cancelled, sid, time.time_ns())


SCRIPT = """
import parley, sys
parley.ask("Tea or coffee?", protocol="consensus", state=sys.argv[1], model="tests.support.model:make",
           options={"latency_s": 0.5, "agree_from": 99, "journal": sys.argv[2]},
           settings={"round_limit": 50, "stuck_rounds": 50})
"""


def test_a_script_that_is_interrupted_cancels(tmp_path: Path) -> None:
    front = Front(tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(front.state), str(front.journal)],
        env=front.environment, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until(lambda: read_journal(front.journal), "no model was called", 30.0)
    found = Session(front)
    sid = read_journal(front.journal)[0].session
    child.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in child.communicate(timeout=30)[1]
    found.is_cancelled(sid, time.time_ns())
    front.assert_nothing_left()


# ---------------------------------------------------------------- the OpenAI door


@contextlib.contextmanager
def _talks(served: Served, path: str, body: dict[str, Any]) -> Iterator[httpx.Response | None]:
    """A request that is being answered, and whose client goes away at the end of the block."""
    client = httpx.Client(base_url=served.url, headers=_headers(served), timeout=60)
    if body.get("stream"):
        with client.stream("POST", path, json=body) as answer:
            yield answer
        return
    asked = threading.Thread(target=lambda: _quietly(client, path, body), daemon=True)
    asked.start()
    yield None
    client.close()


def _quietly(client: httpx.Client, path: str, body: dict[str, Any]) -> None:
    with contextlib.suppress(httpx.HTTPError, RuntimeError):
        client.post(path, json=body)


CHAT: dict[str, Any] = {"model": "parley/steady", "messages": [{"role": "user", "content": "Tea or coffee?"}]}


@pytest.mark.parametrize("stream", [True, False])
async def test_a_program_at_v1_that_goes_away_cancels(served: Served, stream: bool) -> None:
    found = Session(served.front)
    async with httpx.AsyncClient(base_url=served.url, headers=_headers(served), timeout=60) as client:
        asking = asyncio.ensure_future(client.post("/v1/chat/completions", json={**CHAT, "stream": stream}))
        sid = await asyncio.to_thread(found.opened)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    await asyncio.to_thread(found.is_cancelled, sid, time.time_ns())


# ---------------------------------------------------------------- MCP


@pytest.mark.parametrize(
    ("transport", "mode", "tool"),
    [("http", "auto", "ask"), ("http", "legacy", "ask"), ("stdio", "auto", "ask"), ("http", "auto", "start_debate")],
)
async def test_a_call_that_is_cancelled_cancels_and_a_debate_that_is_started_goes_on(
    served: Served, transport: str, mode: str, tool: str
) -> None:
    found = Session(served.front)
    async with mcp_client(served, transport, *LONG, mode=mode) as client:
        call = asyncio.ensure_future(client.call_tool(tool, {"question": "Tea or coffee?", "protocol": "steady"}))
        sid = await asyncio.to_thread(found.opened)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        left_ns = time.time_ns()
        if tool == "ask":
            await asyncio.to_thread(found.is_cancelled, sid, left_ns)
    if tool != "ask":
        await asyncio.to_thread(found.goes_on, sid, left_ns)


# ---------------------------------------------------------------- the page, and a gateway that is stopped


def test_a_page_that_is_closed_cancels_nothing(served: Served) -> None:
    found = Session(served.front)
    _detached(served)
    sid = found.opened()
    with httpx.Client(base_url=served.url, headers=_headers(served), timeout=60) as page:
        with page.stream("GET", f"/api/sessions/{sid}/events") as stream:
            assert stream.status_code == 200
            next(stream.iter_lines())
    found.goes_on(sid, time.time_ns())


@pytest.mark.parametrize("door", ["chat", "stream", "mcp"])
async def test_a_gateway_that_is_stopped_cancels_nothing(served: Served, door: str) -> None:
    found = Session(served.front)
    running = read_running(served.front.state)
    assert running is not None
    owner = str(running.credentials[OWNER])
    panels = str(served.front.folder / "panels")
    stopping = contextlib.ExitStack()
    other = stopping.enter_context(
        copy(served.front, "--nats", running.url, "--creds", owner, "--panels", panels, *LONG)
    )
    if door == "mcp":
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(mcp_client(other, "http"))
            asked = asyncio.ensure_future(client.call_tool("ask", {"question": "Tea?", "protocol": "steady"}))
            sid = await asyncio.to_thread(found.opened)
            await asyncio.to_thread(stopping.close)
            left_ns = time.time_ns()
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
    else:
        with _talks(other, "/v1/chat/completions", {**CHAT, "stream": door == "stream"}):
            sid = await asyncio.to_thread(found.opened)
            await asyncio.to_thread(stopping.close)
            left_ns = time.time_ns()
    await asyncio.to_thread(found.goes_on, sid, left_ns)


# ---------------------------------------------------------------- doors that ship beside these


async def test_an_a2a_client_that_goes_away_cancels_nothing_unless_it_cancels_the_task(served: Served) -> None:
    for cancels in (False, True):
        found = Session(served.front)
        async with a2a_client(served) as client:
            telling = client.send_message(a2a_said("Tea or coffee?", protocol="steady"))
            task = (await anext(telling)).task.id
            sid = await asyncio.to_thread(found.opened)
            assert sid == task
            if cancels:
                await client.cancel_task(pb.CancelTaskRequest(id=task))
        await asyncio.to_thread(found.is_cancelled if cancels else found.goes_on, sid, time.time_ns())


@pytest.mark.parametrize("way", ["cancel", "close", "terminate"])
async def test_an_editor_that_cancels_its_prompt_or_goes_away_cancels(served: Served, way: str) -> None:
    found = Session(served.front)
    panels = str(served.front.folder / "panels")
    async with acp_opened(served.front, Zed(), "--panels", panels, *LONG) as (agent, session, process):
        words = [acp.text_block("/steady Tea or coffee?")]
        asked = asyncio.ensure_future(agent.prompt(session_id=session, prompt=words))
        sid = await asyncio.to_thread(found.opened)
        if way == "cancel":
            await agent.cancel(session_id=session)
            assert (await asked).stop_reason == "cancelled"
        else:
            (process.stdin.close if way == "close" else process.terminate)()
            await asyncio.gather(asked, return_exceptions=True)
            await process.wait()
        await asyncio.to_thread(found.is_cancelled, sid, time.time_ns())


async def test_a_nats_caller_that_goes_away_cancels_nothing(served: Served) -> None:
    found = Session(served.front)
    async with nats_agent(served.front.env[NATS], "steady") as panel_agent:
        telling: Any = panel_agent.prompt("Tea or coffee?")
        await anext(telling)
        sid = await asyncio.to_thread(found.opened)
        await telling.aclose()
    await asyncio.to_thread(found.goes_on, sid, time.time_ns())


def test_a_receiver_of_webhooks_that_is_not_there_cancels_nothing(served: Served, tmp_path: Path) -> None:
    found = Session(served.front)
    with somebodys_nats() as nowhere:  # it hears, and says nothing of HTTP
        hook = ("--door", "webhook", "--set", f"doors.webhook.url=http://{nowhere.removeprefix('nats://')}")
        panels = str(served.front.folder / "panels")
        with copy(served.front, *hook, "--panels", panels, *LONG) as other:
            _detached(other)
            sid = found.opened()
    found.goes_on(sid, time.time_ns())
