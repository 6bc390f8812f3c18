"""`ask --folder DIR --apply`: an expert's model edits a copy, the result is written back, and one next step follows."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.llm.aimock import Aimock, aimock
from tests.llm.madp.test_projects import ENDED, step, use
from tests.parley.support import Front

pytestmark = [pytest.mark.slow]

DONE = {"outcome": "done", "summary": "It greets with hello.", "output": "greet() says hello.", **ENDED}
ASK = ("ask", "The greeting should be hello", "--protocol", "madp", "--expert", "implementation-engineer")
CHECK = ("--check", "python -c pass")
NEW = "def greet():\n    return 'hello'\n"
OLD = "def greet():\n    return 'hi'\n"
EDIT = use("replace_in_file", path="app.py", old="'hi'", new="'hello'")
NAGS = {"verdict": "revision_needed", "findings": [
    {"severity": "major", "description": "too short", "location": "app.py:2", "suggested_fix": ""}]}  # fmt: skip


@contextmanager
def expert(tmp_path: Path, *work: dict[str, Any], review: dict[str, Any] | None = None) -> Iterator[Aimock]:
    """The server of a model that works in these steps, and reviews."""
    begins = ["You lead the task", *(f"Step {n}, call 1" for n in range(1, len(work)))]
    said = [step(text, body) for text, body in zip(begins, work, strict=True)]
    verdict = step("Review what another expert did", review or {"verdict": "approved", "findings": []})
    with aimock(tmp_path, [verdict, *reversed(said)]) as server:
        yield server


def environment(server: Aimock, **more: str) -> dict[str, str]:
    return {"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "gpt-work", "LLM_BASE_URL": server.url,
            "LLM_API_KEY": "sk-secret", **more}  # fmt: skip


def asked(
    tmp_path: Path,
    folder: Path,
    *options: str,
    work: tuple[dict[str, Any], ...] = (EDIT, DONE),
    review: dict[str, Any] | None = None,
    **env: str,
) -> tuple[int, str, str, Front]:
    with expert(tmp_path, *work, review=review) as server:
        front = Front(tmp_path)
        command = (*ASK, *CHECK, "--folder", str(folder), "--plain", *options)
        code, out, err = front.run(*command, env=environment(server, **env))
    return code, out, err, front


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(("git", *arguments), cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "app.py").write_text(OLD)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def steps(err: str) -> list[str]:
    return [row.removeprefix("next: ") for row in err.splitlines() if row.startswith("next: ")]


def test_the_next_step_of_an_approved_change_applies_it(tmp_path: Path, repository: Path) -> None:
    code, out, err, front = asked(tmp_path, repository)
    assert code == 0, err + out
    (told,) = steps(err)
    assert told.startswith("parley sessions apply ") and "--unapproved" not in told and "more: " not in out
    assert (repository / "app.py").read_text() == OLD
    code, out, err = front.run(*told.split()[1:])
    assert code == 0 and (repository / "app.py").read_text() == NEW, err
    assert steps(err) == [f"git -C {repository} diff"]
    code, out, err = front.run(*told.split()[1:])
    assert code == 0 and "is applied already" in err and steps(err) == [f"git -C {repository} diff"]
    (repository / "app.py").write_text("# mine\n")
    code, out, err = front.run(*told.split()[1:])
    assert code == 1 and "is not what was sent any more (app.py)" in err
    assert steps(err) == [f"bring {repository} back to what was sent, then {told}"]
    assert (repository / "app.py").read_text() == "# mine\n"


def test_what_was_not_approved_is_applied_only_where_that_is_said(tmp_path: Path, repository: Path) -> None:
    limits = ("--set", "madp.max_reviews=0", "--set", "madp.item_s=1")
    code, out, err, front = asked(tmp_path, repository, "--apply", "--verbose", *limits, review=NAGS)
    assert code == 3 and "the result is not applied: the session ended with review_limit" in err, err + out
    assert (repository / "app.py").read_text() == OLD
    (told,) = steps(err)
    assert told.startswith("parley sessions apply ") and "--unapproved" in told
    assert "  Implementation Engineer: files.replace_in_file app.py: ok (" in out
    code, _, err = front.run(*told.replace("--unapproved", "").split()[1:])
    assert code == 1 and (repository / "app.py").read_text() == OLD
    code, _, err = front.run(*told.split()[1:])
    assert code == 0 and (repository / "app.py").read_text() == NEW, err
