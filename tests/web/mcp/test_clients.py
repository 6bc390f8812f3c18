"""The tools for clients of a bus that others run, as a process on standard input, and with foreign programs."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from parley.client.rendering.explain import CLOSED_LOG
from tests.parley.support import ANSWER, MARK, Front
from tests.support import npm
from tests.support.gateway import Served, over_http, serving
from tests.support.model import NO_ANSWER
from tests.web.support import Browser, Site

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("ask", {}, "question: nothing was given, and ask needs it"),
    ("ask", {"question": ""}, "question: got 0 characters, allowed are 1 to 20,000"),
    ("ask", {"question": "x" * 20_001}, "question: got 20,001 characters, allowed are 1 to 20,000"),
    ("ask", {"question": 5}, "question: got 5, wanted is text"),
    ("ask", {"question": "x", "sede": 1}, "sede: ask takes no such option; did you mean seed? It takes question, "),
    ("ask", {"question": "x", "maxIterations": 3}, "maxIterations: ask takes no such option; it takes question, "),
    ("ask", {"question": "x", "settings": [1]}, "settings: got [1], wanted is an object"),
    ("ask", {"question": "x", "seed": "one"}, "seed: got 'one', wanted is a whole number"),
    ("start_debate", {}, "question: nothing was given, and start_debate needs it"),
    ("iterative_debate", {"question": "x", "maxIterations": 2.5}, "maxIterations: got 2.5, wanted is a whole number"),
    ("iterative_debate", {"question": "x", "consensusThreshold": "high"}, "got 'high', wanted is a number"),
    ("get_debate", {"session": "x", "since": -1}, "since: got -1, allowed are numbers from 0 on"),
    ("stop_debate", {"session": "x", "reason": "x" * 2_001}, "reason: got 2,001 characters, allowed are 0 to 2,000"),
    ("replay_what_if", {"session": "x", "settings": {}}, "settings: got {}, which is empty"),
    ("route", {"task": "x", "files": [1]}, "files.0: got 1, wanted is text"),
    ("explain", {"sessions": "x"}, "sessions: explain takes no such option; did you mean session? It takes session"),
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
    assert len(told) == len(whole["words"]) - 2, "families and strategies stand in the log alone"
    assert [text for text in mine["words"] if text != CLOSED_LOG] == told, "no reply of it was refused"
    assert {"Converged: yes.", CLOSED_LOG} <= set(mine["words"]) and mine["words"][0] == whole["words"][0]
    (all_of_it, some) = (found.pop("view") for found in (whole["figures"], mine["figures"]))
    assert mine["figures"] == whole["figures"]
    assert [(s["name"], s["values"]) for s in some["signals"]] == [
        (s["name"], s["values"]) for s in all_of_it["signals"]
    ]
    assert all_of_it["settings"] and not some["settings"], "they stand in the log alone"
    assert {s["seat"] for s in some["seats"]} <= {s["seat"] for s in all_of_it["seats"]}
    assert (await _called(site, site.bob, "explain", session=sid))[0]


async def test_a_debate_is_stopped_by_who_may_alone(site: Site) -> None:
    sid = await site.alice.start(NO_ANSWER)
    refused = {who: (await _called(site, getattr(site, who), "stop_debate", session=sid)) for who in ("bob", "auditor")}
    assert all(failed for failed, _ in refused.values()), refused
    assert sid in refused["bob"][1] and "opened by somebody else" in refused["auditor"][1]
    assert (await site.alice.get(f"/api/sessions/{sid}"))["status"] == "open"
    failed, said = await _called(site, site.owner, "stop_debate", session=sid, reason="enough")
    assert not failed and said["status"] == "cancelled"


async def test_what_is_wrong_with_arguments_is_one_plain_sentence(site: Site) -> None:
    async with over_http(site.web.url, site.alice.token) as client:
        for tool, given, wanted in WRONG:
            found = await client.call_tool(tool, given)
            text = found.content[0].text  # type: ignore[union-attr]
            assert found.is_error and wanted in text and "\n" not in text and "pydantic" not in text, (
                tool,
                given,
                text,
            )


async def test_a_program_may_leave_an_option_empty(site: Site) -> None:
    empty = dict.fromkeys(("protocol", "settings", "budget", "projectPath", "context", "continues", "seed"))
    failed, said = await _called(site, site.alice, "start_debate", question="Tea or coffee?", **empty)
    assert not failed and said["protocol"] == "consensus"
    await site.alice.watched(said["session"])
    failed, said = await _called(site, site.alice, "start_debate", question="Tea or coffee?", projectPath="")
    assert not failed, "models fill an optional text with an empty one"
    await site.alice.watched(said["session"])


@pytest.mark.parametrize("tool", ["ask", "start_debate", "iterative_debate"])
async def test_schemas_say_that_nothing_else_is_taken(site: Site, tool: str) -> None:
    async with over_http(site.web.url, site.alice.token) as client:
        (found,) = [one for one in (await client.list_tools()).tools if one.name == tool]
    assert found.input_schema["additionalProperties"] is False and found.input_schema["required"] == ["question"]


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


def test_what_cannot_be_right_is_said_before_anything_is_served(tmp_path: Path) -> None:
    front = Front(tmp_path)
    code, out, err = front.run("mcp", "--root", str(tmp_path / "nothing"))
    assert code == 2 and not out and "root: " in err and "is not a folder" in err
    panels = tmp_path / "panels"
    panels.mkdir()
    code, out, err = front.run("mcp", "--panels", str(panels))
    assert code == 2 and not out and "holds no panel file" in err
    (panels / "consensus.yaml").write_text("seats: {}\n")
    assert "consensus is a protocol" in front.run("mcp", "--panels", str(panels))[2]
    assert not front.state.exists()


INSPECTOR = ("@modelcontextprotocol/inspector", "2.12.0")
CONFORMANCE = ("@modelcontextprotocol/conformance", "0.1.16")
SCENARIOS = (
    "server-initialize", "ping", "tools-list", "resources-list", "server-sse-multiple-streams",
    "dns-rebinding-protection",
)  # fmt: skip
"""Those of the suite that ask for no tool of its own example server."""
_HOP = frozenset({"content-length", "transfer-encoding", "content-encoding", "authorization", "connection"})


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    npm.node()
    with serving(tmp_path_factory.mktemp("inspector"), "--set", "protocol=consensus") as found:
        yield found


def _inspect(served: Served, transport: str, *arguments: str) -> tuple[int, str, str]:
    script = npm.package(*INSPECTOR) / "node_modules" / ".bin" / "mcp-inspector"
    if transport == "http":
        target = [f"{served.url}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {served.token}"]
    else:
        given = {**served.front.environment, "PARLEY__PROTOCOL": "consensus"}
        kept = ("PARLEY_STATE", "PARLEY__PROTOCOL", "PYTHONPATH", MARK)  # the inspector hands on what is named alone
        target = [sys.executable, "-m", "parley", "mcp", *(x for k in kept for x in ("-e", f"{k}={given[k]}"))]
    return npm.run(
        npm.node(), str(script), "--cli", *target, *arguments, env=served.front.environment, cwd=served.front.folder
    )


@pytest.mark.timeout(240)
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_the_inspector_finds_no_fault_with_the_schemas_and_reads_the_prompts(served: Served, transport: str) -> None:
    code, out, err = _inspect(served, transport, "--method", "tools/list", "--strict")
    assert code == 0, err
    assert len(json.loads(out)["tools"]) == 8
    code, out, err = _inspect(served, transport, "--method", "prompts/list")
    assert code == 0, err
    assert "consensus" in {prompt["name"] for prompt in json.loads(out)["prompts"]}


@pytest.mark.timeout(240)
async def test_the_conformance_suite_passes_where_it_asks_for_no_tools_of_its_own(served: Served) -> None:
    script = npm.package(*CONFORMANCE) / "node_modules" / ".bin" / "conformance"
    async with _with_token(served) as url:
        for scenario in SCENARIOS:
            arguments = (str(script), "server", "--url", url, "--scenario", scenario)
            code, out, err = await asyncio.to_thread(npm.run, npm.node(), *arguments, cwd=served.front.folder)
            assert code == 0, (scenario, out[-2_000:], err[-500:])


@asynccontextmanager
async def _with_token(served: Served) -> AsyncIterator[str]:
    """A proxy that adds the token: the suite cannot send one."""

    async def forward(request: web.Request) -> web.StreamResponse:
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _HOP}
        headers["Authorization"] = f"Bearer {served.token}"
        async with session.request(
            request.method, f"{served.url}{request.path_qs}", headers=headers, data=await request.read()
        ) as answer:
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in _HOP}
            out = web.StreamResponse(status=answer.status, headers=kept)
            try:
                await out.prepare(request)
                async for part in answer.content.iter_any():
                    await out.write(part)
                await out.write_eof()
            except ConnectionResetError:  # the suite closes streams that it has seen enough of
                pass
            return out

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", forward)
    runner = web.AppRunner(app, shutdown_timeout=1)
    async with aiohttp.ClientSession() as session:
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
        finally:
            await runner.cleanup()
