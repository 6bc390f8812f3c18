"""What `run` takes, through the server that ships: commands of the list with further arguments, in the sandbox."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.tools import sandbox
from agents.tools.allow import load, shipped
from agents.tools.client import Called, Toolbox
from agents.tools.folder import TaskFolder
from agents.tools.steps import Call
from agents.worker_model import WorkerModel
from tests.llm.support import silent
from tests.support.artifacts import FolderArtifacts
from tests.tools.support import DONE, EXAMPLE, SPEC, Scripted, asked, packed, work

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


async def test_a_further_argument_names_no_other_program() -> None:
    with TaskFolder(PROJECT) as folder:
        async with Toolbox(shipped(), folder, "node --test") as box:
            about = next(o.description for o in box.offered if o.tool == "run")
            assert "May be run: node --test; python -m pytest -q" in about, about
            for command in (
                "node evil.js", "node -e 1", "python evil.py", "python -m http.server", "python -c pass", "pytest",
                "sh -c 'python -m pytest -q'", "env python -m pytest -q", "X=1 python -m pytest -q",
                "/bin/sh -c 'python -m pytest'", "./python -m pytest -q", "python -m pytest.evil", "'node --test'",
            ):  # fmt: skip
                called = await run(box, command)
                assert not called.record.ok and "may not be run; may be run: node --test" in called.text, command


@sandboxed
async def test_a_further_argument_leads_no_program_out_of_the_sandbox(tmp_path: Path) -> None:
    """Each would read, load or write something beside the folder, or begin another command."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "test_secret.py").write_text("print('the secret')\ndef test_s():\n    print('the secret')\n")
    (outside / "plugin.py").write_text("print('the secret')\n")
    (outside / "pytest.ini").write_text("[pytest]\naddopts = --the-secret\n")
    before = {p.name: p.read_bytes() for p in outside.iterdir()}
    with TaskFolder(PROJECT) as folder:
        async with Toolbox(shipped(), folder) as box:
            inside = await run(box, "python -m pytest test_a.py -v")
            assert inside.record.ok and "1 passed" in inside.text, inside.text
            for argument in (
                f"-s {outside}", f"-c {outside}/pytest.ini", f"-s --rootdir={outside} {outside}",
                f"-p {outside}/plugin",
                f"-o pythonpath={outside} -p plugin", f"--junitxml={outside}/out.xml", f"--basetemp={outside}",
                "; touch here", "&& touch here", "$(touch here)", "| touch here", f"> {outside}/out",
            ):  # fmt: skip
                called = await run(box, f"python -m pytest -q {argument}")
                assert "secret" not in called.text.replace("test_secret", ""), (argument, called.text)
                assert {p.name: p.read_bytes() for p in outside.iterdir()} == before, argument
        assert "here" not in folder.look()


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


@sandboxed
def test_where_a_sandbox_is_there_nothing_is_announced() -> None:
    assert WorkerModel(Scripted(DONE), SPEC, shipped()).no_run == ""
