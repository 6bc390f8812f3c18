"""Reviewers look: at the changed files, the check's output, and by tools that only read; what a revision is told."""

from pathlib import Path
from typing import Any

import pytest

from parley.agents.context import Shown
from parley.agents.prompts.prompting import build
from parley.agents.tools import sandbox
from parley.agents.tools.folder import archive
from parley.agents.worker_model import WorkerModel
from parley.schemas.protocols.madp.work import Checked, Finding, ReviewBrief
from parley.schemas.routing import Task
from tests.support.artifacts import FolderArtifacts
from tests.tools.support import DONE, SPEC, Scripted, asked, files_list, use, work

BASE = archive({"app.py": (b"print('hi')\n", False), "README.md": (b"Say hello, never hi.\n", False)})
CHANGED = archive({"app.py": (b"print('hello')\n", False), "README.md": (b"Say hello, never hi.\n", False)})
CHECK = Checked(when="after", command="make test", exit=1, failed=("t.py::a",), output="AssertionError: it says hello")
APPROVED: dict[str, Any] = {"outcome": "done", "verdict": "approved", "findings": []}


async def review(
    tmp_path: Path, model: Scripted, base: bytes = BASE, folder: bytes = CHANGED, **more: Any
) -> tuple[Any, list[Shown]]:
    """A review of a folder."""
    artifacts = FolderArtifacts(tmp_path)
    began, handed = await artifacts.put(base), await artifacts.put(folder)
    given: dict[str, Any] = {"tool_calls": 10, "model_calls": 6, "checks": (CHECK,), **more}
    brief = ReviewBrief(
        task=Task(prompt="Fix the greeting", files_mentioned=("README.md",)), expert="sre", lead="qa-engineer",
        summary="Fixed.", output="It says hello.", iteration=1, base=began.id, folder=handed.id, performed=True,
        **given,
    )  # fmt: skip
    done = await WorkerModel(model, SPEC, files_list()).reply(asked("review", brief), lambda text: None, artifacts)
    return done.body, model.shown


async def test_a_reviewer_sees_changed_and_named_files_whole_and_what_the_check_printed(tmp_path: Path) -> None:
    body, shown = await review(tmp_path, Scripted(APPROVED))
    assert body.shown == ("app.py", "README.md")
    assert {d.name: d.text for d in shown[0].documents} == {
        "app.py": "print('hello')\n", "README.md": "Say hello, never hi.\n",
    }  # fmt: skip
    text = "\n".join(m["content"] for m in build(shown[0]).messages)
    assert "AssertionError: it says hello" in text and "exit status 1" in text


async def test_a_reviewer_reads_by_tools_and_changes_nothing(tmp_path: Path) -> None:
    model = Scripted(
        use(
            ("read_file", {"path": "README.md"}), ("search", {"pattern": "hel+o"}),
            ("write_file", {"path": "app.py", "content": "mine"}),
        ),
        {**APPROVED, "verdict": "revision_needed",
         "findings": [{"severity": "major", "description": "No.", "location": "app.py:1"}]},
    )  # fmt: skip
    body, shown = await review(tmp_path, model)
    assert [(c.tool, c.ok) for c in body.calls] == [("read_file", True), ("search", True), ("write_file", False)]
    assert body.verdict == "revision_needed" and body.findings == (
        Finding(severity="major", description="No.", location="app.py:1"),
    )
    assert shown[0].tools is not None
    offered = {o.tool for o in shown[0].tools.offered}
    assert offered - {"run", "read_output"} == {"list_files", "read_file", "search"}


@pytest.mark.skipif(bool(sandbox.unavailable()), reason=f"NOT CHECKED: {sandbox.unavailable()}")
async def test_a_reviewer_runs_the_check_and_looks_in_a_copy_and_it_is_recorded(tmp_path: Path) -> None:
    command = "python -m pytest -q -p no:cacheprovider"
    test = "def test_a():\n    open('left.txt', 'w').write('x')\n    assert 1\n"
    base = archive({"test_a.py": (test.encode(), False)})
    model = Scripted(
        use(("run", {"command": command}), ("run", {"command": "rm test_a.py"}), ("run", {"command": "ls"}),
            server="commands"),
        APPROVED,
    )  # fmt: skip
    body, shown = await review(tmp_path, model, base, base, checks=(Checked(when="after", command=command, exit=0),))
    ran, removed, looked = body.calls
    assert (ran.ok, ran.ended, ran.tests) == (True, "exit 0", "1 passed")
    assert removed.ok and looked.ok and looked.result.endswith("\ntest_a.py\n"), "each command has a copy of its own"
    assert {"commands.run", "files.read_file"} <= set(body.offered)
    text = "\n".join(m["content"] for m in build(shown[0]).messages)
    assert "run commands in a copy that is thrown away" in text


async def test_a_reviewer_that_has_no_calls_sees_the_files_all_the_same(tmp_path: Path) -> None:
    body, shown = await review(tmp_path, Scripted({"verdict": "approved", "findings": []}), tool_calls=0, model_calls=2)
    assert body.verdict == "approved" and shown[0].tools is None
    assert [d.name for d in shown[0].documents] == ["app.py", "README.md"]


async def test_a_revision_is_told_its_own_diff_and_what_it_had_read(tmp_path: Path) -> None:
    artifacts = FolderArtifacts(tmp_path)
    base, folder = await artifacts.put(BASE), await artifacts.put(CHANGED)
    model = Scripted(DONE)
    brief = work(
        base=base.id, folder=folder.id, diff="-print('hi')\n+print('hello')\n", seen=("README.md", "gone.py"),
        previous="I did it.", checks=(CHECK,),
    )  # fmt: skip
    await WorkerModel(model, SPEC, files_list()).reply(asked("work", brief), lambda text: None, artifacts)
    (shown,) = model.shown
    assert [d.name for d in shown.documents] == ["README.md"]
    text = "\n".join(m["content"] for m in build(shown).messages)
    assert "+print('hello')" in text and "AssertionError: it says hello" in text and "never hi" in text
