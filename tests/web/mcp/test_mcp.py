"""The tools with the official clients, over both transports, in both ways of the protocol's versions, and with the
inspector; for clients of a bus that others run; and as a process on standard input."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.types import CallToolResult, ElicitRequestFormParams, ElicitResult

from parley.client.rendering.explain import CLOSED_LOG
from tests.parley.support import ANSWER, Front, until
from tests.support import npm
from tests.support.expert_model import expert_model
from tests.support.gateway import Served, mcp_client, over_http, panel, serving
from tests.web.support import Browser, Site

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
    """The one that the test names, or one that is quick."""
    transport, mode = getattr(request, "param", "http-auto").split("-")
    return Way(served, project, transport, mode)


def _good(result: CallToolResult) -> dict[str, Any]:
    found = result.structured_content
    assert not result.is_error and isinstance(found, dict), result.content
    return found


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


async def test_a_debate_is_started_read_and_stopped(way: Way) -> None:
    async with way.client() as client:
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
        started = _good(await client.call_tool("start_debate", {"question": "Tea or coffee?", "protocol": "slow"}))
        ended = _good(await client.call_tool("stop_debate", {"session": started["session"], "answer": True}))
        assert (ended["status"], ended["words"][:14]) == ("finished", "the answer was")


async def test_an_open_question_is_shown_to_who_cannot_be_asked(way: Way) -> None:
    async with way.client() as client:
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


ARGUMENTS: list[tuple[str, dict[str, Any], str]] = [
    ("ask", {}, "question: it is missing"),
    ("ask", {"question": "x" * 20_001}, "question: it has 20,001 characters, allowed is at most 20,000"),
    ("ask", {"question": "x", "sede": 1}, "sede: ask takes no such option; did you mean seed? It takes question, "),
    ("ask", {"question": "x", "seed": "one"}, "seed: got 'one', allowed is a whole number"),
    ("replay_what_if", {"session": "x", "settings": {}}, "settings: it has 0 entries, allowed is at least 1"),
    ("route", {"task": "x", "files": [1]}, "files.0: got 1, allowed is text"),
]  # fmt: skip


async def _called(site: Site, who: Browser, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """(whether it failed, what it says)."""
    async with over_http(site.web.url, who.token) as client:
        found = await client.call_tool(tool, arguments)
        said = found.content[0].text if found.is_error else found.structured_content  # type: ignore[union-attr]
        return bool(found.is_error), said


async def test_a_client_gets_the_explanation_of_the_command_line_as_far_as_it_may_read(site: Site) -> None:
    sid = await site.alice.start("Whose is this?")
    await site.alice.watched(sid)
    whole, mine = [(await _called(site, who, "explain", session=sid))[1] for who in (site.owner, site.alice)]
    told = [text for text in whole["words"] if "of one model family" not in text and "strategies: " not in text]
    assert [text for text in mine["words"] if text != CLOSED_LOG] == told, "these stand in the log alone"
    assert {"Converged: yes.", CLOSED_LOG} <= set(mine["words"])
    (all_of_it, some) = (found.pop("view") for found in (whole["figures"], mine["figures"]))
    assert mine["figures"] == whole["figures"] and all_of_it["settings"] and not some["settings"]
    assert (await _called(site, site.bob, "explain", session=sid))[0]


async def test_what_is_wrong_with_arguments_is_one_plain_sentence(site: Site) -> None:
    async with over_http(site.web.url, site.alice.token) as client:
        for tool, given, wanted in ARGUMENTS:
            found = await client.call_tool(tool, given)
            text = found.content[0].text  # type: ignore[union-attr]
            assert found.is_error and wanted in text and "\n" not in text and "pydantic" not in text, (
                tool,
                given,
                text,
            )


_INITIALIZE = {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"},
}  # fmt: skip


def _request(number: int, method: str, params: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


def test_it_starts_a_stack_with_the_first_call_and_says_nothing_but_the_protocol(tmp_path: Path) -> None:
    front = Front(tmp_path)
    child = front.start("mcp", "--set", "protocol=consensus", stdin=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    lines = []

    def ask(text: str) -> dict[str, Any]:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(text)
        child.stdin.flush()
        while True:
            line = child.stdout.readline()
            lines.append(line)
            found: dict[str, Any] = json.loads(line)
            if "id" in found:
                return found

    assert ask(_request(1, "initialize", _INITIALIZE))["result"]["serverInfo"]["name"] == "parley"
    child.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")
    assert len(ask(_request(2, "tools/list", {}))["result"]["tools"]) == 8
    assert not front.state.exists(), "nothing is started before it is needed"
    given = {"question": "What is the capital of Lithuania?", "context": "Vilnius is the capital of Lithuania."}
    found = ask(_request(3, "tools/call", {"name": "iterative_debate", "arguments": given}))["result"]
    assert found["structuredContent"]["answer"] == ANSWER and front.state.exists()
    child.stdin.close()
    assert child.wait(30) == 0
    lines += child.stdout.read().splitlines()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in lines)
    child.stdout.close()
    child.stderr.close()
    front.assert_nothing_left()


INSPECTOR = ("@modelcontextprotocol/inspector", "2.12.0")


def _inspect(served: Served, *arguments: str) -> tuple[int, str, str]:
    script = npm.package(*INSPECTOR) / "node_modules" / ".bin" / "mcp-inspector"
    target = [f"{served.url}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {served.token}"]
    return npm.run(
        npm.node(), str(script), "--cli", *target, *arguments, env=served.front.environment, cwd=served.front.folder
    )


@pytest.mark.timeout(240)
def test_the_inspector_finds_no_fault_with_the_schemas_and_reads_the_prompts(served: Served) -> None:
    code, out, err = _inspect(served, "--method", "tools/list", "--strict")
    assert code == 0, err
    schemas = {tool["name"]: tool["inputSchema"] for tool in json.loads(out)["tools"]}
    assert len(schemas) == 8 and not schemas["ask"]["additionalProperties"]
    code, out, err = _inspect(served, "--method", "prompts/list")
    assert code == 0, err
    assert "consensus" in {prompt["name"] for prompt in json.loads(out)["prompts"]}
