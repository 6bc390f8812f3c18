"""Tool servers that do not start: said when an expert starts and before a turn is paid, and the turn goes on."""

from pathlib import Path
from typing import Any

import pytest

from parley.agents.prompts.prompting import build
from parley.agents.tools.allow import AllowList, shipped
from parley.agents.tools.folder import archive
from parley.agents.worker_model import WorkerModel
from parley.client.protocols.madp.setup import SETUP
from parley.schemas.presence import Announcement
from parley.schemas.protocols.madp.work import ReviewBrief
from parley.schemas.routing import Task
from parley.schemas.tools import START
from tests.llm.support import silent
from tests.support.artifacts import FolderArtifacts
from tests.tools.support import DONE, SPEC, Scripted, asked, files_list, hostile_list, packed, use, work

pytestmark = [pytest.mark.slow]
WHY = "it did not start: ModuleNotFoundError: No module named 'no_such_part'"
APP = packed(app_dot_py="print('hi')\n")
APPROVED: dict[str, Any] = {"verdict": "approved", "findings": []}


def broken(others: AllowList) -> AllowList:
    """The list with a server that does not start."""
    bad = hostile_list(command=["{python}", "-c", "import no_such_part"], tools={"say": {"reads": True}}).servers
    return others.model_copy(update={"servers": {**others.servers, **bad}})


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


async def test_a_review_whose_only_server_does_not_start_is_made_from_what_is_shown(tmp_path: Path) -> None:
    model, artifacts = Scripted(APPROVED), FolderArtifacts(tmp_path)
    base, folder = await artifacts.put(APP), await artifacts.put(packed(app_dot_py="print('hello')\n"))
    brief = ReviewBrief(
        task=Task(prompt="Fix the greeting"), expert="sre", lead="qa-engineer", summary="Fixed.",
        output="", iteration=1, base=base.id, folder=folder.id, performed=True, tool_calls=9, model_calls=6,
    )  # fmt: skip
    expert = WorkerModel(model, SPEC, broken(files_list().only(())))
    done = await expert.reply(asked("review", brief), silent, artifacts)
    assert done.body.verdict == "approved" and [c.tool for c in done.body.calls] == [START]
    (shown,) = model.shown
    assert [d.name for d in shown.documents] == ["app.py"]
    text = "\n".join(m["content"] for m in build(shown).messages)
    assert "You have no tools in this turn.\n\nNot all tools of hostile are there" in text
    assert "asks for a new review" in text and "would have to see is a finding" not in text


async def test_work_without_any_tool_is_shown_the_files_and_may_reply_a_diff(tmp_path: Path) -> None:
    diff = "--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-print('hi')\n+print('hello')\n"
    model, artifacts = Scripted({**DONE, "diff": diff}), FolderArtifacts(tmp_path)
    start = await artifacts.put(APP)
    expert = WorkerModel(model, SPEC, broken(files_list().only(())))
    done = await expert.reply(asked("work", work(folder=start.id)), silent, artifacts)
    assert done.body.performed and "+print('hello')" in done.body.diff
    assert [d.name for d in model.shown[0].documents] == ["app.py"]


async def test_an_expert_that_starts_looks_and_what_is_not_there_is_announced_and_said() -> None:
    expert = WorkerModel(Scripted(DONE), SPEC, broken(shipped()))
    await expert.look_at_tools()
    assert expert.no_tools == f"hostile: {WHY}"
    here = Announcement(
        instance="i", queue="expert_sre", roles=("expert",), model="m", family="m", tools=True, no_tools=expert.no_tools
    )
    _, said = SETUP.of_folder(archive({}), [here], {})
    assert f"some tools are not there, and experts work without them: hostile: {WHY}" in said


async def test_an_expert_does_not_start_the_servers_that_ship_only_to_look() -> None:
    expert = WorkerModel(Scripted(DONE), SPEC, shipped())
    await expert.look_at_tools()
    assert expert.no_tools == ""
    wishes = WorkerModel(Scripted(DONE), SPEC, broken(shipped()).only({"read_file"}))
    await wishes.look_at_tools()
    assert wishes.no_tools == "", "it does not use the one that is broken"
