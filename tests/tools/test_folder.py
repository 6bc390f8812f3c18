"""The task's folder: its paths, archives that are refused, what is removed, the diff, equal bytes for equal files."""

import io
import os
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

import pytest

from parley.agents.tools import folder as module
from parley.agents.tools.folder import (
    MOST_SHOWN,
    BadArchive,
    FolderError,
    TaskFolder,
    TooLarge,
    archive,
    diff,
    sweep,
    unpack_archive,
)
from parley.agents.tools.paths import Outside, inside

Files = dict[str, tuple[bytes, bool]]


def tar(*entries: tuple[str, bytes, bytes | str]) -> bytes:
    """Entries (name, type, data or link's target) as a tar."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as out:
        for name, kind, more in entries:
            info = tarfile.TarInfo(name)
            info.type = kind
            if isinstance(more, str):
                info.linkname = more
                out.addfile(info)
            else:
                info.size = len(more)
                out.addfile(info, io.BytesIO(more))
    return buffer.getvalue()


FILE = tarfile.REGTYPE


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (tar(("l", tarfile.SYMTYPE, "/etc/passwd")), "'l': it is neither"),
        (tar(("p", tarfile.FIFOTYPE, b"")), "'p': it is neither"),
        (tar(("/etc/x", FILE, b"")), "absolute"),
        (tar(("a/../../x", FILE, b"")), r"\.\."),
        (tar(("a", FILE, b"1"), ("a", FILE, b"2")), "twice"),
        (tar(("a", FILE, b"1"), ("a/b", FILE, b"2")), "'a' is a file"),
        (tar((".git/hooks/pre-commit", FILE, b"")), "repository"),
        (b"no archive at all" * 100, "no tar"),
    ],
)  # fmt: skip
def test_what_is_no_archive_of_plain_files_is_refused(data: bytes, why: str) -> None:
    before = set(Path(tempfile.gettempdir()).glob("parley-task-*"))
    with pytest.raises(BadArchive, match=why):
        TaskFolder(data)
    assert set(Path(tempfile.gettempdir()).glob("parley-task-*")) <= before, "nothing half-done"


def test_limits_are_named() -> None:
    with pytest.raises(TooLarge, match="allowed are at most 4,000,000"):
        unpack_archive(b"x" * 4_000_001)
    with pytest.raises(TooLarge, match="4,001 files, the limit is 4,000"):
        archive({f"f{i}": (b"", False) for i in range(4_001)})
    with pytest.raises(TooLarge, match="as an archive, the limit is 20,000,000"):
        archive({"big": (b"x" * 20_000_000, False)})
    with pytest.raises(TooLarge, match="compressed, the limit is 4,000,000"):
        archive({"big": (os.urandom(4_000_000), False)})


def test_the_same_files_are_the_same_bytes_and_come_back() -> None:
    files: Files = {"b/run.sh": (b"#!/bin/sh\n", True), "a ü.txt": (b"\xff\x00", False), "e": (b"", False)}
    data = archive(files)
    assert data == archive(dict(reversed(list(files.items())))) and unpack_archive(data) == files
    with TaskFolder(data) as one, TaskFolder(data) as two:
        assert one.root != two.root and one.look() == two.look() == files and not one.changed
        assert one.pack() == data
        os.utime(one.root / "e", (1, 1))
        (one.root / "empty").mkdir()
        one.look()
        assert one.pack() == data, "times and empty folders are nothing"
    assert not one.root.exists() and not one.home.exists()


def test_what_may_not_stand_there_is_removed_and_said(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("secret")
    with TaskFolder(archive({"a": (b"a", False)})) as folder:
        root = folder.root
        os.symlink(outside, root / "link")
        os.symlink(tmp_path, root / "dirlink")
        os.link(outside, root / "hard")
        os.link(root / "a", root / "twin")
        os.mkfifo(root / "pipe")
        (root / "sub" / ".git" / "hooks").mkdir(parents=True)
        (root / "sub" / ".git" / "hooks" / "pre-commit").write_text("rm -rf /")
        (root / "sub" / ".git" / "config").write_text("[core]")
        (root / "bad\nname").write_text("x")
        said = folder.clean()
        assert len(said) == 6 and all("is removed" in s for s in said), said
        assert {p.name for p in root.iterdir()} == {"a", "twin", "sub"}
        assert list((root / "sub").iterdir()) == [] and folder.clean() == []
        assert set(folder.look()) == {"a", "twin"}, "a repository's own files are in no archive"
        assert outside.read_text() == "secret"


def test_a_folder_that_is_made_a_bare_repository_is_none_afterwards() -> None:
    with TaskFolder(archive({"kept/HEAD": (b"ref: refs/heads/x", False), "kept/a": (b"a", False)})) as folder:
        subprocess.run(["git", "init", "-q", "--bare", "."], cwd=folder.root, check=True)
        (folder.root / "kept" / "objects").mkdir()
        (folder.root / "kept" / "refs").mkdir()
        told = folder.clean()
        removed = {t.partition(" ")[0] for t in told}
        assert removed == {"'HEAD'", "'kept/objects'", "'kept/refs'"}, "what was there in the beginning stays"
        assert folder.clean() == []
        for at in (folder.root, folder.root / "kept"):
            found = subprocess.run(["git", "rev-parse"], cwd=at, capture_output=True, check=False)
            assert found.returncode and b"not a git repository" in found.stderr


def test_what_is_the_same_to_some_file_systems_gives_way_to_what_was_there() -> None:
    with TaskFolder(archive({"b/read.me": (b"a", False)})) as folder:
        for name in ("B", "b/READ.me", "b/ﬁ", "b/fi"):
            path = folder.root / name
            path.mkdir() if name == "B" else path.write_text("x")
        told = folder.clean()
        assert [t.partition(" ")[0] for t in told] == ["'B'", "'b/READ.me'", "'b/ﬁ'"]
        assert "are one name to some file systems" in told[0]
        assert set(folder.look()) == {"b/read.me", "b/fi"} and unpack_archive(folder.pack()) == folder.look()


def test_a_folder_that_was_replaced_is_an_error(tmp_path: Path) -> None:
    with TaskFolder() as folder:
        folder.root.rmdir()
        with pytest.raises(FolderError, match="gone"):
            folder.clean()
        os.symlink(tmp_path, folder.root)
        (tmp_path / "kept").write_text("x")
        with pytest.raises(FolderError, match="replaced"):
            folder.clean()
    assert (tmp_path / "kept").exists()


def test_folders_in_folders_deeper_than_a_path_go_too() -> None:
    with TaskFolder(archive({"a": (b"a", False)})) as folder:
        at = os.open(folder.root, os.O_RDONLY)
        for _ in range(60):
            os.mkdir("d" * 200, dir_fd=at)
            inner = os.open("d" * 200, os.O_RDONLY, dir_fd=at)
            os.close(at)
            at = inner
        os.close(at)
        assert "is removed" in " ".join(folder.clean()) and set(folder.look()) == {"a"}
        folder.put_back(folder.began)
    assert not folder.root.exists()


CASES: list[tuple[Files, Files]] = [
    ({"a.txt": (b"one\ntwo\n", False)}, {"a.txt": (b"one\n2\n", False)}),
    ({"a.txt": (b"one", False)}, {"a.txt": (b"one\n", False)}),
    ({"a.txt": (b"one\n", False)}, {"a.txt": (b"one", False), "new/b c.txt": (b"x\ny", False)}),
    ({"gone": (b"x\n", True), "k": (b"", False)}, {"k": (b"", False)}),
    ({"r.sh": (b"x\n", False)}, {"r.sh": (b"y\n", True)}),
    ({"m": (b"a\x0cb\r\nc\xe2\x80\xa8\n", False)}, {"m": (b"a\x0cb\r\nd\n", False)}),
    ({}, {"e": (b"--- a\n+++ b\n", False)}),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), CASES, ids=range(len(CASES)))
def test_git_applies_the_diff(before: Files, after: Files, tmp_path: Path) -> None:
    for path, (data, runs) in before.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
        (tmp_path / path).chmod(0o755 if runs else 0o644)
    text = diff(before, after)
    made = subprocess.run(["git", "apply", "-"], input=text.encode(), cwd=tmp_path, capture_output=True, timeout=20)
    assert made.returncode == 0, made.stderr.decode() + text
    assert module.read_files(tmp_path)[0] == after


def test_a_diff_names_what_is_no_text_and_says_where_it_is_cut() -> None:
    assert "Binary files a/b and b/b differ" in diff({"b": (b"\x00", False)}, {"b": (b"\x01", False)})
    long: Files = {"l": (b"".join(b"line %d\n" % i for i in range(20_000)), False)}
    text = diff({}, long)
    assert len(text) <= 60_000 and text.endswith("[cut here: the diff goes on]\n") and text.count("\n+line") > 1_000
    assert diff(long, long) == ""


def test_what_a_killed_process_left_is_swept_and_what_is_in_use_is_not() -> None:
    left = Path(tempfile.mkdtemp(prefix="parley-task-"))
    (left / "task").mkdir()
    young = Path(tempfile.mkdtemp(prefix="parley-task-"))
    long_ago = time.time() - 3_600
    with TaskFolder() as used:
        for path in (left, used.root.parent):
            os.utime(path, (long_ago, long_ago))
        sweep()
        assert not left.exists() and used.root.exists() and young.exists()
    young.rmdir()


def test_files_that_would_take_long_to_compare_are_shown_as_replaced(tmp_path: Path) -> None:
    rows = [f"{i % 97} {i * i % 89}" for i in range(6_000)]
    before, after = "\n".join(rows), "\n".join(reversed(rows))
    began = time.monotonic()
    text = diff({"a": (before.encode(), False)}, {"a": (after.encode(), False)}, most=10**7)
    assert time.monotonic() - began < 10
    assert "@@ -1,6000 +1,6000 @@\n" in text
    (tmp_path / "a").write_text(before)
    subprocess.run(["git", "apply", "-"], input=text.encode(), cwd=tmp_path, check=True, timeout=20)
    assert (tmp_path / "a").read_text() == after


def test_of_many_files_those_are_shown_that_bear_on_the_task() -> None:
    noise = {f"noise/{i}.txt": (b"nothing here " * 5_000, False) for i in range(20)}
    files = {"src/login.py": (b"def login(): ...", False), "z/named.txt": (b"odd", False), "b.txt": (b"odd", False)}
    with TaskFolder(archive({**noise, **files})) as folder:
        shown = [d.name for d in folder.documents("the logins are slow", ["named.txt"])]
        assert shown == sorted(shown) and {"src/login.py", "z/named.txt"} <= set(shown)
        assert sum(len(d.text) for d in folder.documents("the logins are slow")) <= MOST_SHOWN
    with TaskFolder(archive(files)) as folder:
        assert [d.name for d in folder.documents()] == ["b.txt", "src/login.py", "z/named.txt"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "task"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("x")
    (folder / ".git").mkdir()
    (tmp_path / "secret").write_text("s")
    (tmp_path / "task2").mkdir()
    os.symlink("src", folder / "within")
    os.symlink("..", folder / "up")
    os.symlink(tmp_path / "secret", folder / "leak")
    os.link(tmp_path / "secret", folder / "hard")
    os.mkfifo(folder / "pipe")
    return Path(os.path.realpath(folder))


def test_what_is_inside_is_found(root: Path) -> None:
    assert inside(root, ".") == root and inside(root, "new/deep/file") == root / "new" / "deep" / "file"
    for given in ("src/app.py", "src/../src/app.py", "within/app.py", "src//app.py", str(root / "src" / "app.py")):
        assert inside(root, given) == root / "src" / "app.py", given


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("../secret", "leads out"),
        ("../task2/x", "leads out"),
        ("/etc/passwd", "leads out"),
        ("up/secret", "leads out"),
        ("leak", "leads out"),
        ("hard", "second name"),
        ("pipe", "neither a file nor a folder"),
        ("~/x", "begins with ~"),
        ("a\x00b", "zero byte"),
        (".git/hooks/pre-commit", "repository"),
        ("src/GIT~1/x", "repository"),
        ("src/.GIT/config", "repository"),
        ("a\nb", "control character"),
        ("x" * 300, "bytes a part"),
        ("x/" * 3_000, "characters"),
    ],
)
def test_what_leads_out_is_refused_with_its_name_and_why(root: Path, given: str, why: str) -> None:
    with pytest.raises(Outside, match=why) as caught:
        inside(root, given)
    assert caught.value.path == given and len(str(caught.value)) < 500
