"""Reviewers look by tools that only read, and turns go on where a tool server does not start."""

from pathlib import Path
from typing import Any

import pytest

from parley.agents.context import Shown
from parley.agents.prompts.prompting import build
from parley.agents.tools import sandbox
from parley.agents.tools.allow import AllowList, shipped
from parley.agents.tools.folder import archive
from parley.agents.worker_model import WorkerModel
from parley.client.protocols.madp.setup import SETUP
from parley.schemas.presence import Announcement
from parley.schemas.protocols.madp.work import Checked, Finding, ReviewBrief
from parley.schemas.routing import Task
from parley.schemas.tools import START
from tests.support.experts import FolderArtifacts
from tests.tools.support import DONE, SPEC, Scripted, asked, files_list, hostile_list, packed, use, work

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


async def test_a_reviewer_sees_the_change_what_is_near_it_and_what_the_check_printed(tmp_path: Path) -> None:
    """The change with what is around it, from the folder, whatever the lead tells; and what a look would begin with."""
    body, shown = await review(tmp_path, Scripted(APPROVED), diff="+print('told')\n")
    assert body.shown == ("README.md", "app.py")
    assert {d.name: d.text for d in shown[0].documents} == {"README.md": "Say hello, never hi.\n"}
    text = "\n".join(m["content"] for m in build(shown[0]).messages)
    assert "-print('hi')\n+print('hello')" in text and "told" not in text
    assert "AssertionError: it says hello" in text and "exit status 1" in text


@pytest.mark.parametrize(("lines", "near"), [(20, ["README.md", "other.py", "t.py"]), (900, ["README.md", "t.py"])])
async def test_a_reviewer_is_shown_a_small_folder_whole_and_of_another_what_the_check_names(
    tmp_path: Path, lines: int, near: list[str]
) -> None:
    rows = [f"row_{n} = {n}" for n in range(lines)]
    others = {"README.md": "Rules.\n", "t.py": "def a(): pass\n", "other.py": "\n".join(rows)}
    same = {name: (text.encode(), False) for name, text in others.items()}
    base, changed = (
        {**same, "app.py": (text.encode(), False)} for text in ("\n".join(rows), "\n".join(["x", *rows[1:]]))
    )
    _, shown = await review(tmp_path, Scripted(APPROVED), archive(base), archive(changed))
    assert [d.name for d in shown[0].documents] == near
    text = "\n".join(m["content"] for m in build(shown[0]).messages)
    assert "-row_0 = 0\n+x\n row_1 = 1" in text and ("row_100 =" in text) is False


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


WHY = "it did not start: ModuleNotFoundError: No module named 'no_such_part'"
APP = packed(app_dot_py="print('hi')\n")


def broken(others: AllowList) -> AllowList:
    """The list with a server that does not start."""
    bad = hostile_list(command=["{python}", "-c", "import no_such_part"], tools={"say": {"reads": True}}).servers
    return others.model_copy(update={"servers": {**others.servers, **bad}})


@pytest.mark.slow
async def test_a_turn_of_work_goes_on_with_the_tools_that_are_there(tmp_path: Path) -> None:
    model, artifacts, heard = Scripted(use(("read_file", {"path": "app.py"})), DONE), FolderArtifacts(tmp_path), [""]
    start = await artifacts.put(APP)

    def emit(text: str) -> None:
        heard.append(f"{len(model.shown)} {text}")

    expert = WorkerModel(model, SPEC, broken(files_list()))
    done = await expert.reply(asked("work", work(folder=start.id)), emit, artifacts)
    missing, call = done.body.calls
    assert (missing.server, missing.tool, missing.ok, missing.result) == ("hostile", START, False, WHY)
    assert (call.tool, call.ok) == ("read_file", True)
    (told,) = [text for text in heard if "not there" in text]
    assert told.startswith("0 ") and f"hostile.(start): not there: {WHY}" in told, (
        "it is said before the model is asked"
    )
    text = "\n".join(m["content"] for m in build(model.shown[0]).messages)
    assert "Not all tools of hostile are there in this turn." in text and "no_such_part" not in text


@pytest.mark.slow
async def test_an_expert_that_starts_looks_and_what_is_not_there_is_announced_and_said() -> None:
    expert = WorkerModel(Scripted(DONE), SPEC, broken(shipped()))
    await expert.look_at_tools()
    assert expert.no_tools == f"hostile: {WHY}"
    here = Announcement(
        instance="i", queue="expert_sre", roles=("expert",), model="m", family="m", tools=True, no_tools=expert.no_tools
    )
    for allowed in (shipped(), broken(shipped()).only({"read_file"})):
        other = WorkerModel(Scripted(DONE), SPEC, allowed)
        await other.look_at_tools()
        assert other.no_tools == "", "it does not start what ships only to look, nor what it does not use"
    _, said = SETUP.of_folder(archive({}), [here], {})
    assert f"some tools are not there, and experts work without them: hostile: {WHY}" in said
