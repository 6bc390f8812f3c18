"""Doors by ways to leave: whoever stops waiting has the session cancelled, and no model call begins any more; what is
detached, and what waits at a gateway that is stopped, goes on."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
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
from tests.web.doors.clients import Zed, a2a_client, a2a_said, acp_opened, nats_agent
from tests.web.doors.support import NATS, somebodys_nats

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
CALL_S = 1.0
"""What a model call takes here: a session that is not cancelled goes on calling, for a minute."""
LONG = ("--set", "consensus.round_limit=50", "--set", "consensus.stuck_rounds=50")
LOOKED_S = 2.0
"""So long it is looked whether further calls begin: somebody who left may be heard of later on a busy machine."""
TEA = {"question": "Tea or coffee?", "protocol": "steady"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway whose panel would debate for a minute, and which counts its calls."""
    folder = tmp_path_factory.mktemp("leaving")
    panels = folder / "panels"
    panels.mkdir()
    panel(panels / "steady.yaml", latency_s=CALL_S, agree_from=99, journal=str(folder / "journal"))
    with somebodys_nats() as nats_url:
        opened = ("--door", "a2a", "--door", "nats-agents", "--set", f"doors.nats-agents.url={nats_url}")
        given = ("--set", "protocol=consensus", *opened, "--panels", str(panels), *LONG)
        with serving(folder, *given, env={NATS: nats_url}) as found:
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
        until(lambda: self._calls(sid), lambda: f"no model was called: {self._front.run('explain', sid)}", 30.0)
        return str(sid)

    async def is_opened(self) -> str:
        return await asyncio.to_thread(self.opened)

    def _calls(self, sid: str) -> list[int]:
        """When each model call of it began, in Unix ns."""
        return [call.at_ns for call in read_journal(self._front.journal) if call.session == sid]

    def is_cancelled(self, sid: str) -> None:
        """It is, and no call begins any more."""
        until(lambda: self._rows()[sid] == "cancelled", f"session {sid} goes on", 20.0)
        over_ns = time.time_ns()
        until(lambda: time.time_ns() > over_ns + LOOKED_S * 1e9, "time stands still")
        assert [at for at in self._calls(sid) if at > over_ns] == []

    def goes_on(self, sid: str) -> None:
        """It does: calls begin. It is ended then."""
        later_ns = time.time_ns() + LOOKED_S * 1e9
        until(lambda: any(at > later_ns for at in self._calls(sid)), f"session {sid} stands", 30.0)
        assert self._rows()[sid] == "open"
        assert self._front.run("sessions", "cancel", sid)[0] == 0


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
    found.is_cancelled(sid)


SCRIPT = """
import parley, sys
options = {"latency_s": 1.0, "agree_from": 99, "journal": sys.argv[2]}
parley.ask("Tea or coffee?", protocol="consensus", state=sys.argv[1], model="tests.support.model:make",
           options=options, settings={"round_limit": 50, "stuck_rounds": 50})
"""


def test_a_script_that_is_interrupted_cancels(tmp_path: Path) -> None:
    front = Front(tmp_path)
    words = (sys.executable, "-c", SCRIPT, str(front.state), str(front.journal))
    child = subprocess.Popen(words, env=front.environment, stderr=subprocess.PIPE, text=True)
    until(lambda: read_journal(front.journal), "no model was called", 30.0)
    found = Session(front)
    child.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in child.communicate(timeout=30)[1]
    found.is_cancelled(read_journal(front.journal)[0].session)
    front.assert_nothing_left()


def test_a_command_that_is_to_outlive_its_terminal_goes_on(served: Served) -> None:
    """`nohup` has it ignore the terminal's end; whoever asks for its end gets it all the same."""
    found = Session(served.front)
    file = str(served.front.folder / "panels" / "steady.yaml")
    command = ("nohup", sys.executable, "-m", "parley", "ask", "Tea or coffee?", "--panel-file", file, "--plain", *LONG)
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    child = subprocess.Popen(command, env=served.front.environment, cwd=served.front.folder, **streams)  # type: ignore[call-overload]
    sid = found.opened()
    child.send_signal(signal.SIGHUP)
    found.goes_on(sid)
    assert child.wait(timeout=30) == 130


# ---------------------------------------------------------------- Python


MADE: dict[str, Any] = {"protocol": "consensus", "model": "tests.support.model:make"}
MANY: dict[str, Any] = {"round_limit": 50, "stuck_rounds": 50}


@pytest.mark.parametrize("way", ["cancelled", "raised", "detached"])
async def test_a_program_that_waits_no_longer_cancels_unless_it_detached(tmp_path: Path, way: str) -> None:
    front = Front(tmp_path)
    options = {"latency_s": CALL_S, "agree_from": 99, "journal": str(front.journal)}

    def raises(post: parley.Post) -> None:
        raise ZeroDivisionError(post.session)

    async with parley.local(**MADE, options=options, state=front.state) as p:
        found = await asyncio.to_thread(Session, front)
        on_post = raises if way == "raised" else None
        asking = asyncio.ensure_future(p.ask("Tea?", detach=way == "detached", on_post=on_post, settings=MANY))
        sid = await found.is_opened()
        if way == "raised":
            with pytest.raises(ZeroDivisionError, match=sid):
                await asking
        else:
            await _given_up(asking)
        await asyncio.to_thread(found.goes_on if way == "detached" else found.is_cancelled, sid)


async def _given_up(asking: "asyncio.Future[Any]") -> None:
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


# ---------------------------------------------------------------- the gateway's doors


Way = Callable[[Served, Session], Awaitable[str]]
"""Comes in by a door, and leaves: the session."""
Asked = Callable[[Served], AbstractAsyncContextManager["asyncio.Future[Any]"]]


def _http(served: Served) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=served.url, headers={"Authorization": f"Bearer {served.token}"}, timeout=60)


def _panels(served: Served) -> tuple[str, str]:
    return "--panels", str(served.front.folder / "panels")


async def _detached(served: Served, found: Session) -> str:
    """A debate that nobody waits for."""
    async with mcp_client(served, "http") as client:
        await client.call_tool("start_debate", TEA)
    return await found.is_opened()


async def watches(served: Served, found: Session) -> str:
    sid = await _detached(served, found)
    child = served.front.start("sessions", "watch", sid, "--plain")
    assert child.stdout is not None
    await asyncio.to_thread(child.stdout.readline)
    child.terminate()
    await asyncio.to_thread(child.communicate, timeout=30)
    return sid


def chat(*, stream: bool) -> Asked:
    @asynccontextmanager
    async def asked(served: Served) -> AsyncIterator["asyncio.Future[Any]"]:
        body = {"model": "parley/steady", "messages": [{"role": "user", "content": "Tea or coffee?"}], "stream": stream}
        async with _http(served) as client:
            yield asyncio.ensure_future(client.post("/v1/chat/completions", json=body))

    return asked


def call(transport: str, mode: str, tool: str) -> Asked:
    @asynccontextmanager
    async def asked(served: Served) -> AsyncIterator["asyncio.Future[Any]"]:
        async with mcp_client(served, transport, *LONG, mode=mode) as client:
            yield asyncio.ensure_future(client.call_tool(tool, TEA))

    return asked


def gives_up(asked: Asked) -> Way:
    """Takes its question back."""

    async def way(served: Served, found: Session) -> str:
        async with asked(served) as asking:
            sid = await found.is_opened()
            await _given_up(asking)
        return sid

    return way


def loses_its_gateway(asked: Asked) -> Way:
    """Waits at one that is stopped."""

    async def way(served: Served, found: Session) -> str:
        running = read_running(served.front.state)
        assert running is not None
        bus = ("--nats", running.url, "--creds", str(running.credentials[OWNER]), *_panels(served))
        with ExitStack() as stopping:
            async with asked(stopping.enter_context(copy(served.front, *bus, *LONG))) as asking:
                sid = await found.is_opened()
                await asyncio.to_thread(stopping.close)
                await _given_up(asking)
        return sid

    return way


def sends_a_task(*, cancels: bool) -> Way:
    async def way(served: Served, found: Session) -> str:
        async with a2a_client(served) as client:
            telling = client.send_message(a2a_said("Tea or coffee?", protocol="steady"))
            task = str((await anext(telling)).task.id)
            assert await found.is_opened() == task
            if cancels:
                await client.cancel_task(pb.CancelTaskRequest(id=task))
        return task

    return way


def edits(leaves: str) -> Way:
    """Prompts as an editor does."""

    async def way(served: Served, found: Session) -> str:
        async with acp_opened(served.front, Zed(), *_panels(served), *LONG) as (agent, session, process):
            words = [acp.text_block("/steady Tea or coffee?")]
            asked = asyncio.ensure_future(agent.prompt(session_id=session, prompt=words))
            sid = await found.is_opened()
            if leaves == "cancel":
                await agent.cancel(session_id=session)
                assert (await asked).stop_reason == "cancelled"
            else:
                process.stdin.close()
                await asyncio.gather(asked, return_exceptions=True)
                await process.wait()
        return sid

    return way


async def prompts_by_nats(served: Served, found: Session) -> str:
    async with nats_agent(served.front.env[NATS], "steady") as panel_agent:
        telling: Any = panel_agent.prompt("Tea or coffee?")
        await anext(telling)
        sid = await found.is_opened()
        await telling.aclose()
    return sid


CANCEL: dict[str, Way] = {
    "/v1": gives_up(chat(stream=False)),
    "/v1, streamed": gives_up(chat(stream=True)),
    "MCP": gives_up(call("http", "auto", "ask")),
    "MCP on standard input": gives_up(call("stdio", "auto", "ask")),
    "A2A, cancelled": sends_a_task(cancels=True),
    "ACP, cancelled": edits("cancel"),
    "ACP, closed": edits("close"),
}
GO_ON: dict[str, Way] = {
    "sessions watch": watches,
    "MCP, started": gives_up(call("http", "auto", "start_debate")),
    "MCP, its gateway stopped": loses_its_gateway(call("http", "auto", "ask")),
    "/v1, its gateway stopped": loses_its_gateway(chat(stream=True)),
    "A2A": sends_a_task(cancels=False),
    "NATS": prompts_by_nats,
}


@pytest.mark.parametrize("door", CANCEL)
async def test_who_leaves_a_door_cancels(served: Served, door: str) -> None:
    found = await asyncio.to_thread(Session, served.front)
    await asyncio.to_thread(found.is_cancelled, await CANCEL[door](served, found))


@pytest.mark.parametrize("door", GO_ON)
async def test_who_looks_or_has_handed_over_cancels_nothing(served: Served, door: str) -> None:
    found = await asyncio.to_thread(Session, served.front)
    await asyncio.to_thread(found.goes_on, await GO_ON[door](served, found))
