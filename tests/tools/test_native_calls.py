"""Turns with tools at a real server of chat completions: calls in the field made for them, calls in a text where an
endpoint has no such field, and prompts of which each step's begins with all of the one before it."""

import inspect
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from parley.agents.context import NativeCall
from parley.agents.openai import probe
from parley.agents.openai.tool_calls import ToolNames
from parley.agents.tools.client import Offered
from parley.agents.worker_model import WorkerModel
from parley.schemas.protocols.madp.work import Work
from tests.llm.server import Request, Step, fails, model_server, says
from tests.llm.support import model, silent
from tests.support.experts import FolderArtifacts
from tests.tools.support import DONE, SPEC, asked, files_list, packed, use, work

pytestmark = [pytest.mark.slow]
APP = packed(app_dot_py="print('hi')\n", notes_dot_md="x" * 3_000)
EDIT = ("files__replace_in_file", {"path": "app.py", "old": "hi", "new": "hello"})
READ = ("files__read_file", {"path": "app.py"})


@pytest.fixture(autouse=True)
def _fresh() -> None:
    probe.forget()


def calls(*made: tuple[str, Any], **more: Any) -> Step:
    """Answers with native calls; arguments that are a text are sent as they are."""
    native = [
        {"id": f"x{i}", "type": "function", "index": i,
         "function": {"name": name, "arguments": a if isinstance(a, str) else json.dumps(a)}, **more}
        for i, (name, a) in enumerate(made)
    ]  # fmt: skip
    return says("", tool_calls=native, finish="tool_calls")


async def played(
    tmp_path: Path, *steps: Step, turns: int = 1, brief: Any = None, heard: list[str] | None = None, **more: Any
) -> tuple[Work, list[Request], Any]:
    """(the work, what was asked, the completion) of the last of some turns of the same worker."""
    artifacts = FolderArtifacts(tmp_path)
    start = await artifacts.put(APP)
    emit = silent if heard is None else heard.append
    done: Any = None
    async with model_server(*steps) as server, model(server.url) as found:
        expert = WorkerModel(found, SPEC, files_list())
        for _ in range(turns):
            done = await expert.reply(asked("work", brief or work(folder=start.id), **more), emit, artifacts)
    return done.body, server.requests, done


def sent(request: Request) -> str:
    """The prompt as an endpoint keeps it: the tools, then the messages, as they came."""
    body = request.body
    return json.dumps(body.get("tools", [])) + "".join(json.dumps(m) for m in body["messages"])


def in_common(requests: list[Request]) -> float:
    """Of all prompts but the last: what the next one begins with."""
    kept = whole = 0
    for one, other in pairwise(map(sent, requests)):
        whole += len(one)
        kept += next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    return kept / whole


@pytest.mark.parametrize("stream", [False, True])
async def test_tools_are_called_in_their_own_field(tmp_path: Path, stream: bool) -> None:
    heard: list[str] = []
    found, requests, done = await played(
        tmp_path, calls(READ, ("files__list_files", {})), calls(EDIT), says(DONE), stream=stream, heard=heard
    )
    assert [(c.tool, c.ok) for c in found.calls] == [
        ("read_file", True), ("list_files", True), ("replace_in_file", True),
    ]  # fmt: skip
    assert (found.outcome, found.output) == ("done", DONE["output"]) and "+print('hello')" in found.diff
    assert done.usage.calls == 3 and "extracted" not in done.flags
    functions = {t["function"]["name"]: t["function"] for t in requests[0].body["tools"]}
    assert functions["files__read_file"]["parameters"]["properties"]["path"]["type"] == "string"
    assert all("response_format" not in r.body for r in requests)
    *_, assistant, first, second = requests[1].body["messages"]
    assert [c["id"] for c in assistant["tool_calls"]] == [first["tool_call_id"], second["tool_call_id"]]
    assert assistant["tool_calls"][0]["function"] == {"name": READ[0], "arguments": json.dumps(READ[1])}
    assert "print('hi')" in first["content"] and "Left are" in second["content"]
    said = "".join(str(m["content"]) for r in requests for m in r.body["messages"])
    assert "files__replace_in_file" in said and "files.r" not in said and '"path"' not in said, "one name for each"
    assert all(f["description"] == inspect.cleandoc(f["description"]) for f in functions.values())
    lines = [line for line in "".join(heard).splitlines() if line.startswith("files.")]
    assert [line.split()[0].strip(":") for line in lines] == [
        "files.read_file",
        "files.list_files",
        "files.replace_in_file",
    ]


@pytest.mark.parametrize("native", [True, False])
async def test_a_step_begins_with_all_of_the_step_before_it(tmp_path: Path, native: bool) -> None:
    body: list[Any] = [READ, ("files__list_files", {}), ("files__read_file", {"path": "notes.md"}), EDIT, READ]
    if native:
        steps = [calls(one) for one in body]
    else:
        steps = [fails(400, "m does not support tools")]
        steps += [says({**use((name.partition("__")[2], given))}) for name, given in body]
    _, requests, _ = await played(tmp_path, *steps, says(DONE))
    requests = requests if native else requests[1:]
    assert len(requests) == 6
    for one, other in pairwise(requests):
        before = one.body["messages"]
        assert other.body["messages"][: len(before)] == before
        assert one.body.get("tools") == other.body.get("tools")
    assert in_common(requests) > 0.99


async def test_an_endpoint_that_refuses_tools_is_asked_in_text_and_remembered(tmp_path: Path) -> None:
    script = (fails(400, "m does not support tools"), says(use(READ_IN_TEXT)), says(DONE))
    found, requests, done = await played(tmp_path, *script, says(use(READ_IN_TEXT)), says(DONE), turns=2)
    assert ["tools" in r.body for r in requests] == [True, False, False, False, False]
    assert [r.format for r in requests] == ["text", *["json_schema"] * 4]
    assert found.performed is not False and [(c.tool, c.ok) for c in found.calls] == [("read_file", True)]
    assert '"tool":"read_file"' in requests[1].prompt and '"title":' not in requests[1].prompt
    assert done.usage.calls == 2


READ_IN_TEXT = ("read_file", {"path": "app.py"})


@pytest.mark.parametrize(
    "refusal", [fails(400, "Function call is missing a thought_signature"), fails(400, ""), fails(422, "invalid role")]
)
async def test_a_refusal_in_the_middle_loses_no_turn(tmp_path: Path, refusal: Step) -> None:
    found, requests, _ = await played(tmp_path, calls(READ), refusal, says(use(("list_files", {}))), says(DONE))
    assert [(c.tool, c.ok) for c in found.calls] == [("read_file", True), ("list_files", True)]
    assert ["tools" in r.body for r in requests][0::3] == [True, False], "the last request does without"
    assert "print('hi')" in json.dumps(requests[2].body) and "print('hi')" in json.dumps(requests[3].body)


async def test_calls_that_cannot_be_made_are_answered_and_the_turn_goes_on(tmp_path: Path) -> None:
    found, requests, _ = await played(
        tmp_path,
        calls((READ[0], "[1]"), (READ[0], '{"path": '), ("files__no such", {}), ("nothing", {}), *[READ] * 14),
        says(DONE),
    )
    assert [c.ok for c in found.calls[:5]] == [False] * 4 + [True] and len(found.calls) == 10
    *_, assistant = (m for m in requests[1].body["messages"] if m["role"] == "assistant")
    assert len(assistant["tool_calls"]) == 16 and "2 more calls were left out" in assistant["content"]
    assert all(isinstance(json.loads(c["function"]["arguments"]), dict) for c in assistant["tool_calls"])
    assert assistant["tool_calls"][2]["function"]["name"] == "files__no_such"
    answers = [m["content"] for m in requests[1].body["messages"] if m["role"] == "tool"]
    assert "expected a JSON object" in answers[0] and "is not allowed" in answers[2] and "not known" in answers[3]
    assert "no calls are left" in answers[-1]


async def test_the_last_step_may_call_nothing_and_keeps_the_prompt(tmp_path: Path) -> None:
    brief = work(tool_calls=1)
    found, requests, _ = await played(tmp_path, calls(("files__list_files", {})), says(DONE), brief=brief)
    last = requests[1].body
    assert (last["tools"], last["tool_choice"]) == (requests[0].body["tools"], "none")
    assert requests[1].format == "json_schema" and "No tool can be called any more" in last["messages"][-1]["content"]
    assert in_common(requests) == 1.0 and found.output == DONE["output"]


async def test_what_an_endpoint_wants_to_see_again_is_sent_back(tmp_path: Path) -> None:
    extra = {"google": {"thought_signature": "abc"}}
    step = says(
        "", finish="stop", reasoning_content="I look first.",
        tool_calls=[{"id": "a", "extra_content": extra, "function": {"name": READ[0], "arguments": "{}"}}],
    )  # fmt: skip
    _, requests, _ = await played(tmp_path, step, says(DONE))
    assistant = requests[1].body["messages"][2]
    assert assistant["tool_calls"][0]["extra_content"] == extra and assistant["reasoning_content"] == "I look first."


async def test_old_results_are_shortened_where_the_cap_would_be_passed(tmp_path: Path) -> None:
    notes = ("files__read_file", {"path": "notes.md"})
    cap = 12_000
    artifacts = FolderArtifacts(tmp_path)
    start = await artifacts.put(APP)
    given = asked("work", work(tool_calls=12, model_calls=12, folder=start.id), calls=14)
    given = replace(given, caps=replace(given.caps, input_tokens=cap))
    async with model_server(*[calls(notes)] * 10, says(DONE)) as server, model(server.url) as found:
        done = await WorkerModel(found, SPEC, files_list()).reply(given, silent, artifacts)
    assert len(done.body.calls) == 10 and "cut" in done.flags
    prompts = [sent(r) for r in server.requests]
    assert all(len(p) / 3 < cap * 1.15 for p in prompts)
    results = [m["content"] for m in server.requests[-1].body["messages"] if m["role"] == "tool"]
    marked = ["[shortened: the first" in r for r in results]
    assert marked == sorted(marked, reverse=True) and marked[0] and not marked[-1]
    assert in_common(server.requests) > 0.7


async def test_a_reply_that_is_none_is_repaired_at_the_end_of_the_prompt(tmp_path: Path) -> None:
    found, requests, done = await played(tmp_path, calls(READ), says("I have read it."), says(DONE))
    assert found.output == DONE["output"] and "repaired" in done.flags
    assert in_common(requests) > 0.99 and "could not be used" in requests[2].body["messages"][-1]["content"]


def test_names_of_tools_are_one_to_one_and_valid() -> None:
    servers = ["a", "a.b", "a b", "x" * 80]
    offered = [Offered(server=s, tool=t, description="", arguments={}) for s in servers for t in ("read", "c/d", "é")]
    names = ToolNames(offered)
    listed = [t["function"]["name"] for t in names.listed]
    assert len(set(listed)) == len(offered)
    assert all(len(n) <= 64 and n.isascii() and n.replace("_", "").replace("-", "").isalnum() for n in listed)
    back = [names.call(NativeCall(name=n, arguments="{}")) for n in listed]
    assert [(c.server, c.tool) for c in back] == [(o.server, o.tool) for o in offered]
