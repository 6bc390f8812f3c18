"""What follows a task on a folder: one next step, which works; a branch in place of the files."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.llm.aimock import aimock
from tests.llm.madp.test_aimock import step, use
from tests.llm.madp.test_apply import ASK, DONE, environment
from tests.parley.support import Front

pytestmark = [pytest.mark.slow]
NEW = "def greet():\n    return 'hello'\n"
OLD = "def greet():\n    return 'hi'\n"
APPROVED = {"verdict": "approved", "findings": []}
NAGS = {"verdict": "revision_needed", "findings": [
    {"severity": "major", "description": "too short", "location": "app.py:2", "suggested_fix": ""}]}  # fmt: skip


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(("git", *arguments), cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "app.py").write_text(OLD)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def asked(
    tmp_path: Path, project: Path, *options: str, review: dict[str, Any] = APPROVED
) -> tuple[int, str, str, Front]:
    with aimock(tmp_path, [
        step("Review what another expert did", review),
        step("Step 1, call 1", DONE),
        step("You lead the task", use("replace_in_file", path="app.py", old="'hi'", new="'hello'")),
    ]) as server:  # fmt: skip
        front = Front(tmp_path)
        command = (*ASK, "--folder", str(project), *options)
        code, out, err = front.run(*command, env=environment(server.url))
    return code, out, err, front


def steps(err: str) -> list[str]:
    return [row.removeprefix("next: ") for row in err.splitlines() if row.startswith("next: ")]


def test_the_next_step_of_an_approved_change_applies_it(tmp_path: Path, project: Path) -> None:
    code, out, err, front = asked(tmp_path, project, "--plain")
    assert code == 0, err + out
    (told,) = steps(err)
    assert told.startswith("parley sessions apply ") and "--unapproved" not in told and "more: " not in out
    assert (project / "app.py").read_text() == OLD
    code, out, err = front.run(*told.split()[1:])
    assert code == 0 and (project / "app.py").read_text() == NEW, err
    assert steps(err) == [f"git -C {project} diff"]
    code, out, err = front.run(*told.split()[1:])
    assert code == 0 and "is applied already" in err and steps(err) == [f"git -C {project} diff"]
    (project / "app.py").write_text("# mine\n")
    code, out, err = front.run(*told.split()[1:])
    assert code == 1 and "is not what was sent any more (app.py)" in err
    (beside,) = steps(err)
    assert "--branch parley-" in beside
    code, out, err = front.run(*beside.split()[1:])
    assert code == 0 and (project / "app.py").read_text() == "# mine\n", err
    (shown,) = steps(err)
    assert git(project, "show", f"{shown.rpartition('...')[2]}:app.py") == NEW


def test_a_branch_has_the_change_and_the_files_stay(tmp_path: Path, project: Path) -> None:
    code, out, err, _ = asked(tmp_path, project, "--branch", "hello", "--json")
    assert code == 0, err + out
    told = json.loads(out)
    assert told["put"]["branch"] == "hello" and told["put"]["paths"] == ["app.py"]
    assert told["next"] == f"git -C {project} diff HEAD...hello"
    assert (project / "app.py").read_text() == OLD and git(project, "status", "--porcelain") == ""
    assert git(project, "show", "hello:app.py") == NEW
    said = git(project, "log", "-1", "--format=%an|%s|%b", "hello")
    assert said.startswith("Ada|The greeting should be hello|Lead: implementation-engineer")
    assert told["put"]["commit"] == git(project, "rev-parse", "hello").strip()


def test_a_branch_that_cannot_be_is_refused_before_anything_starts(tmp_path: Path, project: Path) -> None:
    code, _, err = Front(tmp_path).run(*ASK, "--folder", str(project), "--branch", "main")
    assert code == 2 and "there is a branch 'main' already" in err
    code, _, err = Front(tmp_path).run(*ASK, "--folder", str(project), "--branch", "x", "--apply")
    assert code == 2 and "give one of them" in err
    code, _, err = Front(tmp_path).run(*ASK, "--branch", "x")
    assert code == 2 and "--folder, and no folder is named" in err


def test_what_was_not_approved_is_applied_only_where_that_is_said(tmp_path: Path, project: Path) -> None:
    limits = ("--set", "madp.max_reviews=0", "--set", "madp.item_s=1")
    code, out, err, front = asked(tmp_path, project, "--apply", "--plain", "--verbose", *limits, review=NAGS)
    assert code == 3 and "the result is not applied: the session ended with review_limit" in err, err + out
    assert (project / "app.py").read_text() == OLD
    (told,) = steps(err)
    assert told.startswith("parley sessions apply ") and "--unapproved" in told
    assert "  Implementation Engineer: files.replace_in_file app.py: ok (" in out
    code, _, err = front.run(*told.replace("--unapproved", "").split()[1:])
    assert code == 1 and (project / "app.py").read_text() == OLD
    code, _, err = front.run(*told.split()[1:])
    assert code == 0 and (project / "app.py").read_text() == NEW, err
