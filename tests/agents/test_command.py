"""The model that is a program: scripted ones that behave, and those that do not."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import uvloop

from parley.agents.command.program import Failed, Printed, extract_text, run
from parley.agents.config import resolve, variables_of
from parley.agents.model.base import ModelMisconfigured, ModelRefused, ModelUnavailable
from parley.agents.models import make_model
from parley.agents.specs import AgentSpec
from parley.client.errors import BadInput
from parley.schemas.turn import Caps
from parley.stack.panel_file import read_panel
from tests.llm.support import FULL, PROSE, Heard, asked, silent
from tests.support.engine import until

GOOD = json.dumps(FULL)
READ = "import sys, os, time, json; prompt = sys.stdin.read(); good = " + repr(GOOD) + "\n"


def script(body: str) -> list[str]:
    """A program that reads its prompt, and then does this."""
    return [sys.executable, "-c", READ + body]


def member(body: str, **options: Any) -> Any:
    """A model that is such a program."""
    return make_model("command", {"command": script(body), **options})


async def ran(body: str, prompt: str = "?", seconds: float = 20.0, most: int = 100_000) -> Printed:
    return await run(script(body), prompt, environment=dict(os.environ), seconds=seconds, most_bytes=most)


async def gone(told: Path) -> None:
    """Until the process whose number stands there has ended, whether somebody collected it or not."""
    stat = Path(f"/proc/{told.read_text()}/stat")

    async def has_ended() -> bool:
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"

    await until(has_ended)


GOOD_ONES = {
    "plain": "print(good)",
    "exits 1": "print(good); sys.exit(1)",
    "chatty": "print('Let me see.\\n' * 1000); print('```json\\n' + good + '\\n```'); print('done', file=sys.stderr)",
    "ANSI": "print('\\x1b]0;title\\x07\\x1b[2J\\x1b[32m' + good.replace(': ', ':\\x1b[1m ') + '\\x1b[0m\\r')",
    "endless errors": "sys.stderr.write('x' * 3_000_000); print(good)",
    "ends at once": "print(good); sys.stdout.flush(); os._exit(0)",
    "closes its output and stays": "print(good); sys.stdout.flush(); os.close(1); os.close(2); time.sleep(600)",
    "killed by itself": "print(good); sys.stdout.flush(); os.kill(os.getpid(), 9)",
}


@pytest.mark.parametrize("how", GOOD_ONES)
async def test_a_good_answer_counts_however_the_program_ends(how: str) -> None:
    heard = Heard()
    completion = await member(GOOD_ONES[how]).reply(asked(seconds=30), heard)
    assert completion.body.answer == "A4" and completion.usage.calls == 1 and completion.usage.estimated
    assert completion.usage.input_tokens > 100 and "unpriced" in completion.flags


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("time.sleep(600)", "took longer than"),
        ("print('x' * 50); sys.stdout.flush(); time.sleep(600)", "took longer than"),
        ("while True: print('x' * 1000)", "printed more than 100,000 bytes"),
    ],
    ids=["silent", "slow", "endless"],
)
async def test_a_program_that_misbehaves(body: str, why: str, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    started = time.monotonic()
    with pytest.raises(Failed, match=why):
        await ran(f"open({str(told)!r}, 'w').write(str(os.getpid()))\n{body}", seconds=2.0)
    assert time.monotonic() - started < 10
    await gone(told)


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("ends", ["print(good)", "time.sleep(600)"], ids=["ends", "stays"])
def test_its_children_end_with_it(ends: str, loop: Any, tmp_path: Path) -> None:
    """A child that holds the output open neither delays the answer nor outlives it, on both loops that workers use."""
    told = tmp_path / "pid"
    child = f"child = os.fork()\nif child == 0: time.sleep(600)\nopen({str(told)!r}, 'w').write(str(child))\n"

    async def play() -> None:
        (done,) = await asyncio.gather(ran(child + ends, seconds=3.0), return_exceptions=True)
        assert isinstance(done, Printed if "good" in ends else Failed)
        await gone(told)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(play())


async def test_cancelling_kills_it(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    running = asyncio.create_task(ran(f"open({str(told)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"))

    async def has_begun() -> str:
        return told.read_text() if told.exists() else ""

    await until(has_begun)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await gone(told)


async def test_the_prompt_is_on_standard_input_alone_and_the_folder_is_empty_and_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("MY_TOOL", "on")
    body = (
        "print(json.dumps({**json.loads(good), 'reasoning': json.dumps([sys.argv, sorted(os.environ), os.getcwd(),"
        " os.listdir('.'), prompt.count('A4 or letter?'), os.getpgid(0) == os.getpid()])}))"
    )
    completion = await member(body, variables=["MY_TOOL"]).reply(asked(), silent)
    argv, names, folder, files, asked_for, leads = json.loads(completion.body.reasoning)
    assert argv == ["-c"] and asked_for >= 1 and files == [] and leads
    assert "MY_TOOL" in names and "PATH" in names and "OPENAI_API_KEY" not in names
    assert folder != os.getcwd() and not Path(folder).exists()


async def test_one_repair_and_then_a_named_error(tmp_path: Path) -> None:
    told = tmp_path / "calls"
    count = f"open({str(told)!r}, 'a').write('x')\n"
    repaired = member(count + "print(good if 'could not be used' in prompt else 'Well.')")
    completion = await repaired.reply(asked(), silent)
    assert completion.body.answer == "A4" and "repaired" in completion.flags and completion.usage.calls == 2
    told.write_text("")
    prose = member(count + f"print({PROSE!r}); print('please log in', file=sys.stderr)")
    with pytest.raises(ModelRefused, match=r"also after a repair: there is no JSON.*please log in") as found:
        await prose.reply(asked(), silent)
    with pytest.raises(ModelRefused):
        await prose.reply(asked(attempt=2, error=found.value.why), silent)
    assert told.read_text() == "xx" and found.value.usage.calls == 2
    with pytest.raises(ModelRefused):
        await prose.reply(asked(caps=Caps(calls=1)), silent)
    assert told.read_text() == "xxx"


async def test_the_turns_deadline_ends_it_and_what_it_used_is_told() -> None:
    with pytest.raises(ModelUnavailable, match="took longer than") as found:
        await member("print('so far'); sys.stdout.flush(); time.sleep(600)").reply(asked(seconds=2), silent)
    assert found.value.usage.calls == 1 and found.value.usage.input_tokens > 100


@pytest.mark.parametrize(
    ("printed", "path", "found"),
    [
        ("a text", "", "a text"),
        ('{"type": "start"}\n{"item": {"text": "one"}}\n{"item": {"text": "two"}}\n{"usage": 1}\n', "item.text", "two"),
        ('log\n{"result": {"answer": 1}}', "result", '{"answer":1}'),
        ('{\n "response": "it",\n "stats": {}\n}\n', "response", "it"),
        ("no JSON", "result", "no JSON"),
    ],
)
def test_words_in_lines_of_json(printed: str, path: str, found: str) -> None:
    assert extract_text(printed, path) == found


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "which program"),
        ({"command": "claude -p"}, "expected a list of texts"),
        ({"command": ["no-such-program-here"]}, "there is no program 'no-such-program-here'"),
        ({"command": ["sh"], "shell": True}, "options.shell: no such option"),
        ({"command": ["sh"], "reply_s": 0}, "allowed is 0.05"),
        ({"command": ["sh"], "usd_per_million_input": 1}, "a price is two numbers"),
    ],
)
def test_what_cannot_be_right_is_named(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ModelMisconfigured, match=why):
        make_model("command", options)


def test_variables_name_the_program() -> None:
    spec = AgentSpec(queue="panelist_1", roles=("panelist",))
    environ = {"PANELIST_1_LLM_PROVIDER": "command", "LLM_COMMAND": "sh -c 'echo it'", "OPENAI_API_KEY": "k"}
    resolved, own = variables_of(spec, environ)
    assert (resolved.model, resolved.options) == ("command", {"command": ["sh", "-c", "echo it"]})
    assert set(own) == {"PANELIST_1_LLM_PROVIDER", "LLM_COMMAND"}
    listed = resolve(spec, {**environ, "LLM_COMMAND": '["a b", "c"]', "PANELIST_1_LLM_FAMILY": "claude"})
    assert listed.options == {"command": ["a b", "c"], "family": "claude"}
    other = resolve(spec, {"LLM_PROVIDER": "ollama", "LLM_MODEL": "m", "LLM_COMMAND": "sh"})
    assert other.model == "openai" and "command" not in other.options
    for wrong, why in (({"LLM_COMMAND": ""}, "needs the program"), ({"LLM_COMMAND": "'"}, "LLM_COMMAND")):
        with pytest.raises(ModelMisconfigured, match=why):
            resolve(spec, {**environ, **wrong})


def test_a_panel_file_names_the_program(tmp_path: Path) -> None:
    path = tmp_path / "panel.yaml"
    rest = "  panelist_2: {}\n  analyst: {}\n"
    path.write_text("seats:\n  panelist_1: {provider: command, command: [sh, -c, it], options: {out: result}}\n" + rest)
    row = read_panel(path).rows[0]
    assert (row.model, row.options) == ("command", {"out": "result", "command": ["sh", "-c", "it"]})
    for wrong in ("{provider: command}", "{command: [sh]}", "{provider: command, command: [sh], model: m}"):
        path.write_text(f"seats:\n  panelist_1: {wrong}\n" + rest)
        with pytest.raises(BadInput, match="a program is"):
            read_panel(path)
