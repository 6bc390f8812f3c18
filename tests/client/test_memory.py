"""Notes that a task is opened with: those that still hold, that it is about, and that there is room for."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from parley.agents.protocols.madp.kinds import brief_of_work
from parley.agents.text.tokens import estimate
from parley.client.learned.memory import in_use, project_of, relevant, with_project
from parley.schemas.folders.notes import Note, line_mark
from parley.schemas.protocols.madp.work import WorkBrief
from parley.schemas.routing import Task
from parley.schemas.wire import encode

FILES = {"app.py": (b"import os\n  total = cents // 100\r\n", False), "docs/guide.md": (b"", False)}
BILLING = "Invoice totals are integer cents."
IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(("git", *IDENTITY, *arguments), cwd=folder, check=True, capture_output=True)


def commit(root: Path, message: str) -> None:
    (root / "lib").mkdir(exist_ok=True)
    (root / "lib" / "a").write_text(message)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


def note(text: str = BILLING, at: int = 1, **more: Any) -> Note:
    return Note(n=1, text=text, at_ns=at, session=f"s{at}", **{"kind": "pitfall", "file": "app.py", **more})


@pytest.mark.parametrize(
    ("notes", "kept"),
    [
        ([note(file="gone.py")], []),
        ([note(file="", command="make test")], [0]),
        ([note(line=line_mark("total = cents // 100"))], [0]),
        ([note(line=line_mark("total = cents / 100"))], []),
        ([note(kind="decision"), note("Totals are Decimals.", 2, kind="decision")], [1]),
        ([note(kind="decision"), note("Totals are Decimals.", 2, kind="decision", file="docs/guide.md")], [1, 0]),
        ([note(), note("Integer cents are what invoice totals are.", 2)], [1]),
        ([note(), note("The session is never closed.", 2)], [1, 0]),
        ([note(kind="decision"), note("Totals are Decimals.", 2, kind="decision", file="gone.py")], [0]),
    ],
)
def test_a_note_rests_where_its_place_is_gone_or_a_newer_one_is_about_its_subject(
    notes: list[Note], kept: list[int]
) -> None:
    assert in_use(notes, FILES) == [notes[n] for n in kept]


@pytest.mark.parametrize(
    ("task", "named", "found"),
    [
        ("Add a discount to the invoices", (), ["cents", "runs"]),
        ("Fix the failing test", (), ["runs"]),
        ("Ändere app.py, bitte", (), ["cents", "closed", "runs"]),
        ("Look at it", ("src/app.py",), ["cents", "closed", "runs"]),
        ("Close sessions earlier", (), ["closed", "runs"]),
    ],
)
def test_a_task_is_told_what_it_is_about_and_which_commands_run(
    task: str, named: tuple[str, ...], found: list[str]
) -> None:
    notes = [note(), note("The session is never closed."), note("`make` runs.", file="", command="make")]
    told = [next(w for w in ("cents", "closed", "runs") if w in x.text) for x in relevant(notes, task, named)]
    assert sorted(told) == sorted(found)


def test_what_a_lead_is_told_costs_at_most_300_tokens() -> None:
    notes = [note(f"Invoice rule {n}: {'cents ' * 30}", n) for n in range(1, 30)]
    chosen = relevant(notes, "Add a discount to the invoices")
    brief = WorkBrief(task=Task(prompt=""), expert="sre", responsibility="", notes=chosen)
    fields = brief_of_work(brief)
    key, told = next((key, value) for key, value in fields.items() if "notes" in key)
    assert len(chosen) > 1 and estimate(encode({key: told}).decode()) <= 300


def test_every_clone_and_work_tree_of_a_folder_is_one_project(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    for at in (root, other):
        at.mkdir()
        git(at, "init", "-q")
    bare = project_of(root)
    assert bare.startswith("path:") and bare != project_of(other), "there is no commit yet"
    commit(root, "first")
    mine = project_of(root)
    commit(root, "second")
    commit(other, "another first")
    git(root, "worktree", "add", "-q", str(tmp_path / "tree"))
    subprocess.run(["git", "clone", "-q", str(root), str(tmp_path / "clone")], check=True)
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{root}", str(tmp_path / "shallow")], check=True)
    assert mine == project_of(tmp_path / "clone") == project_of(tmp_path / "tree") and mine.startswith("git:")
    assert len({mine, project_of(other), project_of(root / "lib"), project_of(tmp_path / "shallow")}) == 4
    assert project_of(tmp_path / "shallow").startswith("git:")
    assert with_project({"project": "mine"}, {}, mine) == {"project": "mine"}
    assert with_project({}, {"project"}, mine) == {} and with_project({"a": 1}, {}, mine) == {"project": mine, "a": 1}
