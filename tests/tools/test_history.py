"""The server that shows a folder's history: what log, blame and diff say, and what they refuse."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp.server.mcpserver.exceptions import ToolError

from parley.agents.tools import allow
from parley.agents.tools.client import Toolbox
from parley.agents.tools.folder import FolderError, TaskFolder, archive
from parley.agents.tools.history_server import OLDER, HistoryTools
from parley.agents.tools.steps import Call
from parley.agents.worker_model import WorkerModel
from parley.client import task_folder
from parley.client.git import history as git_history
from parley.schemas.folders import history
from parley.schemas.folders.archive import BadArchive
from parley.schemas.folders.history import NAME, Commit, History
from parley.schemas.protocols.madp.work import ReviewBrief
from parley.schemas.routing import Task
from tests.client.git.test_history import commit, git, root
from tests.support.artifacts import FolderArtifacts
from tests.tools.support import DONE, SPEC, Scripted, asked, packed, use, work

__all__ = ["root"]
TOOLS = {"history_log", "history_blame", "history_diff"}


def past(folder: Path, **most: int) -> HistoryTools:
    sent = git_history.with_history(task_folder.read_folder(folder), **most)
    return HistoryTools(history.read(sent.history))


def test_the_log_lists_commits_with_what_they_changed(root: Path) -> None:
    first = commit(root, "first", a_dot_py="one\n", src__b_dot_py="b\n")
    second = commit(root, "second\n\nIn words.", a_dot_py="two\n")
    third = commit(root, "third", src__b_dot_py=None, src__c_dot_py="c\n")
    found = past(root)
    rows = found.history_log().split("\n")
    assert [r.split(" ")[0] for r in rows if not r.startswith(" ")] == [x[:12] for x in (third, second, first)]
    assert "Ada: third" in rows[0] and rows[1:3] == ["  D src/b.py", "  A src/c.py"]
    assert "  M a.py" in rows and "    In words." in rows and OLDER not in rows
    assert "second" in found.history_log("a.py") and "third" not in found.history_log("a.py")
    assert "second" not in found.history_log("./src/") and "first" in found.history_log("src")
    assert found.history_log(most=1).endswith("[2 more are here: raise most]")
    assert found.history_log("none") == "No commit has changed 'none'."


def test_blame_names_the_same_commits_as_git(root: Path) -> None:
    """Over two branches that both change the file, with lines that stand there twice."""
    text = [f"line {n % 5}\n" for n in range(40)]
    commit(root, "first", a_dot_py="".join(text))
    git(root, "checkout", "-q", "-b", "side")
    commit(root, "side", a_dot_py="".join([*text[:30], "from the side\n", *text[30:]]))
    git(root, "checkout", "-q", "main")
    commit(root, "main", a_dot_py="".join(["from main\n", *text]), b_dot_txt="b\n")
    git(root, "merge", "-q", "--no-ff", "-m", "merge", "side")
    commit(root, "last", a_dot_py=(root / "a.py").read_text().replace("from main", "from main again"))
    shown = past(root).history_blame("a.py")
    rows = git(root, "blame", "-s", "--abbrev=11", "--root", "a.py").split("\n")
    assert [r.strip()[:12] for r in shown.split("\n")] == [r[:12] for r in rows]
    assert past(root).history_blame("a.py", 2, 3).count("\n") == 1
    with pytest.raises(ToolError, match="3 is before first, 5"):
        past(root).history_blame("a.py", 5, 3)
    with pytest.raises(ToolError, match="has no such file"):
        past(root).history_blame("none.py")


def test_a_diff_is_the_one_that_git_shows(root: Path) -> None:
    commit(root, "first", a_dot_py="one\ntwo\n", b_dot_txt="b\n")
    second = commit(root, "second", a_dot_py="one\n2\n", b_dot_txt=None, c_dot_dat=b"\x00")
    found = past(root)
    shown = found.history_diff(second[:8])
    theirs = git(root, "show", "--format=", "--no-renames", second, "--", "a.py", "b.txt").split("\n")
    wanted = [r for r in theirs if r[:1] in "+-@" and r]
    assert [r for r in shown.split("\n") if r[:1] in "+-@" and r] == wanted and len(wanted) > 5
    assert "c.dat: changed; it is no text, or too long to be shown" in shown
    assert "+2" in found.history_diff("HEAD", "a.py") and "b.txt" not in found.history_diff("HEAD", "a.py")
    assert "+one" in found.history_diff("HEAD~1")
    assert found.history_diff("HEAD", "none").endswith("changed nothing of 'none'.")


@pytest.mark.parametrize(
    "named", ["--output=/tmp/x", "-h", "main", "HEAD~2", "HEAD^", "abc", "HEAD:a.py", "ffff", "", "HEAD~-1", "a" * 65]
)
def test_what_is_no_commit_that_was_sent_is_refused(root: Path, named: str) -> None:
    commit(root, "first", a_dot_py="one\n")
    commit(root, "second", a_dot_py="two\n")
    with pytest.raises(ToolError, match="commit"):
        past(root).history_diff(named)


def test_what_is_older_than_what_was_sent_is_said(root: Path) -> None:
    for n in range(4):
        commit(root, f"c{n}", a_dot_py="".join(f"{i}\n" for i in range(n + 1)), same_dot_txt="same\n")
    found = past(root, most_commits=2)
    assert found.history_log().split("\n")[-1] == OLDER and "A same.txt" not in found.history_log()
    rows = found.history_blame("a.py").split("\n")
    assert [r[0] for r in rows] == ["^", "^", "^", " ", "["]
    assert found.history_blame("same.txt") == "None of the commits that were sent changed same.txt: all of it is older."
    with pytest.raises(ToolError, match="the commit before it was not sent"):
        found.history_diff("HEAD~1")


def test_a_long_output_is_cut_in_its_middle(root: Path) -> None:
    commit(root, "first", a_dot_py="".join(f"line {n} {'x' * 40}\n" for n in range(2_000)))
    shown = past(root).history_blame("a.py")
    assert len(shown) < 15_000 and "the middle is left out" in shown
    assert shown.rstrip().endswith("x") and "line 1999" in shown


GOOD = Commit(id="a" * 40, files={"a.py": "x"})


@pytest.mark.parametrize(
    "commits",
    [
        (msgspec.structs.replace(GOOD, id="--all"),),
        (GOOD, GOOD),
        (msgspec.structs.replace(GOOD, parents=("a" * 40,)),),
        (msgspec.structs.replace(GOOD, parents=("b" * 40,)), msgspec.structs.replace(GOOD, id="b" * 40)),
        (msgspec.structs.replace(GOOD, files={"../a": "x"}),),
        tuple(msgspec.structs.replace(GOOD, id=f"{n:040x}") for n in range(51)),
    ],
)
def test_what_is_no_history_is_refused(commits: tuple[Commit, ...]) -> None:
    good = archive({NAME: (msgspec.json.encode(History(commits=(GOOD,))), False)})
    assert history.read(good).commits == (GOOD,)
    data = archive({NAME: (msgspec.json.encode(History(commits=commits)), False)})
    with pytest.raises(BadArchive, match="history"):
        history.read(data)
    with TaskFolder() as folder, pytest.raises(FolderError):
        folder.lay_history(data)
    assert folder.history is None


def test_no_history_is_a_folder(root: Path) -> None:
    with pytest.raises(BadArchive, match=r"wanted is one file, history\.json"):
        history.read(packed(a="x"))


# ---------------------------------------------------------------- in a worker


@pytest.mark.slow
async def test_a_worker_shows_it_over_mcp_and_holds_the_paths(root: Path) -> None:
    commit(root, "first", a_dot_py="one\n")
    commit(root, "second", a_dot_py="one\ntwo\n")
    sent = git_history.with_history(task_folder.read_folder(root))
    with TaskFolder(sent.data) as folder:
        folder.lay_history(sent.history)
        calls: list[tuple[str, dict[str, Any]]] = [
            ("history_log", {"path": "a.py"}), ("history_blame", {"path": "a.py", "first": 2}),
            ("history_diff", {"commit": "HEAD"}), ("history_log", {"path": "../../etc"}),
            ("history_diff", {"commit": "--output=/tmp/x"}),
        ]  # fmt: skip
        async with Toolbox(allow.shipped().only(TOOLS), folder) as box:
            assert {o.tool for o in box.offered} == TOOLS and all(o.description for o in box.offered)
            made = [await box.call(Call(server="history", tool=t, arguments=json.dumps(a)), 30) for t, a in calls]
        assert [m.record.ok for m in made] == [True, True, True, False, False], [m.text for m in made]
        assert "second" in made[0].text and "    2: two" in made[1].text and "+two" in made[2].text
        assert "leads out" in made[3].text and "hex digits" in made[4].text
        assert not folder.changed


@pytest.mark.slow
async def test_lead_and_reviewer_have_it_where_it_was_sent_and_nobody_elsewhere(root: Path, tmp_path: Path) -> None:
    commit(root, "It said hi", app_dot_py="print('hi')\n")
    sent = git_history.with_history(task_folder.read_folder(root))
    store = tmp_path / "store"
    store.mkdir()
    artifacts = FolderArtifacts(store)
    folder, kept = await artifacts.put(sent.data), await artifacts.put(sent.history)
    review = ReviewBrief(
        task=Task(prompt="Fix the greeting"), expert="sre", lead="qa-engineer", summary="Fixed.", output="It does.",
        iteration=1, base=folder.id, folder=folder.id, tool_calls=10, model_calls=6, history=kept.id,
    )  # fmt: skip
    approved = {"outcome": "done", "verdict": "approved", "findings": []}
    for kind, brief, end in (("work", work(folder=folder.id, history=kept.id), DONE), ("review", review, approved)):
        for given, there in ((brief, True), (msgspec.structs.replace(brief, history=msgspec.UNSET), False)):
            model = Scripted(use(("history_log", {}), server="history"), end)
            worker = WorkerModel(model, SPEC, allow.shipped())
            body: Any = (await worker.reply(asked(kind, given), lambda text: None, artifacts)).body
            assert model.shown[0].tools is not None
            assert TOOLS.issubset(o.tool for o in model.shown[0].tools.offered) is there
            assert body.calls[0].ok is there and ("It said hi" in body.calls[0].result) is there
