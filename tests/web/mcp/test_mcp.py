"""The tools with the official client, over both transports, in both ways of the protocol's versions."""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.types import CallToolResult, ElicitRequestFormParams, ElicitResult

from tests.parley.support import until
from tests.support import npm
from tests.support.expert_model import expert_model
from tests.support.gateway import Served, mcp_client, panel, serving

QUESTION = "In which year did the Suez Canal open?"
KNOWS = "The Suez Canal opened in 1869 for ships."
SCRIPT = Path(__file__).parent / "client.mjs"
TASK = "rotate the leaked signing key of our API"
ASKS = {"security_confidence": 1, "item_s": 60}
"""Settings under which that task asks a person who leads it."""
TOOLS = {
    "iterative_debate", "ask", "route", "start_debate", "get_debate", "stop_debate", "explain", "replay_what_if",
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that may be read, with what may not be taken."""
    folder = tmp_path_factory.mktemp("roots") / "canal"
    folder.mkdir()
    (folder / "suez.md").write_text(KNOWS)
    (folder / "ship.bin").write_bytes(b"\0\1\2\xff")
    (folder / ".gitignore").write_text("secret.txt\n")
    (folder / "secret.txt").write_text("The Suez Canal opened in 1700.")
    (folder / "out").symlink_to("/etc")
    return folder


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Iterator[Served]:
    """A gateway with every protocol, and a slow panel."""
    folder = tmp_path_factory.mktemp("mcp")
    panels = folder / "panels"
    panels.mkdir()
    panel(panels / "slow.yaml", latency_s=60)
    given = ("--panels", str(panels), "--root", str(project.parent))
    with expert_model() as env, serving(folder, *given, env=env) as found:
        yield found


class Way:
    """How a client comes in: a transport, and the protocol's old way or its new one."""

    def __init__(self, served: Served, project: Path, transport: str, mode: str) -> None:
        self.served, self.root, self.transport, self.mode = served, str(project.parent), transport, mode

    def client(self, **given: Any) -> AbstractAsyncContextManager[Client]:
        return mcp_client(self.served, self.transport, "--root", self.root, mode=self.mode, **given)


@pytest.fixture
def way(request: pytest.FixtureRequest, served: Served, project: Path) -> Way:
    """The one that the test names: its transport, and the old way of the protocol or the new one."""
    transport, mode = request.param.split("-")
    return Way(served, project, transport, mode)


@pytest.fixture
def http(served: Served, project: Path) -> Way:
    """One that is quick."""
    return Way(served, project, "http", "auto")


def _good(result: CallToolResult) -> dict[str, Any]:
    found = result.structured_content
    assert not result.is_error and isinstance(found, dict), result.content
    return found


def _bad(result: CallToolResult) -> str:
    assert result.is_error
    return result.content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize("way", ["http-auto", "http-legacy", "stdio-auto"], indirect=True)
async def test_a_debate_over_a_project_is_told_as_it_goes_and_explained_afterwards(way: Way) -> None:
    told: list[tuple[float, str]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message or ""))

    async with way.client() as client:
        tools = (await client.list_tools()).tools
        schemas = {tool.name: tool.input_schema for tool in tools}
        assert schemas["ask"]["properties"] == schemas["start_debate"]["properties"], "they share every default"
        assert "- critic: One seat answers" in schemas["ask"]["properties"]["protocol"]["description"]
        assert {tool.name for tool in tools} == TOOLS and all(tool.output_schema for tool in tools)
        given = {"question": QUESTION, "projectPath": "canal", "maxIterations": 3, "consensusThreshold": 80}
        found = _good(await client.call_tool("iterative_debate", given, progress_callback=progress))
        assert not found["agreed"] and found["answer"] == "1869" and found["verdict"].startswith("1869\n")
        assert found["stop"]["certificate"]["threshold"] == 80
        assert [text for text in found["left_out"] if text.startswith("ship.bin is no text")], found["left_out"]
        assert [done for done, _ in told] == sorted({done for done, _ in told}) and len(told) > 4
        assert any("round 1 of at most 3: Panelist 1 (" in message for _, message in told)
        sid = found["session"]
        text = (await client.read_resource(found["transcript"])).contents[0].text  # type: ignore[union-attr]
        assert text.startswith(f"# Session {sid}") and KNOWS in text and "1700" not in text
        document = (await client.read_resource(found["certificate"])).contents[0].text  # type: ignore[union-attr]
        assert json.loads(document)["stop"]["certificate"] == found["stop"]["certificate"]
        why = _good(await client.call_tool("explain", {"session": sid}))
        assert "Converged" not in why["words"] and why["figures"]["result"]["stop"]["reason"] == "one_source"
        again = _good(await client.call_tool("replay_what_if", {"session": sid, "settings": {"threshold": 100}}))
        assert again["stop"] == "one_source" and again["parts_at"] is None


@pytest.mark.parametrize("way", ["http-auto", "http-legacy", "stdio-legacy"], indirect=True)
async def test_a_person_is_asked_where_the_client_can_ask(way: Way) -> None:
    asked: list[ElicitRequestFormParams] = []

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.append(params)
        return ElicitResult(action="accept", content={"answer": "stop"})

    async with way.client(elicitation_callback=elicit) as client:
        found = _good(await client.call_tool("ask", {"question": TASK, "protocol": "madp", "settings": ASKS}))
    (form,) = asked
    assert "stop" in form.requested_schema["properties"]["answer"]["enum"] and "Without an answer: " in form.message
    assert found["stop"]["reason"] == "rejected" and found["verdict"].startswith("Failed: ") and not found["agreed"]


CLIENT, SDK = ("@modelcontextprotocol/client", "2.4.0"), ("@modelcontextprotocol/sdk", "1.32.2")


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("package", "mode"), [(CLIENT, "auto"), (CLIENT, "legacy"), (SDK, "sdk")])
def test_the_official_client_of_typescript_asks_answers_waits_and_leaves(
    served: Served, package: tuple[str, str], mode: str
) -> None:
    """It waits longer than its time-out for a first turn, as it hears who is at work; then it leaves: by today's
    protocol it closes its connection, before that it cancels."""

    def status() -> dict[str, str]:
        rows = served.front.json("sessions", "list", "--json")["sessions"]
        return {row["session"]: row["status"] for row in rows if row["question"] == "Tea or coffee?"}

    script = npm.package(*package) / f"client-{os.getpid()}.mjs"
    script.write_text(SCRIPT.read_text())
    given = {"QUESTION": QUESTION, "KNOWS": KNOWS, "TASK": TASK, "ASKS": json.dumps(ASKS), "MODE": mode}
    before = status()
    child = subprocess.Popen(
        [npm.node(), script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **given, "URL": served.url, "TOKEN": served.token},
    )  # fmt: skip
    try:
        assert child.stdout is not None and child.stderr is not None
        said = child.stdout.readline()
        assert said, child.stderr.read()
        (sid,) = set(status()) - set(before)
        until(lambda: status()[sid] == "cancelled", f"session {sid} goes on", 10.0)
        child.communicate(timeout=20)
    finally:
        child.kill()
        script.unlink()
    told = json.loads(said)
    about = {prompt["name"]: prompt["description"] for prompt in told["prompts"]}
    assert {"consensus", "slow"} <= set(about) and "objects" in about["critic"]
    assert QUESTION in told["prompt"] and "the protocol consensus" in told["prompt"]
    assert told["verdict"]["answer"] == "1869" and not told["verdict"]["agreed"]
    assert len(told["asked"]) == 1 and told["task"]["stop"]["reason"] == "rejected"
    assert ("closed" if mode == "auto" else "enough") in told["ended"]
    assert any("Slow 1" in message for message in told["progress"])


async def test_a_debate_is_started_read_and_stopped(http: Way) -> None:
    async with http.client() as client:
        started = _good(await client.call_tool("start_debate", {"question": "Tea or coffee?", "protocol": "slow"}))
        sid = started["session"]
        now = _good(await client.call_tool("get_debate", {"session": sid}))
        assert now["open"] and now["result"] is None and now["next"] >= 0
        with pytest.raises(Exception, match="still open"):
            await client.read_resource(f"parley://sessions/{sid}/certificate")
        ended = _good(await client.call_tool("stop_debate", {"session": sid, "reason": "enough"}))
        assert ended["status"] == "cancelled"
        then = _good(await client.call_tool("get_debate", {"session": sid, "since": now["next"]}))
        assert not then["open"] and then["result"]["verdict"].startswith("Cancelled: ")
        assert all(post["n"] >= now["next"] for post in then["posts"])
        again = _good(await client.call_tool("stop_debate", {"session": sid}))
        assert again["status"] == "cancelled", "stopping twice is fine"


async def test_a_client_hears_who_is_at_work_while_nothing_is_said(http: Way) -> None:
    told: list[tuple[float, str]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message or ""))

    async with http.client() as client:
        given = {"question": "Tea or coffee?", "protocol": "slow"}
        call = asyncio.ensure_future(client.call_tool("ask", given, progress_callback=progress))
        await asyncio.to_thread(until, lambda: any("Slow 2" in m for _, m in told), lambda: str(told), 30.0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    assert re.fullmatch("round 1: Slow 1 (queued|thinking), Slow 2 (queued|thinking)", told[-1][1])


async def test_a_debate_is_stopped_with_the_answer_that_there_is(http: Way) -> None:
    async with http.client() as client:
        started = _good(await client.call_tool("start_debate", {"question": "Tea or coffee?", "protocol": "slow"}))
        ended = _good(await client.call_tool("stop_debate", {"session": started["session"], "answer": True}))
        assert (ended["status"], ended["words"][:14]) == ("finished", "the answer was")


async def test_an_open_question_is_shown_to_who_cannot_be_asked(http: Way) -> None:
    async with http.client() as client:
        given = {"question": TASK, "protocol": "madp", "settings": ASKS}
        sid = _good(await client.call_tool("start_debate", given))["session"]

        async def waiting() -> list[Any]:
            found: list[Any] = _good(await client.call_tool("get_debate", {"session": sid}))["waiting"]
            return found

        async with asyncio.timeout(20):
            while not (items := await waiting()):
                await asyncio.wait([asyncio.ensure_future(asyncio.Event().wait())], timeout=0.1)
        assert items[0]["default"] in items[0]["choices"] and items[0]["seconds_left"] > 30
        await client.call_tool("stop_debate", {"session": sid})


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"projectPath": "canal/out"}, "allowed are folders under "),
    ({"protocol": "consensu"}, "did you mean consensus?"),
    ({"continues": "nobody"}, "nobody"),
    ({"protocol": "competition"}, "competition needs a language model, and pro_1, pro_2, pro_3 and 6 more"),
]


async def test_what_is_wrong_is_said_with_field_value_and_limit(http: Way) -> None:
    async with http.client() as client:
        for given, wanted in WRONG:
            text = _bad(await client.call_tool("ask", {"question": "Tea?", **given}))
            assert wanted in text, (given, text)
        assert "nobody" in _bad(await client.call_tool("explain", {"session": "nobody"}))
        assert "not a session's id" in _bad(await client.call_tool("get_debate", {"session": "a.b>"}))
        with pytest.raises(Exception, match="there is no session nobody"):
            await client.read_resource("parley://sessions/nobody/transcript")


async def test_a_task_is_routed_without_a_session(http: Way) -> None:
    async with http.client() as client:
        found = _good(await client.call_tool("route", {"task": "add JWT authentication"}))
    assert found["lead"]["expert"] == "security-architect" and found["confidence"] > 0.5


async def test_a_question_follows_up_a_finished_session(http: Way) -> None:
    async with http.client() as client:
        given = {"question": QUESTION, "context": KNOWS, "protocol": "consensus"}
        first = _good(await client.call_tool("ask", given))
        then = _good(await client.call_tool("ask", {**given, "continues": first["session"]}))
    opened = json.loads(http.served.front.run("sessions", "export", then["session"])[1].splitlines()[1])["event"]
    assert opened["continues"] == first["session"]
    assert {d["name"] for d in opened["documents"]} == {"context.md", f"previous/{first['session']}.md"}
