"""The action that has a panel review a pull request, on a real repository, with a scripted model."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.llm.server import ModelServer, Request, says
from tests.parley.support import ROOT
from tests.support.expert_model import served_model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
ACTION = ROOT / "examples" / "github-action"
MERGE, HOLD = "merge: the limit is checked.", "hold: limit.py, line 2 divides by zero."


async def _answer(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
    """What the change says that it is worth; where it says that they differ, each seat says something else."""
    divided = "opinions differ" in request.prompt
    first = len(server.requests) % 2 == 0 if divided else "divides by zero" not in request.prompt
    if '"positions"' in request.prompt or "Say which positions" in request.prompt:
        await says("I compare nothing.")(server, request, writer)
        return
    said = {"answer": MERGE if first else HOLD, "reasoning": "I read it.", "confidence": 0.9, "citations": []}
    await says({**said, "abstains": False, "change": "kept", "change_reason": "", "moved_by": []})(
        server, request, writer
    )


@pytest.fixture(scope="module")
def model() -> Iterator[dict[str, str]]:
    """The variables of a panel whose members have a scripted model."""
    with served_model(_answer) as url:
        yield {f"PANELIST_LLM_{k}": v for k, v in (
            ("PROVIDER", "openai_compatible"), ("MODEL", "m"), ("BASE_URL", url), ("API_KEY", "none"),
        )}  # fmt: skip


def _git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One with a main branch."""
    folder = tmp_path / "repository"
    folder.mkdir()
    _git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "limit.py").write_text("LIMIT = 5\n")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "Begin")
    _git(folder, "checkout", "-qb", "change")
    return folder


def _reviewed(repository: Path, env: dict[str, str], *arguments: str) -> tuple[int, str, str, dict[str, str]]:
    """(Exit status, what is printed, the errors, what it leaves to the workflow)."""
    files = {name: repository.parent / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PARLEY", "SSL_CERT_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, ACTION / "review.py", *arguments], cwd=repository, capture_output=True, text=True, timeout=90,
        env={**kept, **env, "PATH": path, **{name: str(file) for name, file in files.items()}},
    )  # fmt: skip
    left = {name: file.read_text() if file.exists() else "" for name, file in files.items()}
    return done.returncode, done.stdout, done.stderr, left


@pytest.mark.parametrize(
    ("text", "status", "verdict"),
    [
        ("LIMIT = max(1, 5)\n", 0, "merge"),
        ("LIMIT = 5 / 0  # divides by zero\n", 1, "hold"),
        ("LIMIT = 6  # opinions differ\n", 3, "unsettled"),
    ],
)
def test_what_a_panel_agrees_on_is_the_gate(
    repository: Path, model: dict[str, str], text: str, status: int, verdict: str
) -> None:
    (repository / "limit.py").write_text(text)
    _git(repository, "commit", "-qam", "Change the limit")
    code, out, err, left = _reviewed(repository, model, "--base", "main", "--budget-usd", "")
    assert (code, left["GITHUB_OUTPUT"]) == (status, f"verdict={verdict}\n"), (out, err)
    assert left["GITHUB_STEP_SUMMARY"] == out and out.startswith(f"## Panel: {verdict}\n")


def test_nothing_changed_is_merged_without_a_call_and_bad_input_is_no_verdict(repository: Path) -> None:
    assert _reviewed(repository, {}, "--base", "main")[:2] == (0, "Nothing is changed.\n")
    code, out, err, _ = _reviewed(repository, {}, "--base", "nowhere")
    assert code == 2 and not out and "--base nowhere" in err


def test_the_action_hands_over_every_input() -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    steps = [step for step in action["runs"]["steps"] if "run" in step]
    given = {name: value for step in steps for name, value in step["env"].items()}
    assert set(given.values()) == {f"${{{{ inputs.{name} }}}}" for name in action["inputs"]}
    assert all(f'"${name}"' in step["run"] for step in steps for name in step["env"]), "one word each for the shell"
    assert "steps.review.outputs.verdict" in action["outputs"]["verdict"]["value"]
