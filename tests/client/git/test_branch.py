"""A task's change as a commit on a new branch: files and index stay, nothing of the repository is run."""

import os
import subprocess
from pathlib import Path

import pytest

from parley.agents.tools import folder as folders
from parley.client import task_folder
from parley.client.errors import BadInput
from parley.client.git import branch as git_branch
from parley.client.task_folder import AppliedAlready, NotApplied

IDENTITY = {"user.name": "Ada", "user.email": "ada@example.org"}


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(("git", *arguments), cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    for name, value in IDENTITY.items():
        git(root, "config", name, value)
    (root / "src" / "a.py").write_text("slow()\n")
    (root / "old.txt").write_text("old\n")
    (root / ".gitignore").write_text("*.log\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    (root / "trace.log").write_text("ignored\n")
    return root


def put(folder: Path, branch: str = "fix", *, removed: tuple[str, ...] = (), **files: str) -> git_branch.Committed:
    """Commit the folder with other files, as a task's accepted change."""
    sent = task_folder.read_folder(folder)
    held = {path: held for path, held in folders.unpacked(sent.data).items() if path not in removed}
    for name, text in files.items():
        held[name.replace("__", "/").replace("_py", ".py")] = (text.encode(), name.startswith("run"))
    git_branch.check(folder, branch)
    found = task_folder.compared(sent, folders.archive(held), stands=False)
    return git_branch.commit(sent, found, branch, "Make it fast\n\nWhy\n")


def state(folder: Path) -> tuple[bytes, str, dict[str, str]]:
    there = {p.name: p.read_text() for p in folder.rglob("*") if p.is_file() and ".git/" not in f"{p}/"}
    return (folder / ".git" / "index").read_bytes(), git(folder, "rev-parse", "HEAD"), there


def test_the_change_stands_on_the_branch_and_nowhere_else(project: Path) -> None:
    before = state(project)
    done = put(project, src__a_py="fast()\n", run="#!/bin/sh\n", removed=("old.txt",))
    assert state(project) == before
    assert git(project, "show", "fix:src/a.py") == "fast()\n"
    tree = git(project, "ls-tree", "-r", "fix")
    assert "old.txt" not in tree and "trace.log" not in tree and ".gitignore" in tree
    assert tree.count("100755") == 1
    said = git(project, "log", "-1", "--format=%an <%ae> %cn|%s|%P", "fix").strip()
    assert said == f"Ada <ada@example.org> Ada|Make it fast|{before[1].strip()}"
    assert done.words(3).startswith("3 changed on the new branch fix (")
    assert git(project, "branch", "--show-current").strip() == "main"


def test_a_folder_inside_the_repository_keeps_its_place(project: Path) -> None:
    put(project / "src", a_py="fast()\n")
    assert git(project, "show", "fix:src/a.py") == "fast()\n" and git(project, "show", "fix:old.txt") == "old\n"


def test_nothing_that_the_repository_names_is_run(project: Path, tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    script = f"#!/bin/sh\ntouch {trap}\ncat\n"
    hooks = project / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("reference-transaction", "pre-commit", "post-commit", "post-index-change", "pre-auto-gc"):
        (hooks / name).write_text(script)
        (hooks / name).chmod(0o755)
    program = tmp_path / "program"
    program.write_text(script)
    program.chmod(0o755)
    for key in ("filter.x.clean", "filter.x.process", "gpg.program", "core.fsmonitor"):
        git(project, "config", key, str(program))
    git(project, "config", "commit.gpgSign", "true")
    (project / ".git" / "info" / "attributes").write_text("* filter=x\n")
    trap.unlink(missing_ok=True)
    put(project, src__a_py="fast()\n")
    assert not trap.exists()
    assert git(project, "cat-file", "-p", "fix:src/a.py") == "fast()\n"


def test_what_nobody_has_committed_does_not_slip_into_the_commit(project: Path) -> None:
    (project / "old.txt").write_text("mine\n")
    done = put(project, src__a_py="fast()\n")
    assert git(project, "show", "fix:old.txt") == "old\n"
    assert done.uncommitted == ("old.txt",) and "not in it, since it is not committed: old.txt" in done.words(1)
    (project / "src" / "a.py").write_text("mine()\n")
    with pytest.raises(NotApplied, match=r"not in HEAD as it was sent: src/a\.py; commit it first"):
        put(project, "other", src__a_py="fast()\n")
    assert "other" not in git(project, "branch")


def change(sent: task_folder.SentFolder, **files: str) -> task_folder.FolderDiff:
    held = folders.unpacked(sent.data) | {
        name.replace("__", "/").replace("_py", ".py"): (text.encode(), False) for name, text in files.items()
    }
    return task_folder.compared(sent, folders.archive(held), stands=False)


def test_what_stands_in_the_folder_meanwhile_plays_no_part(project: Path) -> None:
    sent = task_folder.read_folder(project)
    (project / "src" / "a.py").write_text("mine()\n")
    (project / "extra.py").write_text("more\n")
    before = state(project)
    done = git_branch.commit(sent, change(sent, src__a_py="fast()\n"), "fix", "Make it fast\n")
    assert git(project, "show", "fix:src/a.py") == "fast()\n" and state(project) == before
    assert done.uncommitted == () and "extra.py" not in git(project, "ls-tree", "-r", "fix")


def test_what_head_has_is_applied_already(project: Path) -> None:
    sent = task_folder.read_folder(project)
    found = change(sent, src__a_py="fast()\n")
    assert git_branch.is_possible(sent, found)
    (project / "src" / "a.py").write_text("fast()\n")
    git(project, "commit", "-q", "-a", "-m", "by hand")
    with pytest.raises(AppliedAlready, match="HEAD has its 1 changed files"):
        git_branch.commit(sent, found, "fix", "x")
    assert not git_branch.is_possible(sent, found)


def test_what_stands_in_head_and_was_not_sent_is_not_replaced(project: Path) -> None:
    (project / "link").symlink_to("src")
    git(project, "add", "link")
    (project / "kept").mkdir()
    (project / "kept" / "x.log").write_text("tracked though it is ignored\n")
    git(project, "add", "-f", "kept/x.log")
    (project / "deep").mkdir()
    (project / "deep" / "objects").symlink_to("/tmp")
    git(project, "add", "deep/objects")
    git(project, "commit", "-q", "-m", "second")
    sent = task_folder.read_folder(project)
    for files, why in (
        ({"link__b": "x"}, "'link' stands in HEAD"), ({"kept": "x"}, "'kept' stands in HEAD"),
        ({"deep__HEAD": "x"}, "'deep': it makes a repository"),
    ):  # fmt: skip
        with pytest.raises(NotApplied, match=why):
            git_branch.commit(sent, change(sent, **files), "fix", "x")
    assert git(project, "branch", "--format=%(refname:short)").split() == ["main"]


def test_another_index_in_the_environment_is_not_used(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = project.parent / "other"
    monkeypatch.setenv("GIT_DIR", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other))
    put(project, src__a_py="fast()\n")
    for name in ("GIT_DIR", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name)
    assert git(project, "show", "fix:src/a.py") == "fast()\n" and not other.exists()


@pytest.mark.parametrize(
    ("branch", "why"),
    [("main", "a branch 'main' already"), ("main/x", "a branch 'main' already"), ("-x", "no name of a branch"),
     ("a..b", "no name of a branch"), ("@{-1}", "no name of a branch"), ("HEAD", "no name of a branch"),
     ("", "no name of a branch")],
)  # fmt: skip
def test_a_name_that_cannot_be_is_refused_before_anything_starts(project: Path, branch: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        git_branch.check(project, branch)


def test_without_a_repository_a_commit_or_a_name_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    folder = tmp_path / "new"
    folder.mkdir()
    with pytest.raises(BadInput, match="is in no git repository"):
        git_branch.check(folder, "fix")
    git(folder, "init", "-q")
    with pytest.raises(BadInput, match="has no commit yet"):
        git_branch.check(folder, "fix")
    git(folder, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    git(folder, "config", "user.useConfigOnly", "true")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(BadInput, match="git does not know who you are"):
        git_branch.check(folder, "fix")
