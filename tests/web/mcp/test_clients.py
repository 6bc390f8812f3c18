"""The tools for clients of a bus that others run: what each may read and do, and what is said of wrong arguments."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from parley.client.rendering.explain import CLOSED_LOG
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


@asynccontextmanager
async def tools(site: Site, who: Browser) -> AsyncIterator[Client]:
    """The tools for somebody."""
    async with create_mcp_http_client({"Authorization": who.http.headers["authorization"]}) as http:
        async with Client(streamable_http_client(f"{site.web.url}/mcp", http_client=http)) as found:
            yield found


async def _called(site: Site, who: Browser, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """(whether it failed, what it says)."""
    async with tools(site, who) as client:
        found = await client.call_tool(tool, arguments)
        said = found.content[0].text if found.is_error else found.structured_content  # type: ignore[union-attr]
        return bool(found.is_error), said


async def test_a_client_gets_the_explanation_of_the_command_line_as_far_as_it_may_read(site: Site) -> None:
    sid = await site.alice.start("Whose is this?")
    await site.alice.watched(sid)
    whole, mine = [(await _called(site, who, "explain", session=sid))[1] for who in (site.owner, site.alice)]
    told = [text for text in whole["words"] if "of one model family" not in text]
    assert len(told) == len(whole["words"]) - 1, "families stand in the log alone"
    assert [text for text in mine["words"] if text != CLOSED_LOG] == told, "no reply of it was refused"
    assert {"Converged: yes.", CLOSED_LOG} <= set(mine["words"]) and mine["words"][0] == whole["words"][0]
    (all_of_it, some) = (found.pop("view") for found in (whole["figures"], mine["figures"]))
    assert mine["figures"] == whole["figures"] and some["signals"] == all_of_it["signals"]
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
    async with tools(site, site.alice) as client:
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
    async with tools(site, site.alice) as client:
        (found,) = [one for one in (await client.list_tools()).tools if one.name == tool]
    assert found.input_schema["additionalProperties"] is False and found.input_schema["required"] == ["question"]
