"""`ask --folder DIR --apply`: an expert's model edits a copy, the result is written back, and one next step follows.
And which model an expert has that wishes one."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.llm.aimock import Aimock, aimock
from tests.llm.madp.test_projects import ENDED, step, use
from tests.parley.support import Front
from tests.tools.support import EXAMPLE

pytestmark = [pytest.mark.slow]

DONE = {"outcome": "done", "summary": "It greets with hello.", "output": "greet() says hello.", **ENDED}
ASK = ("ask", "The greeting should be hello", "--protocol", "madp", "--expert", "implementation-engineer")
CHECK = ("--check", "python -c pass")
NEW = "def greet():\n    return 'hello'\n"
OLD = "def greet():\n    return 'hi'\n"
EDIT = use("replace_in_file", path="app.py", old="'hi'", new="'hello'")
NAGS = {"verdict": "revision_needed", "findings": [
    {"severity": "major", "description": "too short", "location": "app.py:2", "suggested_fix": ""}]}  # fmt: skip


PLANNED = "nothing was done; the result is a plan"
"""What the card of a result says."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "app.py").write_text(OLD)
    (folder / "old.txt").write_text("old\n")
    (folder / "link").symlink_to("/etc/passwd")
    return folder


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


def test_where_no_sandbox_is_there_run_is_off_and_that_is_said_before(tmp_path: Path, project: Path) -> None:
    """Every program is there but bubblewrap; the prompts are read at the model's server."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for program in Path(folder).glob("*"):
            if program.name != "bwrap" and not (programs / program.name).is_symlink():
                (programs / program.name).symlink_to(program)
    with expert(tmp_path, EDIT, DONE) as server:
        command = (*ASK, "--folder", str(project), "--plain", "--set", "madp.item_s=1")
        code, out, err = Front(tmp_path).run(*command, env=environment(server, PATH=str(programs)))
        prompts = json.dumps(server.journal("gpt-work"))
    assert code == 3 and "not settled: " in out and "nothing was run" in out, err or out
    told = "run is off, so experts run no command: there is no sandbox: bubblewrap is not installed"
    assert told in err and "tools are off" not in err
    assert "replace_in_file" in prompts and "read_output" not in prompts


def test_a_diff_that_does_not_fit_is_a_proposal_and_the_end_is_a_plan(tmp_path: Path, project: Path) -> None:
    """The model says that it did it, and the reviewer approves: the folder is as it was, so it is no work."""
    patch = "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n def greet():\n-    return 'ho'\n+    return 'hello'\n"
    done = DONE | {"output": f"I changed it:\n```diff\n{patch}```"}
    code, out, err, _ = asked(tmp_path, project, "--apply", "--verbose", work=(done,), PARLEY_TOOLS="off")
    assert code == 3, err or out
    assert PLANNED in out and "one that leaves it as it is ends as a plan (planned, exit status 3)" in err
    assert "proposed in the reply, and not applied" in out and "  +    return 'hello'" in out
    assert f"nothing is written to {project}: no work was done; the diff is a proposal" in err
    assert (project / "app.py").read_text() == OLD


def test_the_result_is_written_back_and_the_diff_is_shown(tmp_path: Path, project: Path) -> None:
    work = (EDIT, use("delete_file", path="old.txt"), DONE)
    code, out, err, _ = asked(tmp_path, project, "--apply", "--verbose", work=work, PARLEY_TOOLS=str(EXAMPLE))
    assert code == 0, err or out
    assert "2 calls of tools: 1 replace_in_file, 1 delete_file" in out and "diff of 2 files, +1 −2 lines" in out
    assert "  -    return 'hi'" in out and "  +    return 'hello'" in out and "--- a/old.txt" in out
    assert "'link': it is a symbolic link" in out + err and f"2 changed in {project}: app.py, old.txt" in out + err
    assert (project / "app.py").read_text() == NEW
    assert sorted(p.name for p in project.iterdir()) == ["app.py", "link"]
    assert "sk-secret" not in out + err


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


GARDENER = """\
---
id: gardener
name: Gardener
triggers: {primary: [hedge, lawn]}
domain: {owns: [plants and beds]}
deliberation: {claim: I look after whatever grows.}
model: gpt-strong.1
---
Look at the soil before you plant.
"""
GARDEN = ("ask", "When is the hedge cut?", "--protocol", "madp", "--expert", "gardener", "--plain")
WISH = "WISH_GPT_STRONG_1_LLM_MODEL"
UNMET = (
    "no variable maps a wish, so these have the default model: "
    f"expert_gardener wishes the model 'gpt-strong.1' ({WISH})"
)


def test_a_wish_is_what_the_operator_maps_it_to_and_is_told_by_check(tmp_path: Path) -> None:
    """Each model has an answer of its own at the server."""

    def says(model: str) -> dict[str, object]:
        done = {"outcome": "done", "summary": f"This is {model}.", "output": "In March.", **ENDED}
        return {"match": {"model": model}, "response": {"content": json.dumps(done)}}

    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "gardener.md").write_text(GARDENER)
    (tmp_path / "parley.yaml").write_text("experts: own")
    front = Front(tmp_path)
    with aimock(front.folder, [says("big"), says("usual")]) as server:
        usual = {"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "usual", "LLM_BASE_URL": server.url,
                 "LLM_API_KEY": "sk-secret"}  # fmt: skip
        for mapped, model in (({WISH: "big"}, "big"), ({}, "usual")):
            _, out, err = front.run(*GARDEN, env=usual | mapped)
            assert f"This is {model}." in out, err or out
            assert (UNMET in err) is (not mapped)
            code, out, _ = front.run("experts", "check", "own/gardener.md", env=usual | mapped)
            here = "big" if mapped else f"the default, usual: set {WISH}"
            assert code == 0 and f"wishes the model gpt-strong.1: here {here}\n" in out
