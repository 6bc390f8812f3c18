"""A folder that a task works on: what is sent, and what is written back, if at all."""

import io
import os
import re
import tarfile
from pathlib import Path

import pytest

from parley.agents.tools import folder as folders
from parley.client import task_folder
from parley.client.errors import BadInput
from parley.client.task_folder import AppliedAlready, FolderChanged, NotApplied, SentFolder
from parley.schemas.tools import CUT

SENT = {"src/a.py": "slow()\n", "old.txt": "old\n"}


@pytest.fixture
def sent(tmp_path: Path) -> SentFolder:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    for name, text in SENT.items():
        (root / name).write_text(text)
    return task_folder.read_folder(root)


def accepted(**files: str) -> bytes:
    return folders.archive({name.replace("__", "/"): (text.encode(), False) for name, text in files.items()})


def content(root: Path) -> dict[str, str]:
    return {p.relative_to(root).as_posix(): p.read_text() for p in root.rglob("*") if p.is_file()}


def test_what_is_accepted_is_written_back(sent: SentFolder) -> None:
    data = folders.archive({"src/a.py": (b"fast()\n", True), "old.txt/deep/b.py": (b"b\n", False)})
    assert task_folder.write(sent, data) == ["old.txt/deep/b.py", "src/a.py", "old.txt"]
    assert content(sent.folder) == {"src/a.py": "fast()\n", "old.txt/deep/b.py": "b\n"}, "a file became a folder"
    assert os.access(sent.folder / "src/a.py", os.X_OK)


@pytest.mark.parametrize("name", ["src/a.py", "mine.txt"])
@pytest.mark.parametrize("looked_at", [False, True])
def test_a_folder_that_is_not_what_was_sent_any_more_is_left_alone(
    sent: SentFolder, name: str, looked_at: bool
) -> None:
    """A file of it, or a new one beside; before the change is shown, or while it is looked at."""

    def edited(_: task_folder.Change | None = None) -> None:
        (sent.folder / name).write_text("mine()\n")

    if not looked_at:
        edited()
    with pytest.raises(NotApplied, match=re.escape(f"is not what was sent any more ({name})")):
        task_folder.write(sent, accepted(a="x"), edited if looked_at else None)
    assert content(sent.folder) == {"src/a.py": "slow()\n", "old.txt": "old\n", name: "mine()\n"}


def test_a_change_that_stands_there_is_applied_already(sent: SentFolder) -> None:
    data = accepted(new="x", old="y")
    task_folder.write(sent, data)
    (sent.folder / "mine.txt").write_text("mine")
    with pytest.raises(AppliedAlready, match="is applied already"):
        task_folder.write(sent, data)
    (sent.folder / "old").write_text("other")
    with pytest.raises(FolderChanged, match="is not what was sent any more"):
        task_folder.write(sent, data)


def test_nothing_is_written_through_a_link(sent: SentFolder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (sent.folder / "link").symlink_to(outside)
    with pytest.raises(NotApplied, match="'link' stands there and was not sent"):
        task_folder.write(sent, accepted(link__evil="x", other="y"))
    (sent.folder / "file").symlink_to(outside / "target")
    with pytest.raises(NotApplied, match="'file' stands there and was not sent"):
        task_folder.write(sent, accepted(file="x"))
    assert list(outside.iterdir()) == []
    assert content(sent.folder) == SENT


@pytest.mark.parametrize("name", ["../out", "/etc/out", ".git/hooks/x"])
def test_an_archive_that_leads_out_is_refused(sent: SentFolder, name: str) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        entry = tarfile.TarInfo(name)
        entry.size = 1
        tar.addfile(entry, io.BytesIO(b"x"))
    with pytest.raises(NotApplied, match="archive entry"):
        task_folder.write(sent, buffer.getvalue())
    assert content(sent.folder) == SENT


def test_what_cannot_be_written_leaves_no_half(sent: SentFolder) -> None:
    if os.geteuid() == 0:
        (sent.folder / "src" / "b.py").mkdir()  # an empty folder is not sent, and stands where a file is to come
    else:
        (sent.folder / "src").chmod(0o500)
    with pytest.raises(NotApplied):
        task_folder.write(sent, folders.archive({"old.txt": (b"new\n", False), "src/b.py": (b"b", False)}))
    assert content(sent.folder) == SENT


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere is not a folder"):
        task_folder.read_folder(tmp_path / "nowhere")
    big = tmp_path / "big"
    big.mkdir()
    for i in range(100):
        (big / f"file{i}").write_bytes(os.urandom(49_000 if i == 7 else 45_000))
    with pytest.raises(BadInput, match=r"4,000,000.*the biggest are file7 \(49\.0 KB\), file0 \(45\.0 KB\)"):
        task_folder.read_folder(big)


def test_of_a_folder_that_is_too_much_large_files_stay_and_are_named(sent: SentFolder) -> None:
    (sent.folder / "model.bin").write_bytes(os.urandom(5_000_000))
    again = task_folder.read_folder(sent.folder)
    assert again.id == sent.id
    assert list(again.words()) == [f"not sent of {sent.folder}: 'model.bin': it has 5.0 MB, and the folder is too much"]
    assert task_folder.write(again, accepted(old="x")) == ["old", "old.txt", "src/a.py"]
    assert (sent.folder / "model.bin").stat().st_size == 5_000_000


def test_the_diff_is_of_the_folder_and_not_what_a_worker_says(sent: SentFolder) -> None:
    data = folders.archive({"src/a.py": (b"evil()\n", False), ".envrc": (b"x\n", False)})
    shown: list[task_folder.Change] = []
    lie = folders.diff({"src/a.py": (b"slow()\n", False)}, {"src/a.py": (b"fast()\n", False)})
    with pytest.raises(NotApplied, match="differs from the diff that was reviewed"):
        task_folder.write(sent, data, shown.append, lie)
    assert content(sent.folder) == SENT
    (change,) = shown
    assert change.changed == (".envrc", "src/a.py") and change.removed == ("old.txt",)
    first, *rows, last = change.words(lie)
    assert first.endswith("2 to write, 1 to remove, not what the worker's diff says; the changes are:")
    assert "  +evil()" in rows and "  -slow()" in rows and "  -old" in rows
    assert last == "these run by themselves on a developer's machine: .envrc"
    cut = change.diff[:60] + CUT
    assert next(change.words(cut)).endswith("and the worker's diff is cut; the changes are:")
    assert next(change.words(change.diff)).endswith("1 to remove, as the worker's diff says")
    assert not change.is_told(CUT) and not change.is_told("")
    assert task_folder.write(sent, data, shown.append, change.diff) == [".envrc", "src/a.py", "old.txt"]
