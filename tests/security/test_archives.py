"""An archive that would make a repository whose settings run a program: tried with a real git."""

import os
import subprocess
from pathlib import Path

import pytest

from parley.agents.tools.folder import archive
from parley.client import task_folder
from parley.client.task_folder import NotApplied, Sent

Files = dict[str, tuple[bytes, bool]]


def bare(folder: str, program: Path, *, without: str = "") -> Files:
    """A bare repository as plain files, whose settings name a program that `git status` runs."""
    settings = f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = {program}\n"
    found: Files = {
        "HEAD": (b"ref: refs/heads/main\n", False),
        "config": (settings.encode(), False),
        "objects/info/x": (b"", False),
        "refs/heads/.keep": (b"", False),
    }
    return {f"{folder}/{name}": content for name, content in found.items() if name.partition("/")[0] != without}


def status(folder: Path) -> None:
    """`git status` as a user types it, with nothing of this machine's settings."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "status"], cwd=folder, env=environment, capture_output=True, check=False, timeout=30)


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """Exists once the program ran."""
    return tmp_path / "ran"


@pytest.fixture
def program(tmp_path: Path, ran: Path) -> Path:
    file = tmp_path / "program"
    file.write_text(f"#!/bin/sh\ntouch {ran}\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def sent(tmp_path: Path) -> Sent:
    root = tmp_path / "project"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "index.md").write_text("hello\n")
    return task_folder.read_folder(root)


def written(root: Path, files: Files) -> None:
    for path, (data, _) in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


def test_git_runs_what_the_files_name(tmp_path: Path, program: Path, ran: Path) -> None:
    """The attack is one: the same files, laid there by hand."""
    written(tmp_path, bare("docs", program))
    status(tmp_path / "docs")
    assert ran.exists()


def test_an_archive_that_makes_a_bare_repository_is_not_written(sent: Sent, program: Path, ran: Path) -> None:
    data = archive({"docs/index.md": (b"hello\n", False), **bare("docs", program)})
    with pytest.raises(NotApplied, match="it makes a repository"):
        task_folder.write(sent, data)
    status(sent.folder / "docs")
    assert not ran.exists() and [p.name for p in (sent.folder / "docs").iterdir()] == ["index.md"]


@pytest.mark.parametrize("there", ["objects", "refs"])
def test_what_stands_there_and_was_not_sent_makes_none_either(
    tmp_path: Path, sent: Sent, program: Path, ran: Path, there: str
) -> None:
    """An empty folder is in no archive, and counts for git."""
    (sent.folder / "docs" / there).mkdir()
    data = archive({"docs/index.md": (b"hello\n", False), **bare("docs", program, without=there)})
    with pytest.raises(NotApplied, match="it makes a repository"):
        task_folder.write(sent, data)
    status(sent.folder / "docs")
    assert not ran.exists()


@pytest.mark.parametrize("name", ["hooks/post-commit", "config.worktree", "objects/info/alternates", "new"])
def test_a_bare_repository_in_the_users_folder_is_neither_sent_nor_changed(sent: Sent, name: str) -> None:
    inner = sent.folder / "fixtures" / "kept.git"
    inner.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "--bare", "."], cwd=inner, check=True)
    (sent.folder / "fixtures" / "read.me").write_text("x")
    before = {p: p.read_bytes() for p in inner.rglob("*") if p.is_file()}
    again = task_folder.read_folder(sent.folder)
    assert "'fixtures/kept.git'" in "".join(again.words())
    kept: Files = {"docs/index.md": (b"hello\n", False), "fixtures/read.me": (b"x", False)}
    assert again.data == archive(kept), "the rest is sent"
    with pytest.raises(NotApplied, match="repository"):
        task_folder.write(again, archive({**kept, f"fixtures/kept.git/{name}": (b"#!/bin/sh\n", True)}))
    assert {p: p.read_bytes() for p in inner.rglob("*") if p.is_file()} == before
    assert task_folder.write(again, archive({**kept, "docs/more.md": (b"x", False)})) == ["docs/more.md"]


@pytest.mark.parametrize("at", [".git", ".git/hooks", "bare.git", "bare.git/hooks"])
def test_a_repositorys_own_folder_is_not_sent(tmp_path: Path, at: str) -> None:
    from parley.client.errors import BadInput

    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "init", "-q", "--bare", "bare.git"], cwd=tmp_path, check=True)
    with pytest.raises(BadInput, match="repository"):
        task_folder.read_folder(tmp_path / at)
