"""What `run` takes, through the server that ships: any command, in the sandbox."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.agents.prompts.prompting import build
from parley.agents.tools import sandbox
from parley.agents.tools.allow import load, shipped
from parley.agents.tools.client import Called, Toolbox
from parley.agents.tools.folder import TaskFolder
from parley.agents.tools.run_server import VARIABLE
from parley.agents.tools.steps import Call
from parley.agents.worker_model import WorkerModel
from tests.llm.support import silent
from tests.support.experts import FolderArtifacts
from tests.tools.support import DONE, EXAMPLE, SPEC, Scripted, asked, packed, use, work

pytestmark = [pytest.mark.slow]
sandboxed = pytest.mark.skipif(bool(sandbox.unavailable()), reason=f"NOT CHECKED: {sandbox.unavailable()}")
NODE = json.dumps({"scripts": {"test": "node --test"}})
PROJECT = packed(
    pytest_dot_ini="[pytest]\n", test_a_dot_py="def test_a():\n    assert 1 + 1 == 2\n",
    evil_dot_js="console.log('ran')\n", package_dot_json=NODE,
    README_dot_md="Run `node --test` and `python -m pytest -q`.\n",
)  # fmt: skip


async def run(box: Toolbox, command: str) -> Called:
    return await box.call(Call(server="commands", tool="run", arguments=json.dumps({"command": command})), 60)


@sandboxed
async def test_any_command_is_run_and_what_is_usual_in_the_project_is_told() -> None:
    with TaskFolder(PROJECT) as folder:
        async with Toolbox(shipped(), folder, "node --test") as box:
            about = next(o.description for o in box.offered if o.tool == "run")
            assert "Usual here: node --test; python -m pytest -q; npm test." in about, about
            for command, ended, printed in (
                ("python -c 'print(6 * 7)'", "exit 0", "42"), ("cat evil.js | wc -l", "exit 0", "0"),
                ("mkdir sub && cd sub && pwd", "exit 0", "/task/sub"), ("X=1 sh -c 'echo $X; exit 3'", "exit 3", "1"),
                ("python -m pytest -q no_such.py | tail -1", "exit 4", "no tests ran"),
                ("ls *.py", "exit 0", "test_a.py"),
                ("for i in 1 2; do echo n$i; done > out; cat out", "exit 0", "n1\nn2"),
            ):  # fmt: skip
                called = await run(box, command)
                assert (called.record.ok, called.record.ended) == (True, ended), (command, called.text)
                assert printed in called.text, (command, called.text)
        assert "out" in folder.look()


@sandboxed
@pytest.mark.parametrize(
    ("command", "seconds", "ended"),
    [
        ("python -m pytest -q test_a.py", 60, "exit 0"),
        ("python -m pytest -q test_red.py", 60, "exit 1"),
        ("python -m pytest -q test_slow.py", 1, "stopped: it took longer than 1 s"),
        (
            "no-such-program",
            60,
            "not run: no program 'no-such-program' is found; those on the worker's PATH can be run",
        ),
    ],
)
async def test_how_a_command_ended_stands_in_its_first_line_in_the_log_and_in_the_line_that_is_told(
    tmp_path: Path, command: str, seconds: int, ended: str
) -> None:
    project = packed(
        pytest_dot_ini="[pytest]\n", test_a_dot_py="def test_a():\n    pass\n",
        test_red_dot_py="def test_red():\n    assert 0\n",
        test_slow_dot_py="import time\ndef test_slow():\n    time.sleep(60)\n",
    )  # fmt: skip
    allowed = shipped()
    server = allowed.servers["commands"]
    given = {"command": (*server.command, "no-such-program"), "env": server.env | {VARIABLE: str(seconds)}}
    allowed = allowed.model_copy(update={"servers": {"commands": server.model_copy(update=given)}})
    artifacts, heard = FolderArtifacts(tmp_path), list[str]()
    start = await artifacts.put(project)
    model = Scripted(use(("run", {"command": command}), server="commands"), DONE)
    worker = WorkerModel(model, SPEC, allowed)
    assert worker.no_run == ""
    done = await worker.reply(asked("work", work(folder=start.id)), heard.append, artifacts)
    (call,) = done.body.calls
    assert (call.ended, call.passed, call.ok) == (ended, ended == "exit 0", ended.startswith("exit"))
    assert call.result.startswith(f"{ended}, after ")
    told = "ok" if ended == "exit 0" else ended
    assert f"commands.run {command}: {told} (" in "".join(heard)
    (did,) = model.shown[1].steps.did if model.shown[1].steps is not None else ()
    (returned,) = did.returned
    assert returned.ended == told and returned.text.startswith(f"{ended}, after ")
    assert f"\n\n{told}:\n{ended}, after " in build(model.shown[1]).messages[-1]["content"]


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox.unavailable.cache_clear()
    yield
    sandbox.unavailable.cache_clear()


@pytest.mark.usefixtures("no_bubblewrap")
@pytest.mark.parametrize("path", [None, EXAMPLE])
async def test_where_no_sandbox_is_there_run_is_not_offered_and_that_is_announced(
    tmp_path: Path, path: Path | None
) -> None:
    model, artifacts = Scripted(DONE), FolderArtifacts(tmp_path)
    start = await artifacts.put(PROJECT)
    worker = WorkerModel(model, SPEC, shipped() if path is None else load(path))
    assert worker.tools and worker.no_run.startswith("there is no sandbox")
    await worker.reply(asked("work", work(folder=start.id)), silent, artifacts)
    first = model.shown[0].steps
    assert first is not None and {o.server for o in first.tools.offered} == {"files"}
