"""A folder's history, out of real repositories: what goes, what does not, and that nothing there is run or written."""

import hashlib
import os
import subprocess
from pathlib import Path

import nkeys
import pytest

from parley.client import task_folder
from parley.client.git import history as git_history
from parley.client.task_folder import SentFolder
from parley.schemas.folders import history
from parley.schemas.folders.history import History

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}  # fmt: skip


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ("git", *arguments), cwd=folder, check=True, capture_output=True, text=True, env=os.environ | IDENTITY
    )
    return done.stdout.strip()


def commit(root: Path, message: str, **files: str | bytes | None) -> str:
    """Its id; `__` in a name is a `/`, and `_dot_` a dot."""
    for name, text in files.items():
        path = root / name.replace("_dot_", ".").replace("__", "/")
        if text is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "--allow-empty", "-m", message)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository without a commit."""
    found = tmp_path / "project"
    found.mkdir()
    git(found, "init", "-q", "-b", "main")
    return found


def read(folder: Path, **most: int) -> History:
    sent = sent_of(folder, **most)
    assert sent.history, sent.history_told
    return history.read(sent.history)


def sent_of(folder: Path, **most: int) -> SentFolder:
    return git_history.with_history(task_folder.read_folder(folder), **most)


def messages(found: History) -> list[str]:
    return [c.message for c in found.commits]


def every_byte(folder: Path) -> dict[str, tuple[str, int]]:
    """Of all files, with the time of their last change."""
    return {
        str(p): (hashlib.sha256(p.read_bytes()).hexdigest(), p.stat().st_mtime_ns)
        for p in folder.rglob("*") if p.is_file()
    }  # fmt: skip


def test_the_last_commits_go_with_a_folder_and_its_repository_stays_as_it_is(root: Path) -> None:
    first = commit(root, "first", a_dot_py="one\n", b_dot_txt="b\n")
    second = commit(root, "second\n\nIn words.", a_dot_py="one\ntwo\n", b_dot_txt=None)
    before = every_byte(root)
    sent = sent_of(root)
    assert every_byte(root) == before
    found = history.read(sent.history)
    assert [(c.id, c.parents, c.author) for c in found.commits] == [(first, (), "Ada"), (second, (first,), "Ada")]
    assert found.commits[1].message == "second\n\nIn words." and "example.org" not in str(found)
    assert found.commits[1].files["b.txt"] is None
    assert [found.texts[str(c.files["a.py"])] for c in found.commits] == ["one\n", "one\ntwo\n"]
    assert sent.settings == {"folder": sent.id, "history": hashlib.sha256(sent.history).hexdigest()}
    assert list(sent.words()) == [f"the last 2 commits of {root.name} went with it, as history that experts may read"]


def test_a_folder_below_the_repository_has_its_own_history_alone(root: Path) -> None:
    commit(root, "inside", lib__a_dot_py="one\n", secret_dot_txt="of another folder\n")
    commit(root, "elsewhere", secret_dot_txt="still\n")
    commit(root, "inside again", lib__a_dot_py="two\n", other__b_dot_txt="b\n")
    found = read(root / "lib")
    assert messages(found) == ["inside", "inside again"]
    assert {p for c in found.commits for p in c.files} == {"a.py"}
    assert sorted(found.texts.values()) == ["one\n", "two\n"]


def test_what_is_not_sent_of_the_folder_is_not_sent_of_its_past(root: Path) -> None:
    commit(root, "leaks", _dot_env="KEY=secret\n", a_dot_py="a\n", build__x_dot_js="built\n", bin_dot_dat=b"\x00\x01")
    (root / "link").symlink_to("/etc/passwd")
    commit(root, "ignores", _dot_gitignore=".env\n", _dot_env=None)
    found = read(root)
    assert {p for c in found.commits for p in c.files} == {"a.py", "bin.dat", ".gitignore"}
    assert sorted(found.texts.values()) == [".env\n", "a\n"]


def test_a_long_history_is_cut_and_its_oldest_commit_is_ground(root: Path) -> None:
    for n in range(history.MOST_COMMITS + 3):
        commit(root, f"c{n}", a_dot_py=f"{n}\n", same_dot_txt="never changed again\n")
    found = read(root)
    assert messages(found) == [f"c{n}" for n in range(3, history.MOST_COMMITS + 3)]
    assert set(found.commits[0].files) == {"a.py", "same.txt"} and found.commits[0].parents
    assert "never changed again\n" not in found.texts.values()
    assert len(found.texts) == history.MOST_COMMITS


def test_what_is_too_much_goes_with_fewer_commits_and_one_that_is_too_much_alone_does_not_go(
    root: Path,
) -> None:
    for n in range(8):
        commit(root, f"c{n}", a_dot_py=f"{n}\n" * 500)
    assert messages(read(root, most_texts=3_000)) == ["c6", "c7"]
    sent = sent_of(root, most_texts=-1)
    assert sent.history == b"" and "its last commit alone is too large" in sent.history_told
    assert sent.settings == {"folder": sent.id}


def test_merges_keep_their_parents_and_stand_behind_them_whatever_the_clocks_said(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dates = iter(f"2026-01-0{n}T00:00:00Z" for n in (5, 9, 3, 1))

    def at(message: str, **files: str) -> str:
        monkeypatch.setenv("GIT_COMMITTER_DATE", next(dates))
        return commit(root, message, **files)

    at("first", a="1\n")
    git(root, "checkout", "-q", "-b", "side")
    side = at("side", b="2\n")
    git(root, "checkout", "-q", "main")
    main = at("main", c="3\n")
    monkeypatch.setenv("GIT_COMMITTER_DATE", next(dates))
    git(root, "merge", "-q", "--no-ff", "-m", "merge", "side")
    found = read(root)
    ids = [c.id for c in found.commits]
    assert messages(found)[0] == "first" and messages(found)[-1] == "merge"
    assert found.commits[-1].parents == (main, side)
    assert all(ids.index(p) < ids.index(c.id) for c in found.commits for p in c.parents)


def test_nothing_that_the_repository_names_is_run(root: Path, tmp_path: Path) -> None:
    """Its settings name a program wherever git would start one, and an object lacks that a remote should have."""
    trap, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {trap}\ncat\n")
    program.chmod(0o755)
    commit(root, "first", a_dot_py="one\n", _dot_gitattributes="* diff=x filter=x\n")
    commit(root, "second", a_dot_py="two\n")
    for key in (
        "core.fsmonitor", "core.pager", "core.sshCommand", "core.alternateRefsCommand", "diff.external",
        "diff.x.textconv", "diff.x.command", "filter.x.clean", "filter.x.smudge", "filter.x.process", "gpg.program",
        "core.editor", "credential.helper",
    ):  # fmt: skip
        git(root, "config", key, str(program))
    for name in ("rev-list", "cat-file", "rev-parse", "ls-tree"):
        git(root, "config", f"alias.{name}", f"!{program}")
    git(root, "config", "log.showSignature", "true")
    hooks = root / ".git" / "hooks"
    for name in ("post-index-change", "post-checkout", "reference-transaction"):
        (hooks / name).parent.mkdir(exist_ok=True)
        (hooks / name).write_text(program.read_text())
        (hooks / name).chmod(0o755)
    (root / ".git" / "info" / "attributes").write_text("* diff=x filter=x\n")
    subprocess.run(("git", "diff", "HEAD~1"), cwd=root, capture_output=True, check=False)
    assert trap.exists(), "the trap works"
    trap.unlink()
    before = every_byte(root)
    assert messages(read(root)) == ["first", "second"]
    assert not trap.exists() and every_byte(root) == before
    program.write_text(f"#!/bin/sh\ntouch {trap}\nexit 1\n")
    blob = git(root, "rev-parse", "HEAD:a.py")
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for key, value in (
        ("core.repositoryFormatVersion", "1"), ("extensions.partialClone", "far"), ("remote.far.promisor", "true"),
        ("remote.far.url", f"ext::{program}"), ("remote.far.uploadpack", str(program)), ("protocol.allow", "always"),
    ):  # fmt: skip
        git(root, "config", key, value)
    subprocess.run(("git", "cat-file", "-p", blob), cwd=root, capture_output=True, check=False)
    assert trap.exists(), "the trap works"
    trap.unlink()
    found = read(root)
    assert not trap.exists() and messages(found) == ["first", "second"]
    assert blob in found.commits[1].files.values() and blob not in found.texts


def test_where_there_is_no_history_the_folder_goes_without(root: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    for folder in (plain, root):
        (folder / "a.py").write_text("one\n")
    assert sent_of(plain).history == b"" and list(sent_of(plain).words()) == []
    assert sent_of(root).history == b"" and "is not sent" in sent_of(root).history_told
    commit(root, "first", a_dot_py="one\n")
    (root / "new").mkdir()
    (root / "new" / "b.py").write_text("b\n")
    assert sent_of(root / "new").history == b"" and list(sent_of(root / "new").words()) == []


def test_without_git_the_folder_goes_without(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(root, "first", a_dot_py="one\n")
    monkeypatch.setenv("PATH", "/nowhere")
    assert sent_of(root).history_told == f"the history of {root} is not sent: the program git is not installed"


def test_a_shallow_repositorys_oldest_commit_is_no_beginning(root: Path, tmp_path: Path) -> None:
    commit(root, "first", a_dot_py="one\n")
    second = commit(root, "second", a_dot_py="two\n")
    commit(root, "third", a_dot_py="three\n")
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{root}", "shallow")
    found = read(tmp_path / "shallow")
    assert messages(found) == ["second", "third"]
    assert found.commits[0].id == second and found.commits[0].parents


def test_what_may_hold_a_secret_is_held_back_of_the_past_too(root: Path) -> None:
    commit(root, "all", _dot_env="KEY=hunter2\n", tls__own_dot_key="hunter3\n", a_dot_py="one\n")
    commit(root, "gone", _dot_env=None, tls__own_dot_key="hunter4\n", a_dot_py="two\n")
    found = read(root)
    assert {path for c in found.commits for path in c.files} == {"a.py"}
    assert not any("hunter" in text for text in found.texts.values())
    commit(root, "sent on purpose", _dot_gitignore="!.env\n")
    assert "KEY=hunter2\n" in read(root).texts.values()


def test_keys_of_a_bus_are_held_back_of_the_past_too(root: Path) -> None:
    seed = nkeys.encode_seed(bytes(32), nkeys.PREFIX_BYTE_USER).decode()
    commit(root, "leaks", a_dot_json=f'{{"user": "owner", "seed": "{seed}"}}', b_dot_py="b\n")
    commit(root, "gone", a_dot_json="{}\n")
    assert sorted(read(root).texts.values()) == ["b\n", "{}\n"]
