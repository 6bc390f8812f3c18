"""Sessions that were played by hand (sessions/README.md) end as they did when their replies are played again."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.parley.support import Front
from tests.tools.support import EXAMPLE

HERE = Path(__file__).parent / "sessions"
SESSIONS: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "sessions.yaml").read_text())

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


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
