"""Sessions that were played by hand (sessions/README.md) end as they did, and the bridge records such sessions."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.llm.madp.test_projects import ENDED, use
from tests.parley.support import Front
from tests.played.bridge import played
from tests.tools.support import EXAMPLE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

HERE = Path(__file__).parent / "sessions"
SESSIONS: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "sessions.yaml").read_text())


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_ends_as_it_did(name: str, tmp_path: Path) -> None:
    played = SESSIONS[name]
    folder = written(tmp_path / "project")
    ask = [part.format(here=HERE, folder=folder) for part in played["ask"]]
    env = {"LLM_PROVIDER": "recorded", "LLM_RECORD": str(HERE / f"{name}.jsonl"), "PARLEY_TOOLS": str(EXAMPLE)}
    _, out, err = Front(tmp_path).run("ask", played["question"], *ask, "--json", env=env)
    assert out, err
    result = json.loads(out)
    outcome = result["outcome"]
    assert result["stop"]["reason"] == played["reason"], err
    assert (outcome["winner"] if name == "competition" else outcome["answer"]).startswith(played["answer"])
    if name == "madp":
        assert passes(folder), "what the tools changed is in the folder, and its tests pass"


def test_before_the_session_the_tests_of_its_folder_fail(tmp_path: Path) -> None:
    assert not passes(written(tmp_path))


def written(folder: Path) -> Path:
    """The folder of session `madp`."""
    for name, text in yaml.safe_load((HERE / "invoices.yaml").read_text()).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def passes(folder: Path) -> bool:
    """Whether the folder's own tests do."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", ".", "."]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False).returncode == 0


ASK = ("ask", "The greeting should be hello", "--protocol", "madp", "--expert", "implementation-engineer", "--json")


def project(folder: Path) -> Path:
    folder.mkdir()
    (folder / "app.py").write_text("def greet():\n    return 'hi'\n")
    return folder


def test_a_turn_with_tools_is_recorded_step_by_step_and_played_again(tmp_path: Path) -> None:
    def write(request: str) -> dict[str, Any]:
        if "Review what another expert did" in request:
            return {"verdict": "approved", "findings": []}
        if "Step 1, call 1" in request:
            return {"outcome": "done", "summary": "It greets.", "output": "greet() says hello.", **ENDED}
        return use("replace_in_file", path="app.py", old="'hi'", new="'hello'")

    record = tmp_path / "session.jsonl"
    first, second = project(tmp_path / "first"), project(tmp_path / "second")
    with played(tmp_path / "bridge", write) as url:
        env = {"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "by-hand", "LLM_BASE_URL": url, "LLM_API_KEY": "none",
               "LLM_RECORD": str(record), "PARLEY_TOOLS": str(EXAMPLE)}  # fmt: skip
        one = outcome(tmp_path / "one", first, env)
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line.get("step", 1) for line in lines if line["key"][1] == "work"] == [1, 2]
    env = {"LLM_PROVIDER": "recorded", "LLM_RECORD": str(record), "PARLEY_TOOLS": str(EXAMPLE)}
    two = outcome(tmp_path / "two", second, env)
    assert (second / "app.py").read_text() == "def greet():\n    return 'hello'\n"
    assert two["work"] == one["work"] and two["reviewed"] == one["reviewed"] and one["work"]["diff"]


def outcome(home: Path, folder: Path, env: dict[str, str]) -> dict[str, Any]:
    home.mkdir()
    code, out, err = Front(home).run(*ASK, "--folder", str(folder), "--check", "python -c pass", "--apply", env=env)
    assert code == 0, err or out
    found: dict[str, Any] = json.loads(out)["outcome"]
    return found
